"""What the arithmetic scripts share: one or two layers learn an operation on slices of a vector."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from stable_nalu.errors import OptionError
from stable_nalu.options import Config, ScriptSpec, checks
from stable_nalu.options import name_fields as nf
from stable_nalu.options.flags_model import NALU, NETWORK, NPU, OWN_LAYERS, WEIGHTS
from stable_nalu.options.flags_task import CRITERION, OPTIMIZER, RANDOM_MODELS, TASK
from stable_nalu.options.flags_training import LOGGING, NPU_PENALTIES, PENALTIES, RUN_CONTROL
from stable_nalu.options.kinds import BATCH_NOISE, activation_names, as_clause
from stable_nalu.training.arithmetic.task import OperationTask

if TYPE_CHECKING:
    from stable_nalu.abstract import ExtendedTorchModule

_GROUPS = (
    *(TASK, NETWORK, OWN_LAYERS, WEIGHTS, NALU, NPU, PENALTIES, NPU_PENALTIES, CRITERION),
    *(OPTIMIZER, LOGGING, RUN_CONTROL),
)
_WEIGHT_PULL = "it had no effect in the published code either, leave it out"

script = partial(
    ScriptSpec,
    refused={"--weight-pull-start": _WEIGHT_PULL, "--weight-pull-end": _WEIGHT_PULL},
    fixed={flag.dest: flag.default for flag in (*(f for g in _GROUPS for f in g), RANDOM_MODELS)},
    drawn_by=(
        *("seed", "interpolation_range", "sample_distribution", "batch_size"),
        *("input_size", "simple", "num_subsets", "subset_ratio", "overlap_ratio"),
    ),
)
"""Makes the description of an arithmetic script."""

# The network of one layer takes what that of two layers does.
SINGLE_NETWORK = NETWORK.but(
    first_layer={"note": "recorded without effect, there is one layer"},
    hidden_size={"note": "used by plain activations only, recorded otherwise"},
    nac_mul={"note": "only max-safe has an effect, it adds the penalty z of the output"},
)
SINGLE_LOGGING = LOGGING.without("--save-best-model")

ONLY_NALU: dict[str, str] = dict.fromkeys(nf.NALU_FLAGS, "printed for layer NALU only")


def single_layer_model(c: Config) -> str:
    """Return what the name of a run of one layer begins with."""
    pieces = [c.layer_type.lower()]
    if c.nac_weight == "golden-ratio" and c.layer_type in ("NALU", "NAC"):
        pieces.append("gr")
    if c.layer_type == "NALU":
        pieces += nf.nalu_codes(c)
    if c.nru_div_mode == "div-sepSign" and c.layer_type == "NRU":
        pieces.append("sS")
    return "-".join(pieces)


SINGLE_LAYER_MODEL = nf.NameField(
    single_layer_model, ("layer_type", *nf.NALU_FLAGS, "nru_div_mode"), ONLY_NALU
)
FAMILY_CODES = {"uniform": "u", "exponential": "e", "benford": "b", "truncated-normal": "tn"}


def check_slices(c: Config) -> None:
    """Require slices that have a length, fit into the input and suffice for the operation."""
    from stable_nalu.dataset.simple_function import get_operation, subsets_from_ratios

    if c.simple:
        return
    try:
        subsets_from_ratios(c.input_size, c.subset_ratio, c.overlap_ratio, c.num_subsets)
    except ValueError as error:
        remedy = "change --subset-ratio, --overlap-ratio, --num-subsets or --input-size"
        raise OptionError("--subset-ratio", as_clause(error), remedy) from None
    try:
        get_operation(c.operation).check(c.num_subsets)
    except ValueError as error:
        raise OptionError("--num-subsets", as_clause(error), "use 2") from None


def check_units(c: Config) -> None:
    """Refuse options that the chosen units cannot follow."""
    units = {c.layer_type, c.first_layer} - {None}
    if c.trash_cell and "NRU" not in units:
        raise OptionError(
            "--trash-cell",
            f"{c.layer_type} has no trash cell, only the NRU has one",
            "use --layer-type NRU or leave the flag out",
        )
    if c.noise_range == BATCH_NOISE and "SignNMRU" in units:
        raise OptionError(
            "--noise-range",
            "SignNMRU reads it as plain bounds and cannot draw from [1,0]",
            "write the low end first; only the NMU knows [1,0]",
        )


def check_buildable(flag: str, unit: str) -> None:
    """Require a layer that can be built."""
    from stable_nalu.layer import entries

    entry = entries()[unit]
    if entry.layer is None:
        raise OptionError(
            flag,
            f"{unit} only names a second layer and cannot be built itself",
            "combine it with --nac-mul mnac and a --first-layer",
        )


def _check_single_layer(c: Config) -> None:
    """Require one unit that can be built; hidden layers are for plain activations only."""
    check_buildable("--layer-type", c.layer_type)
    if c.mlp_depth > 0 and c.layer_type not in activation_names():
        raise OptionError(
            "--mlp-depth",
            f"{c.layer_type} is not a plain activation and has no hidden layers",
            f"choose --layer-type from {', '.join(activation_names())}",
        )


def _check_distribution(c: Config) -> None:
    """Require ranges that suit the distribution."""
    from stable_nalu.dataset.distribution import SampleRange, make_distribution

    for flag, value, in_test in (
        ("--interpolation-range", c.interpolation_range, False),
        ("--extrapolation-range", c.extrapolation_range, True),
    ):
        distribution = make_distribution(c.sample_distribution, in_test)
        for interval in SampleRange.parse(value).intervals:
            try:
                distribution.check(interval)
            except ValueError as error:
                remedy = "choose a range that suits --sample-distribution"
                raise OptionError(flag, as_clause(error), remedy) from None


CHECKS = (
    check_slices,
    checks.check_schedule,
    checks.check_optimizer,
    checks.check_nalu,
    check_units,
    checks.check_files,
)
SINGLE_LAYER_CHECKS = (*CHECKS, _check_single_layer, _check_distribution)


class SingleLayerTask(OperationTask):
    """One module alone, or an MLP."""

    def build(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        from stable_nalu.network import SingleLayerNetwork

        return SingleLayerNetwork(
            config.layer_type,
            config.inputs,
            getattr(config, "output_size", 1),
            hidden_size=config.hidden_size,
            mlp_depth=getattr(config, "mlp_depth", 0),
            nac_mul=config.nac_mul,
            **layer_options,
        )
