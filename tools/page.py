"""The page that compares kept results with the papers: `reproduce.py --report`.

It is written as Markdown of a template, from the long table and the records of what trained the
runs; the HTML is rendered from that. Tables that are too long for it are CSV files beside it.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import atomic_text_file, is_checkout
from stable_nalu.base.papers import MODULES, STUDIES
from stable_nalu.base.script import duration
from stable_nalu.inspection.formula import FARTHEST
from stable_nalu.options.flags import half_open
from stable_nalu.paper.experiment import Experiment, seeds_text
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.paper.published import published_seeds
from stable_nalu.result import document, judged, stored
from stable_nalu.result.document import UNKNOWN, interval, number, percent, plain, rate
from stable_nalu.result.reproduce import UNSHOWN
from stable_nalu.statistics.intervals import difference, effect_of, wilson
from stable_nalu.statistics.summary import STEP
from stable_nalu.statistics.table import groups
from stable_nalu.task.table import SCRIPTS

from . import FOLDER, atlas, grouped, headline, long_table
from .drawing import FAILURES_PICTURE, landscapes, pictures_of
from .generated import README, refreshed
from .long_table import BAD, MEANS, OF_ANOTHER, PAPER, RATE, Kept, Line, Lines, place_of, tally
from .notes import cut_short, finding, read_notes, reason, replaced, verified_of

Row = dict[str, Any]
Rows = list[Row]

CHECKOUTS = stored.DATA.parent
"""The folder of the page in the checkout."""
FIRST_WORDS = "What the published experiments give when this project trains them"
"""The words by which a page is known as one of this script."""
HEADLINE = "headline.svg"
ORIGINAL_SECONDS = 8 * 3600 / 5e6
"""The original's seconds of one core per iteration: the papers state 8 hours for 5 million."""
MOST_UNITS = 5
"""Units that the page tells of, in tables of units; files have all."""
ENGINE_SINCE = "2026-11-24T20"
"""From when on the engine trains what scripts with --engine run, unless torch is asked for."""
WIDER = {"arithmetic": 100, "ranges": 100, "benchmark": 100, "flat": 10, "distributions": 10}
"""Rule -> by what the threshold grows from 1e-5 to 1e-4. An error is squared: where 1e-5 is the
distance of weights from the right ones (epsilon), it grows a hundredfold."""
LATE = 5
"""By what factor a published run is late that the page names."""
AT = ("solved at 1e-5", "solved at 1e-4")
"""The columns of rates at both thresholds."""


def write_page(data: Path = stored.DATA, out: Path | None = None) -> list[Path]:
    """Write `README.md`, `index.html`, their pictures and tables, and return the paths of pages.

    From the results of the checkout, the headline table of its README is written, too. Notes and
    reasons that are written by hand are read beside the folder of results.

    Args:
        data: the folder of kept results.
        out: the folder of the page; None means that of the checkout, for its own results only.
    """
    own = data.resolve() == stored.DATA.resolve()
    if out is None and not (own and is_checkout()):
        raise UsageError("--report-out: say where to write the page of results in another folder")
    folder = out or CHECKOUTS
    if not stored.kept_keys(data):
        raise UsageError(f"--data: {data} holds no kept results")
    text, pictures, tables = page(data, os.path.relpath(data, folder))
    _make_room(folder, {*pictures, *tables})
    pages = {"index.html": document.render(text, pictures), "README.md": text}
    written = _write(folder, pages | pictures | tables)
    if own and folder.resolve() == CHECKOUTS.resolve():
        readme = refreshed(README, README.read_text(encoding="utf-8"))
        written += _write(README.parent, {README.name: readme})
    return written


