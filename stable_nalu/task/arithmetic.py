"""The arithmetic scripts: layers that learn an operation on sums of slices of a vector.

Two layers on the arithmetic data set, with the penalties of the NPU papers or without; one module
alone, also as the robustness study, on ranges that grow, and as the benchmark of single modules.
"""

import math
from ast import literal_eval
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base.errors import OptionError
from stable_nalu.dataset import distribution, simple_function
from stable_nalu.dataset.simple_function import SampleStream, StoredStream
from stable_nalu.layer.registry import GeneralizedLayer, activation_names, brought, entries, owned
from stable_nalu.network.arithmetic import SimpleFunctionStaticNetwork, SingleLayerNetwork
from stable_nalu.options import Config, Flag, FlagGroup, ScriptSpec, flag, switch
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import BATCH_NOISE, as_clause, buildable_layers, choice, integer
from stable_nalu.statistics import setups
from stable_nalu.training import task
from stable_nalu.training.loop import Training
from stable_nalu.training.recorder import EvaluationSet, LogRecord, RandomModels, evaluate
from stable_nalu.training.step import GrowingPenalties, Penalties, TrainingStep, factor_at
from stable_nalu.writer.event_file import METRIC_TEST, METRIC_VALID, RESULT_TEST, RESULT_VALID

VALIDATION_SEED, TEST_SEED = 43953907, 8689336
READ_ROWS = 10_000
"""Rows of the training range that tell whether what a network computes is right there."""
ERRORS = ("loss_valid_inter", RESULT_VALID), ("loss_valid_extra", RESULT_TEST)
"""Names of errors among the results of a run."""
SUCCESS_THRESHOLD = 1e-7

_WEIGHT_PULL = "it had no effect in the published code either, leave it out"
_FIXED = (
    *(common.TASK, common.NETWORK, common.OWN_LAYERS, common.WEIGHTS, common.NALU, common.NPU),
    *(common.PENALTIES, common.NPU_PENALTIES, common.CRITERION),
    *(common.OPTIMIZER, common.LOGGING, common.RUN_CONTROL, [common.RANDOM_MODELS]),
)

script = partial(
    ScriptSpec,
    refused=dict.fromkeys(("--weight-pull-start", "--weight-pull-end"), _WEIGHT_PULL),
    fixed={flag.dest: flag.default for group in _FIXED for flag in group},
    drawn_by=(
        *("seed", "interpolation_range", "sample_distribution", "batch_size"),
        *("input_size", "simple", "num_subsets", "subset_ratio", "overlap_ratio"),
    ),
)
"""Makes the description of an arithmetic script."""


def build_dataset(config: Config) -> simple_function.SimpleFunctionStaticDataset:
    names = "operation", "input_size", "subset_ratio", "overlap_ratio", "num_subsets"
    own = {name: getattr(config, name) for name in (*names, "simple", "seed")}
    own["dist_params"] = getattr(config, "sample_distribution", ("uniform",))
    return simple_function.SimpleFunctionStaticDataset(**own)


class StoredData:
    """Streams of stored rows: of training, of validation and of tests, by their seeds."""

    def __init__(self, text: str, *streams: StoredStream):
        seeds = None, VALIDATION_SEED, *range(TEST_SEED, TEST_SEED + len(streams) - 2)
        self.text, self.streams = text, dict(zip(seeds, streams, strict=True))

    def get_input_size(self) -> int:
        return self.streams[None].x.shape[-1]

    def print_operation(self) -> str:
        return self.text

    def fork(self, sample_range: Any, seed: int | None = None, **_: Any) -> StoredStream:
        return self.streams[seed]


def _mlp(config: Config) -> nn.Module:
    first, last = nn.Linear(config.inputs, config.hidden_size), nn.Linear(config.hidden_size, 1)
    return nn.Sequential(first, nn.ReLU6(), last)


def is_whole(config: Config) -> bool:
    """Return whether a network of the program stands in the place of all layers."""
    return getattr(getattr(owned(config.layer_type), "module", None), "is_whole", False)


