"""A layer among the published ones: how it is trained, compared and reported."""

import csv
import hashlib
import math
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from stable_nalu.bench import challenge, ranking, reproduce
from stable_nalu.bench.challenge import FIGURES
from stable_nalu.bench.ranking import KEY, Challenger, Contest
from stable_nalu.layer import nau_nmu
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.statistics.summary import STEP
from tests.result import made_up

NMU = "ReRegualizedLinearMNAC"
LAYER = r"""
import torch
from stable_nalu import register

class SPU(torch.nn.Module):
    def __init__(self, in_features, out_features, power=1):
        super().__init__()

register(SPU, label="Spooled unit", latex=r"\mathrm{SPU}_x", cites="Me 2026, Spools")
"""


def runs(model, solved, iterations=50):
    """Runs of one model over two points and as many seeds as there are outcomes of each."""
    rows = [
        (model, "mul", point, seed, iterations, outcome, 10.0 if outcome else float("nan"), 0.1)
        for point, outcomes in solved.items()
        for seed, outcome in enumerate(outcomes)
    ]
    names = ("model", "operation", "interpolation.range", "seed", "iterations", "solved")
    columns = [*names, "extrapolation.step.solved", "sparse.error.max"]
    return pd.DataFrame(rows, columns=columns).assign(threshold=1e-5)


def contest(*tables):
    experiment = EXPERIMENTS["benchmark_sltr_mul"]
    models = tuple(model for model in experiment.models if model.key in ("NMU", "NALU"))
    return Contest(replace(experiment, models=models), "mine", pd.concat(tables, ignore_index=True))


def test_a_challenger_is_paired_with_each_rival_by_point_and_seed():
    own = runs(KEY, {"a": [1, 1, 1, 1], "b": [1, 1, 1, 0]})
    # The rival has fewer runs: it is met where both are.
    rival = runs("NMU", {"a": [0, 0, 0, 0], "b": [0, 0, 1]})
    other = runs("NALU", {"a": [1, 1, 1, 1], "b": [1, 1, 1, 0]})
    (nalu, mine) = sorted(contest(own, rival, other).duels, key=lambda duel: duel.label)
    assert (mine.label, mine.test.pairs, mine.test.won, mine.test.lost) == ("NMU", 7, 6, 0)
    # Four seeds, all of which gain; two rivals.
    assert mine.test.p == pytest.approx(2 * 0.5**4)
    assert mine.p == pytest.approx(4 * 0.5**4)
    assert mine.test.difference.mean == pytest.approx(6 / 7)
    assert (nalu.test.pairs, nalu.p, nalu.verdict) == (8, 1.0, "no significant difference")


def test_a_significant_difference_has_a_direction():
    own, rival = runs(KEY, {"a": [1] * 9}), runs("NMU", {"a": [0] * 9})
    assert [duel.verdict for duel in contest(own, rival).duels] == ["better"]
    swapped = contest(rival.assign(model=KEY), own.assign(model="NMU"))
    assert [duel.verdict for duel in swapped.duels] == ["worse"]


def test_rivals_that_ran_longer_have_no_verdict():
    own, rival = runs(KEY, {"a": [0] * 9}), runs("NMU", {"a": [1] * 9}, iterations=5000)
    (duel,) = contest(own, rival).duels
    assert duel.verdict == "not comparable: 5,000 iterations, the challenger 50"


def test_rivals_are_cut_at_the_length_of_the_challenger():
    """Both count as solved by the rivals' log points, here the second at step 4000 of 4500."""
    own = runs(KEY, {"a": [1, 0, 1]}, 4500).assign(**{STEP: [250, math.nan, 4100]})
    kept = runs("NMU", {"a": [1, 1, 0]}, 50_000).assign(**{STEP: [4000, 5000, 2000]})
    ours, theirs = ranking.cut(own, kept, 1000)
    assert (ours["solved"].tolist(), ours[STEP][0]) == ([True, False, False], 1000)
    assert (theirs["solved"].tolist(), theirs[STEP][2]) == ([True, False, True], 2000)
    found = replace(contest(ours, theirs), rivals=50_000)
    (duel,) = found.duels
    assert (duel.fair, duel.test.won, duel.test.lost) == (True, 0, 1)
    ranks = {
        (s["layer"], s["rank.success.rate"], s["rank.sparsity.error"]) for s in found.standings
    }
    assert ranks == {("mine", 2, None), ("NMU", 1, None)}
    for steps in (900, 50_000):  # before a rival's first log point, and as long as rivals
        same = own.assign(iterations=steps)
        assert ranking.cut(same, kept, 1000)[1] is kept


def test_ranks_are_shared_and_missing_rivals_named():
    found = contest(runs(KEY, {"a": [1, 1], "b": [0, 0]}), runs("NMU", {"a": [1, 1], "b": [0, 1]}))
    assert found.missing == ["NALU"]
    ranks = {(s["layer"], s["point"]): s["rank.success.rate"] for s in found.standings}
    assert ranks["mine", "all together"] == 2
    assert ranks["mine", "a"] == ranks["NMU", "a"] == 1
    (mine,) = [s for s in found.standings if (s["layer"], s["point"]) == ("mine", "b")]
    assert mine["rank.solved.at"] is None