def _make_room(folder: Path, files: Iterable[str]) -> None:
    """Refuse to write over a file that no page of this script shows; remove old pictures of it."""
    pages = [path for name in ("README.md", "index.html") if (path := folder / name).exists()]
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in pages}
    for path, text in texts.items():
        if FIRST_WORDS not in text:
            raise UsageError(f"--report-out: {path} is not a page of this script, and is kept")
    shown = texts.get(folder / "README.md", "")
    for name in files:
        if (folder / name).exists() and f"({name})" not in shown:
            raise UsageError(f"--report-out: no page there shows {folder / name}, which is kept")
    for old in folder.glob("pictures/*.svg"):
        if f"(pictures/{old.name})" in shown and f"pictures/{old.name}" not in files:
            old.unlink()


def _write(folder: Path, files: Mapping[str, str]) -> list[Path]:
    try:
        for name, text in files.items():
            with atomic_text_file(folder / name) as file:
                file.write(text)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror}") from None
    return [folder / name for name in files if "/" not in name]


def page(data: Path, link: str) -> tuple[str, dict[str, str], dict[str, str]]:
    """Return the Markdown of the page, its pictures, and its tables as CSV, by name.

    data: the folder of results; texts written by hand lie beside it.
    link: the way from the page to that folder.
    """
    notes = read_notes(data.parent)
    every = {key: stored.read(key, data) for key in stored.kept_keys(data)}
    lines = long_table.long_table(every, notes)
    figures = [_figure(EXPERIMENTS[key], runs, lines, data) for key, runs in every.items()]
    thresholds = [row for key, runs in every.items() for row in _at_both(EXPERIMENTS[key], runs)]
    left, explained = _not_run(every, data.parent), atlas.explained_runs(every, data)
    tables = {
        "results": [vars(line) for line in lines],
        "figures": figures,
        "thresholds": thresholds,
        "not_run": left,
        "formulas": atlas.verdicts(explained, "key", "model", "unit"),
        "failures": atlas.failures(explained, "key", "model", "unit", "point"),
    }
    frames = {name: pd.DataFrame(rows, dtype=object) for name, rows in tables.items() if rows}
    files = {f"tables/{name}.csv": frame.to_csv(index=False) for name, frame in frames.items()}
    shown = {key: pictures_of(EXPERIMENTS[key], lines, data) for key in every}
    counts, rated = headline.counts_of(data), (runs for runs in every.values() if "solved" in runs)
    claims = headline.rows_of(lines, every, counts)
    pictures = {HEADLINE: headline.drawing(lines)} if claims else {}
    for drawn in (*shown.values(), landscapes(data)):
        pictures |= drawn
    text = document.filled(
        FOLDER / "page.md",
        **{f.__name__: f for f in (by_seed, duration, long_table.margins, tally)},
        **{"atlas": atlas, "explained": explained, "data": data, "lines": lines, "every": every},
        **{"first_words": FIRST_WORDS, "most_units": MOST_UNITS, "farthest": FARTHEST},
        **{"link": link, "files": list(files), "figures": figures, "pictures": shown},
        **{"headline": claims, "picture": HEADLINE, "notes": notes, "left": left},
        sources=_sources(lines),
        patterns=_patterns(lines, every),
        whole=sum(figure["runs"] >= figure["planned"] for figure in figures),
        planned=sum(bool(experiment.models) for experiment in EXPERIMENTS.values()),
        others=[paper.short_title for paper in MODULES if paper not in STUDIES],
        verified=_verified(figures, data),
        papers=_papers(figures, lines, every),
        margin=_too_few(lines),
        effects=[effect_of(own) for runs in rated for _, own in groups(runs, ["model"])] or [1],
        finding=lambda key: finding(EXPERIMENTS[key], every[key]),
        thresholds=_by_paper(thresholds),
        landscapes=[name for name in pictures if name == FAILURES_PICTURE],
        many=headline.ranked(counts, every),
        differences=_differences(lines),
        reasons=_reasons(left),
    )
    return text, pictures, files


