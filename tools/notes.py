"""What is told beside numbers: notes and reasons written by hand, rows that were trained again."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import cells_of
from stable_nalu.base.script import duration
from stable_nalu.paper.experiment import Experiment
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result.judged import shortened
from stable_nalu.result.stored import (
    Verified,
    digest_of,
    file_of,
    path_of,
    read_records,
    seconds_here,
)

NOTES, REASONS = "notes.md", "not_run.csv"
CORES = 2
"""The number of cores that estimates are made for."""


def cut_short(experiment: Experiment, runs: Any) -> str:
    """Return `NMU 2,000 of 50,000 iterations` for all models with shorter runs than published.

    Where a script counts epochs, it is these.
    """
    told, unit = [], "iterations"
    for model in experiment.models:
        if length := shortened(experiment, runs.loc[runs["model"] == model.key]):
            if model.steps_per_epoch:
                length, unit = [count // model.steps_per_epoch for count in length], "epochs"
            told.append("{} {:,} of {:,}".format(model.label, *length))
    return f"{'; '.join(told)} {unit}" if told else ""


def read_notes(folder: Path) -> dict[str, str]:
    """Read heading -> text from `notes.md`; a heading is `## key`, or has a model and a point."""
    path = folder / NOTES
    if not path.exists():
        return {}
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not text in UTF-8") from None
    parts = re.split(r"^## +(.+)$", text, flags=re.MULTILINE)
    texts = zip(parts[1::2], parts[2::2], strict=True)
    return {_plain(heading): " ".join(text.split()) for heading, text in texts if text.strip()}


def note(notes: Mapping[str, str], key: str, model: str, point: str) -> str:
    """Return the note about a point, or else its model, or else its figure, or else nothing."""
    names = (f"{key} / {model} / {point}", f"{key} / {model}", key)
    return next((notes[_plain(name)] for name in names if _plain(name) in notes), "")


def _plain(heading: str) -> str:
    return re.sub(r"\s+", "", heading)


@dataclass(frozen=True)
class Reason:
    """Why experiments were not run in full; the key is a pattern, as of file names."""

    key: str
    reason: str


def read_reasons(folder: Path) -> list[Reason]:
    """Read the reasons of `not_run.csv`."""
    return read_records(Reason, folder / REASONS)


def reason(reasons: Sequence[Reason], experiment: Experiment) -> str:
    """Return why an experiment was not run in full: the first pattern that fits, or its cost."""
    for one in reasons:
        if fnmatchcase(experiment.key, one.key):
            return one.reason
    if not experiment.models:
        return experiment.note
    seconds = seconds_here(experiment, CORES)
    if seconds is None:
        return "not run so far"
    return f"not run so far; all of it takes about {duration(seconds)} on {CORES} cores"


def verified_of(key: str, data: Path) -> list[Verified]:
    """Return what is known of the rows of an experiment that are still kept as they were then."""
    found = [one for one in read_records(Verified, file_of(data)) if one.key == key]
    kept = _digests(key, data) if found else set()
    return [one for one in found if one.digest in kept]


def replaced(data: Path) -> list[Verified]:
    """Return what is known of rows that did not come out again, and are not kept any more."""
    wrong = [one for one in read_records(Verified, file_of(data)) if one.equal < one.compared]
    kept = {key: _digests(key, data) for key in {one.key for one in wrong}}
    return [one for one in wrong if one.digest not in kept[one.key]]


def _digests(key: str, data: Path) -> set[str]:
    kept = key in EXPERIMENTS and path_of(key, data).exists()
    return {digest_of(cells) for cells in cells_of(path_of(key, data))} if kept else set()
