"""The page that compares kept results with the papers: `reproduce.py --report`.

It is written as Markdown, of the templates beside this file; the HTML is rendered from that, and
the pictures are matplotlib's.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from tqdm import tqdm

from stable_nalu.errors import UsageError
from stable_nalu.files import atomic_text_file
from stable_nalu.machine import is_checkout
from stable_nalu.paper.experiment import Experiment
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.papers import MODULES, STUDIES
from stable_nalu.result.compare import DIFFERS, MEASURES
from stable_nalu.result.document import UNKNOWN, filled, plain, render
from stable_nalu.result.judged import cut_short
from stable_nalu.result.listing import UNSHOWN, seconds_here
from stable_nalu.result.records import ALONE
from stable_nalu.result.stored import DATA, kept_keys
from stable_nalu.script import duration

from . import headline, measures, rates, unpublished
from .finding import finding
from .measures import MeasuredResult
from .notes import note, place, read_notes, read_reasons, reason, replaced, sentence
from .rates import PAPER, SOURCES, Result

CHECKOUTS = DATA.parent
"""The folder of the page in the checkout."""
TEMPLATE = Path(__file__).parent / "templates" / "page.md"
FIRST_WORDS = "What the published experiments give when this project trains them"
"""The words by which a page is known as one of this script."""
HEADLINE = "headline.svg"
ORIGINAL_SECONDS = 8 * 3600 / 5e6
"""The original's seconds of one core per iteration: the papers state 8 hours for 5 million."""


def write_page(data: Path = DATA, out: Path | None = None) -> list[Path]:
    """Write `index.html`, `README.md` and their pictures, and return the paths.

    From the results of the checkout, the headline table of its README is written, too. Notes and
    reasons that are written by hand are read beside the folder of results.

    Args:
        data: the folder of kept results.
        out: the folder of the page; None means that of the checkout, for its own results only.
    """
    own = data.resolve() == DATA.resolve()
    if out is None and not (own and is_checkout()):
        raise UsageError("--report-out: say where to write the page of results in another folder")
    folder = out or CHECKOUTS
    kept, of_measures = kept_keys(data, measured=False), kept_keys(data, measured=True)
    if not (kept or of_measures):
        raise UsageError(f"--data: {data} holds no kept results")
    keys = tqdm(kept, desc="figures", disable=None, leave=False)
    text, pictures = page(
        [rates.result(EXPERIMENTS[key], data) for key in keys],
        [measures.result(EXPERIMENTS[key], data) for key in of_measures],
        data,
        os.path.relpath(data, folder),
    )
    _refuse_strangers(folder, pictures)
    files = {"index.html": render(text, pictures), "README.md": text, **pictures}
    written = _write(folder, files)
    if own and folder.resolve() == CHECKOUTS.resolve():
        readme = headline.README.read_text(encoding="utf-8")
        written += _write(headline.README.parent, {"README.md": headline.refreshed(readme)})
    return written


def _refuse_strangers(folder: Path, pictures: Iterable[str]) -> None:
    """Refuse to write over a page, or a picture, that no page of this script shows."""
    pages = [path for name in ("README.md", "index.html") if (path := folder / name).exists()]
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in pages}
    for path, text in texts.items():
        if FIRST_WORDS not in text:
            raise UsageError(f"--report-out: {path} is not a page of this script, and is kept")
    shown = texts.get(folder / "README.md", "")
    for name in pictures:
        if (folder / name).exists() and f"({name})" not in shown:
            raise UsageError(f"--report-out: no page there shows {folder / name}, which is kept")


def _write(folder: Path, files: Mapping[str, str]) -> list[Path]:
    try:
        for name, text in files.items():
            with atomic_text_file(folder / name) as file:
                file.write(text)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror}") from None
    return [folder / name for name in files if "/" not in name]