def _too_few(lines: Lines) -> dict[str, int]:
    """Return how many rates there are, and how many of too few runs to be within the margin.

    Even 100 % on both sides leave an interval that is wider.
    """
    sizes = [line.published_n or 1 for line in lines if line.counted and line.measure == RATE]
    within, best = judged.WITHIN_POINTS, (difference(wilson(n, n), wilson(n, n)) for n in sizes)
    too_few = sum(judged.equivalence(one, within) != within for one in best)
    return {"rates": len(sizes), "too_few": too_few}


def _figure(experiment: Experiment, runs: pd.DataFrame, lines: Lines, data: Path) -> Row:
    """Return what is kept of a figure or table, what trained it, and what it cost."""
    key, iterations = experiment.key, int(runs["iterations"].to_numpy().sum())
    sessions, known = stored.sessions_of(key, data), verified_of(key, data)
    equal = [one for one in known if one.equal == one.compared]
    takes_it = all("engine" in SCRIPTS[model.script].defaults for model in experiment.models)
    trained_by: list[stored.Session] = []  # the last ones that ended so many runs
    for one in reversed(sessions):
        if one.runs and sum(later.runs for later in trained_by) < len(runs):
            trained_by.insert(0, one)
    engines = ("engine" if takes_it and s.began >= ENGINE_SINCE else "torch" for s in trained_by)
    # A tree that departed from its revision is named as changed.
    parts = (one.git_revision.partition("-") for one in trained_by)
    revisions = (revision[:8] + ("-changed" if changed else "") for revision, _, changed in parts)
    row = {"title": experiment.title, "runs": len(runs), "planned": experiment.runs}
    row |= {"seeds": seeds_text(set(runs["seed"].tolist())), "iterations": iterations}
    row["cut_short"] = cut_short(experiment, runs)
    row["published_numbers"] = sum(bool(one.source) for one in lines if one.key == key)
    row |= {"verified": len(known), "equal": len(equal)}
    row["equal_alone"] = sum(one.trained == stored.ALONE for one in equal)
    return (
        place_of(experiment)
        | row
        | {
            "engine": " ".join(dict.fromkeys(engines)),
            "revisions": " ".join(dict.fromkeys(revisions)),
            "versions": "; ".join(dict.fromkeys(one.versions for one in trained_by)),
            "trained": sum(one.runs for one in sessions),
            "cpu_seconds": round(sum(one.cpu_seconds for one in sessions), 1),
            "original_seconds": round(iterations * ORIGINAL_SECONDS),
            "note": experiment.note,
            "command": f"python3 experiments/reproduce.py {key} --keep",
        }
    )


def _sources(lines: Lines) -> Rows:
    """Return what the comparisons amount to, by source and by kind of number."""

    def of(line: Line) -> tuple[str, str]:
        source = "papers" if line.source.startswith(PAPER) else line.source.partition(":")[0]
        return plain(source), line.measure if line.is_of_rates else "errors, claims"

    found = grouped(sorted(lines, key=lambda line: not line.source.startswith(PAPER)), of)
    rows = [dict(zip(("read in", "number"), o, strict=True)) | tally(own) for o, own in found]
    return [row for row in rows if row["compared"]]


def _patterns(lines: Lines, every: Kept) -> int:
    """Return how many different lists of outcomes, solved or not, the compared rates count."""
    compared = [line for line in lines if line.counted and line.measure == RATE]
    found = set()
    for key, own in groupby(compared, lambda line: line.key):
        runs = every[key]
        at = {(model, point): g for model, point, _, g in judged.places(EXPERIMENTS[key], runs)}
        for line in own:
            group = at.get((line.model, line.point), runs[runs["model"].eq(line.model)])
            found.add(tuple(sorted(zip(group["seed"], group["solved"], strict=True))))
    return len(found)


def _verified(figures: Rows, data: Path) -> dict[str, int]:
    gone = replaced(data)
    kept = [one for figure in figures for one in verified_of(figure["key"], data)]
    sums = {name: sum(figure[name] for figure in figures) for name in ("equal", "equal_alone")}
    sums["drawn"] = sum(one.verify_seed is not None for one in (*kept, *gone))
    sums["figures"] = sum(figure["equal_alone"] > 0 for figure in figures)
    return sums | {"rows": len(kept) + len(gone), "gone": len(gone)}


