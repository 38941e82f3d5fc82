"""A saved model with its configuration and its score, what it computes, and files made of it."""

import argparse
import json
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import torch

from stable_nalu.base.errors import OptionError, UsageError, named_as_in_python
from stable_nalu.base.files import atomic_path, atomic_text_file, model_file, save_root
from stable_nalu.base.script import ScriptParser, bar, exit_code, fact, say
from stable_nalu.layer import entries
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.options.flags import units_of
from stable_nalu.training.checkpoint import load_torch, restore_parameters
from stable_nalu.training.loop import Training
from stable_nalu.training.runs import PlannedRun
from stable_nalu.training.surroundings import as_at_the_start, default_dtype, precision
from stable_nalu.training.task import Target, Task
from stable_nalu.writer import RunRecord
from stable_nalu.writer.event_file import RESULT_TEST

from .formula import VERDICTS, Certificate, certificate, recurrent_certificate


class LoggedRun(Protocol):
    """A run of `train` or `read_runs`."""

    @property
    def folder(self) -> Path:
        """Return the folder of its log."""
        ...


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
        self.task = training.task
        self.config = training.config
        self.score = score
        self.record = record

    def forward(self, x: Any) -> Any:
        """Return what the network makes of inputs."""
        return self.module(x)

    @cached_property
    def card(self) -> dict[str, Any]:
        """Return what a reader of an exported file must know: layer, task, score, versions."""
        names = (name for name in units_of(self.config) if name in entries())
        unit = entries().get(next(names, ""))
        return {
            "layer": unit and unit.label,
            "key": unit and unit.key,
            "formula": unit and unit.formula,
            "task": self.config.script,
            "test_error": self.score.test_error,
            "threshold": self.score.threshold,
            "solved": self.score.solved,
            "learned": self._learned(),
            "config": dict(self.record.config),
            "command": self.record.command,
            "versions": dict(self.record.versions),
        }

    def formula(self) -> Certificate:
        """Return what the network computes, and whether it is what its task asks for."""
        target = self.target
        if target is None:
            has = "those of arithmetic, of chains, of sums over sequences and of EML trees do"
            raise UsageError(f"runs of {self.config.script} have no formula; {has}")
        network: Any = self.module
        judge = recurrent_certificate if target.x.ndim == 3 else certificate
        with self.precision():
            error = float(((network(target.x) - target.t) ** 2).mean()) / target.scale
            return judge(
                network,
                target.targets,
                target.x.shape[-1],
                target.intervals,
                solved=bool(target.limit.met(self.score.test_error)),
                solved_inside=bool(target.limit.met(error)),
            )

    @cached_property
    def target(self) -> Target | None:
        """Return what its task asks for; None: no formula."""
        with self.precision():
            return self.task.target()

    @contextmanager
    def precision(self) -> Iterator[None]:
        """Compute as the run did, without gradients."""
        with default_dtype(precision(self.config)), torch.no_grad():
            yield

    def _learned(self) -> str | None:
        """Return the formula in words, where there is one."""
        try:
            return str(self.formula())
        except UsageError:
            return None

    @named_as_in_python()
    def export(self, path: str | Path) -> Path:
        """Write the network as `.onnx` or `.safetensors`, with its card, as JSON, beside it."""
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


@named_as_in_python()
def load(run: LoggedRun | str | Path) -> TrainedModel:
    """Return the trained network of a run, with its configuration and its score.

    Args:
        run: a run of `train` or `read_runs`, or the folder of its log.

    Examples:
        >>> unit = sn.load(runs.best)
        >>> unit(torch.tensor([[3.0, 4.0]])).item()
        12.0
    """
    from stable_nalu.task.table import SCRIPTS, TASKS

    if not (isinstance(run, str | Path) or hasattr(run, "folder")):
        raise UsageError(
            "run: give one run, such as runs[0] or runs.best, or the folder of its log"
        )
    folder = (Path(run) if isinstance(run, str | Path) else run.folder).absolute()
    record = RunRecord.read(folder)
    if record is None:
        raise UsageError(f"{folder} holds no record of a run; name the folder of its log")
    return _loaded(SCRIPTS[record.script], TASKS[record.script], folder, record)


def _loaded(spec: ScriptSpec, task: type[Task], folder: Path, record: RunRecord) -> TrainedModel:
    config = _config(spec, record.config)
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


