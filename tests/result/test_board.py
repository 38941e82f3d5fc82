"""The board: what a submission is, what is refused, and who is best."""

import hashlib
import re
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from stable_nalu.errors import UsageError
from stable_nalu.result.board import main
from stable_nalu.result.command import main as reproduce
from stable_nalu.result.ranking import OPERATIONS, RULES, kept_entries, placed, thresholds
from stable_nalu.result.referee import _unlike, fenced
from stable_nalu.result.submission import (
    FORMULA,
    SubmissionCard,
    problems_of,
    read_card,
    read_submission,
)
from stable_nalu.statistics.table import write_rows
from tests.processes import started

ROOT = Path(__file__).parents[2]
LAYER = (ROOT / "examples" / "my_layer.py").read_text(encoding="utf-8")
CARD = SubmissionCard(
    layer="SPU",
    told="",
    given="",
    learned="W",
    parameters=("W=2",),
    expresses=("mul",),
    tuned="",
    failure="",
    operations=("mul",),
    options=(),
    training=(),
    seeds="0-1",
    iterations=300,
    sha256=hashlib.sha256(LAYER.encode()).hexdigest(),
    cpu_seconds=1.5,
    versions="none",
)


def rows(error=1.0):
    """A row for each range and seed of the card."""
    found = []
    for (operation, one), limit in thresholds("benchmark").items():
        for seed in range(2) if operation == "mul" else ():
            point = {"operation": operation, "interpolation.range": one, "seed": str(seed)}
            judged = {"iterations": 300, "threshold": limit, "solved": int(error < limit)}
            told = {"extrapolation.step.solved": "", "extrapolation.last": error}
            found.append(point | judged | told | dict.fromkeys(FORMULA, ""))
    return found


def submit(folder, card=CARD, table=None, layer=LAYER):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "layer.py").write_text(layer)
    card.write(folder / "card.toml")
    write_rows(folder / "runs.csv", rows() if table is None else table)
    return folder


def check(folder, capsys, *words):
    code = main(["--check", folder.name, "--submissions", str(folder.parent), *words])
    return code, capsys.readouterr().out


def test_a_card_comes_back_as_it_was_written(tmp_path):
    told = replace(CARD, given='a "product"\nof \\ <b>×</b>', options=("power=2",))
    told.write(tmp_path / "card.toml")
    assert read_card(tmp_path / "card.toml") == told


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"SPU"', "3", "layer is not a str"),
        ('["mul"]', '["pow"]', "'pow'"),
        ("tuned", "tuning", "tuned, tuning"),
        ("[", "{", "is no card"),
    ],
)
def test_a_card_that_is_none_is_refused(old, new, said, tmp_path):
    CARD.write(tmp_path / "card.toml")
    text = (tmp_path / "card.toml").read_text()
    (tmp_path / "card.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(UsageError, match=said):
        read_card(tmp_path / "card.toml")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os", "imports os"),
        ("import sys; sys.argv", "imports sys"),
        ("from inspect import currentframe", "imports inspect"),
        ("from torch import sys", "uses sys"),
        ("t = torch\nt.os.environ", "uses os"),
        ("torch.initial_seed()", "initial_seed: a layer that reads the seed"),
        ("torch.random.get_rng_state()", "a layer that reads the seed"),
        ("torch.get_rng_state()", "a layer that reads the seed"),
        ("open('/proc/self/cmdline')", "uses open"),
        ("getattr(torch, 's' + 'ys')", "uses getattr"),
        ("torch.nn.Module.__subclasses__()", "private __subclasses__"),
        ("(lambda: 0)._f", "private _f"),
        ("(x for x in ()).gi_frame.f_back", "reads its callers knows the target"),
        ("x = '{0.__class__}'", "two underscores"),
        ("'{}'.format(torch)", "uses format"),
        ("torch.load('x')", "uses load"),
        ("torch.zeros(1).numpy().tofile('x')", "uses numpy"),
        ("__builtins__", "uses __builtins__"),
        ("def __getattr__(name): pass", "defines __getattr__"),
        ("from torch import *", "uses \\*"),
        ("from . import layer", "imports \\."),
        ("import (", "not Python"),
        ("x = '" + "y" * 50_000 + "'", "larger than"),
    ],
)
def test_a_layer_that_reaches_out_is_refused(code, said):
    (first, *_) = problems_of(f"import torch\n{code}\n")
    assert re.search(said, first)


@pytest.mark.parametrize(
    "path", [*ROOT.glob("examples/my_layer.py"), *ROOT.glob("submissions/*/*.py")]
)
def test_a_layer_of_plain_torch_is_not(path):
    assert problems_of(path.read_text(encoding="utf-8")) == []
    more = """
    class Other(torch.nn.Module):
        def __init__(self, in_features, out_features):
            super().__init__()
            self._scale = 1.0
            self.register_buffer("one", torch.ones(1))

        def forward(self, x):
            return torch.nn.functional.softplus(x).sum(-1, keepdim=True) * self._scale
    """
    assert problems_of("import torch\n" + textwrap.dedent(more)) == []