def _papers(figures: Rows, lines: Lines, every: Kept) -> Rows:
    """Return the sections of the papers, those that show none of the figures left out."""
    found = []
    for paper in (*STUDIES, None):
        own = [figure for figure in figures if figure["paper"] == (paper.key if paper else "")]
        if not own:
            continue
        anchor, title, of = "other", UNSHOWN, UNSHOWN
        if paper:
            anchor, title = paper.key, paper.short_title
            of = f"{paper.title} ({paper.reference})"
        numbers = [line for line in lines if line.paper == own[0]["paper"] and line.verdict]
        sums = pd.DataFrame(own)[["runs", "planned", "cpu_seconds", "original_seconds"]].sum()
        summary = {
            "paper": f"[{plain(title)}](#{anchor})",
            "figures and tables here": len(own),
            "with a published number": sum(f["published_numbers"] > 0 for f in own),
            "numbers compared": tally(numbers)["compared"],
            "runs, of all": f"{sums['runs']:,.0f} of {sums['planned']:,.0f}",
            "CPU time here": duration(sums["cpu_seconds"]),
            "original, one core": duration(sums["original_seconds"]),
        }
        sources = Counter(": ".join(plain(n.source).split(": ")[:2]) for n in numbers)
        parts = {"title": of, "anchor": anchor, "figures": own, "sources": sources}
        parts |= {"numbers": _numbers(numbers, every), "summary": summary}
        found.append(parts | {"runs": [_runs_row(f, lines, every[f["key"]]) for f in own]})
    return found


def _numbers(lines: Lines, every: Kept) -> list[dict[str, str]]:
    """Return the rows of a paper's table: all that is of a unit is one row, its ranges in order."""

    def of(line: Line) -> tuple[str, ...]:
        each = ("", "") if line.is_of_rates else (line.point, line.measure)
        return line.key, line.model, line.operation, *each

    return [_row(own, every[key]) for (key, *_), own in grouped(lines, of)]


def _row(lines: Lines, runs: pd.DataFrame) -> dict[str, str]:
    first = lines[0]
    own = [line for line in lines if line.measure == first.measure]
    at = "" if first.point in (judged.ALL_POINTS, first.operation) else half_open(first.point)
    theirs, ours, verdict = _cells(first)
    if several := len(own) > 1:
        at = f"{len(own)} points"
        theirs, ours, verdict = _counts(own, "published_"), _counts(own, ""), _kinds(own)
    named = "" if first.is_of_rates else first.measure
    return {
        "figure": f"[{plain(first.figure or first.key)}](#{EXPERIMENTS[first.key].stem})",
        "unit": plain(first.unit),
        "operation, point": plain(" ".join(filter(None, (first.operation, at, named)))),
        **{"published": theirs, "here": ours, "difference": _gap(own, runs)},
        "verdict": plain(verdict),
        **{name: _mean([one for one in lines if one.measure == name]) for name in MEANS},
        "n (seeds)": f"{f'{len(own)} × ' * several}{first.n} ({first.seeds.replace(',', ', ')})",
        "rule": first.rule,
    }


def _mean(lines: Lines) -> str:
    """Return a published mean, ours and the verdict; of several, how many have which verdict.

    Published means say nothing of some seeds, which are compared one by one.
    """
    lines = [line for line in lines if line.verdict != judged.CHOSEN]
    if len(lines) != 1:
        return plain(_kinds(lines)) or UNKNOWN
    theirs, ours, verdict = _cells(lines[0])
    return f"{theirs}, here {ours}: {plain(verdict)}"


def _kinds(lines: Lines) -> str:
    kinds = Counter(line.verdict for line in lines)
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items())


