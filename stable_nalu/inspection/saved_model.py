"""A saved model: its configuration and score, what it computes, why it failed, files of it."""

import json
import math
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, overload

import numpy as np
import torch

from stable_nalu import layer
from stable_nalu.base.errors import OptionError, UsageError, flagged, named_as_in_python
from stable_nalu.base.files import SAFETENSORS, atomic_path, atomic_text_file, model_file, save_root
from stable_nalu.base.script import ScriptParser, adder, bar, exit_code, fact, say
from stable_nalu.layer import Layer, entries, own_entries
from stable_nalu.layer.base import GatedInputs
from stable_nalu.layer.nalu import AbstractNALULayer, DMULayer, INALULayer
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.options.flags import owned_names, units_of
from stable_nalu.training import as_at_the_start, default_dtype
from stable_nalu.training.checkpoint import PlannedRun, load_torch, restore_parameters
from stable_nalu.training.loop import Training
from stable_nalu.training.task import Target, Task
from stable_nalu.writer import RunRecord
from stable_nalu.writer.event_file import FILE_PREFIX, METRIC_VALID, RESULT_TEST, EventFileReader

from .formula import FARTHEST, VERDICTS, Certificate, certificate, recurrent_certificate


class LoggedRun(Protocol):
    """A run of `train` or `read_runs`."""

    @property
    def folder(self) -> Path: ...


@dataclass(frozen=True)
class Score:
    """How good a trained model is: its test error, and whether that is below the threshold.

    threshold, solved: None for tasks without a threshold.
    """

    test_error: float
    threshold: float | None
    solved: bool | None