def test_an_altered_table_is_refused_without_training(tmp_path, capsys):
    altered = rows()
    altered[3]["solved"] = 1
    code, said = check(submit(tmp_path / "a", table=altered), capsys)
    assert code == 1
    assert "seed 1 is not judged by the threshold" in said
    laxer = [row | {"threshold": 10.0, "solved": 1} for row in rows()]
    assert "is not judged by the threshold" in check(submit(tmp_path / "b", table=laxer), capsys)[1]
    assert "runs.csv lacks a row" in check(submit(tmp_path / "c", table=rows()[1:]), capsys)[1]
    words = [row | {"threshold": "low"} for row in rows()]
    assert "refused: ValueError" in check(submit(tmp_path / "e", table=words), capsys)[1]
    assert "refused" in check(submit(tmp_path / "f", replace(CARD, seeds="x")), capsys)[1]
    assert main(["--check", "b", "--submissions", str(tmp_path / "none")]) == 2
    assert "argument --check: there is no" in capsys.readouterr().err
    twice = [*rows(), rows()[0]]
    assert "should not have a row" in check(submit(tmp_path / "d", table=twice), capsys)[1]


def test_a_card_that_does_not_match_is_refused_without_training(tmp_path, capsys):
    other = submit(tmp_path / "a", layer=LAYER.replace("0.25", "0.3"))
    assert "sha256 is not that of layer.py" in check(other, capsys)[1]
    unable = submit(tmp_path / "b", replace(CARD, expresses=()), rows(1e-12))
    assert "expresses lacks mul, which runs have solved" in check(unable, capsys)[1]


@pytest.mark.slow
def test_from_file_to_check(tmp_path, capsys):
    """What was submitted is accepted; another digit, other parameters and seeds are refused."""
    file = tmp_path / "layer.py"
    file.write_text(LAYER)
    words = ["--name", "a", "--operation", "mul", "--seeds", "0-1", "--max-iterations", "300"]
    places = ["--submissions", str(tmp_path / "s"), "--out", str(tmp_path / "out")]
    assert main([str(file), *words, *places]) == 0
    assert "mul: not ranked: a short trial, solved" in capsys.readouterr().out
    found = read_submission(tmp_path / "s" / "a")
    assert found.card.parameters == ("W=2",)
    assert len(found.rows) == 18
    assert "" not in {row["verdict"] for row in found.rows}
    code, said = check(found.folder, capsys, "--rows", "2", "--seed", "1", "--fresh", "0")
    assert (code, "2 of 2 rows equal" in said, "accepted: a" in said) == (0, True, True), said
    altered = [dict(row) for row in found.rows]
    altered[5]["extrapolation.last"] = str(float(altered[5]["extrapolation.last"]) * (1 + 1e-6))
    write_rows(found.folder / "runs.csv", altered)
    code, said = check(found.folder, capsys, "--every", "--fresh", "0")
    assert code == 1
    assert "17 of 18 rows equal" in said
    assert "extrapolation.last is" in said
    assert main([str(file), *words, *places]) == 2
    replace(found.card, parameters=("W=3",)).write(found.folder / "card.toml")
    code, said = check(found.folder, capsys)
    assert code == 1
    replace(found.card, training=("operation=add",)).write(found.folder / "card.toml")
    assert "would change the task" in check(found.folder, capsys)[1]
    assert "parameters are not those of the layer, W=2" in said


@pytest.mark.slow
def test_a_challenger_is_submitted_as_it_was_trained(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("layer.py").write_text(LAYER)
    key = "benchmark_sltr_mul --model NMU --submit a --seeds 0 --max-iterations 100 --format png"
    words = [*key.split(), "--layer-type", "SPU"]
    assert reproduce([*words, "--layer-file", "layer.py"]) == 0
    assert "submissions/a is written" in capsys.readouterr().out
    assert len(read_submission(Path("submissions/a")).rows) == 36
    assert reproduce(words) == 2
    assert "argument --submit" in capsys.readouterr().err


def test_seeds_that_were_chosen_are_not_like_others():
    def part(solved, seeds):
        return [{"seed": str(s), "solved": str(k)} for s in seeds for k in solved]

    assert _unlike(part([1] * 9, range(25)), part([0] * 9, range(100, 105))) < 0.001
    assert _unlike(part([1, 0], range(25)), part([1, 0], range(100, 105))) == 1


ATTACK = """
import os, socket, subprocess, sys
from pathlib import Path
from stable_nalu.result.referee import answer, enter
place = Path(sys.argv[1])
asked = enter(place)
said = []
for code in asked["try"]:
    try:
        exec(code)
        said.append("done")
    except Exception as error:
        said.append(f"{type(error).__name__}: {error}")
answer(place, said)
"""


def test_what_the_fence_lets_through(tmp_path, monkeypatch):
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / "attack.py").write_text(ATTACK)
    outside = tmp_path / "outside"
    tries = {
        f"open({str(outside)!r}, 'w')": "PermissionError: it must not write",
        f"os.mkdir({str(outside)!r})": "PermissionError: it must not change",
        "socket.socket().connect(('127.0.0.1', 9))": "PermissionError: it must not use socket",
        "subprocess.run(['true'])": "PermissionError: it must not start true",
        "os.system('true')": "PermissionError: it must not use os.system",
        f"open({str(folder / 'own')!r}, 'w').write('x')": "done",
        "open(os.devnull, 'w')": "done",
        "assert 'SECRET' not in os.environ": "done",
        "assert os.environ['HOME'] == os.getcwd()": "done",
    }
    monkeypatch.setenv("SECRET", "x")
    said = fenced("attack", folder, {"try": list(tries)}, seconds=60)
    for found, expected in zip(said, tries.values(), strict=True):
        assert found.startswith(expected)
    assert not outside.exists()