def page(
    results: Sequence[Result], of_measures: Sequence[MeasuredResult], data: Path, link: str
) -> tuple[str, dict[str, str]]:
    """Return the Markdown of the page, and its pictures by name.

    results: of experiments with success rates. of_measures: of others.
    data: the folder of results; texts written by hand lie beside it.
    link: the way from the page to that folder.
    """
    notes, claims = read_notes(data.parent), headline.findings(data)
    pictures = {HEADLINE: headline.drawing(claims)}
    pictures |= {f"pictures/{one.experiment.key}.svg": one.picture for one in results}
    pictures |= dict(chain.from_iterable(one.pictures.items() for one in of_measures))
    every = [*results, *of_measures]
    planned = [experiment for experiment in EXPERIMENTS.values() if experiment.models]
    sources = [
        {SOURCES[row.published.source] for row in found.rows if row.published} for found in results
    ]
    at_thresholds, units = rates.at_another_threshold(results)
    text = filled(
        TEMPLATE,
        first_words=FIRST_WORDS,
        link=link,
        counted=rates.counted(results),
        whole=sum(len(found.runs) >= found.experiment.runs for found in every),
        kept=len(every),
        planned=len(planned),
        runs=rates.distinct(results) + sum(len(found.runs) for found in of_measures),
        others=[paper.short_title for paper in MODULES if paper not in STUDIES],
        of_measures=of_measures,
        results=results,
        elsewhere=sum(map(bool, sources)),
        in_papers=sum(any(name.startswith(PAPER) for name in one) for one in sources),
        left=_left(planned, {found.experiment.key: len(found.runs) for found in every}),
        verified=_verified(every, data),
        notes=notes,
        headline=headline.rows_of(claims),
        picture=HEADLINE,
        overview=[_overview(found) for found in results],
        papers=_by_paper(results),
        at_thresholds=at_thresholds,
        units=units,
        differing=_differing(results),
        differences=_differences(results, notes),
        measures=measures.sections(of_measures, notes),
        unpublished=unpublished.section(data),
        not_run=_not_run(every, data.parent),
        origin=_origin(every),
        place=_place,
        extent=_extent,
        finding=finding,
        sentence=sentence,
    )
    return text, pictures


def _verified(results: Sequence[Result | MeasuredResult], data: Path) -> dict[str, Any]:
    """Return how many rows that were chosen at random came out again, those replaced included."""
    gone = [one for one in replaced(data) if one.verify_seed is not None]
    known = [one for found in results for one in found.verified if one.verify_seed is not None]
    drawn = [*known, *gone]
    equal = [one for one in drawn if one.equal == one.compared]
    return {
        "rows": len(drawn),
        "figures": len({one.key for one in drawn}),
        "seeds": sorted({one.verify_seed for one in drawn if one.verify_seed is not None}),
        "equal": len(equal),
        "alone": sum(one.trained == ALONE for one in equal),
        "gone": len(gone),
    }


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
        f"{sum(runs for _, runs in missing):,} runs of {len(missing)} figures and tables, about "
        f"{duration(sum(known))} of CPU time{unknown}"
    )


def _overview(found: Result) -> dict[str, str]:
    verdicts = {measure: found.counted(measure) for measure in MEASURES}
    return {
        "figure": f"[{_where(found.experiment)}](#{found.experiment.key})",
        "runs": f"{len(found.runs):,} of {found.experiment.runs:,}",
        "CPU time here": duration(found.cpu_seconds) if found.sessions else "with others",
        "original, one core": duration(found.iterations * ORIGINAL_SECONDS),
        "rates with identical counts": found.identical,
        **verdicts,
    }


def _where(experiment: Experiment) -> str:
    numbers = [f"{s.paper.reference} {s.number}" for s in experiment.shown]
    title = f"{experiment.title} ({', '.join(numbers)})" if numbers else experiment.title
    return plain(title)


def _place(experiment: Experiment) -> str:
    where = "; ".join(f"{s.paper.title}, {s.number}" for s in experiment.shown)
    return where or "In no figure"


def _extent(found: Result) -> str:
    """Tell how many runs there are, what they cost here, and what the original would have spent."""
    at_most = "" if max(found.runs["iterations"].tolist()) >= 1e6 else "at most "
    here = "No training is on record under this key (figures share runs)"
    if found.sessions:
        here = (
            f"This command trained {sum(s.runs for s in found.sessions):,} runs, in "
            f"{duration(found.cpu_seconds)} of CPU time "
            f"({duration(sum(s.wall_seconds for s in found.sessions))} by the clock)"
        )
    short = cut_short(found.experiment, found.runs)
    return (
        f"{len(found.runs):,} of {found.experiment.runs:,} published runs, {found.iterations:,} "
        f"iterations in all. {here}; the original would take {at_most}"
        f"{duration(found.iterations * ORIGINAL_SECONDS)} of one core."
    ) + (f" Cut short: {short}." if short else "")