def _cells(line: Line) -> tuple[str, str, str]:
    verdict = "; ".join(filter(None, (line.verdict, line.test)))
    if line.measure == RATE:
        ours = rate(line.solved or 0, line.n, line.here)
        if line.verdict == judged.CHOSEN:
            ours = f"{line.solved}/{line.n}"
            verdict = re.sub(r" (runs of )?seeds \([^)]*\)", "", line.test)
        theirs = rate(line.published_solved or 0, line.published_n or 1, line.there)
        return theirs, ours, verdict
    theirs = interval(line.published, line.published_lower, line.published_upper)
    claim, _, kind = line.test.partition(": ")
    if theirs == UNKNOWN and kind:
        theirs, verdict = plain(claim), f"{line.verdict}; {kind}"
    return theirs, interval(line.ours, line.lower, line.upper), verdict


def _counts(lines: Lines, whose: str) -> str:
    pairs = [(getattr(line, f"{whose}solved"), getattr(line, f"{whose}n")) for line in lines]
    sizes = {n for _, n in pairs}
    if len(sizes) == 1:
        return f"{' '.join(str(solved) for solved, _ in pairs)} of {sizes.pop()}"
    return " ".join(f"{solved}/{n}" for solved, n in pairs)


def _gap(lines: Lines, runs: pd.DataFrame) -> str:
    """Return the difference; of several ranges, that of all their runs, which are among `runs`."""
    first = lines[0]
    if first.measure != RATE or any(line.gap is None for line in lines):
        return number(first.gap) if len(lines) == 1 else UNKNOWN
    if len(lines) == 1 and first.gap_ends:
        return headline.in_points(first.gap_ends)
    effect = effect_of(runs.loc[runs["model"] == first.model])
    ours, theirs = (
        wilson(sum(vars(one)[k] for one in lines), sum(vars(one)[n] for one in lines), effect)
        for k, n in (("solved", "n"), ("published_solved", "published_n"))
    )
    return headline.in_points(difference(ours, theirs))


def _runs_row(figure: Row, lines: Lines, runs: pd.DataFrame) -> Row:
    """Return the row of a figure: how its units end, and what trained them."""
    own = [line for line in lines if line.key == figure["key"] and line.measure == RATE]
    at = grouped((o for o in own if o.point != judged.ALL_POINTS), lambda line: line.unit)
    sums = ((unit, sum(o.solved for o in of), sum(o.n for o in of)) for unit, of in at)
    counted = plain("; ".join("{} {}/{}".format(*one) for one in sums))
    short = f" Cut short: {plain(figure['cut_short'])}." if figure["cut_short"] else ""
    return {
        "figure": plain(figure["figure"] or figure["title"]),
        "key": f"`{figure['key']}`",
        "solved, or what is best": (counted or finding(EXPERIMENTS[figure["key"]], runs)) + short,
        "runs": "{runs:,}/{planned:,}".format(**figure),
        "seeds": figure["seeds"].replace(",", ", "),
        "rule": figure["rule"],
        "verified": "{equal}/{verified}".format(**figure) if figure["verified"] else UNKNOWN,
        "by": "{engine} {revisions}".format(**figure).strip() or "not on record",
        "CPU time": duration(figure["cpu_seconds"]) if figure["trained"] else UNKNOWN,
    }


