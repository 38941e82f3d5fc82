"""The generated part of docs/from-the-papers.md: each figure's published commands, and ours."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stable_nalu.cluster.job_script import JOB_SCRIPTS
from stable_nalu.files import with_part
from stable_nalu.machine import CHECKOUT
from stable_nalu.paper.experiment import Experiment
from stable_nalu.paper.index import find
from stable_nalu.paper.published_plots import PLOTS, plot_words
from stable_nalu.papers import MISTRY_2022_DIVISION, MISTRY_2022_ROBUST
from stable_nalu.script import command_of

DOCUMENT = CHECKOUT / "docs" / "from-the-papers.md"
BEGIN = "<!-- Generated from stable_nalu/paper; rewrite with `make generated`. -->"
END = "<!-- End of the generated figures. -->"


def refreshed(document: str) -> str:
    """Return the document with its table of figures rendered anew."""
    return with_part(document, BEGIN, END, f"{render()}\n\n")


def render() -> str:
    """Return a table for each paper, with a row for each figure of its README."""
    lines: list[str] = []
    for paper in (MISTRY_2022_DIVISION, MISTRY_2022_ROBUST):
        lines += [f"### {paper.title}", ""]
        lines += ["| figure | 1: script | 3: as published | 3: here |", "|---|---|---|---|"]
        rows: dict[str, str] = {}
        for key in PLOTS:
            experiment = find(key)
            places = [one.number for one in experiment.shown if one.paper == paper]
            if places:
                numbers = places[0] if len(places) == 1 else f"{places[0]} to {places[-1][7:]}"
                rows[numbers] = _row(numbers, key, experiment)
        lines += [rows[number] for number in sorted(rows, key=_order)]
        lines.append("")
    return "\n".join(lines).rstrip()


def _order(number: str) -> tuple[int, str]:
    """Return the sort key of a figure's number."""
    return int(re.findall(r"\d+", number)[0]), number


def _row(number: str, key: str, experiment: Experiment) -> str:
    scripts = ", ".join(f"`{name.rpartition('/')[2]}.sh`" for name in scripts_of(experiment))
    here = f"`{command_of(*plot_words(key))}`"
    cells = (number, scripts or "–", f"`Rscript {PLOTS[key]}`", here)
    return f"| {' | '.join(cells)} |"


def scripts_of(experiment: Experiment) -> Iterator[str]:
    """Yield the batch scripts that train the runs of a figure, also for another figure."""
    wanted = {model.prefix for model in experiment.models}
    listed = [s.name for s in JOB_SCRIPTS.values() if experiment.key in s.experiments]
    for name, script in JOB_SCRIPTS.items():
        trained = {model.prefix for model in script.named_models().values()}
        if name in listed or (not listed and trained & wanted):
            yield name