def _config(spec: ScriptSpec, values: Mapping[str, Any]) -> Config:
    values = spec.defaults | {name: v for name, v in values.items() if name in spec.defaults}
    return Config(spec, values | {"no_cuda": True}, frozenset(values))


def _know_layers(record: RunRecord, config: Config) -> None:
    """Make the layers of a run known, or say how to."""
    if record.layer_files:
        from stable_nalu.layer.own_layers import digests_of, load_layer_file, read_layer_file
    for file in record.layer_files:
        path = Path(file["path"])
        if path.suffix == ".py" and path.is_file():
            if read_layer_file(str(path)).sha256 != file["sha256"]:
                raise UsageError(f"{path} was changed after this run; put back what it was")
            load_layer_file(str(path))
    for unit in units_of(config):
        if record.layer_files and unit not in entries():
            remedy = f"define the class and call stable_nalu.register({unit}) first"
            raise UsageError(f"{unit} is a layer of the program that trained this run; {remedy}")
    recorded = {file["sha256"] for file in record.layer_files}
    for unit in units_of(config) if recorded else ():
        if not recorded.issuperset(digests_of([unit])):
            raise UsageError(f"{unit} is another class than the one that was trained; register it")


def _score(training: Training, checkpoint: Mapping[str, Any]) -> Score:
    """Return the test error of the model as it is, where that is quick, else the last logged."""
    limits = training.limits
    if not limits:
        error = checkpoint["progress"]["errors"].get(RESULT_TEST, float("nan"))
        return Score(float(error), None, None)
    with default_dtype(precision(training.config)):
        for _ in training._measure():
            pass
    error = float(training.errors[RESULT_TEST][0])
    return Score(error, limits[0].threshold, bool(limits[0].met(error)))


def trained_run(task: type[Task], spec: ScriptSpec, config: Config) -> Training:
    """Return the run whose saved model `--evaluate` names, with the surroundings of a command."""
    file = Path(config.evaluate)
    checkpoint = load_torch(file, "--evaluate")
    saved = checkpoint.get("config") if isinstance(checkpoint, dict) else None
    wanted = [flag.dest for flag in spec.flags if flag.result]
    if not isinstance(saved, dict) or not set(wanted) <= set(saved):
        raise _not_ours(spec, file)
    trained = config.replace(**{dest: saved[dest] for dest in wanted})
    try:
        return _restored(task, spec, trained, checkpoint, file)
    except (UsageError, LookupError, TypeError, AttributeError):
        raise _not_ours(spec, file) from None


def _restored(
    task: type[Task], spec: ScriptSpec, config: Config, checkpoint: Mapping[str, Any], file: Path
) -> Training:
    try:
        with default_dtype(precision(config)):
            run = Training(task, [PlannedRun.of(spec, config)])
    except ValueError as error:
        raise UsageError(str(error)) from None
    restore_parameters(run.model.state_dict(), checkpoint["model_state_dict"], file)
    run.set_clock(checkpoint)
    return run


def _not_ours(spec: ScriptSpec, file: Path) -> UsageError:
    return UsageError(f"argument --evaluate: {file} is not a checkpoint of {spec.name}.py")


_TYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.bool: "BOOL",
}


