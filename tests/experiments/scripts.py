"""Runs experiment scripts in this process and reads what they leave behind."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import torch
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.proto.plugin_hparams_pb2 import HParamsPluginData

from stable_nalu.result.export import any_runs
from stable_nalu.task.table import SCRIPTS
from stable_nalu.writer.event_file import CONFIG, RESULTS, TEXT_SUFFIX, EventFileReader
from tests.exported import main_of

OF_HPARAMS = ("config/", "_hparams_/", "hparam/")
"""How tags of the configuration and the results begin."""
TOLD = {f"{CONFIG}{TEXT_SUFFIX}", *RESULTS}
"""Tags of the configuration and the results, of scalars and texts."""


def script_main(name: str) -> Callable[[Sequence[str]], int]:
    """The `main` of a training script."""
    return main_of(f"experiments/{name}.py")


def run(script: str, *words: str) -> int:
    """Exit code of a command line; refused command lines leave by SystemExit, as from a shell.

    A text may hold several words.
    """
    try:
        return script_main(script)(["--no-cuda", *_prefixed(words)])
    except SystemExit as end:
        return int(end.code or 0)


def _prefixed(words: Sequence[str]) -> list[str]:
    argv = " ".join(words).split()
    return argv if "--name-prefix" in argv else ["--name-prefix", "t", *argv]


def run_names(script: str, *words: str) -> list[str]:
    """Run names of a command line."""
    spec = SCRIPTS[script]
    plan = spec.plan(["--no-cuda", *_prefixed(words)])
    return [spec.run_name(config) for config in plan.configs]


@dataclass(frozen=True)
class Record:
    """What a run has logged: (step, tag) -> values in order, and all steps."""

    values: dict[tuple[int, str], list]
    folder: Path

    def series(self, tag: str) -> dict[int, float]:
        """Step -> value of a tag."""
        return {step: values[0] for (step, t), values in self.values.items() if t == tag}

    @property
    def tags(self) -> set[str]:
        """All tags but those that every run has for TensorBoard's HParams plugin."""
        return {tag for _, tag in self.values} - TOLD


def read(name: str) -> Record:
    """What a run has logged."""
    return read_folder(Path(os.environ["TENSORBOARD_DIR"]) / name)


def read_folder(folder: Path) -> Record:
    """What the run of a folder has logged, in a whole file and no other."""
    (path,) = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
    reader = EventFileReader(path)
    values: dict[tuple[int, str], list] = {}
    for event in reader:
        for tag, value in zip(event.tags, event.values, strict=True):
            values.setdefault((event.step, tag), []).append(value)
    assert reader.problem is None
    return Record(values, folder)


def messages(folder: Path, pattern: str = "events.*") -> Iterator[Event]:
    """All events of a run, as messages."""
    (path,) = folder.glob(pattern)
    data, position = path.read_bytes(), 0
    while position < len(data):
        length = int.from_bytes(data[position : position + 8], "little")
        yield Event.FromString(data[position + 12 : position + 12 + length])
        position += 16 + length


def plugin_of(found_events: Iterable[Event]) -> dict[str, HParamsPluginData]:
    """Tag -> what a log says to the plugin; a tag that comes twice is an error."""
    found = {}
    for event in found_events:
        for value in event.summary.value:
            if value.metadata.plugin_data.plugin_name == "hparams":
                content = value.metadata.plugin_data.content
                assert value.tag not in found
                found[value.tag] = HParamsPluginData.FromString(content)
    return found


def exported(*words: str) -> pd.DataFrame:
    """The table that `export/runs.py` makes of all runs of `run`."""
    folder = Path(os.environ["TENSORBOARD_DIR"])
    out = folder / "runs.csv"
    assert any_runs(("--tensorboard-dir", str(folder / "t"), "--csv-out", str(out), *words)) == 0
    return pd.read_csv(out)


def saved(name: str) -> dict:
    """The checkpoint of a run."""
    path = Path(os.environ["SAVE_DIR"]) / f"{name}.pth"
    return torch.load(path, weights_only=True)


UNCOMPARED = {"event_file", "config"}
"""Differ by the time of the start and by flags of run control."""


def bits(state: object) -> object:
    """A value that is equal for states of equal bits."""
    if isinstance(state, torch.Tensor):
        return (str(state.dtype), tuple(state.shape), state.numpy().tobytes())
    if isinstance(state, dict):
        return {k: bits(v) for k, v in state.items() if k not in UNCOMPARED}
    if isinstance(state, list | tuple):
        return [type(state), *map(bits, state)]
    return repr(state)


def assert_same_run(one: str, other: str) -> None:
    """Two runs have the same log and the same checkpoint, bit for bit."""
    first, second = read(one), read(other)
    assert list(first.values) == list(second.values)
    for key, values in first.values.items():
        assert repr(values) == repr(second.values[key]), key
    assert bits(saved(one)) == bits(saved(other))
