"""The page of a challenge: what was compared, under which setting, and how it came out."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stable_nalu.files import atomic_text_file
from stable_nalu.paper.challenger import Challenger
from stable_nalu.paper.experiment import Command, seeds_text, words
from stable_nalu.script import command_of, duration
from stable_nalu.statistics.setups import below

from ..cost import Session
from ..page import html, markdown
from ..page.drawing import as_svg
from .duel import ALIKE, ALL, BETTER, MEASURES, WORSE, Contest, Duel, Standing

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TEST_HEAD = (
    "rival",
    "pairs",
    "only the challenger solved",
    "only the rival solved",
    "difference",
    "p",
    "p by Holm",
    "the challenger is",
)
PICTURED = "Success rate, step solved at and sparsity error of all layers"
READING = (
    "Rivals are the results that the project keeps of the published models; nothing of them was "
    "trained for this page. All are compared on the points and seeds of the challenger only.",
    "Success rate: share of runs whose test error, at the logged step with the lowest validation "
    "error, is below the threshold of the task, with Wilson's 95 % interval in square brackets.",
    "Solved at: first logged step with a test error below the threshold. Sparsity error: at the "
    "step that the run is judged at. Both are means over solved runs, by the papers' estimators.",
    "Ranks stand in round brackets; equal values share one.",
    "Test: McNemar's exact test of success, paired by point and seed (two-sided, of the pairs that "
    "only one of both has solved). p is adjusted for the number of rivals by Holm's method; "
    "significant is what is below 0.05. Pairs are taken as independent, though the runs of one "
    "seed begin with the same weights at every point.",
    "Difference: the challenger's success rate less the rival's, with Newcombe's 95 % interval for "
    "paired rates.",
)

TUNED = "The challenger was trained with flags of its own ({}); rivals were trained as published."


@dataclass(frozen=True)
class Chapter:
    """A challenger in a figure: how it was trained, and the contest."""

    commands: Sequence[Command]
    contest: Contest

    @property
    def key(self) -> str:
        """Return the key of the figure."""
        return self.contest.experiment.key


@dataclass(frozen=True)
class Page:
    """All that the page tells.

    refused: why the challenger cannot be trained for a figure, by the key of that.
    """

    challenger: Challenger
    chapters: Sequence[Chapter]
    sessions: Sequence[Session]
    refused: Mapping[str, str]


def write(page: Page, folder: Path, formats: Sequence[str]) -> list[Path]:
    """Write the page as HTML and Markdown, with pictures and tables, and return the paths."""
    from stable_nalu.figure.style import drawing, save
    from stable_nalu.statistics.table import write_plain_frame

    pictures, written = {}, []
    parts = [*_head(page), *_setting(page.challenger, page.sessions)]
    for chapter in page.chapters:
        own = {}
        with drawing():
            for operation, figure in figures(chapter.contest).items():
                name = "_".join(filter(None, (chapter.key, operation)))
                own[f"pictures/{name}.svg"] = as_svg(figure)
                written += save(figure, folder / "figures", name, formats)
        for name, table in tables(chapter.contest).items():
            written.append(folder / "tables" / f"{chapter.key}_{name}.csv")
            write_plain_frame(written[-1], table)
        parts += _chapter(chapter, own)
        pictures |= own
    text = "\n\n".join(parts) + "\n"
    files = {"README.md": text, "index.html": html.render(text, pictures), **pictures}
    own = page.challenger.source if page.challenger.file else None
    if own is not None:
        files[Path(own.path).name] = own.source
    for name, content in files.items():
        with atomic_text_file(folder / name) as file:
            file.write(content)
    return [folder / "README.md", folder / "index.html", *written]


def figures(contest: Contest) -> dict[str, Figure]:
    """Draw all layers in one figure, or in one per operation, by the operation or no name."""
    from stable_nalu.figure.entry import Context, Runs, Threshold
    from stable_nalu.figure.panels import Panels, draw
    from stable_nalu.figure.runs import Reduced, estimate
    from stable_nalu.figure.source import Source
    from stable_nalu.figure.style import drawable
    from stable_nalu.statistics.estimators import PUBLISHED

    x = contest.experiment.parameter
    x = x if x in contest.runs else "interpolation.range"
    labels = {key: drawable(label) for key, label in contest.labels.items()}
    runs = contest.runs.assign(
        model=[labels[key] for key in contest.runs["model"]],
        solved=contest.runs["solved"].astype(bool),
    )
    operations = list(dict.fromkeys(runs["operation"])) if x != "operation" else [None]
    found = {}
    for operation in operations:
        own = runs if operation is None else runs.loc[runs["operation"] == operation]
        part = Panels("", Runs(x, Threshold()), x.replace(".", " ").capitalize())
        reduced = Reduced(own, tuple(labels.values()), ())
        summary = estimate(own, list(dict.fromkeys(part.grouping)), PUBLISHED)
        name = str(operation) if len(operations) > 1 else ""
        found[name] = draw(part, reduced, summary, Context("", (), Source(Path())))
    return found


def tables(contest: Contest) -> dict[str, pd.DataFrame]:
    """Return the standings and the tests as tables, by name."""
    import pandas as pd

    standings = [
        {
            "layer": s.label,
            "point": s.point,
            "runs": s.runs,
            "threshold": s.threshold,
            "solved": s.solved,
        }
        | {f"rank.{measure.replace(' ', '.')}": rank for measure, rank in s.ranks.items()}
        | s.summary
        for s in contest.standings
    ]
    tests = [
        {
            "rival": d.label,
            "pairs": d.pairs,
            "only.challenger": d.won,
            "only.rival": d.lost,
            "difference": d.gap.mean,
            "difference.lower": d.gap.lower,
            "difference.upper": d.gap.upper,
            "p": d.p,
            "p.holm": d.adjusted,
            "verdict": d.verdict,
        }
        for d in contest.duels
    ]
    return {"standings": pd.DataFrame(standings), "tests": pd.DataFrame(tests)}


def _head(page: Page) -> list[str]:
    left_out = [f"{key} is left out: {why}." for key, why in page.refused.items()]
    return [
        markdown.heading(1, f"{page.challenger.layer_type} among the published layers", "top"),
        *_warning(page.chapters),
        markdown.heading(2, "Overview", "overview"),
        _overview(page.chapters),
        *map(markdown.plain, left_out),
    ]


def _warning(chapters: Sequence[Chapter]) -> list[str]:
    """Say plainly that rivals ran longer, or for less."""
    unfair = {
        (chapter.key, *duel.lengths): None
        for chapter in chapters
        for duel in chapter.contest.duels
        if not duel.fair
    }
    if not unfair:
        return []
    who = (
        "rivals ran longer" if any(theirs > ours for _, theirs, ours in unfair) else "it ran longer"
    )
    told = (f"{key}: rivals {theirs:,} iterations, here {ours:,}" for key, theirs, ours in unfair)
    return [f"**No fair comparison: {who}, and no verdict is given ({'; '.join(told)}).**"]


def _overview(chapters: Sequence[Chapter]) -> str:
    head = ("figure", "runs", "success rate", "rank", "better than", "worse than", "no difference")
    rows = []
    for chapter in chapters:
        contest = chapter.contest
        (own, *others) = [s for s in contest.standings if s.point == ALL]
        by = {v: [d.label for d in contest.duels if d.verdict == v] for v in (BETTER, WORSE, ALIKE)}
        told = [markdown.plain(", ".join(names)) or markdown.UNKNOWN for names in by.values()]
        fair = all(duel.fair for duel in contest.duels)
        rank = f"{own.ranks['success rate']} of {len(others) + 1}" if fair else markdown.UNKNOWN
        title = f"[{markdown.plain(contest.experiment.title)}](#{chapter.key})"
        rows.append([title, str(own.runs), markdown.rate(own.solved, own.runs), rank, *told])
    return markdown.table(head, rows)


def _setting(challenger: Challenger, sessions: Sequence[Session]) -> list[str]:
    """Tell what was trained, by what, and at which cost."""
    spent = sum(session.cpu_seconds for session in sessions)
    trained = sum(session.runs for session in sessions)
    source = challenger.source
    over = shlex.join(words(challenger.training))
    rows = [
        ("layer", challenger.layer_type),
        ("file", Path(source.path).name if source else ""),
        ("SHA-256 of the file", source.sha256 if source else ""),
        ("options of the layer", " ".join(challenger.options)),
        ("flags over those of the figures", over),
        ("cost", f"{trained:,} runs in {duration(spent)} of CPU time"),
    ]
    if sessions:
        last = max(sessions, key=lambda session: session.began)
        rows += [
            ("versions", last.versions),
            ("revision of stable-nalu", last.git_revision),
            ("trained last", f"{last.began[:16].replace('T', ' ')} UTC"),
        ]
    cells = [(name, markdown.plain(text) or markdown.UNKNOWN) for name, text in rows]
    return [
        markdown.heading(2, "What was trained", "configuration"),
        markdown.table(("what", "value"), cells),
        markdown.heading(2, "How to read it", "reading"),
        markdown.bullets([*READING, *([TUNED.format(markdown.plain(over))] if over else [])]),
    ]


def _chapter(chapter: Chapter, pictures: Iterable[str]) -> list[str]:
    contest = chapter.contest
    shown = "; ".join(f"{s.paper.title}, {s.number}" for s in contest.experiment.shown)
    seeds = seeds_text({int(seed) for seed in contest.runs["seed"]})
    limit = below(contest.runs["threshold"])
    parts = [
        markdown.heading(2, contest.experiment.title, chapter.key),
        markdown.plain(f"{shown}. Seeds {seeds}. Solved: test error {limit}."),
        "\n".join(f"    {command_of(*command.line)}" for command in chapter.commands),
        *(
            f"![Success rate, step solved at and sparsity error of all layers]({p})"
            for p in pictures
        ),
        markdown.table(("layer", *MEASURES), _standings(contest)),
        markdown.table(TEST_HEAD, [_test(duel) for duel in contest.duels]),
        *_matrices(contest),
    ]
    if contest.missing:
        names = markdown.plain(", ".join(contest.missing))
        parts.append(f"Not compared, as no results of these runs are kept: {names}.")
    return parts


def _standings(contest: Contest) -> list[list[str]]:
    """Return how all layers stand at all points together, the best success rate first."""
    rows = []
    of_all = [s for s in contest.standings if s.point == ALL]
    for one in sorted(of_all, key=lambda s: s.ranks["success rate"] or 0):
        rate = markdown.rate(one.solved, one.runs)
        steps, sparsity = (
            markdown.measured(one.summary, name) for name in ("converged.at", "sparse.error")
        )
        cells = zip((rate, steps, sparsity), one.ranks.values(), strict=True)
        texts = [text if rank is None else f"{text} ({rank})" for text, rank in cells]
        rows.append([_name(one.label, contest), *texts])
    return rows


def _name(label: str, contest: Contest) -> str:
    """Return a label, that of the challenger in bold."""
    return f"**{markdown.plain(label)}**" if label == contest.label else markdown.plain(label)


def _test(duel: Duel) -> list[str]:
    numbers = map(str, (duel.pairs, duel.won, duel.lost))
    gap = markdown.points(duel.gap)
    p_values = (markdown.number(value) for value in (duel.p, duel.adjusted))
    return [markdown.plain(duel.label), *numbers, gap, *p_values, duel.verdict]


def _matrices(contest: Contest) -> list[str]:
    """Return a table of every measure, of layers by points, with the ranks at each point."""
    points = list(dict.fromkeys(s.point for s in contest.standings if s.point != ALL))
    parts: list[str] = []
    for measure, (column, _) in MEASURES.items() if points else ():
        rows = []
        for label in contest.labels.values():
            at = {s.point: s for s in contest.standings if s.label == label}
            rows.append(
                [_name(label, contest), *(_cell(at.get(p), measure, column) for p in points)]
            )
        head = ("layer", *map(markdown.plain, points))
        parts += [f"{measure.capitalize()} by point:", markdown.table(head, rows)]
    return parts


def _cell(found: Standing | None, measure: str, column: str) -> str:
    if found is None or found.ranks[measure] is None:
        return markdown.UNKNOWN
    rate = measure == "success rate"
    text = f"{found.solved}/{found.runs}" if rate else markdown.number(found.summary[column])
    return f"{text} ({found.ranks[measure]})"
