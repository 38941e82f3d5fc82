"""The page that trains units: its steps are those of the layers, and it works in a browser."""

import functools
import json
import re
import shutil

import numpy as np
import pytest
import torch

import stable_nalu as sn
from stable_nalu.base.files import cells_of
from stable_nalu.functional import Regualizer
from stable_nalu.result.stored import path_of
from stable_nalu.statistics.intervals import wilson
from tests.processes import started
from tests.tools.browser import READABLE, SCRIPTS, measured
from tools.playground import KEPT, PATH, PATHS

NODE = shutil.which("node")
PAGE = PATH.read_text(encoding="utf-8")
(CORE,) = re.findall(r'<script id="core">(.*?)</script>', PAGE, re.S)
STEPS = 30
LOG, CLIPPED = {"nac_mul": "normal"}, {"nac_oob": "clip", "regualizer_shape": "linear"}
GOLDEN = dict.fromkeys(("nalu_gate", "nalu_mul", "nac_weight"), "golden-ratio")
UNCLIPPED = {"npu_clip": "none"}
LAYERS = {
    "NAC": (sn.layer("NAC"), {}, ["W_hat", "M_hat"]),
    "NAC•": (sn.layer("NAC"), {}, ["W_hat", "M_hat"]),
    "NALU": (sn.layer("NALU"), {}, ["nac_add.W_hat", "nac_add.M_hat", "G_add"]),
    "G-NALU": (sn.layer("NALU"), GOLDEN, ["nac_add.W_hat", "nac_add.M_hat", "G_add"]),
    "NAU": (sn.layer("NAU"), CLIPPED, ["W"]),
    "NMU": (sn.layer("NMU"), CLIPPED, ["W"]),
    "NPU": (sn.layer("NPU"), UNCLIPPED, ["W_real", "W_im", "g"]),
    "Real NPU": (sn.layer("RealNPU"), UNCLIPPED, ["W_real", "g"]),
    "NRU": (sn.layer("NRU"), CLIPPED, ["W"]),
    "NMRU": (sn.layer("SignNMRU"), CLIPPED, ["W"]),
    "Product unit": (sn.layer("ProductUnit"), {}, ["W"]),
    "DMU": (sn.layer("DMU"), {}, ["W", "G"]),
    "DMU given": (sn.layer("DMU"), {"operands": "sub"}, ["G"]),
}
"""Unit of the page -> layer, options, parameters in the order of the page."""


def run(code):
    """What JavaScript prints as JSON, behind the page's own."""
    if NODE is None:
        pytest.skip("no node here: apt-get install nodejs")
    text = f"{CORE}\nconsole.log(JSON.stringify((() => {{ {code} }})()));"
    with started([NODE, "-"], stdin=-1, stdout=-1, text=True) as process:
        out, _ = process.communicate(text)
    assert process.returncode == 0
    return json.loads(out)


@pytest.mark.parametrize("strength", [0, 10])
@pytest.mark.parametrize("unit", LAYERS)
def test_a_unit_takes_the_steps_of_its_layer_and_is_tested_as_it_is(unit, strength):
    shape, options, names = LAYERS[unit]
    layer = shape(2, 1, **options).double().train()
    bounds = layer.parameter_bounds()
    strength, l1 = (strength, 0) if bounds else (0, strength / 1000)
    random = np.random.default_rng(7)
    x = random.uniform(-2, 2, (STEPS, 128, 2))
    parameters = [dict(layer.named_parameters())[name] for name in names]
    start = random.uniform(0.2, 0.6, sum(p.numel() for p in parameters))
    found = run(
        f"const unit = UNITS[{json.dumps(unit)}], p = {start.tolist()}, adam = new Adam(unit, p);"
        f"const code = compiled(unit, true, OPERATIONS.sub), g = p.map(() => 0), out = Array(128);"
        f"const batches = {x.reshape(STEPS, -1).tolist()};"
        "for (const X of batches) {"
        "  const T = Float64Array.from({ length: 128 }, (_, i) => X[2 * i] * X[2 * i + 1]);"
        f"  code.gradient(p, X, T, 128, g); adam.step(g, {strength}, {l1});"
        "} compiled(unit, false, OPERATIONS.sub).output(p, batches[0], 128, out);"
        "return { p, rate: unit.rate, clip: unit.clip ?? null, out };"
    )
    fill(parameters, start)
    adam = torch.optim.Adam(parameters, lr=found["rate"])
    pull = Regualizer("mnac" if unit in ("NMU", "NMRU") else "nac", "bias", "linear")
    for batch in torch.tensor(x):
        y = answers(unit, layer, batch)
        loss = ((y[:, 0] - batch.prod(-1)) ** 2).mean()
        if strength:
            loss = loss + strength * pull(layer.W)
        if l1:
            loss = loss + l1 * sum(parameter.abs().sum() for parameter in parameters)
        adam.zero_grad()
        loss.backward()
        if found["clip"]:
            torch.nn.utils.clip_grad_norm_(parameters, found["clip"])
        adam.step()
        for name, (low, high) in bounds.items():
            getattr(layer, name).data.clamp_(low, high)
    expected = torch.cat([p.detach().flatten() for p in parameters]).numpy()
    assert np.abs(expected - start).max() > 1e-3
    np.testing.assert_allclose(found["p"], expected, rtol=0, atol=1e-6)
    fill(parameters, found["p"])
    y = answers(unit, layer.eval(), torch.tensor(x[0])).detach()[:, 0]
    np.testing.assert_allclose(found["out"], y, rtol=1e-9, atol=1e-9)


def fill(parameters, values):
    parts = torch.tensor(values, dtype=torch.float64).split([p.numel() for p in parameters])
    for parameter, part in zip(parameters, parts, strict=True):
        parameter.data.copy_(part.reshape(parameter.shape))


