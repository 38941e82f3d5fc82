"""The board: what a submission is, what is refused, and who is best."""

import hashlib
import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from stable_nalu.base.errors import UsageError
from stable_nalu.bench import board, reproduce
from stable_nalu.bench.board import (
    FORMULA,
    SubmissionCard,
    _unlike,
    main,
    read_card,
    read_submission,
)
from stable_nalu.bench.fence import fenced, obstacle
from stable_nalu.bench.ranking import OPERATIONS, RULES, kept_entries, placed, thresholds
from stable_nalu.statistics.table import write_rows
from tests.result.tiny import in_this_process  # noqa: F401

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


def rows(error=1.0, seeds=2):
    """A row for each range and seed of the card."""
    found = []
    for (operation, one), limit in thresholds("benchmark").items():
        for seed in range(seeds) if operation == "mul" else ():
            point = {"operation": operation, "interpolation.range": one, "seed": str(seed)}
            judged = {"iterations": 300, "threshold": limit, "solved": int(error < limit)}
            actual = {"extrapolation.step.solved": "", "extrapolation.last": error}
            found.append(point | judged | actual | dict.fromkeys(FORMULA, ""))
    return found


def submit(folder, card=CARD, table=None, layer=LAYER):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "layer.py").write_text(layer)
    card.write(folder / "card.toml")
    write_rows(folder / "runs.csv", rows() if table is None else table)
    return folder


def check(folder, capsys, *words):
    """Check a submission, by default without the sandbox, which nothing needs that is not run."""
    words = words or ("--unfenced",)
    code = main(["--check", folder.name, "--submissions", str(folder.parent), *words])
    return code, capsys.readouterr().out


