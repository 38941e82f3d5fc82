"""All of the page, from top to bottom, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from stable_nalu.paper.experiment import Experiment
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.papers import MODULES, STUDIES
from stable_nalu.script import duration

from ..compare import DIFFERS, EQUAL
from ..listing import UNSHOWN, seconds_here
from ..stored import TEST_ERROR
from ..verified import ALONE, replaced
from . import counts, headline, measured, section, thresholds, unpublished
from .markdown import PAPER, SOURCES, UNKNOWN, bullets, heading, plain, table
from .notes import note, place, read_notes, read_reasons, reason
from .rows import MEASURES, Row
from .section import Result

FIRST_WORDS = "What the published experiments give when this project trains them"
"""The words by which a page is known as one of this script."""

INTRODUCTION = (
    FIRST_WORDS + ", beside the numbers of the papers, where they have some. Every number here is "
    "computed from the result tables in [data]({data}), one row per run; "
    "`python3 experiments/reproduce.py --report` writes this page from them."
)
HEADLINE = "headline.svg"
ERRORS = ("sparse.error.max", TEST_ERROR, "diverged")
READING = (
    "Success rate: share of runs whose test error, at the logged step with the lowest "
    "validation error, is below the threshold of the task; solved of all runs in round brackets, "
    "Wilson's 95 % interval in square ones.",
    "Solved at: first logged step with a test error below the threshold, of solved runs; "
    "sparsity error: at the step that the run is judged at, of solved runs. Means and intervals "
    "are those of the papers' estimators (see `export/summarize.py --help`), not arithmetic means.",
    "Elsewhere: numbers of a paper, of the report or of the slide deck; the source stands beside "
    "each. The intervals of their rates are computed here from the counts, all of division among "
    "them; those of steps and sparsity are given there.",
    "Difference: our rate less the other one, with Newcombe's 95 % interval, paired where the "
    "outcome of every seed is known.",
    "Verdicts about rates: equal – the counts, solved of all, are identical; within 5 points – "
    "the interval of the difference lies within 5 points of zero; differs – it does not hold zero; "
    "inconclusive – neither: at this sample size both are possible. Means of steps and sparsity: "
    "within 5 %, in shares of the other mean. –: nothing to compare with, or no interval.",
    "Chosen seeds are some of the published ones, and no sample of all: outcome and step of each "
    "are compared with what the papers' files say of the same seed, by a sign test where steps "
    "differ; no rate and no mean is compared. Runs that are shorter than the published ones are "
    "not comparable, except where they are solved already.",
    "In drawings, hollow squares are rates given elsewhere, filled circles are ours, bars are "
    "intervals.",
)
REPEATED = (
    "Figures that show the same runs and numbers repeat their counts; the table at the top counts "
    "each once."
)
ORIGINAL = (
    "The original's time follows from the papers' 8 hours for 5 million iterations on one core; "
    "for single modules that is an upper limit."
)


def page(
    results: Sequence[Result],
    found: Sequence[headline.Finding],
    data: Path,
    link: str,
    of_measures: Sequence[measured.MeasuredResult] = (),
) -> tuple[str, dict[str, str]]:
    """Return the Markdown of the page, and its pictures by name.

    results: of experiments with success rates. of_measures: of others.
    data: the folder of results; texts written by hand lie beside it.
    link: the way from the page to that folder.
    """
    notes = read_notes(data.parent)
    pictures = {HEADLINE: headline.drawing(found)}
    pictures |= {section.picture_of(r.experiment.key): section.picture(r.rows) for r in results}
    pictures |= {name: svg for one in of_measures for name, svg in one.pictures.items()}
    parts = [
        heading(1, "Reproduced results", "top"),
        INTRODUCTION.format(data=link),
        *counts.counted(results),
        bullets(_at_a_glance(results, of_measures, data, link)),
        heading(2, "Headline figures", "headline"),
        headline.table(found),
        f"![Success rates, published and here]({HEADLINE})",
        heading(2, "How to read it", "reading"),
        bullets(READING),
        heading(2, "Overview", "overview"),
        *_overview(results),
        *_figures(results),
        *thresholds.section(results),
        *_disagreements(results, notes),
        *measured.sections(of_measures, notes),
        *unpublished.section(data),
        *_not_run([*results, *of_measures], data.parent),
        *_origin(results, of_measures),
    ]
    return "\n\n".join(parts) + "\n", pictures


def _at_a_glance(
    results: Sequence[Result],
    of_measures: Sequence[measured.MeasuredResult],
    data: Path,
    link: str,
) -> list[str]:
    """Return what a reader wants to know first: what was trained, how it went, what is left."""
    kept = {found.experiment.key: found for found in (*results, *of_measures)}
    planned = [experiment for experiment in EXPERIMENTS.values() if experiment.models]
    whole = sum(len(found.runs) >= found.experiment.runs for found in kept.values())
    runs = _distinct(results) + sum(len(found.runs) for found in of_measures)
    told = [
        f"**{whole} of {len(planned)} runnable figures and tables are trained in full**, "
        f"{len(kept) - whole} in part, {len(planned) - len(kept)} not: {runs:,} different runs, "
        f"every one kept.{_without_key()}",
    ]
    if of_measures:
        told.append(
            f"{len(of_measures)} of these are [not about success rates](#{measured.ANCHOR}); their "
            "numbers stand beside others that are published or stated, where there are some, and "
            "labelled so."
        )
    told.append(_numbers_elsewhere(results))
    told.append(_left(planned, {key: len(found.runs) for key, found in kept.items()}))
    told.append(
        "Any row can be trained again, and every digit compared: `python3 "
        "experiments/reproduce.py --verify KEY --rows 5` draws five by the clock, `--verify-seed "
        "N` the same five again, `--line N` takes the one in line N of the table of that key."
    )
    told.append(_verified(list(kept.values()), data, link))
    if told[-1] and (before := read_notes(data.parent).get("verified")):
        told.append(before)
    return [one for one in told if one]


def _without_key() -> str:
    """Name the papers of units whose own experiments cannot be run here."""
    others = [paper.short_title for paper in MODULES if paper not in STUDIES]
    return (
        f" The own experiments of {len(others)} papers of units are not here: {'; '.join(others)}."
    )


def _numbers_elsewhere(results: Sequence[Result]) -> str:
    """Return for how many of the drawn figures there is a number to compare with."""
    sources = [
        {SOURCES[row.published.source] for row in found.rows if row.published} for found in results
    ]
    papers = sum(any(name.startswith(PAPER) for name in one) for one in sources)
    return (
        f"For {sum(map(bool, sources))} of the {len(results)} figures about success rates that are "
        f"drawn here there is a number to compare with, for {papers} of them in the paper itself; "
        "the papers show the others as drawings, whose values are not published."
    )


def _verified(results: Sequence[Result | measured.MeasuredResult], data: Path, link: str) -> str:
    """Return how many rows that were chosen at random came out again, those replaced included."""
    known = [one for found in results for one in found.verified]
    drawn = [one for one in (*known, *replaced(data)) if one.verify_seed is not None]
    if not drawn:
        return ""
    equal = [one for one in drawn if one.equal == one.compared]
    alone = sum(one.trained == ALONE for one in equal)
    gone = sum(one in drawn for one in replaced(data))
    before = f"; {gone} that did not {'was' if gone == 1 else 'were'} replaced" if gone else ""
    seeds = ", ".join(
        map(str, sorted({one.verify_seed for one in drawn if one.verify_seed is not None}))
    )
    return (
        f"{len(drawn)} rows of {len({one.key for one in drawn})} figures and tables were drawn by "
        f"random numbers (seed {seeds}) and trained again: **{len(equal)} of {len(drawn)} came out "
        f"equal in every digit**, {alone} of them alone and {len(equal) - alone} in a stack with "
        f"others only{before} ([verified.csv]({link}/verified.csv))."
    )


def _left(planned: Sequence[Experiment], kept: Mapping[str, int]) -> str:
    """Return what was not run, and what it would cost."""
    missing = [(e, e.runs - kept.get(e.key, 0)) for e in planned if e.runs > kept.get(e.key, 0)]
    if not missing:
        return ""
    costs = [(seconds_here(experiment, 1), runs / experiment.runs) for experiment, runs in missing]
    known = [seconds * share for seconds, share in costs if seconds is not None]
    others = len(costs) - len(known)
    unknown = f", and an unknown time for {others} of them" if others else ""
    return (
        f"[Not run](#not-run): {sum(runs for _, runs in missing):,} runs of {len(missing)} figures "
        f"and tables, about {duration(sum(known))} of CPU time{unknown}."
    )


def _overview(results: Sequence[Result]) -> list[str]:
    if not results:
        return ["No results are kept yet."]
    head = (
        "figure",
        "runs",
        "CPU time here",
        "original, one core",
        "rates with identical counts",
        *MEASURES,
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
                _identical(found.rows),
                *(_counts(found.verdicts(measure)) for measure in MEASURES),
            ]
        )
    return [table(head, rows), REPEATED, ORIGINAL]


def _identical(rows: Sequence[Row]) -> str:
    rates = [row for row in rows if row.is_rate]
    same = sum(row.verdicts[MEASURES[0]] == EQUAL for row in rates)
    return f"{same} of {len(rates)}" if rates else UNKNOWN


def _counts(kinds: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()) or UNKNOWN


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
            parts += [part for found in own for part in section.section(found)]
    others = [r for r in results if not r.experiment.shown]
    if others:
        parts.append(heading(2, UNSHOWN, "other"))
        parts += [part for found in others for part in section.section(found)]
    return parts


def _disagreements(results: Sequence[Result], notes: dict[str, str]) -> list[str]:
    head = ("figure / model / point", "measure", "elsewhere", "here", "explanation")
    once = counts.once(results)
    rows = [
        [plain(place(found.experiment.key, row)), measure, *_values(row, measure), told or UNKNOWN]
        for found in results
        for row in found.rows
        for measure, verdict in row.verdicts.items()
        if verdict == DIFFERS and row.published is not None and once[row.published] is row
        for told in [note(notes, found.experiment.key, row)]
    ]
    verdicts = Counter(
        (measure == MEASURES[0], row.verdicts[measure] == DIFFERS)
        for row in once.values()
        for measure in MEASURES
        if row.verdicts[measure] is not None and (measure != MEASURES[0] or row.is_rate)
    )
    text = (
        f"{verdicts[False, True]} of {verdicts[False, True] + verdicts[False, False]} comparisons "
        f"of steps and sparsity errors differ, and {verdicts[True, True]} of "
        f"{verdicts[True, True] + verdicts[True, False]} of success rates, each counted "
        "once though several figures may show it. Where two experiments measure the same, "
        "an interval of 95 % misses zero by chance in 1 of 20 comparisons; rates of 0 % or 100 % "
        "on both sides hardly can."
    )
    parts: list[str] = [heading(2, "Where results differ", "differences"), text]
    return [*parts, table(head, rows)] if rows else parts


def _values(row: Row, measure: str) -> tuple[str, str]:
    cells = dict(zip(section.HEAD, section.cells(row), strict=True))
    column = {"success rate": "success", "solved at": "mean solved at"}.get(measure, measure)
    return cells[f"{column}, elsewhere"], cells[f"{column}, here"]


def _not_run(results: Sequence[Result | measured.MeasuredResult], folder: Path) -> list[str]:
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


def _origin(results: Sequence[Result], of_measures: Sequence[measured.MeasuredResult]) -> list[str]:
    """Tell what the runs were trained with: machines do not matter, versions may."""
    sessions = [session for found in (*results, *of_measures) for session in found.sessions]
    if not sessions:
        return []
    sessions.sort(key=lambda session: session.began)
    made = dict.fromkeys((_revision(s.git_revision), s.versions) for s in sessions)
    spent = duration(sum(s.cpu_seconds for s in sessions))
    trained = sum(s.runs for s in sessions)
    different = _distinct(results) + sum(len(found.runs) for found in of_measures)
    text = (
        f"{different:,} different runs are kept; figures that share runs show the same "
        f"ones. {trained:,} trainings are on record, those of runs that were trained again "
        f"included: {spent} of CPU time, with up to {max(s.processes for s in sessions)} processes "
        f"at a time, between {sessions[0].began[:10]} and {sessions[-1].began[:10]}."
    )
    rows = [list(map(plain, one)) for one in made]
    return [
        heading(2, "How it was made", "origin"),
        text,
        table(("revision", "versions"), rows),
    ]


def _revision(recorded: str) -> str:
    """Return the first letters of a revision, and whether the tree departed from it."""
    revision, _, changed = recorded.partition("-")
    return revision[:12] + (" with uncommitted changes" if changed else "")


def _distinct(results: Sequence[Result]) -> int:
    """Return the number of different kept runs; shared ones are known by the errors they gave.

    Their verdicts may differ, for figures judge at thresholds of their own.
    """
    import pandas as pd

    if not results:
        return 0
    parts = []
    for found in results:
        prefixes = {model.key: model.prefix for model in found.experiment.models}
        columns = found.runs[["operation", "interpolation.range", "seed", "iterations", *ERRORS]]
        parts.append(columns.assign(prefix=found.runs["model"].map(prefixes.get)))
    return len(pd.concat(parts).drop_duplicates())
