"""What the rows of the arena say: one table, ranks with their critical difference, one page."""

import itertools
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import atomic_text_file
from stable_nalu.bench.contest import CONTESTANTS, PROBLEMS, SOLVED
from stable_nalu.figure.comparison import draw_ranks
from stable_nalu.figure.style import Look, drawing
from stable_nalu.options.flag import seeds_text
from stable_nalu.result.document import UNKNOWN, as_svg, filled, interval, number, rate, render
from stable_nalu.statistics.comparison import Ranks
from stable_nalu.statistics.intervals import bootstrap

from . import FOLDER

ALPHA = 0.05
LEAST = 1e-32
"""The least error that differs from none, one over the largest that differs from infinity."""
AGREES = 0.01
"""How far two answers may be from each other to agree, as a share of the target's spread."""
SHOWN = {name.replace(", ", " + "): one for name, one in CONTESTANTS.items()}
"""The name of a contestant as tables have it -> the contestant."""
UNITS = [name for name, one in SHOWN.items() if one.plays == "two_layers"]
SETTING = ("seconds", "noise", "redundant")


def frame_of(rows: Sequence[dict[str, Any]]) -> Any:
    """Return rows as a table with numbers: those of tasks and seeds that everyone has played."""
    table: Any = pd.DataFrame(rows)
    for name in ("seed", "steps", *SETTING, "inside", "outside", "cpu", "nodes"):
        table[name] = pd.to_numeric(table[name], errors="coerce")
    table["contestant"] = table["contestant"].str.replace(", ", " + ")
    table["exact"] = table["recovered"] != ""
    everyone = table["contestant"].nunique()
    played = table.groupby([*SETTING, "seed", "task"])["contestant"].transform("nunique")
    return table[played == everyone]


def settings_of(table: Any) -> Iterable[tuple[str, Any]]:
    """Yield what differs between contests in words, and the rows of it."""
    for (seconds, noise, redundant), part in table.groupby(list(SETTING)):
        numbers = part["seed"].unique().tolist()
        words = f"{seconds:g} CPU seconds, seed{'s' * (len(numbers) > 1)} {seeds_text(numbers)}"
        by_seed = part.groupby("seed")["task"].nunique()
        if by_seed.min() < by_seed.max():
            counts = (f"{count} of seed {seed}" for seed, count in by_seed.items())
            words += f" (tasks: {', '.join(counts)})"
        words += f", noise {noise:g}" if noise else ""
        yield words + (f", {redundant:g} redundant inputs" if redundant else ""), part


def scores(table: Any) -> Any:
    found = table.pivot_table("outside", "task", "contestant", aggfunc="median", sort=False)
    return found.clip(lower=SOLVED)


def ranks(table: Any) -> tuple[Any, float, float]:
    """Return mean ranks, Friedman's p and Nemenyi's critical difference; 1 is the best rank."""
    errors = scores(table)
    tasks, count = errors.shape
    ranked = errors.rank(axis=1).mean().sort_values()
    if count < 3 or tasks < 2:
        return ranked, math.nan, math.nan
    p = float(stats.friedmanchisquare(*errors.to_numpy().T).pvalue)
    q = stats.studentized_range.ppf(1 - ALPHA, count, math.inf) / math.sqrt(2)
    return ranked, p, float(q * math.sqrt(count * (count + 1) / (6 * tasks)))


def agreement(rows: Any) -> list[float]:
    """Return of each task the share of pairs of seeds whose answers agree outside."""
    found = []
    for task, part in rows.groupby("task", sort=False):
        probes = [np.array(text.split(), float) for text in part["probes"].astype(str)]
        width = {len(one) for one in probes} - {0}
        spread = PROBLEMS[str(task)].drawn(np.random.default_rng(0), 1000, outside=True)[1].std()
        pairs = [
            len(width) == 1 and len(a) == len(b) and bool((abs(a - b) <= AGREES * spread).all())
            for a, b in itertools.combinations(probes, 2)
        ]
        found += [float(np.mean(pairs))] if pairs else []
    return found


def _median(values: Any) -> str:
    """Return a median of errors with its interval, which is of their logarithms."""
    found = bootstrap(np.log10(values.clip(LEAST, 1 / LEAST)).to_numpy(), "median")
    return "{} [{}, {}]".format(*(_power(10**end) for end in found))


def _power(value: float) -> str:
    """Return an error with one digit."""
    return "0" if value <= LEAST else "∞" if value >= 1 / LEAST else f"{value:.0e}"


