"""docs/board.html: units ranked by operation, range and league, with their cards."""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from stable_nalu.api.zoo import card
from stable_nalu.base.files import CHECKOUT
from stable_nalu.bench import ranking
from stable_nalu.bench.board import SubmissionCard, submissions
from stable_nalu.dataset.distribution import INTERPOLATION_ORDER
from stable_nalu.inspection.formula import EXACT_VERDICTS, VERDICTS
from stable_nalu.layer import entries
from stable_nalu.paper.index import find
from stable_nalu.result.document import number, points, rate
from stable_nalu.result.stored import DATA, formulas_of, sessions_of
from stable_nalu.statistics import intervals as by_seed
from stable_nalu.statistics.intervals import holm
from stable_nalu.statistics.setups import LEVEL

from . import TEMPLATES, grouped, rows_in
from .site_pages import layer_of

PATH = CHECKOUT / "docs" / "board.html"
TUNED_RUNS = CHECKOUT / "docs" / "board" / "equal_tuning.csv"
SUBMISSIONS = CHECKOUT / "submissions"
SIGNS = {"add": "+", "sub": "−", "mul": "×", "div": "/"}
RULE_TEXTS = {
    "benchmark": "thresholds of the benchmark",
    "1e-5": "10⁻⁵ for all tasks",
    "DMU": "thresholds of the DMU's repository",
}
COSTS = {"dmu": "dmu_thresholds"}
"""Experiment -> where the cost of the same runs is kept."""
RANGES = ("", *INTERPOLATION_ORDER)
"""Ranges of inputs, all together before each alone."""
FEW = 0.05
"""Share of solved runs up to which a unit is among the negative results."""
Every = Mapping[str, Sequence[ranking.Entry]]
"""Operation -> the units that take part."""


def refreshed(_text: str = "", root: Path = SUBMISSIONS) -> str:
    sent = submissions(root)
    every = {o: [*ranking.kept_entries(o), *tuned_entries(o)] for o in ranking.OPERATIONS}
    for one in sent:
        for operation in one.card.operations if one.card.is_whole and one.rows else ():
            every[operation].append(one.entry)
    cards = {one.folder.name: one.card for one in sent}
    data = {"operations": SIGNS, "rules": RULE_TEXTS, "ranges": INTERPOLATION_ORDER}
    data |= {"verdicts": VERDICTS, "exact": len(EXACT_VERDICTS)} | _tables(every)
    units = {"cards": list(_cards(every, cards)), "negative": list(_negative(every, cards))}
    return TEMPLATES.get_template("board.html").render(data=data, duels=_duels(every), **units)


def tuned_entries(operation: str) -> list[ranking.Entry]:
    """Return the units with the best of equally many random settings."""
    rows = [row for row in rows_in(TUNED_RUNS) if row["operation"] == operation]
    own = dict(grouped(rows, lambda row: row["unit"]))
    kept = (one for one in ranking.kept_entries(operation) if one.label in own)
    return [replace(one, league="equal tuning", rows=tuple(own[one.label])) for one in kept]


def league_of(entry: ranking.Entry) -> str:
    return f"{entry.league}; told {entry.prior}" if entry.prior else entry.league


def _tables(every: Every) -> dict[str, Any]:
    """Return all ranks by league, operation, rule and range, and what is known of units there."""
    units = list(dict.fromkeys(entry.label for found in every.values() for entry in found))
    leagues = list(dict.fromkeys(league_of(e) for found in every.values() for e in found))
    ranks, facts = {}, {}
    for operation, found in every.items():
        for entry, at in itertools.product(found, RANGES):
            place = f"{units.index(entry.label)}|{leagues.index(league_of(entry))}|{operation}|{at}"
            facts[place] = _facts(entry, operation, at)
        for (k, league), rule, at in itertools.product(enumerate(leagues), ranking.RULES, RANGES):
            outcomes = {
                entry.label: {run: met for run, met in own.items() if at in ("", run[0])}
                for entry in found
                if league_of(entry) == league and (own := entry.outcomes(operation, rule))
            }
            if outcomes:
                ranks[f"{k}|{operation}|{rule}|{at}"] = [
                    [units.index(name), one.solved, one.runs, one.best, one.worst]
                    + [round(100 * end, 1) for end in (one.rate.lower, one.rate.upper)]
                    for name, one in ranking.placed(outcomes).items()
                ]
    return {"units": units, "leagues": leagues, "ranks": ranks, "facts": facts}


def _facts(entry: ranking.Entry, operation: str, at: str) -> list[Any]:
    """Return the median step that runs were solved at, and how often their networks are what."""
    own = (row for row in entry.rows if row["operation"] == operation)
    rows = [row for row in own if at in ("", row["interpolation.range"])]
    steps = [float(cell) for row in rows if (cell := row["extrapolation.step.solved"])]
    verdicts = verdicts_of(entry, operation)
    counts = Counter(verdicts.get((row["interpolation.range"], row["seed"])) for row in rows)
    known = [counts[verdict] for verdict in VERDICTS]
    return [median(steps) if steps else None, known if any(known) else None]


_formulas = cache(rows_in)


