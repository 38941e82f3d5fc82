"""The command `fit` learns the law of a table and compares families of models on equal CPU time."""

import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from stable_nalu.base.errors import OptionError
from stable_nalu.base.files import atomic_path
from stable_nalu.base.script import ScriptParser, adder, exit_code, say
from stable_nalu.options.flag import integer
from stable_nalu.statistics.table import in_columns
from stable_nalu.task.arithmetic import TEST_SEED, VALIDATION_SEED
from stable_nalu.task.own_task import problem_of

from .contest import CONTESTANTS, Clock, ProblemRows, Reply

RIVALS = "Boosting", "MLP", "Operon"
CLOSE = 1.1
"""The factor within which errors are about equal."""


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    return exit_code("stable-nalu fit", lambda: _obey(arguments))


def _parser() -> ScriptParser:
    parser = ScriptParser(
        prog="stable-nalu fit",
        description="Find the law of a table by units of arithmetic, beside a linear model, trees\n"
        "and a perceptron of scikit-learn, and Operon where pyoperon is installed. Each of these\n"
        "gets as many CPU seconds of this process, on one thread, as the units took; compiling\n"
        "their steps, once for every number of inputs, is left out. Errors are roots of mean\n"
        "squares, as shares of those of the targets: inside on a tenth of the other rows, which\n"
        "nobody fits, outside on those of --test.",
    )
    parser.add_argument("data", metavar="CSV", help="table with a line of names")
    add = adder(parser)
    add("--target COLUMN", "what is to be found", required=True)
    text = "which rows are outside: a condition such as 'r > 3', a share, or a column of 0 and 1"
    add("--test WORD", text, required=True)
    add("--input-names COLUMN ...", "inputs (all other columns)", default=())
    add("--seeds N", "runs of each kind of units (16)", type=integer(1).one, default=16)
    add("--steps N", "iterations of a run (3000)", type=integer(1).one, default=3000)
    add("--out PNG", "the picture (fit.png)", type=Path, default=Path("fit.png"))
    return parser


def _obey(arguments: Any) -> None:
    if arguments.out.suffix != ".png":
        raise OptionError("--out", f"{arguments.out} is no PNG", "end its name in .png")
    own = {"train": (), "test": (arguments.test,), "outputs": None, "noise": 0.0, "scale": False}
    own |= {"input_names": tuple(arguments.input_names), "threshold": "none"}
    try:
        problem: Any = problem_of(SimpleNamespace(**vars(arguments) | own))
    except OptionError as error:
        if error.flag != "--data":
            raise
        raise OptionError("CSV", error.problem, error.remedy) from None
    if problem.outputs > 1:
        raise OptionError("--target", "a law has one target", "name one column")
    parts = []
    for seed in (None, VALIDATION_SEED, TEST_SEED):
        stream: Any = problem.fork(seed, 0)
        parts.append((stream.x, stream.t[:, 0]))
    names = list(problem.names)
    with threadpool_limits(1):
        _compare(names, arguments, *parts)


def _compare(names: list[str], arguments: Any, fitted: Any, inside: Any, outside: Any) -> None:
    import pandas as pd

    from stable_nalu.sklearn import UNITS, ArithmeticRegressor

    start = time.process_time()
    model = ArithmeticRegressor(list(UNITS), seeds=arguments.seeds, steps=arguments.steps)
    model.fit(pd.DataFrame(fitted[0], columns=names), fitted[1])
    seconds = time.process_time() - start
    found = {"units": (model.law_, seconds), **_rivals(fitted[0], fitted[1], seconds)}
    errors = {
        name: [_share(predict, x, y) for x, y in (inside, outside)]
        for name, (predict, _) in found.items()
    }
    rows = [
        [name, *(f"{100 * e:.3g} %" for e in errors[name]), f"{used:.1f}"]
        for name, (_, used) in found.items()
    ]
    say("\n".join(in_columns(["model", "inside", "outside", "CPU s"], rows)))
    runs = f"{model.seeds_solved_} runs of units found one as good"
    say(f"\n{arguments.target} = {model.formula_}\n  {model.certificate_}; {runs}")
    for column, (name, known) in zip(names, model.valid_range_.items(), strict=True):
        (a, b), (low, high) = known["seen"], known["trusted"]
        what = name if name == column else f"{name} ({column})"
        say(f"  {what}: seen from {a:.4g} to {b:.4g}, trusted from {low:.4g} to {high:.4g}")
    for place, where in enumerate(("Inside", "Outside")):
        say(_verdict(where, {name: error[place] for name, error in errors.items()}))
    _draw(arguments, f"{arguments.target} = {model.formula_}", found, errors, outside)
    say(f"picture {arguments.out}")


