"""What the arithmetic scripts share: one or two layers learn an operation on slices of a vector."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base.errors import OptionError
from stable_nalu.base.tags import METRIC_TEST, METRIC_VALID, RESULT_TEST, RESULT_VALID
from stable_nalu.dataset import distribution, simple_function
from stable_nalu.layer.registry import activation_names, entries
from stable_nalu.network import arithmetic as arithmetic_networks
from stable_nalu.options import Config, FlagGroup, ScriptSpec
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import BATCH_NOISE, as_clause
from stable_nalu.statistics import setups
from stable_nalu.training.recorder import EvaluationSet, RandomModels, TaggedValue, evaluate
from stable_nalu.training.step import Penalties, TrainingStep
from stable_nalu.training.task import (
    Batch,
    Drawn,
    EngineTask,
    Goal,
    Kind,
    Logging,
    Observed,
    Results,
    Shape,
    Target,
)

from .description import DENSITY

VALIDATION_SEED, TEST_SEED = 43953907, 8689336
READ_ROWS = 10_000
"""Rows of the training range that tell whether what a network computes is right there."""
ERRORS = ("loss_valid_inter", RESULT_VALID), ("loss_valid_extra", RESULT_TEST)
"""Names of errors among the results of a run."""
SHOWN_INPUTS = 10
"""Inputs of the largest layers whose weights the console shows."""

_GROUPS = (
    *(common.TASK, common.NETWORK, common.OWN_LAYERS, common.WEIGHTS, common.NALU, common.NPU),
    *(common.PENALTIES, common.NPU_PENALTIES, common.CRITERION),
    *(common.OPTIMIZER, common.LOGGING, common.RUN_CONTROL),
)
_WEIGHT_PULL = "it had no effect in the published code either, leave it out"

script = partial(
    ScriptSpec,
    refused={"--weight-pull-start": _WEIGHT_PULL, "--weight-pull-end": _WEIGHT_PULL},
    fixed={
        flag.dest: flag.default for flag in (*(f for g in _GROUPS for f in g), common.RANDOM_MODELS)
    },
    drawn_by=(
        *("seed", "interpolation_range", "sample_distribution", "batch_size"),
        *("input_size", "simple", "num_subsets", "subset_ratio", "overlap_ratio"),
    ),
)
"""Makes the description of an arithmetic script."""

# The network of one layer takes what that of two layers does.
SINGLE_NETWORK = common.NETWORK.but(
    first_layer={"note": "recorded without effect, there is one layer"},
    hidden_size={"note": "used by plain activations only, recorded otherwise"},
    nac_mul={"note": "only max-safe has an effect, it adds the penalty z of the output"},
)
SINGLE_LOGGING = common.LOGGING.without("--save-best-model")

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
    if c.simple:
        return
    try:
        sizes = c.input_size, c.subset_ratio, c.overlap_ratio, c.num_subsets
        simple_function.subsets_from_ratios(*sizes)
    except ValueError as error:
        remedy = "change --subset-ratio, --overlap-ratio, --num-subsets or --input-size"
        raise OptionError("--subset-ratio", as_clause(error), remedy) from None
    try:
        simple_function.get_operation(c.operation).check(c.num_subsets)
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
    if entries()[unit].layer is None:
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
    for flag, value, in_test in (
        ("--interpolation-range", c.interpolation_range, False),
        ("--extrapolation-range", c.extrapolation_range, True),
    ):
        family = distribution.make_distribution(c.sample_distribution, in_test)
        try:
            distribution.SampleRange.parse(value).checked(family)
        except ValueError as error:
            remedy = "choose a range that suits --sample-distribution"
            raise OptionError(flag, as_clause(error), remedy) from None


CHECKS = (
    check_slices,
    common.check_schedule,
    common.check_optimizer,
    common.check_nalu,
    check_units,
    common.check_files,
)
SINGLE_LAYER_CHECKS = (*CHECKS, _check_single_layer, _check_distribution)

FORMULA_LAYERS = (
    *(common.OWN_LAYERS, common.WEIGHTS.without("--W-set-count")),
    *(common.NALU.without("--nac-weight"), common.PENALTIES),
)
FORMULA_NAME = (
    *nf.all_trailing(
        *(*nf.PENALTY_FIELDS, nf.GRAD_NORM, nf.GRAD_VALUE, "nru-{nru_div_mode}", nf.TRASH_CELL)
    ),
    *(
        f
        for f in nf.LAYER_OPTIONS_TRAILING
        if not {"mnac_epsilon", "regualizer_shape"} & {*f.flags}
    ),
    nf.trailing(nf.ID),
)
"""What run names of formulas end with."""
FORMULA_CHECKS = (
    common.check_schedule,
    common.check_optimizer,
    common.check_nalu,
    common.check_files,
)


def formula_logging(name: str) -> FlagGroup:
    """Return flags of logs, for a formula."""
    return SINGLE_LOGGING.but(name_prefix={"default": name}, log_interval={"unnamed": DENSITY})


def build_dataset(config: Config) -> simple_function.SimpleFunctionStaticDataset:
    """Return the data set that a configuration describes."""
    return simple_function.SimpleFunctionStaticDataset(
        config.operation,
        config.input_size,
        dist_params=getattr(config, "sample_distribution", ("uniform",)),
        subset_ratio=config.subset_ratio,
        overlap_ratio=config.overlap_ratio,
        num_subsets=config.num_subsets,
        simple=config.simple,
        seed=config.seed,
    )


class OperationTask(EngineTask):
    """Learn an operation, in stacks of runs that the engine trains.

    Of a run's data set, training, validation and test streams are forks, in this order. Errors on
    fixed rows are measured at log points.
    """

    kind = Kind(exporter="simple_function_static.py", penalties=Penalties)
    logging = Logging(
        updates=True,
        infinity=True,
        draws=True,
        line="{loss:.5f}, inter: {valid:.5f}, extra: {test:.5f}",
        results=ERRORS,
    )
    eval_mode: ClassVar[bool | None] = True
    """Whether models are measured in evaluation mode; None: they are not."""

    def __init__(self, config: Config, device: torch.device, *others: Config):
        super().__init__(config, device, *others)
        self.datasets = list(map(self.dataset, self.configs))
        streams = self.training_streams()
        self.feed = simple_function.Feed(
            streams, config.batch_size, self.datasets[0].get_input_size()
        )
        self.evaluation = self._fixed_rows()
        self.about = f"dataset: {self.datasets[0].print_operation()}"
        self._untrained = self._random_models() if config.random_models else None

    @classmethod
    def goal(cls, config: Config) -> Goal:
        return Goal(limit=setups.limit_of(config))

    @classmethod
    def dataset(cls, config: Config) -> Any:
        """Return what the streams of a run are forks of."""
        return build_dataset(config)

    def training_streams(self) -> list[simple_function.SampleStream]:
        """Fork the training samples of all runs."""
        pairs = zip(self.datasets, self.configs, strict=True)
        return [dataset.fork(config.interpolation_range) for dataset, config in pairs]

    def test_stream(
        self, dataset: simple_function.SimpleFunctionStaticDataset, config: Config
    ) -> simple_function.SampleStream | simple_function.ExceedingStream:
        """Fork the inputs that extrapolation is measured on."""
        return dataset.fork(config.extrapolation_range, seed=TEST_SEED)

    def _fixed_rows(self) -> list[EvaluationSet]:
        """Return the rows of validation and test."""
        if self.eval_mode is None:
            return []
        pairs = list(zip(self.datasets, self.configs, strict=True))
        validation = [d.fork(c.interpolation_range, seed=VALIDATION_SEED) for d, c in pairs]
        test = [self.test_stream(d, c) for d, c in pairs]
        return [EvaluationSet(own, device=self.device) for own in (validation, test)]

    def _random_models(self):
        inputs, hidden = self.config.inputs, self.config.hidden_size

        def build() -> torch.nn.Module:
            first, second = torch.nn.Linear(inputs, hidden), torch.nn.Linear(hidden, 1)
            return torch.nn.Sequential(first, torch.nn.ReLU6(), second)

        rows = [fixed.rows_of_runs() for fixed in self.evaluation]
        return RandomModels(build, self.config.random_models, rows)

    @classmethod
    def shape(cls, config: Config) -> Shape:
        inputs = cls.dataset(config).get_input_size()
        return Shape(config.batch_size, inputs, 1, cls.eval_mode, config.verbose)

    def samples(self) -> tuple[Sequence[simple_function.SampleStream], Drawn]:
        return self.feed.streams, self.feed.draw

    def batches(self) -> Iterator[Batch]:
        yield self.feed.next()

    def observed(self, clock: int, *, at_log_point: bool) -> Observed | None:
        verbose = self.config.verbose
        if at_log_point:
            return Observed(True, verbose, verbose, verbose)
        return Observed() if verbose else None

    def measures(self, model: ExtendedTorchModule) -> Iterator[tuple[str, torch.Tensor]]:
        if self.eval_mode is None:
            return
        scores = self._untrained
        if self.engine is None:
            how = {} if scores is None else {"measure": scores.measure}
            found = evaluate(model, self.evaluation, eval_mode=self.eval_mode, **how)
        else:
            roots = scores is not None
            found = [fixed.errors(self.engine, roots=roots) for fixed in self.evaluation]
            found = found if roots else [squared for (squared,) in found]
        tags = METRIC_VALID, METRIC_TEST
        yield from zip(tags, found, strict=True) if scores is None else scores.logged(found)

    def observed_at_end(self, step: TrainingStep) -> list[TaggedValue]:
        x = [rows.inputs(self.config.batch_size) for rows in self.evaluation[:1]]
        if self.engine is not None and x:
            return self.engine.observed(x[0].numpy())
        observed = step.observe_trained([one[0] for one in x], self.config.verbose)
        if self.engine is None:
            return observed
        own = {item.tag for item in observed}  # less than of inputs
        return [item for item in self.engine.observed(None) if item.tag in own]

    def report(self, model: ExtendedTorchModule, name: str, results: Results) -> Iterator[str]:
        if results is None:
            yield "  -"
            yield from super().report(model, name, None)
        elif self.shows_weights():
            yield ""
        if self.shows_weights():
            for name, parameter in model.named_parameters():
                if parameter.requires_grad:
                    yield name
                    yield f"{parameter.data if self.engine is None else parameter.data[0]}"
            yield ""

    def shows_weights(self) -> bool:
        """Return whether the console shows the weights of a single run."""
        return self.config.input_size <= SHOWN_INPUTS

    def target(self) -> Target | None:
        c = self.config
        rows = self.dataset(c).fork(c.interpolation_range, seed=VALIDATION_SEED)
        x, t = rows[0:READ_ROWS]
        intervals = distribution.SampleRange.parse(c.extrapolation_range).intervals
        return Target(rows.targets, x, t, intervals, setups.limit_of(c))

    def get_state(self, run: int) -> dict[str, Any]:
        return {"random": self.feed.streams[run].random}


class FormulaTask(OperationTask):
    """A formula whose rows Python makes, for networks of more than a layer."""

    kind = Kind(penalties=Penalties)
    in_python = True

    def shows_weights(self) -> bool:
        return False


class SingleLayerTask(OperationTask):
    """One module alone, or an MLP."""

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        return arithmetic_networks.SingleLayerNetwork(
            config.layer_type,
            config.inputs,
            getattr(config, "output_size", 1),
            hidden_size=config.hidden_size,
            mlp_depth=getattr(config, "mlp_depth", 0),
            nac_mul=config.nac_mul,
            **layer_options,
        )
