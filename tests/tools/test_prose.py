"""Numbers of stored results in sentences of the documents, computed from the stored rows."""

import functools
import re
from collections.abc import Callable
from math import exp, log
from typing import Any

import pandas as pd
import pytest

from stable_nalu.base.files import CHECKOUT
from stable_nalu.paper.published import published_seeds
from stable_nalu.result.stored import DATA

ON_TEN, ON_HUNDRED = (f"metric.test.extrapolation.{n}.mae" for n in (10, 100))
CLAIMS: list[tuple[str, str, Callable[[], tuple[Any, ...]]]] = []
"""A document, a sentence of it with places for numbers, and what computes them."""


def claim(document: str, sentence: str) -> Callable[[Any], Any]:
    def kept(numbers: Any) -> Any:
        CLAIMS.append((document, sentence, numbers))
        return numbers

    return kept


@functools.cache
def rows(key: str) -> pd.DataFrame:
    return pd.read_csv(DATA / f"{key}.csv")


def typical(key: str, column: str, **where: str) -> pd.Series:
    """Return the median of a column by model."""
    found = rows(key)
    for name, value in where.items():
        found = found[found[name.replace("_", ".")] == value]
    return found.groupby("model")[column].median()


def means(key: str, column: str) -> pd.Series:
    return rows(key).groupby("model")[column].mean()


@claim("nalu", "{} of 100 stacks of NACs are exact to 0.001 at 20")
def _() -> tuple[Any, ...]:
    nac = rows("nalu-fig1").query("model == 'nac'")
    assert len(nac) == 100
    return (nac["abs.error.20"].le(0.001).sum(),)


@claim("nalu", "Relu6 fails beyond the range ({:.0f} on sums), the NALU worse")
def _() -> tuple[Any, ...]:
    score = typical("nalu-table1-static", "score.extrapolation", operation="add")
    assert score["nalu"] > score["relu6"] > 1 > max(score["nac"], score["linear"])
    return (score["relu6"],)


@claim(
    "nalu", "the LSTM forgets ({:.0f} on sums), {} of ten NACs still subtract, nothing multiplies"
)
def _() -> tuple[Any, ...]:
    found = rows("nalu-table1-recurrent")
    nac = found.query("model == 'nac' and operation == 'sub'")["score.extrapolation"]
    assert found.query("operation == 'mul'")["score.extrapolation"].min() > 80
    words = {6: "six", 7: "seven", 8: "eight"}
    of_sums = typical("nalu-table1-recurrent", "score.extrapolation", operation="add")
    return of_sums["lstm"], words[nac.lt(1).sum()]


@claim(
    "nalu",
    "LSTM and GRU count ten digits better than the NAC, a hundred worse "
    "({:.1f}, {:.1f} and {:.1f})",
)
def _() -> tuple[Any, ...]:
    ten, hundred = (
        typical("nalu-table2-count", column, sequence_loss="all") for column in (ON_TEN, ON_HUNDRED)
    )
    assert max(ten["lstm"], ten["gru"]) < ten["nac"]
    assert rows("nalu-table2-sum")[ON_HUNDRED].min() > 100
    return hundred["lstm"], hundred["gru"], hundred["nac"]


@claim("nalu", "its error on others is {:.0f}, the error of a NALU after it {:.0f} in the median")
def _() -> tuple[Any, ...]:
    found = typical("nalu-table3", "metric.test.mae")
    return found["linear"], found["nalu"]


@claim(
    "nalu",
    "Only the article's NALU learns products (median error {:.2f} over {} problems; NAC {:,.0f})",
)
def _() -> tuple[Any, ...]:
    found = typical("article-mystery", "metric.test.mse.mul")
    others = found.drop("article").min()
    assert others > 1000 * found["article"]
    return found["article"], rows("article-mystery")["seed"].nunique(), found["nac"]


@claim("nalu", "On sums and differences it has {:.0f} and {:.0f} times the error of the NAC")
def _() -> tuple[Any, ...]:
    found = [typical("article-mystery", f"metric.test.mse.{name}") for name in ("add", "sub")]
    return tuple(errors["article"] / errors["nac"] for errors in found)


@claim("nalu", "NAC and NALU add four digits as exactly as two, within {:.2f} % of the sum")
def _() -> tuple[Any, ...]:
    found = rows("nalu-fig4-addition").set_index("model")
    errors = found.filter(like=".relative").loc[["nac", "nalu"]]
    return (100 * errors.to_numpy().max(),)


@claim(
    "nalu",
    "At T = 17 the counting register earns {:.1f} (three seeds), the LSTM {:.1f}, NAC(T) {:.1f}",
)
def _() -> tuple[Any, ...]:
    within = [f"metric.test.stimulus.{step}.reward" for step in range(5, 13)]
    earned = rows("nalu-fig5").groupby("model")[within].mean().drop("nalu")
    assert earned.to_numpy().min() > 9.8
    found = means("nalu-fig5", "metric.test.stimulus.17.reward")
    return found["nac"], found["lstm"], found["nac-feedforward"]


@claim(
    "nalu",
    "NAC heads are right in {:.1f} to {:.1f} %, W and tanh(W) in {:.0f} to {:.0f} %, σ(W) in "
    "{:.0f} and {:.0f} %; seeds differ by up to {:.0f} points",
)
def _() -> tuple[Any, ...]:
    right = 100 * means("nalu-table4", "metric.test.acc")
    plain = right[["linear", "linear-b", "tanh", "tanh-b"]]
    of_model = rows("nalu-table4").groupby("model")["metric.test.acc"]
    spread = 100 * (of_model.max() - of_model.min()).max()
    nac = right["nac"], right["nac-b"]
    return *nac, plain.min(), plain.max(), right["sigmoid-b"], right["sigmoid"], spread


