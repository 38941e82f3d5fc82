"""All of the page, from top to bottom, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stable_nalu.catalogue.experiment import Experiment
from stable_nalu.catalogue.index import EXPERIMENTS
from stable_nalu.papers import STUDIES
from stable_nalu.script import duration

from ..listing import UNSHOWN
from . import headline, section
from .markdown import UNKNOWN, bullets, heading, plain, table
from .notes import note, place, read_notes, read_reasons, reason
from .rows import MEASURES, Row
from .section import Result

FIRST_WORDS = "What the published experiments give when this project trains them"
"""The words by which a page is known as one of this script."""

INTRODUCTION = (
    FIRST_WORDS + ", beside the numbers of the papers. Every number here is computed from the "
    "result tables in [data]({data}), one row per run; "
    "`python3 experiments/reproduce.py --report` writes this page from them."
)
HEADLINE = "headline.svg"
READING = (
    "Success rate: share of runs whose test error, at the logged step with the lowest "
    "validation error, is below the threshold of the task; solved of all runs in round brackets, "
    "Wilson's 95 % interval in square ones.",
    "Solved at: first logged step with a test error below the threshold, of solved runs; "
    "sparsity error: at the step that the run is judged at, of solved runs. Means and intervals "
    "are those of the papers' estimators (see `export/summarize.py --help`), not arithmetic means.",
    "agrees: the two 95 % intervals overlap. differs: they do not. –: not published, "
    "or without an interval. A published limit (`below …`) agrees when our interval reaches it. A "
    "few seeds are compared with what became of the same seeds, where the papers' files tell.",
    "In drawings, hollow squares are published rates, filled circles are ours, bars are intervals.",
)
ORIGINAL = (
    "The original's time follows from the papers' 8 hours for 5 million iterations on one core; "
    "for single modules that is an upper limit."
)


def page(
    results: Sequence[Result], found: Sequence[headline.Finding], data: Path, link: str
) -> tuple[str, dict[str, str]]:
    """Return the Markdown of the page, and its pictures by name.

    data: the folder of results; texts written by hand lie beside it.
    link: the way from the page to that folder.
    """
    notes = read_notes(data.parent)
    pictures = {HEADLINE: headline.drawing(found)}
    pictures |= {_picture(r): section.picture(r.rows) for r in results}
    parts = [
        heading(1, "Reproduced results", "top"),
        INTRODUCTION.format(data=link),
        heading(2, "Headline figures", "headline"),
        headline.table(found),
        f"![Success rates, published and here]({HEADLINE})",
        heading(2, "How to read it", "reading"),
        bullets(READING),
        heading(2, "Overview", "overview"),
        *_overview(results),
        *_figures(results),
        *_disagreements(results, notes),
        *_not_run(results, data.parent),
        *_origin(results),
    ]
    return "\n\n".join(parts) + "\n", pictures


def _picture(found: Result) -> str:
    return f"pictures/{found.experiment.key}.svg"


def _overview(results: Sequence[Result]) -> list[str]:
    if not results:
        return ["No results are kept yet."]
    head = (
        "figure",
        "runs",
        "CPU time here",
        "original, one core",
        *(f"{measure} agrees" for measure in MEASURES),
    )
    rows = []
    for found in results:
        spent = sum(s.cpu_seconds for s in found.sessions)
        rows.append(
            [
                f"[{_where(found.experiment)}](#{found.experiment.key})",
                f"{len(found.runs):,} of {found.experiment.runs:,}",
                duration(spent) if found.sessions else "with others",
                duration(found.iterations * section.ORIGINAL_SECONDS),
                *(_share(found.agreeing(measure)) for measure in MEASURES),
            ]
        )
    return [table(head, rows), ORIGINAL]


def _share(counts: tuple[int, int]) -> str:
    return f"{counts[0]} of {counts[1]}" if counts[1] else UNKNOWN


def _where(experiment: Experiment) -> str:
    numbers = [f"{s.paper.reference} {s.number}" for s in experiment.shown]
    title = f"{experiment.title} ({', '.join(numbers)})" if numbers else experiment.title
    return plain(title)


def _figures(results: Sequence[Result]) -> list[str]:
    """Return every figure under the paper that shows it first, in the order of the papers."""
    parts: list[str] = []
    for paper in STUDIES:
        own = [r for r in results if r.experiment.shown and r.experiment.shown[0].paper == paper]
        if own:
            parts.append(heading(2, f"{paper.title} ({paper.reference})", paper.key))
            parts += [part for found in own for part in section.section(found, _picture(found))]
    others = [r for r in results if not r.experiment.shown]
    if others:
        parts.append(heading(2, UNSHOWN, "other"))
        parts += [part for found in others for part in section.section(found, _picture(found))]
    return parts


def _disagreements(results: Sequence[Result], notes: dict[str, str]) -> list[str]:
    head = ("figure / model / point", "measure", "published", "here", "explanation")
    rows = [
        [plain(place(found.experiment.key, row)), measure, *_values(row, measure), told or UNKNOWN]
        for found in results
        for row in found.rows
        for measure, agrees in row.agreement.items()
        if agrees is False
        for told in [note(notes, found.experiment.key, row)]
    ]
    compared = sum(found.agreeing(measure)[1] for found in results for measure in MEASURES)
    text = (
        f"{len(rows)} of {compared} compared numbers have intervals that do not overlap. Where two "
        "experiments measure the same, this happens by chance in about 6 of 1000 comparisons."
    )
    parts: list[str] = [heading(2, "Where results differ", "differences"), text]
    return [*parts, table(head, rows)] if rows else parts


def _values(row: Row, measure: str) -> tuple[str, str]:
    cells = dict(zip(section.HEAD, section.cells(row), strict=True))
    column = {"success rate": "success", "solved at": "mean solved at"}.get(measure, measure)
    return cells[f"{column}, published"], cells[f"{column}, here"]


def _not_run(results: Sequence[Result], folder: Path) -> list[str]:
    kept = {found.experiment.key: found for found in results}
    reasons = read_reasons(folder)
    rows = []
    for key, experiment in EXPERIMENTS.items():
        runs = kept[key].runs if key in kept else None
        count = 0 if runs is None else len(runs)
        if experiment.models and count >= experiment.runs:
            continue
        trained = set() if runs is None else set(runs["model"])
        missing = [plain(m.label) for m in experiment.models if m.key not in trained]
        which = "all" if not trained else ", ".join(missing) or "some seeds or points"
        extent = f"{experiment.runs - count:,} of {experiment.runs:,}" if experiment.models else "0"
        rows.append([f"{_where(experiment)}, `{key}`", which, extent, reason(reasons, experiment)])
    if not rows:
        return []
    head = ("figure", "what was not run", "runs", "why")
    return [heading(2, "What was not run", "not-run"), table(head, rows)]


def _origin(results: Sequence[Result]) -> list[str]:
    """Tell what the runs were trained with: machines do not matter, versions may."""
    sessions = [session for found in results for session in found.sessions]
    if not sessions:
        return []
    made = dict.fromkeys((s.git_revision[:12], s.versions) for s in sessions)
    spent = duration(sum(s.cpu_seconds for s in sessions))
    runs = sum(s.runs for s in sessions)
    text = (
        f"{runs:,} runs were trained in {spent} of CPU time, with up to "
        f"{max(s.processes for s in sessions)} processes at a time, from "
        f"{sessions[0].began[:10]} on. Runs that several figures share were trained once."
    )
    rows = [list(map(plain, one)) for one in made]
    return [
        heading(2, "How it was made", "origin"),
        text,
        table(("revision", "versions"), rows),
    ]