def _by_paper(results: Sequence[Result]) -> list[tuple[str, str, list[Result]]]:
    """Return title, anchor and results of every paper that shows some first, then of no paper."""
    found = []
    for paper in STUDIES:
        own = [r for r in results if r.experiment.shown and r.experiment.shown[0].paper == paper]
        found.append((f"{paper.title} ({paper.reference})", paper.key, own))
    found.append((UNSHOWN, "other", [r for r in results if not r.experiment.shown]))
    return [part for part in found if part[2]]


def _differing(results: Sequence[Result]) -> dict[str, int]:
    """Return how many comparisons differ, of rates and of means, each counted once."""
    verdicts = Counter(
        (measure == MEASURES[0], row.verdicts[measure] == DIFFERS)
        for row in rates.once(results).values()
        for measure in MEASURES
        if row.verdicts[measure] is not None and (measure != MEASURES[0] or row.is_rate)
    )
    return {
        "means": verdicts[False, True],
        "all_means": verdicts[False, True] + verdicts[False, False],
        "rates": verdicts[True, True],
        "all_rates": verdicts[True, True] + verdicts[True, False],
    }


def _differences(results: Sequence[Result], notes: Mapping[str, str]) -> list[dict[str, str]]:
    """Return a row for every measure of a point that differs."""
    columns = {"success rate": "success", "solved at": "mean solved at"}
    once = rates.once(results)
    return [
        {
            "figure / model / point": plain(place(found.experiment.key, row)),
            "measure": measure,
            **{
                side: rates.cells(row)[f"{columns.get(measure, measure)}, {side}"] for side in sides
            },
            "explanation": note(notes, found.experiment.key, row) or UNKNOWN,
        }
        for sides in [("elsewhere", "here")]
        for found in results
        for row, cells in zip(found.rows, found.cells, strict=True)
        for measure, verdict in row.verdicts.items()
        if verdict == DIFFERS and row.published is not None and once[row.published] is row
    ]


def _not_run(results: Sequence[Result | MeasuredResult], folder: Path) -> list[dict[str, str]]:
    kept = {found.experiment.key: found.runs for found in results}
    reasons = read_reasons(folder)
    rows = []
    for key, experiment in EXPERIMENTS.items():
        count = len(kept[key]) if key in kept else 0
        if experiment.models and count >= experiment.runs:
            continue
        trained = set(kept[key]["model"]) if key in kept else set()
        missing = [plain(m.label) for m in experiment.models if m.key not in trained]
        extent = f"{experiment.runs - count:,} of {experiment.runs:,}" if experiment.models else "0"
        rows.append(
            {
                "figure": f"{_where(experiment)}, `{key}`",
                "what was not run": "all"
                if not trained
                else ", ".join(missing) or "some seeds or points",
                "runs": extent,
                "why": reason(reasons, experiment),
            }
        )
    return rows


def _origin(results: Sequence[Result | MeasuredResult]) -> dict[str, Any]:
    """Return what the runs were trained with: machines do not matter, versions may."""
    sessions = sorted(
        chain.from_iterable(found.sessions for found in results), key=lambda s: s.began
    )
    made = dict.fromkeys((revision_text(s.git_revision), s.versions) for s in sessions)
    return {
        "made": [{"revision": plain(one), "versions": plain(other)} for one, other in made],
        "trained": sum(s.runs for s in sessions),
        "spent": duration(sum(s.cpu_seconds for s in sessions)),
        "processes": max((s.processes for s in sessions), default=0),
        "first": sessions[0].began[:10] if sessions else "",
        "last": sessions[-1].began[:10] if sessions else "",
    }


def revision_text(recorded: str) -> str:
    """Return the first letters of a revision, and whether the tree departed from it."""
    revision, _, changed = recorded.partition("-")
    return revision[:12] + (" with uncommitted changes" if changed else "")