def by_seed(key: str, runs: pd.DataFrame) -> Rows:
    """Return which seeds have the published outcome, where seeds were published."""
    rows = []
    for known in published_seeds(key):
        same = (runs["model"] == known.model) & (runs["operation"] == known.operation)
        ours = runs.loc[same & (runs["seed"] < known.runs)]
        if ours.empty:
            continue
        steps, there = long_table.pairs_of(known, ours, STEP), known.solved_at
        seen = sorted(zip(ours["seed"], ours["solved"], ours[STEP], strict=True))
        other = [seed for seed, solved, _ in seen if bool(solved) != (seed in there)]
        late = [seed for seed, _, step in seen if there.get(seed, 0) > LATE * step]
        means = "{:,.0f}, {:,.0f}".format(*steps.means) if steps else UNKNOWN
        rows.append(
            {
                "unit": plain(EXPERIMENTS[key].model(known.model).label),
                "operation": plain(known.operation),
                "same outcome": f"{len(ours) - len(other)} of {len(ours)}",
                "other outcome at seeds": " ".join(map(str, other)) or "none",
                "same step": f"{steps.same} of {len(steps.values)}" if steps else UNKNOWN,
                "sooner, later": f"{steps.less}, {steps.more}" if steps else UNKNOWN,
                "mean step here, there": means,
                f"over {LATE} times later there": " ".join(map(str, late)) or "none",
            }
        )
    return rows


def _at_both(experiment: Experiment, runs: pd.DataFrame) -> Rows:
    """Return how many runs of each point are solved at both thresholds, from the kept errors."""
    if experiment.is_measured or experiment.criterion not in WIDER:
        return []
    rows = []
    for model, point, _, group in judged.places(experiment, runs):
        errors, limits = (group[name].to_numpy(float) for name in (judged.TEST_ERROR, "threshold"))
        solved = (errors < factor * limits for factor in (1, WIDER[experiment.criterion]))
        counts = dict(zip(AT, (int(one.sum()) for one in solved), strict=True))
        unit = {"model": model, "unit": str(experiment.model(model).label)}
        rows.append(place_of(experiment) | unit | {"point": point, "n": len(group)} | counts)
    return rows


def _by_paper(thresholds: Rows) -> Rows:
    """Return both rates side by side, by paper and rule."""
    titles = {paper.key: plain(paper.short_title) for paper in STUDIES}
    rows = []
    every = groups(pd.DataFrame(thresholds), ["paper", "rule"]) if thresholds else ()
    for (paper, rule), own in every:
        units = own.groupby(["key", "model"])[["n", *AT]].sum()
        row = {"paper": titles.get(str(paper), UNSHOWN), "rule": f"{rule}", "units": len(units)}
        row["with another rate"] = int((units[AT[0]] != units[AT[1]]).sum())
        n = own["n"].sum()
        rows.append(row | {at: f"{percent(own[at].sum() / n)} ({own[at].sum()}/{n})" for at in AT})
    return rows


def _differences(lines: Lines) -> Rows:
    """Return what differs, all numbers of a figure with the same explanation in one row."""
    bad = [line for line in lines if line.verdict in BAD]
    told = [line for line in bad if line.counted or line.source == OF_ANOTHER]
    return [
        {
            "key": f"`{key}`",
            "numbers": len(own),
            "units": plain(", ".join(dict.fromkeys(line.unit for line in own))),
            "of": plain(", ".join(dict.fromkeys(line.measure for line in own))),
            "explanation": why or (own[0].source if own[0].source == OF_ANOTHER else "unexplained"),
        }
        for (key, why), own in grouped(told, lambda line: (line.key, line.note))
    ]


def _not_run(kept: Kept, folder: Path) -> Rows:
    rows = []
    for key, experiment in EXPERIMENTS.items():
        left, seconds = experiment.runs - len(kept.get(key, ())), stored.seconds_here(experiment, 1)
        if left > 0 or not experiment.models:
            row = {"title": experiment.title, "runs": left, "planned": experiment.runs}
            hours = (seconds or 0) * left / max(experiment.runs, 1) / 3600
            row["hours_here"] = None if seconds is None else float(f"{hours:.3g}")
            rows.append(place_of(experiment) | row | {"why": reason(folder, experiment)})
    return rows


def _reasons(left: Rows) -> Rows:
    return [
        {"why": why, "key (runs)": ", ".join(f"`{row['key']}` ({row['runs']:,})" for row in own)}
        for why, own in grouped(left, lambda row: row["why"].partition("; all of it")[0])
    ]