def test_a_card_comes_back_as_it_was_written(tmp_path):
    actual = replace(CARD, given='a "product"\nof \\ <b>×</b>', options=("power=2",))
    actual.write(tmp_path / "card.toml")
    assert read_card(tmp_path / "card.toml") == actual


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"SPU"', "3", "layer is not text"),
        ('["mul"]', '["pow"]', "'pow'"),
        ("tuned", "tuning", "tuned, tuning"),
        ("[", "{", "is no card"),
        ("[", "[" * 5000, "is no card"),
        ("W=2", "W", "'W', which is not NAME=NUMBER"),
        ("W=2", "W=" + "9" * 5000, "NAME=NUMBER"),
        ("1.5", "nan", "cpu_seconds is not a number from 0"),
        ("1.5", "-inf", "cpu_seconds is not a number from 0"),
        ('["mul"]\noptions', "[]\noptions", "operations are none"),
        ('["mul"]\noptions', '["mul", "mul"]\noptions', "one of them twice"),
    ],
)
def test_a_card_that_is_none_is_refused(old, new, said, tmp_path):
    CARD.write(tmp_path / "card.toml")
    text = (tmp_path / "card.toml").read_text()
    (tmp_path / "card.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(UsageError, match=said):
        read_card(tmp_path / "card.toml")


def test_an_altered_table_is_refused_without_training(tmp_path, capsys):
    altered = rows()
    altered[3]["solved"] = 1
    code, said = check(submit(tmp_path / "a", table=altered), capsys)
    assert code == 1
    assert "U[-2,-1] 1 is not judged by the threshold" in said
    laxer = [row | {"threshold": 10.0, "solved": 1} for row in rows()]
    assert "is not judged by the threshold" in check(submit(tmp_path / "b", table=laxer), capsys)[1]
    assert "runs.csv lacks a row" in check(submit(tmp_path / "c", table=rows()[1:]), capsys)[1]
    words = [row | {"threshold": "low"} for row in rows()]
    assert (
        "could not convert string to float" in check(submit(tmp_path / "e", table=words), capsys)[1]
    )
    many = submit(tmp_path / "f", replace(CARD, seeds="0-999999"))
    assert "runs.csv has the seeds 0-1, card.toml 0-999999" in check(many, capsys)[1]
    assert main(["--check", "b", "--submissions", str(tmp_path / "none")]) == 2
    assert "argument --check: there is no" in capsys.readouterr().err
    twice = [*rows(), rows()[0]]
    assert "should not have a row" in check(submit(tmp_path / "d", table=twice), capsys)[1]


def test_a_card_that_does_not_match_is_refused_without_training(tmp_path, capsys):
    other = submit(tmp_path / "a", layer=LAYER.replace("0.25", "0.3"))
    assert "sha256 is not the digest of layer.py" in check(other, capsys)[1]
    unable = submit(tmp_path / "b", replace(CARD, expresses=()), rows(1e-12))
    assert "expresses lacks mul, which runs solved" in check(unable, capsys)[1]


def _spoiled(folder, kind):
    """Replace a file of a submission, or alter it."""
    file, how = kind.split()
    path = folder / file
    content = path.read_bytes()
    path.unlink()
    if how == "device":
        path.symlink_to("/dev/zero")
    elif how == "pipe":
        os.mkfifo(path)
    elif how == "folder":
        path.mkdir()
    elif how == "link":
        other = folder.parent.parent / "outside"
        other.write_bytes(content)
        path.symlink_to(other)
    elif how == "large":
        path.write_bytes(content + b"\n" * 10**6)
    elif how == "binary":
        path.write_bytes(b"\xff\0")


SPOILED = [
    *(
        f"{file} {how}"
        for file in ("layer.py", "card.toml", "runs.csv")
        for how in ("pipe", "link")
    ),
    *("runs.csv device", "layer.py large", "card.toml large", "runs.csv large", "layer.py folder"),
    *("card.toml missing", "card.toml binary", "runs.csv binary"),
]


@pytest.mark.parametrize("kind", SPOILED)
def test_only_small_regular_files_are_read(kind, tmp_path, capsys):
    folder = submit(tmp_path / "s" / "a")
    _spoiled(folder, kind)
    code, said = check(folder, capsys)
    assert code == 1
    assert said.startswith("refused: ")
    assert said.count("\n") == 1
    assert kind.split()[0] in said


def test_a_folder_that_is_a_link_is_refused(tmp_path, capsys):
    (tmp_path / "a").symlink_to(submit(tmp_path / "elsewhere"))
    assert "it is a link" in check(tmp_path / "a", capsys)[1]


def test_terminals_do_not_obey_a_submission(tmp_path, capsys):
    folder = submit(tmp_path / "a")
    text = (folder / "card.toml").read_text()
    (folder / "card.toml").write_text(f'{text}"\\u001b[2Jgone" = 1\n')
    code, said = check(folder, capsys)
    assert (code, "\x1b" in said, "gone" in said) == (1, False, True)


def test_without_bubblewrap_a_check_asks_for_a_flag(tmp_path, monkeypatch, capsys):
    folder = submit(tmp_path / "a", table=rows()[1:])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["--check", "a", "--submissions", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "bubblewrap (bwrap) does not start" in said
    assert "add --unfenced" in said
    assert "runs.csv lacks a row" in check(folder, capsys, "--unfenced")[1]


ATTACK = """
import os, socket, sys
for path in ("stable_nalu.py", "json.py"):
    open(path, "w").write("open('imported', 'w')")
for name in ("request.json", "answer.json", "layer.py"):
    for folder in (".", os.path.dirname(__file__)):
        try:
            os.symlink(VICTIM, f"{folder}/{name}")
        except OSError:
            pass
for attack in (lambda: open(VICTIM, "w"), lambda: open(VICTIM + "2", "w"),
               lambda: socket.create_connection(PLACE, 1)):
    try:
        attack()
    except OSError:
        continue
    raise RuntimeError("it succeeded")
"""


@pytest.fixture
def asked_once(monkeypatch):
    """Let a layer that is asked the same again give the answer that its process gave."""
    answers = {}

    def asked(words, files, *, fence):
        key = tuple(sorted(files.items()))
        if key not in answers:
            answers[key] = fenced(words, files, fence=fence)
        return answers[key]

    monkeypatch.setattr(board, "fenced", asked)


@pytest.mark.slow
def test_a_hostile_layer_reaches_nothing(tmp_path, asked_once, monkeypatch, capsys):
    """Its numbers are right, so it is accepted; what it tries besides has no effect."""
    if problem := obstacle():
        pytest.skip(problem)
    monkeypatch.chdir(tmp_path)
    Path("victim").write_text("as it was")
    with socket.create_server(("127.0.0.1", 0)) as server:
        names = f"VICTIM = {str(tmp_path / 'victim')!r}\nPLACE = {server.getsockname()!r}\n"
        layer = LAYER.replace("import torch\n", f"import torch\n{names}{ATTACK}", 1)
        card = replace(CARD, sha256=hashlib.sha256(layer.encode()).hexdigest())
        folder = submit(tmp_path / "s" / "a", card, layer=layer)
        assert "of 1 rows equal" in check(folder, capsys, "--rows", "1", "--fresh", "0")[1]
        (folder / "runs.csv").unlink()
        assert check(folder, capsys, "--fresh", "0") == (0, "accepted: a\n")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s", "victim"]
    assert Path("victim").read_text() == "as it was"


@pytest.mark.slow
def test_from_file_to_check(tmp_path, asked_once, capsys):
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
    fence = ["--unfenced"] if obstacle() else []
    code, said = check(found.folder, capsys, "--rows", "1", "--seed", "1", "--fresh", "0", *fence)
    assert (code, "1 of 1 rows equal" in said, "accepted: a" in said) == (0, True, True), said
    altered = [
        row | {"extrapolation.last": str(float(row["extrapolation.last"]) * (1 + 1e-6))}
        for row in found.rows
    ]
    write_rows(found.folder / "runs.csv", altered)
    one = ("--rows", "1", "--seed", "1", "--fresh", "0", "--unfenced")
    code, said = check(found.folder, capsys, *one)
    assert code == 1
    assert "0 of 1 rows equal" in said
    assert "extrapolation.last is" in said
    assert main([str(file), *words, *places]) == 2
    replace(found.card, parameters=("W=3",)).write(found.folder / "card.toml")
    code, said = check(found.folder, capsys)
    assert code == 1
    replace(found.card, training=("operation=add",)).write(found.folder / "card.toml")
    assert "would change the task" in check(found.folder, capsys)[1]
    assert "parameters are not those of the layer, W=2" in said


@pytest.mark.slow
def test_a_layer_with_penalty_and_bounds_is_submitted(tmp_path, capsys):
    """A subclass of `stable_nalu.Layer`, with a flag of its penalty and noise of its own."""
    file = ROOT / "examples" / "my_layer_with_penalty.py"
    words = "--name a --operation add --seeds 3 --max-iterations 200 --layer-option noise=0.1"
    places = ["--submissions", str(tmp_path / "s"), "--out", str(tmp_path / "out")]
    training = ["--training", "regualizer=1", "learning-rate=1"]
    assert main([str(file), *words.split(), *training, *places]) == 0
    found = read_submission(tmp_path / "s" / "a")
    assert (found.card.layer, found.card.parameters) == ("NoisySum", ("W=2",))
    # Steps of this size lead beyond [-1, 1] at once; within it no error exceeds 1.
    assert {float(row["sparse.error.max"]) <= 1 for row in found.rows} == {True}
    fence = ["--unfenced"] if obstacle() else []
    code, said = check(found.folder, capsys, "--rows", "1", "--fresh", "0", *fence)
    assert (code, "1 of 1 rows equal" in said) == (0, True), said


@pytest.mark.slow
def test_a_challenger_is_submitted_as_it_was_trained(
    tmp_path,
    monkeypatch,
    capsys,
    in_this_process,  # noqa: F811
):
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


def test_ties_share_ranks_and_tests_are_adjusted_for_their_number():
    def unit(solved):
        return {("a", str(seed)): seed < solved for seed in range(25)}

    found = placed({"low": unit(2), "high": unit(25), "also": unit(24), "middle": unit(14)})
    assert {name: one.rank for name, one in found.items()} == {
        **{"high": "1–2", "also": "1–2", "middle": "3", "low": "4"}
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


def test_units_with_a_prior_are_ranked_separately():
    priors = {entry.label: entry.prior for entry in kept_entries("mul")}
    assert priors["DMU, operands given"] == "the pair of operations"
    assert priors["DMU, operands learned"] == priors["NMU"] == ""


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
