"""All of the page, from top to bottom, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from stable_nalu.catalogue.experiment import Experiment
from stable_nalu.catalogue.index import EXPERIMENTS
from stable_nalu.catalogue.published import Published
from stable_nalu.papers import STUDIES
from stable_nalu.script import duration

from ..compare import DIFFERS, EQUAL, RATE_VERDICTS, SHORT
from ..listing import UNSHOWN, seconds_here
from ..stored import TEST_ERROR
from ..verified import replaced
from . import headline, measured, section, unpublished
from .markdown import SOURCES, UNKNOWN, bullets, heading, plain, table
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
ERRORS = ("sparse.error.max", TEST_ERROR, "diverged")
READING = (
    "Success rate: share of runs whose test error, at the logged step with the lowest "
    "validation error, is below the threshold of the task; solved of all runs in round brackets, "
    "Wilson's 95 % interval in square ones.",
    "Solved at: first logged step with a test error below the threshold, of solved runs; "
    "sparsity error: at the step that the run is judged at, of solved runs. Means and intervals "
    "are those of the papers' estimators (see `export/summarize.py --help`), not arithmetic means.",
    "Source: where the published number was read. The intervals of published rates are computed "
    "here from their counts, all of division among them; those of steps and sparsity are "
    "published.",
    "Difference: our rate less the published one, with Newcombe's 95 % interval, paired where the "
    "outcome of every seed is known.",
    "Verdicts about rates: equal – the counts, solved of all, are identical; within 5 points – "
    "the interval of the difference lies within 5 points of zero; differs – it does not hold zero; "
    "cannot tell at this n – neither, for so few runs. Means of steps and sparsity: within 5 %, in "
    "shares of the published mean. –: not published, or without an interval.",
    "Chosen seeds are some of the published ones, and no sample of all: what became of each is "
    "compared with what the papers' files say of the same seed, and no rate is compared. Runs that "
    "are shorter than the published ones are not comparable, except where they are solved already.",
    "In drawings, hollow squares are published rates, filled circles are ours, bars are intervals.",
)
REPEATED = (
    "Figures that show the same runs and published numbers repeat their counts; the headline "
    "counts each once."
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
        counted(results),
        bullets(_at_a_glance(results, of_measures, data, link)),
        heading(2, "Headline figures", "headline"),
        headline.table(found),
        f"![Success rates, published and here]({HEADLINE})",
        heading(2, "How to read it", "reading"),
        bullets(READING),
        heading(2, "Overview", "overview"),
        *_overview(results),
        *_figures(results),
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
        f"**{whole} of {len(planned)} figures and tables are trained in full**, "
        f"{len(kept) - whole} in part: {runs:,} different runs, every one kept.",
    ]
    if of_measures:
        told.append(
            f"{len(of_measures)} of these are [not about success rates](#{measured.ANCHOR}); their "
            "numbers stand beside others that are published, stated, or recalled and unconfirmed, "
            "and labelled so."
        )
    told.append(_left(planned, {key: len(found.runs) for key, found in kept.items()}))
    told.append(
        "Any row can be trained again, and every digit compared: `python3 "
        "experiments/reproduce.py --verify KEY --rows 5` chooses five at random, `--line N` is the "
        "one in line N of the table of that key." + _verified(list(kept.values()), data, link)
    )
    return [one for one in told if one]


def _verified(results: Sequence[Result | measured.MeasuredResult], data: Path, link: str) -> str:
    """Return how many rows that were chosen at random came out again."""
    drawn = [
        (one.key, one.equal == one.compared)
        for found in results
        for one in found.verified
        if one.verify_seed is not None
    ]
    if not drawn:
        return ""
    same, keys = sum(equal for _, equal in drawn), len({key for key, _ in drawn})
    gone = len(replaced(data))
    before = f"; {gone} that did not {'was' if gone == 1 else 'were'} replaced" if gone else ""
    return (
        f" So far {len(drawn)} rows of {keys} figures and tables were chosen at random and trained "
        f"again: **{same} of {len(drawn)} came out equal in every digit**{before} "
        f"([verified.csv]({link}/verified.csv))."
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


def counted(results: Sequence[Result]) -> str:
    """Return how many rates are identical in their counts, every published rate counted once."""
    rows = list(_once(results).values())
    rates = [row for row in rows if row.is_rate]
    if not rates:
        return "No published rate can be compared yet."
    kinds = Counter(row.verdicts[MEASURES[0]] for row in rates)
    others = [f"{kinds[kind]} {kind}" for kind in RATE_VERDICTS[1:] if kinds[kind]]
    told = f"; {', '.join(others)}" if others else ""
    sources = Counter(SOURCES[row.published.source] for row in rates if row.published)
    read = ", ".join(f"{count} {source}" for source, count in sources.most_common())
    return (
        f"**{kinds[EQUAL]} of {len(rates)} published success rates are met to the run: the same "
        f"number solved, of the same number of runs**{told}. Where the {len(rates)} were read: "
        f"{read}."
    )


def _once(results: Sequence[Result]) -> dict[Published, Row]:
    """Return every published point with its row; figures that show the same runs share points."""
    rows = [row for found in results for row in found.rows]
    return {row.published: row for row in reversed(rows) if row.published}


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
    head = ("figure / model / point", "measure", "published", "here", "explanation")
    once = _once(results)
    rows = [
        [plain(place(found.experiment.key, row)), measure, *_values(row, measure), told or UNKNOWN]
        for found in results
        for row in found.rows
        for measure, verdict in row.verdicts.items()
        if verdict == DIFFERS and row.published is not None and once[row.published] is row
        for told in [note(notes, found.experiment.key, row)]
    ]
    compared = sum(
        row.verdicts[measure] not in (None, SHORT) for row in once.values() for measure in MEASURES
    )
    text = (
        f"{len(rows)} of {compared} comparisons differ, each counted once though several figures "
        "may show it. Where two experiments measure the same, an interval of 95 % misses zero by "
        "chance in 1 of 20 comparisons."
    )
    parts: list[str] = [heading(2, "Where results differ", "differences"), text]
    return [*parts, table(head, rows)] if rows else parts


def _values(row: Row, measure: str) -> tuple[str, str]:
    cells = dict(zip(section.HEAD, section.cells(row), strict=True))
    column = {"success rate": "success", "solved at": "mean solved at"}.get(measure, measure)
    return cells[f"{column}, published"], cells[f"{column}, here"]


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
