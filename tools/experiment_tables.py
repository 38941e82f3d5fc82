"""The generated tables of docs/experiments.md."""

from __future__ import annotations

import re

from stable_nalu.base.files import with_part
from stable_nalu.base.machine import CHECKOUT
from stable_nalu.base.papers import STUDIES
from stable_nalu.paper.experiment import Experiment
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result.command import UNSHOWN
from stable_nalu.result.document import table
from stable_nalu.result.jobs import JOB_SCRIPTS

from .layer_table import linked

EVERY = CHECKOUT / "docs" / "experiments.md"
BEGIN = "<!-- Generated from stable_nalu/paper; rewrite with `make generated`. -->"


def refreshed_every(document: str) -> str:
    """Return docs/experiments.md with its tables rendered anew."""
    end = "<!-- End of the generated tables. -->"
    return with_part(document, BEGIN, end, f"{every_experiment()}\n")


def every_experiment() -> str:
    """Render a section per paper with a row per figure, then the runs that no figure shows."""
    parts: list[str] = []
    for paper in STUDIES:
        places = [(place_of(e), e) for e in EXPERIMENTS.values() if e.paper == paper]
        if places:
            rows = [{"in the paper": p, **_row(e)} for p, e in sorted(places, key=_place)]
            parts += [f"## {paper.title} ({linked(paper.reference)})", table(rows)]
    rows = [_row(experiment) for experiment in EXPERIMENTS.values() if experiment.paper is None]
    return "\n\n".join([*parts, f"## {UNSHOWN}", table(rows)]) + "\n"


def place_of(experiment: Experiment) -> str:
    """Return where a paper shows an experiment: `Figure 3`, `Figures 10 to 12`, or nothing."""
    places = experiment.numbers
    numbers = [int(place[7:]) for place in places if re.fullmatch(r"Figure \d+", place)]
    if 2 < len(places) == len(numbers) == numbers[-1] - numbers[0] + 1:
        return f"Figures {numbers[0]} to {numbers[-1]}"
    return ", ".join(places)


def _place(item: tuple[str, Experiment]) -> tuple[str, int, str]:
    """Return the sort key of a place: numbered tables, then numbered figures, then the rest."""
    place = item[0]
    number = re.match(r"(Table|Figure)s? (\d+)", place)
    return (number[1], int(number[2]), place) if number else ("~", 0, place)


def _row(experiment: Experiment) -> dict[str, str]:
    """Return the cells of an experiment; its key leads to its batch script, more are named."""
    key = f"`{experiment.key}`"
    paths: dict[str, str] = {}
    for script in JOB_SCRIPTS.values():
        if experiment.key in script.experiments:
            paths.setdefault(script.name.rsplit("/", 1)[-1], script.name)
    links: list[str] = []
    for name, path in sorted(paths.items(), key=lambda item: item[0] not in experiment.key):
        links.append(f"[{name if links else key}](../lfs_batch_jobs/{path}.sh)")
    return {"what": experiment.title, "key": ", ".join(links) or key}