def verdicts_of(entry: ranking.Entry, operation: str) -> dict[tuple[str, str], str]:
    """Return what is known of what networks compute, by range and seed."""
    rows = entry.rows if "verdict" in entry.rows[0] else _formulas(formulas_of(entry.key[0], DATA))
    models = ("", entry.key[1])
    rows = (row for row in rows if row["operation"] == operation and row.get("model", "") in models)
    return {(row["interpolation.range"], row["seed"]): row["verdict"] for row in rows}


RIVALS = {"mul": ("NMU", "sNMU"), "add": ("NAU",), "sub": ("NAU",), "div": ("NMRU",)}
"""Operation -> units that the DMU is compared with."""
EVERY = "any of the three rules of thresholds"
KINDS = {"given": "given (one bit to learn)", "learned": "learned"}
ANSWERS = {1: "better", -1: "worse", 0: "no significant difference"}


def _duels(every: Every) -> list[dict[str, str]]:
    """Return the DMU against other units; rules that change no outcome share a row."""
    found: dict[tuple[str, ...], tuple[tuple[list[str], list[tuple[bool, bool]]], list[str]]] = {}
    for operation, rivals in RIVALS.items():
        units = {(entry.label, entry.league): entry for entry in every[operation]}
        leagues = list(dict.fromkeys(league for _, league in units))
        for rival, league, kind, rule in itertools.product(rivals, leagues, KINDS, ranking.RULES):
            both = [units.get((name, league)) for name in (f"DMU, operands {kind}", rival)]
            own, other = (one and one.outcomes(operation, rule) for one in both)
            if own and other:
                paired = ranking.paired_outcomes(own, other)
                place = (operation, rival, league, kind, str(paired))
                found.setdefault(place, (paired, []))[1].append(RULE_TEXTS[rule])
    adjusted = holm([by_seed.p_value(*paired) for paired, _ in found.values()])
    rows = []
    for (place, ((seeds, pairs), rules)), p in zip(found.items(), adjusted, strict=True):
        operation, rival, league, kind, _ = place
        sides = list(zip(*pairs, strict=True))
        won, lost = map(sum, sides)
        of_dmu, of_rival = (rate(sum(side), len(side), by_seed.rate(seeds, side)) for side in sides)
        row = {"operation": SIGNS[operation], "against": rival, "league": league}
        row["operands"] = KINDS[kind]
        row["the DMU is"] = ANSWERS[((won > lost) - (won < lost)) * (p < LEVEL)]
        row |= {"DMU solved": of_dmu, "the other solved": of_rival}
        row |= {"difference": points(by_seed.gap(seeds, pairs)), "p by Holm": number(p)}
        row["thresholds"] = EVERY if len(rules) == len(ranking.RULES) else ", ".join(rules)
        rows.append(row)
    return rows


def _cards(every: Every, own: Mapping[str, SubmissionCard]) -> Iterator[dict[str, str]]:
    """Yield what is given and what is learned, of every unit; own: cards of submissions."""
    units = {entry.label: entry for found in every.values() for entry in found}
    for label, entry in sorted(units.items(), key=lambda item: item[0].lower()):
        if of := own.get(entry.key[0]):
            seconds = of.cpu_seconds / len(entry.rows)
            facts = {
                **{"given": of.given, "learned": of.learned},
                "parameters": sum(int(text.rpartition("=")[2]) for text in of.parameters),
                "expresses": ", ".join(of.expresses),
                "rates": ", ".join(word for word in of.training if "learning-rate" in word),
                "tuned": of.tuned or "not said",
            }
        else:
            model = find(entry.key[0]).model(entry.key[1])
            layer = entries()[layer_of(model)]
            wanted = (label, "DMU add") if entry.prior else (label,)
            facts = card(layer, next((v for v in layer.variants if v.label in wanted), None))
            sessions = sessions_of(COSTS.get(entry.key[0], entry.key[0]))
            runs = sum(session.runs for session in sessions)
            seconds = sum(session.cpu_seconds for session in sessions) / runs if runs else None
        prior = {"told about its operation": entry.prior or "nothing"}
        cost = {"CPU s per run": "" if seconds is None else f"{seconds:.2g}"}
        yield {"unit": label} | prior | {name: str(fact) for name, fact in facts.items()} | cost


def _negative(every: Every, cards: Mapping[str, SubmissionCard]) -> Iterator[dict[str, str]]:
    """Yield what solves almost nothing, and why as far as that is known."""
    for operation, found in every.items():
        for entry in found:
            outcomes = entry.outcomes(operation, "benchmark")
            seeds, solved = [seed for _, seed in outcomes], list(outcomes.values())
            own = cards.get(entry.key[0])
            meant = own is None or own.failure or operation in own.expresses
            if sum(solved) > FEW * len(solved) or not meant:
                continue
            counts = Counter(verdicts_of(entry, operation).values())
            computed = ", ".join(f"{counts[v]} {v}" for v in VERDICTS if counts[v])
            yield {
                "operation": SIGNS[operation],
                "unit": entry.label,
                "solved": rate(sum(solved), len(solved), by_seed.rate(seeds, solved)),
                "what its networks compute": computed or "not known",
                "why": own.failure if own else "",
            }