class OperationTask(task.EngineTask):
    """Learn an operation, in stacks of runs that the engine trains.

    Of a run's data set, training, validation and test streams are forks, in this order. Errors on
    fixed rows are measured at log points.
    """

    kind = task.Kind(exporter="simple_function_static.py", penalties=Penalties)
    logging = task.Logging(
        updates=True,
        infinity=True,
        draws=True,
        line="{loss:.5f}, inter: {valid:.5f}, extra: {test:.5f}",
        results=ERRORS,
    )
    eval_mode = True
    shown_inputs: ClassVar[float] = 10
    """Inputs of the largest layers whose weights the console shows."""
    tested: ClassVar[tuple[str, ...]] = METRIC_VALID, METRIC_TEST
    """The tags of the errors on fixed rows."""
    dataset: Any = staticmethod(build_dataset)
    """Returns what the streams of a run are forks of."""

    def __init__(self, config: Config, device: torch.device, *others: Config):
        super().__init__(config, device, *others)
        self.datasets = list(map(self.dataset, self.configs))
        pairs = list(zip(self.datasets, self.configs, strict=True))
        streams = self.training_streams()
        inputs = self.datasets[0].get_input_size()
        self.feed = simple_function.Feed(streams, config.batch_size, inputs)
        self.evaluation: list[EvaluationSet] = []
        if self.eval_mode is not None:
            valid = [d.fork(c.interpolation_range, seed=VALIDATION_SEED) for d, c in pairs]
            test = [self.test_stream(d, c) for d, c in pairs]
            self.evaluation = [EvaluationSet(s, device=device) for s in (valid, test)]
        self.about = f"dataset: {self.datasets[0].print_operation()}"
        own = config.schedule
        self._factor = None if own == "constant" else factor_at(brought(own))
        self._untrained: RandomModels | None = None
        if config.random_models:
            rows = [fixed.rows_of_runs() for fixed in self.evaluation]
            self._untrained = RandomModels(partial(_mlp, config), config.random_models, rows)

    @classmethod
    def goal(cls, config: Config) -> task.Goal:
        return task.Goal(limit=setups.limit_of(config))

    def initialized(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        # A network of the program is drawn when it is made, and when what holds it is complete.
        whole = is_whole(config)
        return (self.network if whole else super().initialized)(config, layer_options)

    def training_streams(self) -> list[SampleStream]:
        """Fork the training samples of all runs."""
        pairs = zip(self.datasets, self.configs, strict=True)
        return [dataset.fork(config.interpolation_range) for dataset, config in pairs]

    def test_stream(self, dataset: Any, config: Config) -> Any:
        """Fork the inputs that extrapolation is measured on, of the distribution meant for it."""
        if getattr(config, "extrapolation_rule", "range") == "exceed":
            ranges = config.interpolation_range, config.extrapolation_range
            return simple_function.ExceedingStream(dataset, *ranges, seed=TEST_SEED)
        return dataset.fork(config.extrapolation_range, seed=TEST_SEED, use_extrapolation=True)

    @classmethod
    def sizes(cls, config: Config) -> tuple[int, int]:
        return cls.dataset(config).get_input_size(), 1

    def samples(self) -> tuple[Sequence[SampleStream], task.Drawn]:
        return self.feed.streams, self.feed.draw

    def rate_factor(self, at: int) -> float:
        return 1.0 if self._factor is None else self._factor(at)

    def batches(self) -> Iterator[task.Batch]:
        yield self.feed.next()

    def observed(self, clock: int, *, at_log_point: bool) -> task.Observed | None:
        verbose = self.config.verbose
        if at_log_point:
            return task.Observed(True, verbose, verbose, verbose)
        return task.Observed() if verbose else None

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
        yield from zip(self.tested, found, strict=True) if scores is None else scores.logged(found)

    def observed_at_end(self, step: TrainingStep) -> list[LogRecord]:
        x = [rows.inputs(self.config.batch_size) for rows in self.evaluation[:1]]
        if self.engine is not None and x:
            return self.engine.observed(x[0].numpy())
        observed = step.observe_trained([one[0] for one in x], self.config.verbose)
        if self.engine is None:
            return observed
        own = {item.tag for item in observed}  # less than of inputs
        return [item for item in self.engine.observed(None) if item.tag in own]

    def report(self, model: ExtendedTorchModule, name: str, results: task.Results) -> Iterator[str]:
        shown = self.config.input_size <= self.shown_inputs
        if results is None:
            yield "  -"
            yield from super().report(model, name, None)
        elif shown:
            yield ""
        if shown:
            for name, parameter in model.named_parameters():
                if parameter.requires_grad:
                    yield name
                    yield f"{parameter.data if self.engine is None else parameter.data[0]}"
            yield ""

    def target(self) -> task.Target | None:
        c = self.config
        rows = self.dataset(c).fork(c.interpolation_range, seed=VALIDATION_SEED)
        x, t = rows[0:READ_ROWS]
        intervals = distribution.SampleRange.parse(c.extrapolation_range).intervals
        return task.Target(rows.targets, x, t, intervals, setups.limit_of(c))

    def get_state(self, run: int) -> dict[str, Any]:
        return {"random": self.feed.streams[run].random}


class SimpleFunctionStatic(OperationTask):
    """Two layers. The test inputs may have to exceed the training inputs."""

    logging = replace(OperationTask.logging, quiet_betas=True)
    shown_inputs = math.inf

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        if is_whole(config):
            return GeneralizedLayer(config.inputs, 1, config.layer_type)
        own = {"first_layer": config.first_layer, "nac_mul": config.nac_mul, **layer_options}
        sizes = config.inputs, config.hidden_size
        return SimpleFunctionStaticNetwork(config.layer_type, *sizes, **own)

    def report(self, model: ExtendedTorchModule, name: str, results: task.Results) -> Iterator[str]:
        yield from super().report(model, name, results)
        if results is not None:
            solved = results["loss_valid_extra"] <= SUCCESS_THRESHOLD
            yield f"Success (last epoch): \t{solved}"


class SingleLayerTask(OperationTask):
    """One module alone, or an MLP."""

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        own = {"hidden_size": config.hidden_size, "nac_mul": config.nac_mul, **layer_options}
        own["mlp_depth"] = getattr(config, "mlp_depth", 0)
        own["published_container"] = getattr(config, "published_container", False)
        outputs = getattr(config, "output_size", 1)
        return SingleLayerNetwork(config.layer_type, config.inputs, outputs, **own)


class RobustSingleLayer(SingleLayerTask):
    """Nothing is evaluated; what weights do is logged: the robustness study."""

    eval_mode = None
    logging = replace(
        SingleLayerTask.logging,
        quiet_betas=True,
        lines=1000,
        line="{loss:.5f}, reg loss: {penalty:.5f}, total: {total:.5f}",
    )

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        model = super().network(config, layer_options)
        for module in model.extended_modules():
            module.use_robustness_exp_logging = True
        return model


RANGES = ((1.1, 1.125), (1.1, 1.15), (1.1, 1.175), (1.1, 1.2))
THRESHOLD = 1e-2
"""Total loss that opens the second range, and a tenth of it each later one."""


class SingleLayerCurriculum(SingleLayerTask):
    """Batches are from the stream of each run's current range; streams keep their own positions.

    The published script measured errors in training mode.
    """

    kind = replace(SingleLayerTask.kind, penalties=GrowingPenalties)
    eval_mode = False
    in_python = True
    pause = 1

    def training_streams(self) -> list[SampleStream]:
        self.stages = [[d.fork(list(stage)) for stage in RANGES] for d in self.datasets]
        self.stage = [0] * len(self.stages)
        self.thresholds = [THRESHOLD] * len(self.stages)
        return [first for first, *_ in self.stages]

    def end(self, training: Training, units: int) -> None:
        if training.last_total is not None:
            for run in self.advance(training.last_total):
                training.line(run, f"cl update to ds {self.stage[run]}")

    def advance(self, total: torch.Tensor) -> Iterator[int]:
        """Move runs whose total loss is below their threshold to the next range, and yield them."""
        for run, last in enumerate(total.reshape(-1).tolist()):
            if last < self.thresholds[run] and self.stage[run] < len(RANGES) - 1:
                self._move(run, self.stage[run] + 1)
                self.thresholds[run] *= 0.1
                yield run

    def _move(self, run: int, stage: int) -> None:
        self.stage[run] = stage
        self.feed.streams[run] = self.stages[run][stage]

    def get_state(self, run: int) -> dict[str, Any]:
        randoms = {f"random {k}": own.random for k, own in enumerate(self.stages[run])}
        return {"stage": self.stage[run], "threshold": self.thresholds[run], **randoms}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        self._move(run, state["stage"])
        self.thresholds[run] = state["threshold"]


class RestartRule:
    """Decides, per run, whether to initialise again, by iNALU's rule.

    Once more than `max_stored` errors are recorded, they are halved in time: restart when the older
    mean does not exceed the newer mean plus its standard deviation while the newer mean is above
    `threshold`. A restart empties the record.
    """

    def __init__(self, runs: int, max_stored: int, threshold: float):
        self.max_stored, self.threshold = max_stored, threshold
        self.counts = [0] * runs
        self._stored = np.zeros(runs, np.int64)
        self._high = np.zeros(runs, np.int64)
        """Errors up to the last one that is above the threshold."""
        self._errors: list[list[tuple[np.ndarray, int]]] = [[] for _ in range(runs)]
        """Parts of the record, and how often each is repeated."""

    def record(self, errors: np.ndarray, times: int = 1) -> None:
        """Append errors `(runs, any number)`, each `times` times."""
        errors = errors.astype(np.float32)
        count, high = errors.shape[1], errors > self.threshold
        ends = self._stored + times * (count - high[:, ::-1].argmax(1))
        self._high = np.where(high.any(1), ends, self._high)
        self._stored += times * count
        for parts, own in zip(self._errors, errors, strict=True):
            if parts and len(own) == 1 and np.array_equal(parts[-1][0], own):
                parts[-1] = own, parts[-1][1] + times
            else:
                parts.append((own, times))

    def due(self) -> list[int]:
        """Return the runs to initialise again, and empty their records."""
        restarted = [run for run in range(len(self.counts)) if self._stuck(run)]
        for run in restarted:
            self._errors[run] = []
            self._stored[run] = self._high[run] = 0
            self.counts[run] += 1
        return restarted

    def _stuck(self, run: int) -> bool:
        stored = self._stored[run]
        # A mean is above the threshold only if an error is.
        if stored <= self.max_stored or self._high[run] <= stored // 2:
            return False
        every = np.concatenate([own.repeat(times) for own, times in self._errors[run]])
        older, newer = np.split(every, [stored // 2])
        with np.errstate(invalid="ignore", over="ignore"):  # infinite errors never restart
            mean = newer.mean()
            return bool(older.mean() <= mean + newer.std() and mean > self.threshold)

    def get_state(self, run: int) -> dict[str, Any]:
        parts = self._errors[run]
        values = np.concatenate([np.zeros(0, np.float32), *(own for own, _ in parts)])
        times = [times for own, times in parts for _ in own]
        return {"count": self.counts[run], "errors": torch.from_numpy(values), "times": times}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        values, times = state["errors"].numpy(), state["times"]
        once = all(number == 1 for number in times)
        pairs = zip(values[:, None], times, strict=True)
        self.counts[run], self._errors[run] = state["count"], [(values, 1)] if once else [*pairs]
        ends = np.cumsum(times, dtype=np.int64)
        self._stored[run] = ends[-1] if len(ends) else 0
        self._high[run] = ends[values > self.threshold].max(initial=0)


class SingleLayerBenchmark(SingleLayerTask):
    """iNALU's penalty begins, and runs are initialised again, by the validation error."""

    kind = replace(SingleLayerTask.kind, guided=True)

    def __init__(self, config: Config, device: torch.device, *others: Config):
        super().__init__(config, device, *others)
        self._restarts: RestartRule | None = None
        if config.reinit:
            stored, threshold = config.reinit_max_stored_losses, config.reinit_loss_thr
            self.pause = config.reinit_epoch_interval
            self._restarts = RestartRule(len(self.configs), stored, threshold)

    def end(self, training: Training, units: int) -> None:
        if self._restarts is not None:
            self._restarts.record(training.errors[RESULT_VALID][:, None], units)
            if training.clock and training.clock % self.config.reinit_epoch_interval == 0:
                due = self._restarts.due()
                training.restart([(run, self._restarts.counts[run] - 1) for run in due])

    def report(self, model: ExtendedTorchModule, name: str, results: task.Results) -> Iterator[str]:
        if self._restarts is not None and results is not None:
            yield f"Reinitialized {sum(self._restarts.counts)} times"
        yield from super().report(model, name, results)

    def get_state(self, run: int) -> dict[str, Any]:
        own = {} if self._restarts is None else self._restarts.get_state(run)
        return super().get_state(run) | own

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        if self._restarts is not None and state:
            self._restarts.set_state(run, state)


# A flag is a few lines of a table.
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


def _check_extrapolation_rule(c: Config) -> None:
    """Require that samples of the extrapolation range can exceed training, where they have to."""
    if c.extrapolation_rule == "range":
        return
    ranges = c.interpolation_range, c.extrapolation_range
    training, test = (distribution.SampleRange.parse(value).intervals for value in ranges)
    if min(min(i) for i in test) >= max(max(i) for i in training):
        return
    sizes = c.input_size, c.subset_ratio, c.overlap_ratio, c.num_subsets, c.simple
    error = _cannot_exceed(c.operation, repr(ranges), sizes)
    if error is not None:
        remedy = "widen it beyond --interpolation-range, or leave out --extrapolation-rule exceed"
        raise OptionError("--extrapolation-range", error, remedy)


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


def _single_layer_model(c: Config) -> str:
    """Return what the name of a run of one layer begins with."""
    pieces = [c.layer_type.lower()]
    if c.nac_weight == "golden-ratio" and c.layer_type in ("NALU", "NAC"):
        pieces.append("gr")
    if c.layer_type == "NALU":
        pieces += nf.nalu_codes(c)
    if c.nru_div_mode == "div-sepSign" and c.layer_type == "NRU":
        pieces.append("sS")
    return "-".join(pieces)


def _distribution(c: Config, shown: int) -> str:
    """Return what a name says of the distribution: its first numbers, whole ones if it is all."""
    family, *numbers = c.sample_distribution
    if family == "truncated-normal" and shown == len(numbers):
        numbers = [int(number) for number in numbers]
    codes = {"uniform": "u", "exponential": "e", "benford": "b", "truncated-normal": "tn"}
    return "-".join(["D", codes[family], *map(str, numbers[:shown])])


# A check, a script or a flag is a few lines of a table.
# fmt: off
def check_units(c: Config) -> None:
    units = {c.layer_type, c.first_layer} - {None}
    common.refuse(c.trash_cell and "NRU" not in units, "--trash-cell",
        f"{c.layer_type} has no trash cell, only the NRU has one",
        "use --layer-type NRU or leave the flag out")
    common.refuse(c.noise_range == BATCH_NOISE and "SignNMRU" in units, "--noise-range",
        "SignNMRU reads it as plain bounds and cannot draw from [1,0]",
        "write the low end first; only the NMU knows [1,0]")


def check_buildable(flag: str, unit: str) -> None:
    common.refuse(entries()[unit].layer is None, flag,
        f"{unit} only names a second layer and cannot be built itself",
        "combine it with --nac-mul mnac and a --first-layer")


def _check_two_layers(c: Config) -> None:
    """Require two layers that can be built and a second one that multiplies as asked for."""
    flag, unit = "--first-layer" if c.first_layer else "--layer-type", c.first_layer or c.layer_type
    check_buildable(flag, unit)
    if c.nac_mul == "mnac":
        common.check_multiplying_form(c, buildable_layers())
    elif c.nac_mul not in ("npu", "real-npu"):
        check_buildable("--layer-type", c.layer_type)


def _check_no_npu_terms(c: Config) -> None:
    for one in common.NPU_PENALTIES:
        common.refuse(getattr(c, one.dest) != one.default, one.name,
            "the loss of simple_function_static has no such term",
            "use simple_function_static_npu")


def _check_divisors(c: Config) -> None:
    """Require that a score of division has a finite base: no sum of inputs may be about zero."""
    if c.operation != "div" or not (c.random_models or c.extrapolation_rule != "range"):
        return
    start, end = build_dataset(c).subset_ranges[1]
    for one in ("interpolation", "extrapolation"):
        common.require_no_zero(getattr(c, f"{one}_range"), end - start, f"--{one}-range")


def _check_single_layer(c: Config) -> None:
    """Require one unit that can be built; hidden layers are for plain activations only."""
    check_buildable("--layer-type", c.layer_type)
    common.refuse(c.mlp_depth > 0 and c.layer_type not in activation_names(), "--mlp-depth",
        f"{c.layer_type} is not a plain activation and has no hidden layers",
        f"choose --layer-type from {', '.join(activation_names())}")


def _check_distribution(c: Config) -> None:
    for name, value, in_test in (("--interpolation-range", c.interpolation_range, False),
                                 ("--extrapolation-range", c.extrapolation_range, True)):
        family = distribution.make_distribution(c.sample_distribution, in_test)
        try:
            distribution.SampleRange.parse(value).checked(family)
        except ValueError as error:
            remedy = "choose a range that suits --sample-distribution"
            raise OptionError(name, as_clause(error), remedy) from None


def _check_growing_beta(c: Config) -> None:
    """Require that beta ends above its start, where it only grows; elsewhere it may fall, too."""
    start, end = c.regualizer_beta_start, c.regualizer_beta_end
    used = c.regualizer_l1 or c.regualizer_npu_w or c.regualizer_gate
    common.refuse(end < start and used, "--regualizer-beta-end",
        f"{end} is less than --regualizer-beta-start {start}",
        "beta only grows in this script; give a larger one")


_CHECKS = (check_slices, common.check_schedule, common.check_optimizer, common.check_nalu,
    check_units, common.check_files)
_SINGLE_CHECKS = (*_CHECKS, _check_single_layer, _check_distribution)

_NALU = common.NALU.without("--nac-weight")
_NPU_PENALTIES = common.NPU_PENALTIES.without("--lp-norm")
_STATIC_GROUPS = (
    common.TASK.without("--sample-distribution").but(
        operation={"choices": common.STATIC_OPERATIONS}, input_size={"default": 100},
        subset_ratio={"default": 0.25}, overlap_ratio={"default": 0.5}),
    common.NETWORK.only("--layer-type", "--first-layer", "--hidden-size", "--nac-mul"),
    common.OWN_LAYERS, common.WEIGHTS.without("--nru-div-mode"), _NALU,
    common.NPU.without("--realnpu-reg-type"), common.PENALTIES, _NPU_PENALTIES,
    common.CRITERION.but(pcc2mse_iteration={"default": 750000}),
    common.OPTIMIZER.without("--clip-grad-norm", "--clip-grad-value"),
    common.LOGGING, common.RUN_CONTROL,
)
_NO_TERM = {"note": "refused unless at its default, the loss has no such term"}
SCORE = FlagGroup(
    "Score",
    choice("--extrapolation-rule", "range",
        "Which samples of the extrapolation range are tested on: all, or those in which an operand "
        "or the target exceeds everything seen in training.", ("range", "exceed"), young=True,
        in_name="x-{extrapolation_rule:word}"),
    common.RANDOM_MODELS,
)
_STATIC_NAME = (
    nf.NameField(nf.two_layer_model, ("layer_type", "nac_mul", "first_layer", *nf.NALU_FLAGS),
        {"nac_mul": nf.COLLIDING, "first_layer": "only MultiWeightNAU is printed",
         "nalu_mul": nf.COLLIDING}),
    *nf.COMMON, nf.L1, nf.BETA, nf.NPU_WEIGHT, nf.GATE, nf.SCALE_TYPE, nf.NPU_CLIP, nf.NPU_INIT,
    nf.PRECISION, nf.NMU_NOISE, nf.NAU_NOISE, nf.BETA_NAU, nf.CRITERION_TRASH,
)
STATIC = script(
    name="simple_function_static", nac_mul_acts=True,
    summary="Train two layers on an operation on the sums of two slices of a vector.",
    example="--operation mul --layer-type ReRegualizedLinearNAC --nac-mul mnac --seed 0-9",
    groups=(
        *(g.but(**{flag.dest: _NO_TERM for flag in g}) if g is _NPU_PENALTIES else g
          for g in _STATIC_GROUPS),
        SCORE,
    ),
    name_fields=(*_STATIC_NAME, nf.ID),
    checks=(*_CHECKS, _check_two_layers, _check_no_npu_terms, _check_divisors,
        _check_extrapolation_rule),
)
STATIC_NPU = script(
    name="simple_function_static_npu", nac_mul_acts=True,
    summary="Train two layers as simple_function_static, with L1 and NPU penalties in the loss.",
    example="--operation div --layer-type ReRegualizedLinearNAC --nac-mul npu --regualizer-l1",
    groups=_STATIC_GROUPS,
    name_fields=(*_STATIC_NAME, nf.trailing(nf.NOISE_RANGE), nf.trailing(nf.ID)),
    checks=(*_CHECKS, _check_two_layers),
)

_ONLY_NALU: dict[str, str] = dict.fromkeys(nf.NALU_FLAGS, "printed for layer NALU only")
_MODEL = nf.NameField(
    _single_layer_model, ("layer_type", *nf.NALU_FLAGS, "nru_div_mode"), _ONLY_NALU)
# The network of one layer takes what that of two layers does.
_NETWORK = common.NETWORK.but(
    first_layer={"note": "recorded without effect, there is one layer"},
    hidden_size={"note": "used by plain activations only, recorded otherwise"},
    nac_mul={"note": "only max-safe has an effect, it adds the penalty z of the output"},
)
_ONE_UNIT = _NETWORK.without("--mlp-bias", "--mlp-depth")
LOGGING = common.LOGGING.without("--save-best-model")
SINGLE_LAYER = script(
    name="single_layer",
    summary="Train one unit alone on two or more inputs.",
    example="--operation div --layer-type RealNPU --learning-rate 5e-3 --seed 0-24",
    groups=(
        common.TASK, _ONE_UNIT, common.OWN_LAYERS, common.WEIGHTS.without("--W-set-count"), _NALU,
        common.NPU, common.PENALTIES, common.NPU_PENALTIES, common.CRITERION,
        common.OPTIMIZER.without("--clip-grad-value"), LOGGING, common.RUN_CONTROL,
    ),
    name_fields=(
        _MODEL, *nf.COMMON,
        nf.distribution(lambda c: _distribution(c, 4),
            "the numbers of truncated-normal are cut to whole ones"),
        nf.NOISE_RANGE, *nf.SINGLE_PENALTIES, nf.NMU_NOISE, nf.GRAD_NORM, nf.CRITERION_TRASH, nf.ID,
    ),
    checks=_SINGLE_CHECKS,
)
ROBUST = script(
    name="single_layer_robust",
    summary="Train one unit without validation and log the path of its weights.",
    example="--operation mul --layer-type ReRegualizedLinearMNAC --nmu-noise --verbose",
    groups=(
        common.TASK.but(
            extrapolation_range={"note": "part of the run name only, nothing is evaluated"}),
        _ONE_UNIT, common.OWN_LAYERS, common.WEIGHTS.without("--trash-cell", "--W-set-count"),
        _NALU, common.NPU, common.PENALTIES, _NPU_PENALTIES, common.CRITERION,
        common.OPTIMIZER.without("--clip-grad-value"),
        LOGGING.but(id={"note": "recorded only, the run name lacks it", "result": False}),
        common.RUN_CONTROL,
    ),
    name_fields=(
        _MODEL, *nf.COMMON,
        nf.distribution(lambda c: _distribution(c, 2),
            "the test mean and deviation of truncated-normal are not printed"),
        nf.NOISE_RANGE, *nf.SINGLE_PENALTIES, nf.NMU_NOISE, nf.GRAD_NORM, nf.LOG_INTERVAL,
        nf.CRITERION,
    ),
    checks=_SINGLE_CHECKS,
)
CURRICULUM = script(
    name="single_layer_curriculum", drawn_by=(),
    summary="Train one unit on [1.1,1.125] and three wider ranges, each until its loss is low.",
    example="--operation add --layer-type NAC --learning-rate 0.01",
    groups=(
        common.TASK.without("--sample-distribution").but(
            operation={"choices": common.STATIC_OPERATIONS},
            interpolation_range={"note": "range of the validation inputs, training has its own"}),
        _ONE_UNIT.without("--output-size"), common.OWN_LAYERS, common.WEIGHTS, _NALU, common.NPU,
        common.PENALTIES,
        _NPU_PENALTIES.without("--reg-scale-type").but(regualizer_npu_w={"kind": None,
            "default": False, "sweep": False, "help": "Add the penalty on undecided NPU weights."}),
        common.OPTIMIZER.without("--clip-grad-norm", "--clip-grad-value"), LOGGING,
        common.RUN_CONTROL,
    ),
    name_fields=(
        _MODEL, *nf.COMMON, nf.L1, nf.BETA, nf.NPU_WEIGHT_SWITCH, nf.GATE, nf.PRECISION,
        *nf.all_trailing(
            nf.NOISE_RANGE, nf.NMU_NOISE, nf.NAU_NOISE, nf.BETA_NAU, nf.NPU_CLIP, nf.NPU_INIT,
            nf.REALNPU_TYPE, nf.TRASH_CELL, nf.WEIGHT_SETS, nf.LOG_INTERVAL, nf.ID),
    ),
    checks=(*_SINGLE_CHECKS, _check_growing_beta),
)

_REINIT = FlagGroup(
    "Restarts",
    switch("--reinit",
        "Draw new start weights when validation has stopped improving (iNALU's rule)."),
    Flag("--reinit-epoch-interval", integer(1), 10,
        "Iterations between two tests of the restart rule."),
    Flag("--reinit-max-stored-losses", integer(0), 5000,
        "The rule applies once more validation errors than this are stored."),
    Flag("--reinit-loss-thr", flag.number(), 1.0,
        "Restart only while the mean of the newer half of the stored errors exceeds this."),
)
# Published names of these layers come from a script without criteria, hence without the field.
_NO_CRITERION_FIELD = ("MCFC", "MulMCFC", "MulMCFCSignINALU", "MulMCFCSignRealNPU")
BENCHMARK = script(
    name="single_layer_benchmark",
    summary="Train one unit, or an MLP, on the benchmark of single modules.",
    example="--operation mul --layer-type iNALU --clip-grad-value 0.1 --reinit --seed 0-24",
    groups=(
        common.TASK.without("--sample-distribution"),
        FlagGroup(_NETWORK.title, *_NETWORK, common.PUBLISHED_CONTAINER), common.OWN_LAYERS,
        common.WEIGHTS.without("--trash-cell", "--W-set-count"),
        common.NALU.but(nalu_mul={"choices": (*common.NALU_MUL, "golden-ratio")},
            nalu_gate={"choices": (*common.NALU_GATE, "golden-ratio")}),
        common.NPU, common.PENALTIES, _NPU_PENALTIES, common.CRITERION, common.OPTIMIZER, _REINIT,
        LOGGING, common.RUN_CONTROL,
    ),
    name_fields=(
        nf.NameField(_single_layer_model,
            ("layer_type", *nf.NALU_FLAGS, "nac_weight", "nru_div_mode"),
            _ONLY_NALU | {"nac_weight": "printed for layers NALU and NAC only"}),
        *nf.COMMON, *nf.SINGLE_PENALTIES, nf.GRAD_NORM, nf.GRAD_VALUE, nf.REINIT,
        nf.NameField(lambda c: None if c.layer_type in _NO_CRITERION_FIELD else nf.criterion(c),
            nf.CRITERION.flags,
            {**nf.CRITERION.partial, "train_criterion": "not printed for the MCFC layers"}),
        nf.ID,
    ),
    checks=_SINGLE_CHECKS,
)
SCRIPTS = (
    (STATIC, SimpleFunctionStatic), (STATIC_NPU, SimpleFunctionStatic),
    (SINGLE_LAYER, SingleLayerTask), (ROBUST, RobustSingleLayer),
    (CURRICULUM, SingleLayerCurriculum), (BENCHMARK, SingleLayerBenchmark),
)
"""Descriptions and tasks of all arithmetic scripts."""