def _write_safetensors(model: TrainedModel, path: Path) -> None:
    """Write a JSON header behind its length, then all values in its order."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt", "card": json.dumps(model.card)}}
    parts: list[bytes] = []
    end = 0
    for name, tensor in model.module.state_dict().items():
        values = tensor.detach().cpu().contiguous()
        parts.append(
            values.reshape(-1).view(torch.uint8).numpy().tobytes() if values.numel() else b""
        )
        places = [end, end + len(parts[-1])]
        kind = _TYPES[values.dtype]
        header[name] = {"dtype": kind, "shape": list(values.shape), "data_offsets": places}
        end = places[1]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with atomic_path(path, named=True) as temporary:
        temporary.write_bytes(b"".join([len(text).to_bytes(8, "little"), text, *parts]))


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
    with (
        warnings.catch_warnings(action="ignore"),  # torch's own
        atomic_path(path, named=True) as temporary,
    ):
        torch.onnx.export(
            model.module.eval(),
            (x,),
            str(temporary),
            input_names=["x"],
            output_names=["y"],
            dynamic_shapes=({0: batch},),
            dynamo=True,
            external_data=False,
            verbose=False,
        )


_FORMATS = {".onnx": _write_onnx, ".safetensors": _write_safetensors}


def export_command(argv: Sequence[str] | None = None) -> int:
    """Export a trained model; the result is the exit code."""
    parser = ScriptParser(
        prog="model.py",
        description="Write the trained model of a run as .onnx or .safetensors, with a card beside "
        "it: layer, task, test error, threshold, versions.",
    )
    parser.add_argument("--run", metavar="PATH", required=True, help="folder of the run's log")
    parser.add_argument("--out", metavar="FILE", required=True, help="file to write")
    arguments: argparse.Namespace = parser.parse_args(argv)

    def write() -> None:
        path = Path(arguments.out)
        if path.suffix not in _FORMATS:
            formats = " or ".join(_FORMATS)
            raise OptionError("--out", f"{path} has no format", f"end its name in {formats}")
        model = load(arguments.run)
        say(f"{model.export(path)}\n{path.with_suffix('.json')}")

    return exit_code("model.py", write)


@named_as_in_python()
def formula(run: LoggedRun | TrainedModel | str | Path) -> Certificate:
    """Return what a trained network computes, and whether it is what its task asks for.

    Args:
        run: a run of an arithmetic script, the folder of its log, or what `load` returns.

    Examples:
        >>> print(sn.formula(runs.best))
        learned: x1*x2, exact as trained
    """
    return (run if isinstance(run, TrainedModel) else load(run)).formula()


SECONDS = 1.0


def in_short(spec: ScriptSpec, task: type[Task], folders: Sequence[Path]) -> str | None:
    """Return in one line what runs of a script have learned, if that takes at most `SECONDS`.

    Those are of the processor, by the pace of the formulas before.
    """

    def learned(folder: Path) -> Certificate:
        record = RunRecord.read(folder)
        assert record is not None
        return _loaded(spec, task, folder.absolute(), record).formula()

    found = [learned(folders[0])]
    if len(folders) == 1:
        text = str(found[0]).removeprefix("learned: ")
        return fact("learned" if text != str(found[0]) else "formula", text)
    began = time.process_time()
    for folder in folders[1:]:
        found.append(learned(folder))
        if (time.process_time() - began) / (len(found) - 1) * (len(folders) - 1) > SECONDS:
            return None
    return fact("formula", counted([one.verdict for one in found]))


def counted(verdicts: Sequence[str]) -> str:
    """Return how many runs have each verdict: `22 of 25 exact after rounding, 3 wrong`."""
    counts = Counter(verdicts)
    first, *others = (v for v in VERDICTS if counts[v])
    rest = [f"{counts[verdict]} {verdict}" for verdict in others]
    return ", ".join([f"{counts[first]} of {len(verdicts)} {first}", *rest])


def _folders(paths: Sequence[str]) -> list[Path]:
    """Return the folders of runs that paths name or hold."""
    found: list[Path] = []
    for path in map(Path, paths):
        own = [path] if RunRecord.read(path) else []
        own = own or sorted(p for p in path.rglob("*") if p.is_dir() and RunRecord.read(p))
        if not own:
            raise OptionError("--run", f"{path} holds no run", "name a folder of logs")
        found += own
    return found


def formula_command(argv: Sequence[str] | None = None) -> int:
    """Say what runs have learned; the result is the exit code."""
    parser = ScriptParser(
        prog="formula.py",
        description="Say what trained networks compute, as a formula, and whether it is the one "
        f"that was asked for: {'; '.join(VERDICTS)}.",
    )
    parser.add_argument(
        "--run", metavar="PATH", nargs="+", required=True, help="folder of a run's log, or of many"
    )
    parser.add_argument("--csv-out", metavar="FILE", help="write a row per run, too")
    arguments: argparse.Namespace = parser.parse_args(argv)

    def tell() -> None:
        folders = _folders(arguments.run)
        every = [formula(folder) for folder in bar(folders, unit="runs", what="formulas")]
        for folder, found in zip(folders, every, strict=True):
            say(f"{folder.name}: {found}" if len(folders) > 1 else str(found))
        if len(folders) > 1:
            say(counted([found.verdict for found in every]))
        if arguments.csv_out:
            from stable_nalu.statistics.table import write_rows

            told_of = zip(folders, every, strict=True)
            rows = [{"name": folder.name, **found.row} for folder, found in told_of]
            write_rows(Path(arguments.csv_out), rows)

    return exit_code("formula.py", tell)
