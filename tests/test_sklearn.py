import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sympy
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from stable_nalu.errors import UsageError
from stable_nalu.sklearn import ArithmeticRegressor
from stable_nalu.training.shell import ENGINE, TORCH

pytestmark = pytest.mark.usefixtures("torch_alone")
QUICK = {"units": ["products"], "seeds": 2, "steps": 50}


@pytest.fixture
def torch_alone(monkeypatch):
    """Train by PyTorch, as few steps take less time than compiling one."""
    monkeypatch.setenv(ENGINE, TORCH)


def rows(law, inputs=3, count=120, noise=0.0, low=1.0, high=2.0):
    random = np.random.default_rng(3)
    x = random.uniform(low, high, (count, inputs))
    y = law(*x.T)
    return x, y + noise * y.std() * random.standard_normal(count)


def newton(m1, m2, r):
    return 2 * m1 * m2 / r**2


@pytest.mark.slow
def test_the_estimator_passes_the_checks_of_its_library():
    results = check_estimator(ArithmeticRegressor(**QUICK), on_skip=None)
    assert {one["status"] for one in results if one["check_name"] != "check_array_api_input"} == {
        "passed"
    }


def test_a_law_without_noise_is_exact_far_outside():
    x, y = rows(newton)
    model = ArithmeticRegressor(seeds=4, steps=300).fit(x, y)
    assert model.formula_ == "2*x1*x2/x3**2"
    assert model.certificate_.exact
    assert model.certificate_.holds
    assert model.seeds_solved_ > 0
    assert model.complexity_ == 7
    far, wanted = rows(newton, low=5.0, high=50.0)
    np.testing.assert_allclose(model.predict(far), wanted, rtol=1e-9)
    assert model.valid_range_["x3"]["seen"] == (x[:, 2].min(), x[:, 2].max())
    assert model.valid_range_["x3"]["trusted"][1] > 10


@pytest.mark.parametrize(
    ("law", "how"),
    [
        (newton, {}),
        (lambda a, b, c: 3 * a * b * c, {"low": -2.0}),
        (lambda a, b, c: a - 2 * b + 0.5 * c, {"low": -1.0}),
    ],
    ids=["newton", "signs", "sum"],
)
def test_noise_leaves_the_law_and_its_powers(law, how):
    x, y = rows(law, noise=0.02, **how)
    model = ArithmeticRegressor(**QUICK).fit(x, y)
    far, wanted = rows(law, low=4.0, high=6.0)
    assert np.sqrt(np.mean((model.predict(far) - wanted) ** 2)) < 0.02 * wanted.std()
    assert not model.certificate_.exact
    assert model.certificate_.holds


def test_the_formula_is_what_predict_computes():
    x, y = rows(lambda a, b: a**1.3 / b + np.sin(a), 2)
    model = ArithmeticRegressor(**QUICK).fit(x, y)
    read = sympy.lambdify(sympy.symbols("x1 x2"), sympy.sympify(model.formula_))
    np.testing.assert_allclose(model.predict(x), read(*x.T), rtol=1e-9)


def test_noise_alone_gives_no_law_and_no_trust():
    random = np.random.default_rng(0)
    x = random.uniform(1, 2, (100, 2))
    model = ArithmeticRegressor(**QUICK).fit(x, random.standard_normal(100))
    assert not model.certificate_.holds
    for known in model.valid_range_.values():
        assert known["trusted"] == known["seen"]


def test_pipelines_and_grid_searches_choose_by_its_score():
    x, y = rows(lambda a, b: a * b, 2)
    search = GridSearchCV(
        make_pipeline(FunctionTransformer(np.log), ArithmeticRegressor(**QUICK)),
        {"functiontransformer__func": [np.log, None], "arithmeticregressor__seeds": [1]},
        cv=2,
    ).fit(x, y)
    assert search.best_params_["functiontransformer__func"] is None
    assert search.best_score_ == pytest.approx(1)
    best = clone(search.best_estimator_[-1])
    assert best.get_params()["seeds"] == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"units": ["product"]}, "units: .*'product'; did you mean products"),
        ({"seeds": 0}, "seeds: 0 is no count"),
        ({"steps": 1.5}, "steps: 1.5 is no count"),
    ],
)
def test_wrong_arguments_are_named(wrong, said):
    with pytest.raises(UsageError, match=said):
        ArithmeticRegressor(**wrong).fit(*rows(newton))


def test_srbench_reads_names_of_columns_and_complexity():
    file = runpy.run_path(str(Path(__file__).parents[1] / "examples/srbench.py"))
    x, y = rows(lambda a, b: a * b, 2)
    model = clone(file["est"]).set_params(**QUICK).fit(x, y)
    assert file["model"](model, pd.DataFrame(x, columns=["mass", "speed"])) == "mass*speed"
    assert file["model"](model, x) == "x1*x2"
    assert file["complexity"](model) == 3