@pytest.mark.parametrize(
    ("code", "limits", "said"),
    [
        ("while True: pass", {"seconds": 2}, "stopped"),
        ("import time; time.sleep(60)", {"seconds": 2}, "stopped after 2 s"),
        ("bytearray(2 ** 33)", {"gigabytes": 1}, "MemoryError"),
        ("raise ValueError('no')", {}, "ValueError: no"),
    ],
)
def test_limits_end_a_process(code, limits, said, tmp_path):
    text = "import sys; from pathlib import Path; from stable_nalu.result.referee import enter\n"
    place = "place = Path(sys.argv[1]); enter(place)\n"
    (tmp_path / "attack.py").write_text(f"{text}{place}{code}\n")
    with pytest.raises(UsageError, match=said):
        fenced("attack", tmp_path, {}, **limits)


def test_the_kernel_refuses_what_python_does_not_see(tmp_path):
    """A library of C writes, which no hook of Python notices."""
    inside = tmp_path / "inside"
    inside.mkdir()
    code = (
        "import ctypes, os, sys; from pathlib import Path\n"
        "from stable_nalu.result.referee import landlock\n"
        f"version = landlock(Path({str(inside)!r})); libc = ctypes.CDLL(None)\n"
        "make = lambda path: libc.open(path.encode(), os.O_WRONLY | os.O_CREAT, 0o600) >= 0\n"
        f"print(version, make({str(tmp_path / 'outside')!r}), make({str(inside / 'own')!r}))\n"
    )
    with started([sys.executable, "-c", code], stdout=-1, text=True, cwd=ROOT) as process:
        version, outside, own = process.communicate()[0].split()
    if version == "0":
        pytest.skip("this kernel has no Landlock")
    assert (outside, own) == ("False", "True")


def test_ties_share_ranks_and_tests_are_adjusted_for_their_number():
    def unit(solved):
        return {("a", str(seed)): seed < solved for seed in range(25)}

    found = placed({"low": unit(2), "high": unit(25), "also": unit(24), "middle": unit(14)})
    assert {name: one.rank for name, one in found.items()} == {
        **{"high": "1–2", "also": "1–2", "middle": "3", "low": "4"},
    }
    assert list(found) == ["high", "also", "middle", "low"]
    # Six pairs differ: p is 0.031, which is below 0.05 for one test and not for three.
    assert placed({"one": unit(6), "none": unit(0)})["one"].rank == "1"
    assert placed({"one": unit(6), "none": unit(0), "too": unit(0)})["one"].rank == "1–3"


def test_kept_units_are_judged_as_they_were_kept():
    for operation in OPERATIONS:
        every = kept_entries(operation)
        assert len({entry.label for entry in every}) == len(every) > 5
        for entry in every:
            runs = entry.outcomes(operation, "benchmark")
            assert len(runs) == 225
            kept = sum(row["solved"] == "1" for row in entry.rows)
            if entry.key[0].startswith("benchmark") or entry.key[0] == "dmu":
                assert sum(runs.values()) == kept
    assert {rule: len(thresholds(rule)) for rule in RULES} == dict.fromkeys(RULES, 36)


def test_what_is_told_more_is_ranked_apart():
    told = {entry.label: entry.told for entry in kept_entries("mul")}
    assert told["DMU, operands given"] == "the pair of operations"
    assert told["DMU, operands learned"] == told["NMU"] == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([__file__], "argument --name: the submission has no name"),
        ([__file__, "--name", "../x"], "'../x' is not a name"),
        (["--name", "x"], "no layer file is named"),
        (["x.py", "--name", "x"], "x.py is not a file"),
        (["--check", "x", "--told", "y"], "argument --told"),
        (["x.py", "--name", "x", "--rows", "3"], "argument --rows"),
    ],
)
def test_a_command_line_that_cannot_be_meant_is_refused(words, said, capsys):
    assert main(words) == 2
    assert said in capsys.readouterr().err