def answers(unit, layer, x):
    """What a unit of the page answers by its layer; NAC• multiplies by logarithms."""
    return torch.exp(layer(torch.log(x.abs() + 1e-7))) if unit == "NAC•" else layer(x)


def test_the_interval_of_a_rate_is_wilsons():
    rates = [[0, 25], [13, 25], [25, 25], [3, 7]]
    expected = [(one.lower, one.upper) for one in (wilson(*rate) for rate in rates)]
    found = run(f"return {rates}.map(rate => interval(...rate))")
    np.testing.assert_allclose(found, expected, 1e-5, 1e-6)


@pytest.mark.parametrize(
    ("unit", "op", "trained_on", "key", "model"),
    [
        ("NMU", "mul", "1,2", "benchmark_sltr_mul", "NMU"),
        ("NAU", "add", "1,2", "benchmark_sltr_add", "NAU"),
        ("NRU", "div", "-2,2", "nips-sltr-in2", "nru"),
    ],
)
def test_success_is_within_the_interval_of_kept_runs(unit, op, trained_on, key, model):
    rows = [r for r in cells_of(path_of(key)) if r["model"] == model]
    kept = [int(r["solved"]) for r in rows if r["interpolation.range"] == f"U[{trained_on}]"]
    found = wilson(sum(kept), len(kept))
    solved = run(
        f"const t = task('{unit}', '{op}', '{trained_on}'); let k = 0;"
        "for (let i = 0; i < 10; i++) {"
        "  const s = new Seed(t, i); s.train(50001); k += s.state === 'solved'; } return k;"
    )
    assert found.lower <= solved / 10 <= found.upper


REASONS = [
    ("'NMU', 'mul', '1,2'", [0, 0], "Wrong corner: the weights settled at 0 and 0"),
    ("'NMU', 'div', '1,2'", [1, 0], "Out of reach"),
    ("'Real NPU', 'div', '1,2'", [1, 0.3, 1, 0], "Gate shut: x2"),
    ("'NALU', 'mul', '1,2'", [3, 3, 3, 3, 9, 9], "Gate stuck: it takes 100 % of the sum"),
    ("'NAC\u2022', 'mul', '-2,2'", [9, 9, 9, 9], "Signs are lost"),
    ("'NMU', 'mul', '1,2'", [0.5, "NaN"], "Exploded"),
    ("'NAU', 'add', '1,2'", [1, 0.99], "Slow: the right corner"),
    ("'DMU', 'mul', '1,2'", [0.75, 0.75, 1, -1], "Gate stuck: it takes 100 % of the sum"),
    ("'DMU given', 'sub', '1,2'", [-1, 1], "Gate stuck: it takes 0 % of the sum"),
    ("'DMU', 'div', '-2,2'", [0.98, -1.02, -1, 1], "Noisy: where x2 is near zero"),
    ("'Product unit', 'add', '1,2'", [1, 1], "Out of reach"),
    ("'DMU', 'mul', '1,2'", [200.5, 200.5, -1, 1], "Flat region"),
    ("'Product unit', 'mul', '-2,-1'", [0.74, -0.7], "Local minimum"),
    ("'NALU', 'add', '-2,2'", [9, 9, 9, 9, 9, 9], "Gate turns"),
    ("'NAC\u2022', 'mul', '-2,-1'", [9, 9, 9, 9], "Slow: the right corner"),
]


@functools.cache
def reasons():
    """Of all failures, by one process."""
    cases = (
        f"(t => {{ const s = new Seed(t, 0); s.adam.p = [{', '.join(map(str, weights))}];"
        f"s.state = 'failed'; return reason(t, s); }})(task({task}))"
        for task, weights, _ in REASONS
    )
    return run(f"return [{', '.join(cases)}]")


@pytest.mark.parametrize("number", range(len(REASONS)))
def test_a_failure_has_its_reason(number):
    assert reasons()[number].startswith(REASONS[number][-1])


def test_the_page_is_small_and_whole():
    assert len(PAGE.encode()) <= 150_000
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//|@import|\bfetch\(""", PAGE)
    assert len(run("return Object.keys(UNITS)")) >= 10


def test_kept_runs_of_the_page_are_those_of_the_tables():
    paths = json.loads(PATHS.read_text(encoding="utf-8"))
    assert len(paths) >= 10
    for key, names in KEPT.items():
        rows = cells_of(path_of(key))
        for model, unit in names.items():
            for trained_on in {r["interpolation.range"] for r in rows}:
                kept = [
                    r for r in rows if (r["model"], r["interpolation.range"]) == (model, trained_on)
                ]
                name = f"{unit}|{kept[0]['operation']}|{trained_on[2:-1]}"
                if name in paths:
                    solved = sorted((int(r["seed"]), r["solved"]) for r in kept)
                    assert paths.pop(name)["solved"] == "".join(cell for _, cell in solved)
    assert not paths


MEASURE = (SCRIPTS / "playground.js").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize(("width", "theme"), [(500, "light")])
def test_trains_in_a_browser(width, theme, tmp_path):
    size = {"width": width, "theme": theme}
    out, seen = measured(
        PAGE, MEASURE, "unit=NMU&op=mul&range=1,2&seeds=25", tmp_path, **size, budget=600000
    )
    assert "solved 25 of 25" in out
    assert "What seed 2 computes" in out
    assert "y = x1 · x2" in out
    assert int(seen["wide"]) <= 0
    assert float(seen["contrast"]) >= READABLE
    assert (seen["named"], seen["labelled"], seen["requests"]) == ("true", "true", "0")
    assert seen["clicked"] == "true"
    assert seen["address"] == "#unit=NMU&amp;op=mul&amp;range=1,2&amp;seeds=25&amp;seed=2"
