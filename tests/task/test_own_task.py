"""Tasks of one's own: what they draw, when they are solved, and what trains them."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import torch

import stable_nalu as sn
from stable_nalu.base.errors import UsageError
from stable_nalu.dataset.expression import Expression
from stable_nalu.task.own_task import VALIDATION_SEED, problem_of
from stable_nalu.task.table import SCRIPTS
from stable_nalu.training.task import METRIC_TEST

HOW = {"learning_rate": 0.02, "max_iterations": 400, "log_interval": 100}
ROOT = Path(__file__).resolve().parents[2]
ERROR = METRIC_TEST.replace("/", ".")


def product(x):
    return x[:, 0] * x[:, 1]


def configured(task, **flags):
    typed = {name: [value] for name, value in (*task.flags.items(), *flags.items())}
    return SCRIPTS["own_task"].plan_of(typed).configs[0]


def curve(runs):
    return runs.table[["step", ERROR]].to_numpy()


def law(rows=60):
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.uniform(1, 4, (rows, 2)), columns=["m", "r"])
    return table.assign(F=3 * table.m + 100 * table.r, far=(table.r > 3).astype(int))


@pytest.mark.parametrize(
    ("text", "names", "value"),
    [
        ("x1*x2 + x3/2", ("x1", "x2", "x3"), 2 * 3 + 5 / 2),
        ("2*m1*m2/r**2", ("m1", "m2", "r"), 2 * 2 * 3 / 25),
        ("-x1**2 - sqrt(x3)*pi", ("x1", "x2", "x3"), -4 - math.sqrt(5) * math.pi),
        ("min(a, exp(b)) - c**-1.5", ("a", "b", "c"), 2 - 5**-1.5),
        ("e**x1 * abs(-x2) / (1/x3)", ("x1", "x2", "x3"), math.exp(2) * 3 * 5),
    ],
)
def test_formulas_are_computed_of_numbers_and_symbols(text, names, value):
    import sympy

    formula = Expression(text)
    assert formula.names == names
    numbers = [np.array([own]) for own in (2.0, 3.0, 5.0)]
    assert formula(*numbers) == pytest.approx([value], rel=1e-14)
    symbols = sympy.symbols(names)
    of_symbols = formula(*symbols).subs(dict(zip(symbols, (2, 3, 5), strict=True)))
    assert float(of_symbols) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        *("__import__('os').system('true')", "x1.real", "x1[0]", "(lambda: x1)()", "[x1]", "'x1'"),
        *("open(x1)", "x1 if x2 else x3", "x1 and x2", "x1 > 2", "f'{x1}'", "x1^2", "3", "x1*"),
        *("x1**9**9**9", "x1*(9**64)**64", "x1 + 1/0", "sin", "True*x1", "x1, x2", "min(x1)"),
        "-" * 990 + "x1",
        "x1*" * 400 + "x1",
    ],
)
def test_what_is_no_formula_is_refused_in_one_line(text):
    with pytest.raises(UsageError) as raised:
        sn.task(text)
    assert str(raised.value).startswith("target: ")
    assert "\n" not in str(raised.value)


def test_the_threshold_is_the_error_of_weights_that_are_off():
    """E (((1-e)x + e)((1-e)y + e) - xy)^2 of x, y uniform in [2, 6], by a quadrature."""
    config = configured(sn.task("x1*x2", train=(1, 2), test=(2, 6)))
    nodes, weights = np.polynomial.legendre.leggauss(20)
    x, y = np.meshgrid(4 + 2 * nodes, 4 + 2 * nodes)
    off = 1e-5
    gap = ((1 - off) * x + off) * ((1 - off) * y + off) - x * y
    exact = float((gap**2 * np.outer(weights, weights)).sum() / 4)
    assert float(config.threshold) == pytest.approx(exact, rel=0.03)
    assert configured(sn.task("x1*x2", threshold=0.5)).threshold == "0.5"
    assert configured(sn.task("x1*x2", threshold="none")).threshold == "none"


def test_what_a_formula_and_a_function_draw():
    formula = sn.task("x1*x2", train=[(1, 2), (0, 5)], test=[(2, 6), (-6, -2)], noise=0.5)
    function = sn.task(
        product, inputs=2, train=[(1, 2), (0, 5)], test=[(2, 6), (-6, -2)], noise=0.5
    )
    streams = [problem_of(configured(task)) for task in (formula, function)]
    (x, t), (same_x, same_t) = (own.fork(None, 7)[0:20_000] for own in streams)
    assert torch.equal(x, same_x)
    assert torch.equal(t, same_t)
    low, high = x.min(0).values, x.max(0).values
    assert low.tolist() == pytest.approx([1, 0], abs=1e-2)
    assert high.tolist() == pytest.approx([2, 5], abs=1e-2)
    noise = (t[:, 0] - x[:, 0] * x[:, 1]).numpy()
    assert scipy.stats.kstest(noise, "norm", (0, 0.5)).pvalue > 1e-3
    x, t = streams[0].fork(8689336, 7)[0:1000]
    assert torch.allclose(t[:, 0], x[:, 0] * x[:, 1])
    assert (x[0::2] >= 2).all()
    assert (x[1::2] <= -2).all()


@pytest.mark.parametrize("law", [scipy.stats.norm(3, 0.5), scipy.stats.expon(1, 2)])
def test_inputs_follow_a_law_of_scipy(law):
    task = sn.task("x1 + x2", train=law)
    x, _ = problem_of(configured(task)).fork(None, 1)[0:5000]
    assert scipy.stats.kstest(x.reshape(-1).numpy(), law.cdf).pvalue > 1e-3


def sampled(generator, rows):
    return generator.integers(1, 7, (rows, 2))


def test_a_function_samples_inputs():
    x, t = problem_of(configured(sn.task("x1*x2", train=sampled))).fork(None, 1)[0:600]
    assert set(x.unique().tolist()) == {1, 2, 3, 4, 5, 6}
    assert torch.equal(t[:, 0], x[:, 0] * x[:, 1])


@pytest.mark.parametrize("train", [[(1, 2), (0, 5)], scipy.stats.norm(3, 1), sampled])
@pytest.mark.parametrize("noise", [0, 0.5])
def test_blocks_are_batches_one_after_the_other(train, noise):
    """The engine draws as many batches at once as time allows."""
    one, other = (
        problem_of(configured(sn.task("x1*x2", train=train, noise=noise))).fork(None, 3)
        for _ in range(2)
    )
    at_once, single = one.draw(4, 8), [other.draw(1, 8) for _ in range(4)]
    for k, block in enumerate(at_once):
        assert torch.equal(block, torch.cat([batch[k] for batch in single]))


def test_a_formula_is_learned_and_its_certificate_says_so(tmp_path):
    runs = sn.train(sn.task("x1*x2"), layer="NMU", seed=range(3), out=tmp_path, **HOW)
    assert runs.solved.all()
    assert runs.best.record.engine.startswith("lanes")
    assert str(sn.formula(runs.best)).startswith("learned: x1*x2")
    spaced = sn.train(sn.task(" x1 *  x2"), layer="NMU", seed=range(3), out=tmp_path, **HOW)
    assert spaced.names == runs.names
    again = sn.read_runs(tmp_path / "tensorboard" / "own_task")
    assert again.outcomes["threshold"].tolist() == runs.outcomes["threshold"].tolist()


def test_bits_alone_are_those_in_company_and_of_a_function_those_of_its_formula(tmp_path):
    formula = sn.task("x1*x2", noise=0.1)
    company = sn.train(formula, layer="NMU", seed=range(4), out=tmp_path / "all", **HOW)
    alone = sn.train(formula, layer="NMU", seed=2, out=tmp_path / "one", **HOW)
    assert np.array_equal(curve(company[2:3]), curve(alone))
    own = sn.task(product, inputs=2, noise=0.1)
    of_function = sn.train(own, layer="NMU", seed=2, out=tmp_path / "function", **HOW)
    assert np.array_equal(curve(of_function), curve(alone))
    in_torch = sn.train(formula, layer="NMU", seed=2, engine="torch", out=tmp_path / "torch", **HOW)
    assert np.allclose(curve(in_torch), curve(alone), rtol=1e-3, atol=1e-9)


def test_a_run_taken_further_is_the_one_in_one_go(tmp_path):
    task, how = sn.task(law(), target="F", test="far"), {**HOW, "layer": "NAU", "seed": [0, 1]}
    sn.train(task, out=tmp_path / "halves", **{**how, "max_iterations": 150})
    halves = sn.train(task, out=tmp_path / "halves", **how)
    whole = sn.train(task, out=tmp_path / "whole", **how)
    left, right = curve(halves), curve(whole)
    assert np.array_equal(left[left[:, 0] % 100 == 0], right[right[:, 0] % 100 == 0])


def test_the_rows_of_a_table(tmp_path):
    table = law()
    task = sn.task(table, target="F", test="r > 3", inputs=["m", "r"], threshold=1)
    runs = sn.train(task, layer="linear", seed=0, out=tmp_path, **HOW)
    assert sorted(path.name[:5] for path in (tmp_path / "save" / "data").iterdir()) == ["table"]
    far = table[table.r > 3]
    y = sn.load(runs[0])(torch.tensor(far[["m", "r"]].to_numpy(np.float32)))[:, 0]
    error = ((y.detach().numpy() - far.F) ** 2).mean()
    assert error == pytest.approx(sn.load(runs[0]).score.test_error, rel=1e-4)
    assert runs[0].outcome["threshold"] == 1
    assert _stored(tmp_path, table, test="far").threshold == "none"
    marked = problem_of(_stored(tmp_path, table, test="far"))
    assert marked.names == ("m", "r")
    assert len(marked.rows[8689336]) == len(far)
    parts = [set(rows.tolist()) for rows in marked.rows.values()]
    assert len(set.union(*parts)) == sum(map(len, parts)) == len(table)
    assert len(marked.rows[VALIDATION_SEED]) == round(0.1 * (len(table) - len(far)))


def _stored(tmp_path, table, **how):
    path = tmp_path / "law.csv"
    table.to_csv(path, index=False)
    return configured(sn.task(path, target="F", **how))


def test_scaled_networks_answer_in_the_units_of_the_table(tmp_path):
    task = sn.task(law(200), target="F", test="r > 3", inputs=["m", "r"], scale=True)
    how = {**HOW, "learning_rate": 0.05}
    runs = sn.train(task, layer="linear", seed=0, out=tmp_path, **how)
    y = sn.load(runs[0])(torch.tensor([[2.0, 3.0]]))
    assert y.item() == pytest.approx(306, rel=1e-2)
    assert str(sn.formula(runs[0])).count("*") == 2
    slopes = {
        str(k): float(v) for k, v in sn.formula(runs[0]).learned.as_coefficients_dict().items()
    }
    assert slopes["m"] == pytest.approx(3, rel=0.2)
    assert slopes["r"] == pytest.approx(100, rel=0.02)
    assert runs[0].outcome["test_error"] < 10


def test_several_outputs(tmp_path):
    task = sn.task(lambda x: torch.stack([x[:, 0], -x[:, 1]], 1), inputs=2, outputs=2, name="two")
    runs = sn.train(task, layer="NAU", seed=range(2), out=tmp_path, **HOW)
    x = torch.rand(100_000, 2) * 4 + 2
    gap = sn.load(runs[0])(x) - torch.stack([x[:, 0], -x[:, 1]], 1)
    error = sn.load(runs[0]).score.test_error
    assert (gap**2).mean().item() == pytest.approx(error, rel=0.05)


@pytest.mark.slow
def test_a_task_file_trains_in_processes_and_is_read_without_its_program(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "import stable_nalu as sn\n\n\ndef double(x):\n    return 2 * x[:, 0] + x[:, 1]\n\n\n"
        "TASK = sn.task(double, inputs=2, name='double')\n"
    )
    words = f"--task-file {file} --layer-type linear --seed 0-1 --workers 2 --max-iterations 20"
    script = [sys.executable, str(ROOT / "experiments/own_task.py"), *words.split()]
    where = {"TENSORBOARD_DIR": str(tmp_path / "tensorboard"), "SAVE_DIR": str(tmp_path / "save")}
    done = subprocess.run(script, env=where, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    runs = sn.read_runs(tmp_path / "tensorboard" / "own_task")
    assert len(runs) == 2
    assert runs.outcomes["threshold"].notna().all()
    assert sn.load(runs[0]).config.task == "double"
    file.write_text(file.read_text().replace("2 * x", "3 * x"))
    with pytest.raises(UsageError, match="was changed after this run"):
        sn.load(runs[0])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: sn.task("x1*x2", train=(2, 1)), "train: 2,1 does not run from"),
        (lambda: sn.task("x1*x2", train=[(1, 2), (1, 2), (1, 2)]), "train: .* names other inputs"),
        (lambda: sn.task("1/x1", train=(-1, 1), test={"x2": (1, 2)}), "test: x2=1,2 names other"),
        (lambda: sn.task("sqrt(x1)", train=(-1, 1)), "train: .* no finite numbers"),
        (lambda: sn.task("x1*x2", threshold=-1), "threshold: -1 is no error"),
        (lambda: sn.task(product), "target: the number of inputs"),
        (
            lambda: sn.task(lambda x: x, inputs=2),
            r"target: .* returned \(10000, 2\) for 10000 rows",
        ),
        (lambda: sn.task(lambda x: x.nope, inputs=2), "target: .* fails: AttributeError"),
        (lambda: sn.task(lambda x: x[:, 0] * np.random.rand(), inputs=2), "target: it reads numpy"),
        (lambda: sn.task(law(), target="F", test=0.2, train=(1, 2)), "train: inputs are those of"),
        (lambda: sn.task(3), "what: int is no task"),
        (lambda: sn.task(law()), "target: name the column"),
        (lambda: sn.task(law(), target="G"), "target: .* has no column G"),
        (lambda: sn.task(law(), target="F", test="q > 3"), "test: there is no column q"),
        (lambda: sn.task(law(), target="F", test="r + 3"), "test: r . 3 is no condition"),
        (lambda: sn.task(law(), target="F", test="r > 30"), "test: 0 of 60 rows are the test"),
        (lambda: sn.task(law(), target="F", test="r"), "test: column r holds other values"),
        (lambda: sn.task(law().assign(r=np.nan), target="F", test=0.2), "data: line 2 of .* lacks"),
        (lambda: sn.task(law().assign(r="a"), target="F", test=0.2), "data: .* are no numbers"),
        (lambda: sn.task("nowhere.csv", target="F"), "data: cannot read nowhere.csv"),
    ],
)
def test_bad_input_is_one_line_that_names_the_argument(tmp_path, make, says):
    with pytest.raises(UsageError, match=f"^{says}") as raised:
        make()
    assert "\n" not in str(raised.value)