def lines_of(table: Any) -> list[dict[str, str]]:
    """Return a line for each contestant, by rank."""
    found = []
    for name, rank in ranks(table)[0].items():
        rows = table[table["contestant"] == name]
        by_task = rows.groupby("task", sort=False)
        medians = by_task[["inside", "outside", "cpu", "nodes"]].median()
        exact, n = int((by_task["exact"].mean() > 0.5).sum()), len(medians)
        nodes, failed = medians["nodes"].dropna().to_numpy(), ("failed", "killed", "diverged")
        line = {
            **{"contestant": name, "mean rank": f"{rank:.2f}"},
            "tasks solved": rate(int((medians["outside"] < SOLVED).sum()), n),
            "formula recovered": UNKNOWN,
            "error inside": _median(medians["inside"]),
            "error outside": _median(medians["outside"]),
            "agreement of seeds": UNKNOWN,
            "nodes": UNKNOWN,
            # Contests that were killed have no time.
            "CPU seconds": interval(*bootstrap(medians["cpu"].dropna().to_numpy())),
            "failed or diverged": str(int(rows["status"].str.startswith(failed).sum())),
        }
        if len(nodes):
            line["formula recovered"] = rate(exact, n)
            line["nodes"] = interval(*bootstrap(nodes, "median"))
        if len(rows) > n:
            line["agreement of seeds"] = interval(*bootstrap(np.array(agreement(rows))))
        found.append(line)
    return found


def summary(rows: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return the table as names and rows, of the setting that has the most contests."""
    table = frame_of(rows)
    if table.empty:
        raise UsageError("no task was played by everyone yet; start the command again to go on")
    _, part = max(settings_of(table), key=lambda one: len(one[1]))
    lines = lines_of(part)
    shown = ["contestant", "mean rank", "tasks solved", "formula recovered", "error outside"]
    return shown, [[line[name] for name in shown] for line in lines]


def critical_difference(table: Any) -> Figure:
    """Draw mean ranks; a bar joins contestants that Nemenyi's test does not tell apart."""
    mean, _, width = ranks(table)
    colors = {name: "black" if SHOWN[name].needs else "#D55E00" for name in mean.index}
    pairs = itertools.combinations(mean.index, 2)
    found = Ranks(mean, {(a, b): float(mean[b] - mean[a] <= width) for a, b in pairs})
    shown = {name: Look(color, "", "-") for name, color in colors.items()}
    return draw_ranks(found, shown, f"Mean rank (critical difference {number(width)})")


def by_task(table: Any) -> list[dict[str, str]]:
    order = list(ranks(table)[0].index)
    found = []
    for task, rows in table.groupby("task", sort=False):
        problem = PROBLEMS[str(task)]
        line = {"task": str(task), "formula": f"`{problem.formula}`", "family": problem.family}
        for name in order:
            own = rows[rows["contestant"] == name]
            error, exact = own["outside"].median(), int(own["exact"].sum())
            text = f"**{_power(error)}**" if error < SOLVED else _power(error)
            line[name] = text + (f" ✓{exact}/{len(own)}" if exact else "")
        found.append(line)
    return found


def losses(table: Any) -> dict[str, list[str]]:
    """Return the tasks by whether the best network of units, or the best rival, is ahead.

    Ahead is who has a median error that is a tenth of the other's, or less.
    """
    errors = scores(table)
    is_own = errors.columns.isin(UNITS)
    own, best = errors.loc[:, is_own].min(axis=1), errors.loc[:, ~is_own].min(axis=1)
    found = {"both": (own <= SOLVED) & (best <= SOLVED), "lost": best <= own / 10}
    kinds = np.select([*found.values(), own <= best / 10], [*found, "won"], "equal")
    return {kind: [*errors.index[kinds == kind]] for kind in ("lost", "equal", "won", "both")}


def solvers(table: Any) -> dict[str, int]:
    """Return how many tasks each contestant solves, the best first."""
    solved = (scores(table) <= SOLVED).sum().sort_values(ascending=False, kind="stable")
    return solved.to_dict()


def write_page(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Write one page without links to other places about all rows."""
    table = frame_of(rows)
    parts = list(settings_of(table))
    with drawing():
        drawn = [as_svg(critical_difference(part)) for _, part in parts]
    cards = [
        {
            **{"contestant": name, "given": SHOWN[name].given, "learned": SHOWN[name].learned},
            "settings": f"`{', '.join(f'{k}={v}' for k, v in SHOWN[name].settings.items())}`",
            "chosen by": SHOWN[name].source,
            "library": rows["library"].iloc[0],
            "ended by itself": f"{100 * rows['ended'].eq('by itself').mean():.0f} %",
        }
        for name, rows in table.groupby("contestant", sort=False)
    ]
    text = filled(
        FOLDER / "arena.md",
        **{f.__name__: f for f in (by_task, lines_of, losses, number, ranks, seeds_text, solvers)},
        **{"parts": parts, "cards": cards, "setting": SETTING},
        **{"tasks": len(PROBLEMS), "contests": len(table)},
        processors=sorted(table["processor"].unique()),
    )
    with atomic_text_file(path, named=True) as file:
        file.write(render(text, {f"ranks{k}": picture for k, picture in enumerate(drawn)}))
