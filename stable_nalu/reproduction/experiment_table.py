"""The tables of docs/experiments.md: from a paper's figure number to the key that reproduces it."""

from __future__ import annotations

import re

from stable_nalu.batch.job_script import JOB_SCRIPTS
from stable_nalu.catalogue.experiment import Experiment
from stable_nalu.catalogue.index import EXPERIMENTS
from stable_nalu.machine import CHECKOUT
from stable_nalu.papers import STUDIES

DOCUMENT = CHECKOUT / "docs" / "experiments.md"
BEGIN = "<!-- Generated from stable_nalu/catalogue; rewrite with `make generated`. -->"
END = "<!-- End of the generated tables. -->"


def refreshed(document: str) -> str:
    """The document with its generated part rendered anew."""
    head, rest = document.split(BEGIN, 1)
    tail = rest.split(END, 1)[1]
    return f"{head}{BEGIN}\n\n{render_experiment_tables()}\n{END}{tail}"


def render_experiment_tables() -> str:
    """A section a paper, a row for each of its figures and tables; then what no paper shows."""
    lines: list[str] = []
    for paper in STUDIES:
        places = [
            (shown.number, experiment)
            for experiment in EXPERIMENTS.values()
            for shown in experiment.shown
            if shown.paper == paper
        ]
        reference = re.sub(r"arXiv:(\S+)", r"[arXiv:\1](https://arxiv.org/abs/\1)", paper.reference)
        lines += [f"## {paper.title} ({reference})", "", *_head("in the paper")]
        lines += [_row(place, experiment) for place, experiment in sorted(places, key=_order)]
        lines.append("")
    lines += ["## Runs that no figure shows", "", *_head("")]
    lines += [_row("", e) for e in EXPERIMENTS.values() if not e.shown]
    return "\n".join([*lines, ""])


def _head(place: str) -> list[str]:
    names = (place, "what", "key", "runs × iterations", "batch script")
    return [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]


def _order(item: tuple[str, Experiment]) -> tuple[str, int, str]:
    """Numbered tables, then numbered figures, then the rest."""
    place = item[0]
    number = re.match(r"(Table|Figure) (\d+)", place)
    return (number[1], int(number[2]), place) if number else ("~", 0, place)


def _row(place: str, experiment: Experiment) -> str:
    scripts = [s for s in JOB_SCRIPTS.values() if experiment.key in s.experiments]
    links = ", ".join(f"[{s.name.rsplit('/', 1)[-1]}](../{_path(s.name)})" for s in scripts)
    cells = (place, experiment.title, f"`{experiment.key}`", _size(experiment), links or "–")
    return f"| {' | '.join(cells)} |"


def _path(name: str) -> str:
    return f"lfs_batch_jobs/{name}.sh"


def _size(experiment: Experiment) -> str:
    if not experiment.models:
        return "none"
    each = sorted({m.length(variant) for m in experiment.models for variant in m.variants})
    return f"{experiment.runs:,} × {' to '.join(f'{n:,}' for n in sorted({each[0], each[-1]}))}"
