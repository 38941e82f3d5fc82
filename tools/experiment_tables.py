"""Generated tables of experiments: of docs/experiments.md, and of docs/from-the-papers.md."""

from __future__ import annotations

import re
from pathlib import Path

from stable_nalu.files import table_rows, with_part
from stable_nalu.machine import CHECKOUT
from stable_nalu.paper.experiment import Experiment
from stable_nalu.paper.index import EXPERIMENTS, find
from stable_nalu.papers import MISTRY_2022_DIVISION, MISTRY_2022_ROBUST, STUDIES, Paper
from stable_nalu.result.command import UNSHOWN
from stable_nalu.result.document import table
from stable_nalu.result.jobs import JOB_SCRIPTS
from stable_nalu.script import command_of

from .layer_table import linked

EVERY = CHECKOUT / "docs" / "experiments.md"
FROM_THE_PAPERS = CHECKOUT / "docs" / "from-the-papers.md"
BEGIN = "<!-- Generated from stable_nalu/paper; rewrite with `make generated`. -->"

CSVS = "/data/nalms/csvs/"
"""Folder of exported tables, as the READMEs name it."""

PLOTS = dict([*table_rows(Path(__file__).with_name("published_plots.csv"))][1:])
"""Key of a figure -> what follows `Rscript` in a README; one without folders is run in these."""


def refreshed_every(document: str) -> str:
    """Return docs/experiments.md with its tables rendered anew."""
    end = "<!-- End of the generated tables. -->"
    return with_part(document, BEGIN, end, f"{every_experiment()}\n")


def every_experiment() -> str:
    """Render a section per paper with a row per figure, then the runs that no figure shows."""
    parts: list[str] = []
    for paper in STUDIES:
        found = ((places_in(paper, experiment), experiment) for experiment in EXPERIMENTS.values())
        places = [(place, experiment) for place, experiment in found if place]
        if places:
            rows = [{"in the paper": p, **_row(e)} for p, e in sorted(places, key=_place)]
            parts += [f"## {paper.title} ({linked(paper.reference)})", table(rows)]
    rows = [_row(experiment) for experiment in EXPERIMENTS.values() if not experiment.shown]
    return "\n\n".join([*parts, f"## {UNSHOWN}", table(rows)]) + "\n"


def places_in(paper: Paper, experiment: Experiment) -> str:
    """Return where a paper shows an experiment: `Figure 3`, `Figures 10 to 12`, or nothing."""
    places = [shown.number for shown in experiment.shown if shown.paper == paper]
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


def refreshed_commands(document: str) -> str:
    """Return docs/from-the-papers.md with its table of figures rendered anew."""
    end = "<!-- End of the generated figures. -->"
    return with_part(document, BEGIN, end, f"{published_commands()}\n\n")


def published_commands() -> str:
    """Return a table for each paper: the commands that draw figures from its README's folders."""
    parts: list[str] = []
    for paper in (MISTRY_2022_DIVISION, MISTRY_2022_ROBUST):
        numbers = {key: places_in(paper, find(key)) for key in PLOTS}
        shown = {number: key for key, number in numbers.items() if number}
        drawn: dict[str, dict[str, str]] = {}
        for number in sorted(shown, key=lambda n: (int(re.findall(r"\d+", n)[0]), n)):
            script, _, *flags = plot_words(shown[number])
            figures = drawn.setdefault(command_of(script, "KEY", *flags), {})
            figures[re.sub("Figures? ", "", number)] = f"`{shown[number]}`"
        rows: list[dict[str, str]] = []
        for command, figures in drawn.items():
            if len(figures) == 1:
                ((number, key),) = figures.items()
                rows.append({"figure": number, "here": f"`{command.replace('KEY', key[1:-1])}`"})
            else:
                cell = ", ".join(f"{number} {key}" for number, key in figures.items())
                rows.append({"figure": cell, "here": f"`{command}`"})
        parts += [f"### {paper.title}", table(rows)]
    return "\n\n".join(parts)


def folders(key: str) -> tuple[str, str]:
    """Return the folder that a command reads and the one it writes to, as far as it names them."""
    words = PLOTS[key].split()[1:3]
    read, written = words if words else ("None", "")
    if read == "None" or "<" in read:
        read = CSVS
    if not written.endswith("/"):
        written = written.rpartition("/")[0]
    return read, written


def plot_words(key: str) -> list[str]:
    """Return the words behind `python3` that draw the same figure here."""
    read, written = folders(key)
    words = ["export/plot.py", key, "--csv-dir", read.rstrip("/")]
    return [*words, "--out-dir", written.rstrip("/")] if written else words