def test_a_challenger_trains_in_the_setting_that_the_models_of_a_figure_share():
    model = Challenger(NMU, None, (), {}).model(EXPERIMENTS["benchmark_sltr_mul"])
    assert model.flags == {
        "--operation": ("mul",),
        "--max-iterations": ("50000",),
        "--log-interval": ("1000",),
        "--no-cuda": (),
        "--layer-type": (NMU,),
    }
    assert (model.label, len(model.points), list(model.seeds)) == ("NMU (here)", 9, list(range(25)))
    over = Challenger(NMU, None, (), {"--learning-rate": ("1",)})
    ten = over.model(EXPERIMENTS["nips-sltr-in10"])
    assert ten.label == "NMU"
    assert ten.flags["--learning-rate"] == ("1",)
    assert ten.flags["--input-size"] == ("10",)
    assert ten.prefix != model.prefix.replace("benchmark_sltr_mul", "nips-sltr-in10")


def test_a_file_and_its_options_reach_the_training_command(tmp_path):
    file = tmp_path / "my_layer.py"
    file.write_text(LAYER)
    challenger = Challenger("SPU", file, ("power=2",), {})
    model = challenger.model(EXPERIMENTS["simple_mul"])
    assert model.flags["--layer-file"] == (str(file),)
    assert model.flags["--layer-option"] == ("power=2",)
    assert (model.label, challenger.paper) == ("Spooled unit", "Me 2026, Spools")
    own, rival = runs(KEY, {"a": [1, 0], "b": [1, 1]}), runs("NMU", {"a": [1, 0], "b": [1, 1]})
    found = replace(contest(own, rival), label=model.label)
    (figure,) = challenge.figures(found, challenger.drawn).values()
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == [r"$\mathrm{SPU}_x$", "NMU"]
    assert challenger.source.sha256 == hashlib.sha256(LAYER.encode()).hexdigest()
    before = challenger.folder
    file.write_text(f"{LAYER}# changed")
    assert challenger.folder == before, "what is trained is what was loaded"
    assert replace(challenger).folder != before


REFUSED = Path(__file__).with_name("refused.txt").read_text("utf-8").splitlines()
"""Words, and what is said of them."""


@pytest.mark.parametrize("line", REFUSED)
def test_mistakes_are_said(line, tmp_path, capsys):
    words, message = line.split(" | ")
    words = words.replace("UNIT", f"--layer-type {NMU}").replace("TMP", str(tmp_path)).split()
    assert reproduce([*words, "--out", str(tmp_path / "out")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not (tmp_path / "out").exists()


def test_only_the_challenger_is_trained(tmp_path, capsys):
    words = ["challenge", "--layer-type", NMU, "--seeds", "0-4", "--max-iterations", "5000"]
    assert reproduce([*words, "--out", str(tmp_path), "--dry-run"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert len(said) == len(FIGURES)
    assert all(f"--layer-type {NMU} " in line and "--seed 0-4" in line for line in said)
    assert not any(tmp_path.iterdir())


def test_a_figure_that_a_layer_cannot_be_trained_for_is_left_out(tmp_path, capsys):
    words = ["challenge", "--layer-type", NMU, "--seeds", "0", "--dry-run", "--out", str(tmp_path)]
    own = ["--training", "first-layer=SillyReRegualizedLinearNAC"]
    assert reproduce([*words, *own]) == 0
    left_out, *commands = capsys.readouterr().out.splitlines()
    assert left_out.startswith("simple_mul is left out: argument --first-layer: SillyReReg")
    assert len(commands) == len(FIGURES) - 1


def test_from_a_layer_to_a_page(tmp_path, capsys):
    data = tmp_path / "data"
    made_up.write("simple_mul", data, [0, 1])
    path = data / "simple_mul.csv"
    kept = pd.read_csv(path)
    kept.loc[kept["model"] != "gated"].to_csv(path, index=False)
    words = ["simple_mul", "--layer-type", NMU, "--seeds", "0-1", "--max-iterations", "20"]
    words += ["--out", str(tmp_path), "--data", str(data), "--jobs", "1", "--format", "png"]
    words += ["--training", "learning-rate=0.01"]
    assert reproduce(words) == 0
    assert "2 runs" in capsys.readouterr().out
    (folder,) = (tmp_path / "iterations-20" / "challenge").glob(f"{NMU}-*_simple_mul")
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert "**No fair comparison: rivals ran longer, and no verdict is given" in text
    assert "simple_mul: rivals 200,000 iterations, here 20" in text
    assert "no results of these runs are kept: Gated NAU/NMU" in text
    assert hashlib.sha256(Path(nau_nmu.__file__).read_bytes()).hexdigest() in text
    assert "| NALU | 2 |" in text
    assert "| paper | Madsen & Johansen 2020, Neural Arithmetic Units, arXiv:2001.05016 |" in text
    assert "flags of its own (--learning-rate 0.01); rivals were trained as published" in text
    assert (folder / "pictures" / "simple_mul.svg").exists()
    assert (folder / "figures" / "simple_mul.png").exists()
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert len(re.findall("<svg ", page)) == 1
    with (folder / "tables" / "simple_mul_tests.csv").open(encoding="utf-8", newline="") as file:
        tests = list(csv.DictReader(file))
    assert [row["rival"] for row in tests] == ["NAC•", "NAC•,σ", "NALU", "NMU"]
    assert reproduce(words) == 0
    assert "2 runs" not in capsys.readouterr().out
