"""Two layers on sums of two slices of a vector, joined by an operation: the arithmetic data set."""

from ast import literal_eval
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base.errors import OptionError
from stable_nalu.dataset import distribution, simple_function
from stable_nalu.network import arithmetic as arithmetic_networks
from stable_nalu.options import Config, FlagGroup
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import as_clause, buildable_layers, choice
from stable_nalu.training.task import Results

from . import arithmetic

SUCCESS_THRESHOLD = 1e-7

GROUPS = (
    common.TASK.without("--sample-distribution").but(
        operation={"choices": common.STATIC_OPERATIONS},
        input_size={"default": 100},
        subset_ratio={"default": 0.25},
        overlap_ratio={"default": 0.5},
    ),
    common.NETWORK.only("--layer-type", "--first-layer", "--hidden-size", "--nac-mul"),
    *(common.OWN_LAYERS, common.WEIGHTS.without("--nru-div-mode")),
    *(common.NALU.without("--nac-weight"), common.NPU.without("--realnpu-reg-type")),
    *(common.PENALTIES, common.NPU_PENALTIES.without("--lp-norm")),
    common.CRITERION.but(pcc2mse_iteration={"default": 750000}),
    *(common.OPTIMIZER.without("--clip-grad-norm", "--clip-grad-value"), common.LOGGING),
    common.RUN_CONTROL,
)
_NO_TERM = {
    flag.dest: {"note": "refused unless at its default, the loss has no such term"}
    for flag in common.NPU_PENALTIES.without("--lp-norm")
}
SCORE = FlagGroup(
    "Score",
    choice(
        "--extrapolation-rule",
        "range",
        "Which samples of the extrapolation range are tested on: all, or those in which an operand "
        "or the target exceeds everything seen in training.",
        ("range", "exceed"),
        young=True,
        in_name="x-{extrapolation_rule:word}",
    ),
    common.RANDOM_MODELS,
)

NAME = (
    nf.NameField(
        nf.two_layer_model,
        ("layer_type", "nac_mul", "first_layer", *nf.NALU_FLAGS),
        {
            "nac_mul": nf.COLLIDING,
            "first_layer": "only MultiWeightNAU is printed",
            "nalu_mul": nf.COLLIDING,
        },
    ),
    *nf.COMMON,
    nf.L1,
    *(nf.BETA, nf.NPU_WEIGHT, nf.GATE, nf.SCALE_TYPE, nf.NPU_CLIP, nf.NPU_INIT, nf.PRECISION),
    *(nf.NMU_NOISE, nf.NAU_NOISE, nf.BETA_NAU, nf.CRITERION_TRASH),
)


def _check_two_layers(c: Config) -> None:
    """Require two layers that can be built and a second one that multiplies as asked for."""
    arithmetic.check_buildable(
        "--first-layer" if c.first_layer else "--layer-type", c.first_layer or c.layer_type
    )
    if c.nac_mul == "mnac":
        common.check_multiplying_form(c, buildable_layers())
    elif c.nac_mul not in ("npu", "real-npu"):
        arithmetic.check_buildable("--layer-type", c.layer_type)


def _check_no_npu_terms(c: Config) -> None:
    """Refuse penalties that the script does not have."""
    for flag in common.NPU_PENALTIES:
        if getattr(c, flag.dest) != flag.default:
            raise OptionError(
                flag.name,
                "the loss of simple_function_static has no such term",
                "use simple_function_static_npu",
            )


def _check_divisors(c: Config) -> None:
    """Require that a score of division has a finite base: no sum of inputs may be about zero."""
    if c.operation != "div" or not (c.random_models or c.extrapolation_rule != "range"):
        return
    sizes = c.input_size, c.subset_ratio, c.overlap_ratio, c.num_subsets
    slices = simple_function.SIMPLE_SUBSETS
    if not c.simple:
        slices = simple_function.subsets_from_ratios(*sizes)
    start, end = slices[1]
    for flag in ("interpolation_range", "extrapolation_range"):
        common.require_no_zero(getattr(c, flag), end - start, f"--{flag.replace('_', '-')}")


def _check_extrapolation_rule(c: Config) -> None:
    """Require that samples of the extrapolation range can exceed training, where they have to."""
    if c.extrapolation_rule == "range":
        return
    training, test = (
        distribution.SampleRange.parse(value).intervals
        for value in (c.interpolation_range, c.extrapolation_range)
    )
    if min(min(i) for i in test) >= max(max(i) for i in training):
        return
    sizes = c.input_size, c.subset_ratio, c.overlap_ratio, c.num_subsets, c.simple
    error = _cannot_exceed(c.operation, repr((c.interpolation_range, c.extrapolation_range)), sizes)
    if error is not None:
        raise OptionError(
            "--extrapolation-range",
            error,
            "widen it beyond --interpolation-range, or leave out --extrapolation-rule exceed",
        )


@cache
def _cannot_exceed(operation: str, ranges: str, sizes: tuple[Any, ...]) -> str | None:
    """Return what keeps the test rows from being drawn; it hardly depends on the seed."""
    names = "input_size", "subset_ratio", "overlap_ratio", "num_subsets", "simple"
    options = dict(zip(names, sizes, strict=True))
    dataset = simple_function.SimpleFunctionStaticDataset(operation, **options, seed=0)
    training, test = literal_eval(ranges)
    try:
        simple_function.ExceedingStream(dataset, training, test, seed=0)[0:1000]
    except ValueError as error:
        return as_clause(error)
    return None


CHECKS = (*arithmetic.CHECKS, _check_two_layers)

SCRIPT = arithmetic.script(
    name="simple_function_static",
    nac_mul_acts=True,
    summary="Train two layers on the arithmetic data set: sums of two slices of a vector, joined "
    "by an operation.",
    example="--operation mul --layer-type ReRegualizedLinearNAC --nac-mul mnac --seed 0-9",
    groups=(
        *(g.but(**_NO_TERM) if g.title == common.NPU_PENALTIES.title else g for g in GROUPS),
        SCORE,
    ),
    name_fields=(*NAME, nf.ID),
    checks=(*CHECKS, _check_no_npu_terms, _check_divisors, _check_extrapolation_rule),
)


class SimpleFunctionStatic(arithmetic.OperationTask):
    """Two layers; the test inputs may have to exceed those of training."""

    logging = replace(arithmetic.OperationTask.logging, quiet_betas=True)

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        return arithmetic_networks.SimpleFunctionStaticNetwork(
            config.layer_type,
            config.inputs,
            config.hidden_size,
            first_layer=config.first_layer,
            nac_mul=config.nac_mul,
            **layer_options,
        )

    def test_stream(
        self, dataset: simple_function.SimpleFunctionStaticDataset, config: Config
    ) -> simple_function.SampleStream | simple_function.ExceedingStream:
        if getattr(config, "extrapolation_rule", "range") == "range":
            return super().test_stream(dataset, config)
        ranges = config.interpolation_range, config.extrapolation_range
        return simple_function.ExceedingStream(dataset, *ranges, seed=arithmetic.TEST_SEED)

    def shows_weights(self) -> bool:
        return True

    def report(self, model: ExtendedTorchModule, name: str, results: Results) -> Iterator[str]:
        yield from super().report(model, name, results)
        if results is not None:
            solved = results["loss_valid_extra"] <= SUCCESS_THRESHOLD
            yield f"Success (last epoch): \t{solved}"


TASK = SimpleFunctionStatic