@claim(
    "nalu",
    "{} of 100 seeds end with a loss below 0.001 ({} also on the test rows), and {} learn nothing",
)
def _() -> tuple[Any, ...]:
    found = rows("notes-addition")
    loss, tested = found["loss.train.half-sum-squares"], found["metric.test.half-sum-squares"]
    assert len(found) == 100
    return (loss < 1e-3).sum(), (tested < 1e-3).sum(), (found["loss.train.mse"] > 500).sum()


@claim("reproduction/notes", "NAC's error is {:.2f} and the dense layer's {:.0f}")
def _() -> tuple[Any, ...]:
    found = typical("article-mystery", "metric.test.mse.add")
    return found["nac"], found["vanilla"]


@claim(
    "reproduction/notes",
    "Ten of 200 published runs were solved late ({:,} to {:,}); the cause is unknown. The others "
    "took {:,.0f} (add) and {:,.0f} (sub), the same seeds here {:,.0f} and {:,.0f}",
)
def _() -> tuple[Any, ...]:
    late, theirs, ours = [], [], []
    for operation in ("add", "sub"):
        known = seeds_of("nau", operation)
        early = {seed: step for seed, step in known.items() if step < 100_000}
        late += [step for seed, step in known.items() if seed not in early]
        theirs.append(sum(early.values()) / len(early))
        ours.append(here("nau", operation)[list(early)].mean())
    assert len(late) == 10
    return min(late), max(late), *theirs, *ours


@claim(
    "reproduction/notes", "The same seeds have a sparsity error that is {:.0f} % higher here; the"
)
def _() -> tuple[Any, ...]:
    of = published_seeds("function_task_static")
    (known,) = (one.sparsity for one in of if (one.model, one.operation) == ("nmu", "mul"))
    ours = rows("function_task_static").query("model == 'nmu' and solved == 1").set_index("seed")
    assert ours["sparse.error.max"].mean() < 1e-6 > sum(known.values()) / len(known)
    ratios = [log(ours.loc[seed, "sparse.error.max"] / error) for seed, error in known.items()]
    return (100 * (exp(sum(ratios) / len(ratios)) - 1),)


@claim("reproduction/notes", "`inalu-in10` (37, now {} of {}), `nau-failure` (355, now {} of {}), ")
def _() -> tuple[Any, ...]:
    solved = [rows(key)["solved"] for key in ("inalu-in10", "nau-failure")]
    return tuple(number for own in solved for number in (own.sum(), len(own)))


@claim("reproduction/notes", "`nau-in100` (352, now {} of {})")
def _() -> tuple[Any, ...]:
    return rows("nau-in100")["solved"].sum(), len(rows("nau-in100"))


@claim("reproduction/notes", "{} of the {} solved runs have an error of at most 2^-24")
def _() -> tuple[Any, ...]:
    solved = rows("simple_mul").query("model == 'nmu' and solved == 1")["sparse.error.max"]
    return solved.le(2**-24).sum(), len(solved)


@claim(
    "reproduction/notes",
    "Of {} blind starts, 16 of each kind, {} were found at depth 2, {} at 3, {} at 4 and {} at 5;",
)
def _() -> tuple[Any, ...]:
    found = recovered().loc[["bottom", "biased", "uniform", "xy"]].unstack()
    assert found["count"].to_numpy().tolist() == [[16] * 4] * 4
    return 16 * len(found), *found["sum"].sum()


@claim(
    "reproduction/notes",
    "with variables everywhere {}, {}, {} and {} of 16. From the true tree plus noise "
    "{} of {} were.",
)
def _() -> tuple[Any, ...]:
    found = recovered()
    warm = found.loc["warm"].sum()
    return *found.loc["slots"]["sum"], warm["sum"], warm["count"]


def recovered() -> pd.DataFrame:
    """Return how many trees have no error once they are snapped, by kind and depth."""
    found = rows("eml-recovery").assign(right=lambda row: row["metric.test.extrapolation"] < 1e-10)
    return found.groupby(["model", "depth"])["right"].agg(["sum", "count"])


def seeds_of(model: str, operation: str) -> dict[int, int]:
    (found,) = [
        one.solved_at
        for one in published_seeds("function_task_static")
        if (one.model, one.operation) == (model, operation)
    ]
    return dict(found)


def here(model: str, operation: str) -> pd.Series:
    found = rows("function_task_static").query("model == @model and operation == @operation")
    return found.set_index("seed")["extrapolation.step.solved"]


@claim(
    "README",
    "{:.1g} µs of CPU time, by JAX (`vmap`, `jit`, `scan`) {} µs and in a plain PyTorch loop {} µs",
)
def _() -> tuple[Any, ...]:
    """As the page of measured speed says."""
    page = (CHECKOUT / "docs" / "performance.md").read_text(encoding="utf-8")
    row = re.search(r"^\| `nmu` \|[^|]*\| ([\d.]+) \|[^|]*\| (\d+) ", page, re.MULTILINE)
    jax = re.search(r"`scan`\) takes ([\d.]+) us for the 225 NMUs", page)
    return float(row[1]), jax[1], row[2]


@pytest.mark.parametrize(("document", "sentence", "numbers"), CLAIMS, ids=[c[1] for c in CLAIMS])
def test_a_number_in_prose_follows_from_stored_rows(document, sentence, numbers):
    path = CHECKOUT / ("README.md" if document == "README" else f"docs/{document}.md")
    text = " ".join(path.read_text(encoding="utf-8").split())
    assert sentence.format(*numbers()) in text