def _rivals(x: np.ndarray, y: np.ndarray, seconds: float) -> dict[str, Any]:
    """Return what others have learned, and their CPU seconds; a fifth of the rows is to stop by."""
    from sklearn.linear_model import LinearRegression

    order = np.random.default_rng(0).permutation(len(x))
    few, most = np.split(order, [max(1, len(x) // 5)])
    rows = ProblemRows(0, x[most], y[most], x[few], y[few])
    players: dict[str, Any] = {
        "linear model": lambda *_: Reply(0.0, LinearRegression().fit(x, y).predict),
        **{n: CONTESTANTS[n].play for n in RIVALS if not CONTESTANTS[n].missing},
    }
    found = {}
    for name, play in players.items():
        start = time.process_time()
        found[name] = play(rows, Clock(seconds)).predict, time.process_time() - start
    return found


def _share(predict: Any, x: np.ndarray, y: np.ndarray) -> float:
    error = float(np.sqrt(np.mean((predict(x) - y) ** 2) / (np.mean(y**2) or 1.0)))
    return error if np.isfinite(error) else np.inf


def _verdict(where: str, errors: dict[str, float]) -> str:
    (best, error), (second, other), *_ = sorted(errors.items(), key=lambda one: one[1])
    if best != "units":
        second, other = "units", errors["units"]
    how = "better than" if other > CLOSE * error + 1e-9 else "about as good as"
    how = f"{'are' if best == 'units' else 'is'} {how}"
    return f"{where}, {best} {how} {second}: {100 * error:.3g} % and {100 * other:.3g} %."


def _draw(arguments: Any, law: str, found: Any, errors: Any, outside: Any) -> None:
    """Draw predictions outside, and the errors of all."""
    from stable_nalu.figure import style

    with style.drawing():
        figure, (left, right) = style.subplots((24.0, 10.0), 1, 2)
        looks = dict(zip(found, style.looks(list(found)).values(), strict=True))
        x, y = outside
        left.axline((y.mean(), y.mean()), slope=1, color="0.6", linewidth=0.8)
        for name in reversed(found):
            left.plot(
                y,
                found[name][0](x),
                color=looks[name].color,
                marker=looks[name].marker,
                linestyle="",
                markersize=3.5,
                alpha=0.7,
            )
        left.set(xlabel=f"{arguments.target}, outside", ylabel="predicted")
        left.set_title(law if len(law) < 60 else f"{law[:60]} …")
        for place, name in enumerate(reversed(found)):
            shares = np.maximum(errors[name], 1e-16)
            right.plot(shares, [place] * 2, color=looks[name].color, linewidth=1)
            right.plot(shares[0], place, color=looks[name].color, marker="o", mfc="white")
            right.plot(shares[1], place, color=looks[name].color, marker=looks[name].marker)
        right.set(xscale="log", yticks=range(len(found)), yticklabels=list(reversed(found)))
        right.set(xlabel="error as a share of the target: inside (open), outside (full)")
        with atomic_path(arguments.out, named=True) as temporary:
            style.save(figure, temporary, "png")