class TrainedModel(torch.nn.Module):
    """A trained network: `module`, which it calls, with its configuration and its score."""

    def __init__(self, training: Training, score: Score, record: RunRecord):
        super().__init__()
        self.module = training.model.eval()
        self.task, self.config = training.task, training.config
        self.score, self.record = score, record

    def forward(self, x: Any) -> Any:
        return self.module(x)

    @cached_property
    def card(self) -> dict[str, Any]:
        """Return what a reader of an exported file must know: layer, task, score, versions."""
        names = (name for name in units_of(self.config) if name in entries())
        unit = entries().get(next(names, ""))
        learned, record = None, self.record
        with suppress(UsageError):
            learned = str(self.formula())
        found = {"layer": "label", "key": "key", "formula": "formula"}
        return {
            **{name: unit and getattr(unit, field) for name, field in found.items()},
            **{"task": self.config.script, **asdict(self.score), "learned": learned},
            **{"config": dict(record.config), "command": record.command},
            "versions": dict(record.versions),
        }

    def formula(self) -> Any:
        """Return the formula of the network, and whether it is the target of its task.

        Of a function or a table nobody knows the formula: then it is the network's alone.
        """
        target = self.target
        names = getattr(self.task, "names", None)
        if target is None and names:
            from .own_formula import module_formula

            with self.precision():
                return module_formula(self.module, names, None)
        if target is None:
            has = "those of arithmetic, of chains, of sums over sequences and of EML trees do"
            raise UsageError(f"runs of {self.config.script} have no formula; {has}")
        network: Any = self.module
        judge = recurrent_certificate if target.x.ndim == 3 else certificate
        with self.precision():
            inside = float(((network(target.x) - target.t) ** 2).mean()) / target.scale
            errors = {"solved": self.score.test_error, "solved_inside": inside}
            outcome = {name: bool(target.limit.met(error)) for name, error in errors.items()}
            return judge(network, target.targets, target.x.shape[-1], target.intervals, **outcome)

    @cached_property
    def target(self) -> Target | None:
        """Return what its task asks for; None: no formula."""
        with self.precision():
            return self.task.target()

    @contextmanager
    def precision(self) -> Iterator[None]:
        with default_dtype(self.config), torch.no_grad():
            yield

    @named_as_in_python()
    def export(self, path: str | Path) -> Path:
        """Write the network as `.onnx` or `.safetensors`, and its card as JSON next to it."""
        path = Path(path)
        write = _FORMATS.get(path.suffix)
        if write is None:
            raise UsageError(f"{path} has no format; end its name in {' or '.join(_FORMATS)}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write(self, path)
            with atomic_text_file(path.with_suffix(".json"), named=True) as file:
                json.dump(self.card, file, indent=1)
                file.write("\n")
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None
        return path


@overload
def load(run: LoggedRun) -> TrainedModel: ...
@overload
def load(run: str | Path) -> Any: ...
@named_as_in_python()
def load(run: LoggedRun | str | Path) -> Any:
    """Return the trained network of a run, with its configuration and its score.

    Args:
        run: a run of `train` or `read_runs`, the folder of its log, or a file that a network's or a
            layer's `export` has written, such as "unit.safetensors".

    Examples:
        >>> unit = sn.load(runs.best)
        >>> unit(torch.tensor([[3.0, 4.0]])).item()
        12.0
    """
    from stable_nalu.task.table import SCRIPTS, TASKS

    if not (isinstance(run, str | Path) or hasattr(run, "folder")):
        remedy = "give one run, such as runs[0] or runs.best, or the folder of its log"
        raise UsageError(f"run: {remedy}")
    if isinstance(run, str | Path) and Path(run).suffix == SAFETENSORS:
        return _of_file(Path(run))
    folder = (Path(run) if isinstance(run, str | Path) else run.folder).absolute()
    record = RunRecord.read(folder)
    if record is None:
        raise UsageError(f"run: {folder} holds no record of a run; name the folder of its log")
    return _loaded(SCRIPTS[record.script], TASKS[record.script], folder, record)


def _loaded(spec: ScriptSpec, task: type[Task], folder: Path, record: RunRecord) -> TrainedModel:
    config = spec.recorded(record.config, no_cuda=True)
    _know_layers(record, config)
    name = spec.run_name(config)
    root = folder.parents[name.count("/")]
    beside = model_file(root.parent / "save", name)
    file = beside if root.name == "tensorboard" and beside.exists() else None
    file = file or model_file(save_root(), name)
    if not file.exists():
        raise UsageError(f"there is no saved model {file}; name its folder by SAVE_DIR")
    checkpoint = load_torch(file)
    with as_at_the_start():
        training = _restored(task, spec, config, checkpoint, file)
        score = _score(training, checkpoint)
    return TrainedModel(training, score, record)


def _of_file(path: Path) -> TrainedModel | Layer:
    """Return the network, or the layer, that `export` has written."""
    from stable_nalu.layer.tensor_file import read_tensors
    from stable_nalu.task.table import SCRIPTS, TASKS

    tensors, about = read_tensors(path)
    if "unit" in about:
        name, sizes, options = about["unit"]
        dtype = next((value.dtype for value in tensors.values() if value.is_floating_point()), None)
        with as_at_the_start():
            unit = _class_of(name, path)(*sizes, **options, dtype=dtype)
        restore_parameters(unit.state_dict(), tensors, path)
        return unit
    card = about.get("card", {})
    if card.get("task") not in SCRIPTS:
        raise UsageError(f"run: {path} was not written by export() of a network or a layer")
    spec = SCRIPTS[card["task"]]
    record = RunRecord(card["task"], card["config"], card["command"], card["versions"], None)
    values = spec.defaults | {n: v for n, v in record.config.items() if n in spec.defaults}
    config = Config(spec, values | {"no_cuda": True}, frozenset(values))
    for unit in units_of(config):
        if unit not in entries():
            _class_of(unit, path)
    with as_at_the_start():
        saved = {"model_state_dict": tensors, "epoch": config.max_iterations}
        training = _restored(TASKS[spec.name], spec, config, saved, path)
    return TrainedModel(training, Score(*(card[f.name] for f in fields(Score))), record)


def _class_of(name: str, path: Path) -> Any:
    """Return the class of a layer of this package or one that is registered."""
    own = {entry.module.__name__: entry.module for entry in own_entries()}
    found = own.get(name) or getattr(layer, name, None)
    if not isinstance(found, type):
        remedy = f"define the class and call stable_nalu.register({name}) first"
        raise UsageError(f"{path} holds a {name}, which is not known here; {remedy}")
    return found


def _know_layers(record: RunRecord, config: Config) -> None:
    """Make the layers of a run known, or say how to."""
    if not record.layer_files:
        return
    from stable_nalu.layer.own_layers import digests_of, load_layer_file, read_layer_file

    for file in record.layer_files:
        path = Path(file["path"])
        if path.suffix == ".py" and path.is_file():
            if read_layer_file(str(path)).sha256 != file["sha256"]:
                raise UsageError(f"{path} was changed after this run; put back what it was")
            load_layer_file(str(path))
    recorded = {file["sha256"] for file in record.layer_files}
    for unit in owned_names(config):
        if unit in units_of(config) and unit not in entries():
            remedy = f"define the class and call stable_nalu.register({unit}) first"
            raise UsageError(f"{unit} is a layer of the program that trained this run; {remedy}")
        if not recorded.issuperset(digests_of([unit])):
            raise UsageError(f"{unit} is another class than the one that was trained; register it")


def _score(training: Training, checkpoint: Mapping[str, Any]) -> Score:
    """Return the test error of the model as it is, where that is quick, else the last logged."""
    limits = training.limits
    if not limits:
        error = checkpoint["progress"]["errors"].get(RESULT_TEST, float("nan"))
        return Score(float(error), None, None)
    with default_dtype(training.config):
        list(training._measure())
    error = float(training.errors[RESULT_TEST][0])
    return Score(error, limits[0].threshold, bool(limits[0].met(error)))


def trained_run(task: type[Task], spec: ScriptSpec, config: Config) -> Training:
    """Return the run whose saved model `--evaluate` names, with the surroundings of a command."""
    file = Path(config.evaluate)
    checkpoint = load_torch(file, "--evaluate")
    saved = checkpoint.get("config") if isinstance(checkpoint, dict) else None
    wanted = [flag.dest for flag in spec.flags if flag.result]
    not_ours = UsageError(f"argument --evaluate: {file} is not a checkpoint of {spec.name}.py")
    if not isinstance(saved, dict) or not set(wanted) <= set(saved):
        raise not_ours
    trained = config.replace(**{dest: saved[dest] for dest in wanted})
    try:
        return _restored(task, spec, trained, checkpoint, file)
    except (UsageError, LookupError, TypeError, AttributeError):
        raise not_ours from None


def _restored(
    task: type[Task], spec: ScriptSpec, config: Config, checkpoint: Mapping[str, Any], file: Path
) -> Training:
    try:
        with default_dtype(config):
            run = Training(task, [PlannedRun.of(spec, config)])
    except ValueError as error:
        raise UsageError(str(error)) from None
    restore_parameters(run.model.state_dict(), checkpoint["model_state_dict"], file)
    run.set_clock(checkpoint)
    return run


def _write_safetensors(model: TrainedModel, path: Path) -> None:
    from stable_nalu.layer.tensor_file import write_tensors

    write_tensors(path, model.module.state_dict(), card=model.card)


def _write_onnx(model: TrainedModel, path: Path) -> None:
    if "input_size" not in model.config.as_dict():
        raise UsageError(f"{model.config.script} has no vectors as inputs; write .safetensors")
    try:
        import onnx  # noqa: F401  # pyright: ignore[reportMissingImports]
        import onnxscript  # noqa: F401  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError as error:
        remedy = "pip install 'stable-nalu[onnx]'"
        raise UsageError(f"ONNX needs the package {error.name}: {remedy}") from None
    first = next(model.module.parameters(), torch.empty(()))
    x = torch.ones(2, model.config.inputs, dtype=first.dtype)
    batch = torch.export.Dim("batch")
    how = {"input_names": ["x"], "output_names": ["y"], "dynamic_shapes": ({0: batch},)}
    how |= {"dynamo": True, "external_data": False, "verbose": False}
    # Torch warns of itself.
    with warnings.catch_warnings(action="ignore"), atomic_path(path, named=True) as temporary:
        torch.onnx.export(model.module.eval(), (x,), str(temporary), **how)


_FORMATS = {".onnx": _write_onnx, SAFETENSORS: _write_safetensors}


def export_command(argv: Sequence[str] | None = None) -> int:
    about = "Write the trained model of a run as .onnx or .safetensors, with a card beside it: "
    about += "layer, task, test error, threshold, versions."
    parser = ScriptParser(prog="model.py", description=about)
    adder(parser)("--run PATH", "folder of the run's log", required=True)
    adder(parser)("--out FILE", "file to write", required=True)
    arguments = parser.parse_args(argv)

    def write() -> None:
        path = Path(arguments.out)
        if path.suffix not in _FORMATS:
            remedy = f"end its name in {' or '.join(_FORMATS)}"
            raise OptionError("--out", f"{path} has no format", remedy)
        with flagged("--run"):
            model = load(arguments.run)
        say(f"{model.export(path)}\n{path.with_suffix('.json')}")

    return exit_code("model.py", write)


@overload
def formula(run: LoggedRun | str | Path) -> Certificate: ...
@overload
def formula(
    run: torch.nn.Module,
    inputs: Sequence[str] | None = None,
    *,
    within: tuple[float, float] | None = None,
) -> Any: ...
@named_as_in_python()
def formula(
    run: LoggedRun | torch.nn.Module | str | Path,
    inputs: Sequence[str] | None = None,
    *,
    within: tuple[float, float] | None = None,
) -> Any:
    """Return the formula of a trained network, and whether it is the target of its task.

    Args:
        run: a run of an arithmetic script, the folder of its log, what `load` returns, or any
            module, which has no task.
        inputs: names for the inputs of a module, such as ["m1", "m2", "r"]; None: x1, x2, ….
        within: the range of the inputs of a module; None: positive, where signs matter.

    Examples:
        >>> print(sn.formula(runs.best))
        learned: x1*x2, exact as trained
    """
    model = run if isinstance(run, torch.nn.Module) else load(run)
    if isinstance(model, TrainedModel) and inputs is None and within is None:
        return model.formula()
    from .own_formula import module_formula

    return module_formula(getattr(model, "module", model), inputs, within)


SECONDS = 1.0


def in_short(spec: ScriptSpec, task: type[Task], folders: Sequence[Path]) -> str | None:
    """Return in one line what runs of a script have learned, if that takes at most `SECONDS`.

    Those are of the processor, by the pace of the formulas before.
    """
    found: list[Certificate] = []
    for folder in folders:
        record = RunRecord.read(folder)
        assert record is not None
        found.append(_loaded(spec, task, folder.absolute(), record).formula())
        if len(found) == 1:
            began = time.process_time()
        elif (time.process_time() - began) / (len(found) - 1) * (len(folders) - 1) > SECONDS:
            return None
    if len(folders) == 1:
        text = str(found[0]).removeprefix("learned: ")
        return fact("learned" if text != str(found[0]) else "formula", text)
    return fact("formula", counted([one.verdict for one in found]))


def counted(verdicts: Sequence[str]) -> str:
    """Return how many runs have each verdict: `22 of 25 exact after rounding, 3 wrong`."""
    counts = Counter(verdicts)
    first, *others = (v for v in VERDICTS if counts[v])
    rest = [f"{counts[verdict]} {verdict}" for verdict in others]
    return ", ".join([f"{counts[first]} of {len(verdicts)} {first}", *rest])


def formula_command(argv: Sequence[str] | None = None) -> int:
    parser = ScriptParser(
        prog="formula.py",
        description="Say what trained networks compute, as a formula, and whether it is the one "
        f"that was asked for: {'; '.join(VERDICTS)}.",
    )
    adder(parser)("--run PATH ...", "folder of a run's log, or of many", required=True)
    adder(parser)("--csv-out FILE", "write a row per run, too")
    arguments = parser.parse_args(argv)

    def report() -> None:
        folders: list[Path] = []
        for path in map(Path, arguments.run):
            own = [path] if RunRecord.read(path) else []
            own = own or sorted(p for p in path.rglob("*") if p.is_dir() and RunRecord.read(p))
            if not own:
                raise OptionError("--run", f"{path} holds no run", "name a folder of logs")
            folders += own
        every = [formula(folder) for folder in bar(folders, unit="runs", what="formulas")]
        for folder, found in zip(folders, every, strict=True):
            say(f"{folder.name}: {found}" if len(folders) > 1 else str(found))
        if len(folders) > 1:
            say(counted([found.verdict for found in every]))
        if arguments.csv_out:
            from stable_nalu.statistics.table import write_rows

            pairs = zip(folders, every, strict=True)
            rows = [{"name": folder.name, **found.row} for folder, found in pairs]
            write_rows(Path(arguments.csv_out), rows)

    return exit_code("formula.py", report)


NAN, EXPLODED, VANISHED, GATE = "not a number", "exploded", "vanished", "gate stuck"
IMPRECISE, SLOW, CORNER, DENSE = "correct, not precise", "slow", "wrong corner", "not sparse"
FAILURES = {
    NAN: "a weight or an error of the end is not a finite number",
    EXPLODED: "the last error is over ten times the first, or answers spread a hundredfold",
    IMPRECISE: "weights are within 0.1 of the right whole numbers",
    SLOW: "the error still halves in the last tenth of the run",
    VANISHED: "the answers spread less than a hundredth of what is right",
    GATE: "a gate is more than 0.1 from where the task needs it",
    CORNER: "all weights are within 0.1 of whole numbers, which are not the right ones",
    DENSE: "a weight is farther than that from all whole numbers, and the error does not fall",
}
"""Class of failure -> its rule."""
UNCLASSIFIED = "unclassified"

_CHOOSES = AbstractNALULayer, INALULayer, DMULayer
"""Layers with gates between a sum (1) and a product (0); `GatedInputs` have one for each input."""


def curve(folder: Path) -> np.ndarray:
    """Return the steps at which a run has logged its error in training range, and the errors."""
    files = sorted(p for p in folder.iterdir() if p.name.startswith(FILE_PREFIX))
    events = (event for file in files for event in EventFileReader(file))
    logged = ((event.step, dict(zip(event.tags, event.values, strict=True))) for event in events)
    points = [(step, values[METRIC_VALID]) for step, values in logged if METRIC_VALID in values]
    return np.array(points, float).reshape(-1, 2).T


def failure(
    network: torch.nn.Module,
    target: Target,
    errors: np.ndarray,
    found: Certificate | None,
    sparsity: float = math.nan,
) -> str:
    """Return the class of a failed run: the first of `FAILURES` whose rule holds.

    Errors, and scales of the right answers, are of the training range. errors: the errors of its
    `curve`. found: what it computes, if known; else `sparsity`, the largest logged distance of its
    weights from whole numbers, replaces it.
    """
    state = network.state_dict().values()
    if not (len(errors) and np.isfinite(errors[-1]) and all(v.isfinite().all() for v in state)):
        return NAN if len(errors) else UNCLASSIFIED
    with torch.no_grad():
        spread = _spread(network(target.x)) / _spread(target.t)
    if errors[-1] > 10 * errors[0] or spread > 100:
        return EXPLODED
    change = sparsity if found is None else found.change
    if found is not None and found.proof and change <= FARTHEST:
        return IMPRECISE
    tenth = len(errors) // 10
    if tenth and np.median(errors[-tenth:]) <= np.median(errors[-2 * tenth : -tenth]) / 2:
        return SLOW
    if spread < 0.01:
        return VANISHED
    if any(gap > FARTHEST for gap in _gate_gaps(network, target)):
        return GATE
    if change > FARTHEST:
        return DENSE
    return UNCLASSIFIED if found is None or math.isnan(change) else CORNER


def _spread(values: torch.Tensor) -> float:
    """Return the median distance from the median, which single huge values do not move."""
    return float((values - values.median()).abs().median())


def _gate_gaps(network: torch.nn.Module, target: Target) -> Iterator[float]:
    """Yield how far each gate is from where the task needs it, for inputs of the training range.

    Where a gate depends on the inputs, its mean counts. Layers before the last one are to add.
    """
    units = [m for m in network.modules() if isinstance(m, (*_CHOOSES, GatedInputs))]
    seen: dict[int, torch.Tensor] = {}
    for place, unit in enumerate(units):
        own: Any = unit.gate

        def kept(*args: Any, own: Any = own, place: int = place) -> torch.Tensor:
            gate = own(*args)
            seen.setdefault(place, gate.detach())
            return gate

        unit.gate = kept  # pyright: ignore[reportAttributeAccessIssue]
    try:
        with torch.no_grad():
            network(target.x)
    finally:
        for unit in units:
            del unit.gate
    name, inputs = target.targets.operation.name, target.x.shape[1]
    read = [list(range(*operand)) for operand in target.targets.operands]
    for place, gate in seen.items():
        if isinstance(units[place], _CHOOSES):
            adds = place < len(units) - 1 or name in ("add", "sub")
            yield float((gate.double().mean() - float(adds)).abs())
        elif gate.numel() in (inputs, 2 * inputs):
            if gate.numel() > inputs and name in ("div", "reciprocal"):  # 1 / x is behind all x
                read[-1] = [inputs + k for k in read[-1]]
            yield float((1 - gate.double().reshape(-1)[sum(read, [])]).abs().max())
