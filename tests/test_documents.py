"""Every command of README and docs runs as printed, made short, in the order of a reader.

All run in one folder, after each other: one that reads what another writes finds it. Shortening
knows flags, not commands. The second command of a training script only plans, unless its runs have
a name of their own, as then others read them. What cannot run here at all is in `LEFT_OUT`, each
with its reason.
"""

import doctest
import inspect
import os
import re
import shlex
from pathlib import Path

import pytest
import torch

import stable_nalu as sn
from stable_nalu.task.table import SCRIPTS
from stable_nalu.training.shell import ENGINE, TORCH
from tests.forks import Fork
from tools.site_pages import NAMES

ROOT = Path(__file__).resolve().parents[1]
FIRST = ("your-layer", "challenge", "api", "layers", "training", "flags", "experiments", "nalu")
"""Documents in the order of a reader; all others follow."""

LEFT_OUT = {
    r"make .*": "installs the environment, and trains and tests with it",
    r"\. \.venv/bin/activate": "changes the shell that it is typed into",
    r"python3 -m pip install .*": "installs the package",
    r"tensorboard .*": "serves pages until it is stopped",
    r".* --scheduler (slurm|lsf)\b.*": "needs a cluster; see tests/result/test_slurm.py",
    r".*\bpython -m benchmarks.*": "measures speed, for minutes",
    r".* --digit-source mnist .*|.*/reproduce\.py nalu/table[24].*": "needs MNIST",
    r".* experiments/sequential_(mnist|svhn)\.py (?!.*source digits).*": "needs MNIST or SVHN",
    r"stable-nalu board .*": "trains for minutes; see tests/bench/test_board.py",
    r"stable-nalu fit .*": "trains for a minute; see tests/bench/test_fit.py",
    r".*/reproduce\.py --report": "writes the page of the checkout; see tests/result",
}
"""Pattern of a whole command -> why it does not run here."""

PLANNED = {
    r".*/reproduce\.py (nalu|article)/.*": "dozens of models; see tests/result/test_measured.py",
    r".*/reproduce\.py (challenge|benchmark_sltr_mul) .*": "it is trained in tests/bench",
    r"(bash|sbatch) lfs_batch_jobs/.*sltr-in2\.sh.*": "a command before trains these runs",
    r".*/reproduce\.py nips-sltr-in2 --model nmru .*": "all models of this figure are trained",
    r".*/reproduce\.py nips-sltr-in10 --keep": "kept results are in tests/result/test_stored.py",
}
"""Pattern of a whole command -> why it only plans, with --dry-run."""

SMALL = {
    "--max-iterations": "1",
    "--max-epochs": "1",
    "--seed": "0",
    "--seeds": "0",
    "--samples-per-permutation": "2",
    "--random-models": "2",
    "--test-images": "10",
    "--valid-images": "10",
    "--eval-episodes": "2",
    "--draws": "20",
}
"""Flag -> the value that it gets, printed or not, in every script that has it."""
_HAS = {"reproduce": ("--max-iterations", "--seeds"), "weight_distribution": ("--draws",)}
_FORK_SHARDS = "from tests.forks import fork_shards; fork_shards()"
_COMMAND = re.compile(
    r"^ {4}((?:python3?|make|bash|sbatch|bsub|tensorboard|stable-nalu|\.|\w+=\S+ python) .+)$"
    r"|^\| (?:train|export|plot|all three) \| `([^`]+)`",
    re.MULTILINE,
)
"""A line of a block, or a stage in the table of `experiments.md`."""


def documents():
    order = {ROOT / "docs" / f"{name}.md": place for place, name in enumerate(FIRST)}
    others = sorted((ROOT / "docs").glob("*.md"), key=lambda path: (order.get(path, 99), path))
    return [ROOT / "README.md", *others]


def commands():
    """Every command of every document, as one line each, in the order of a reader."""
    found = []
    for document in documents():
        text = document.read_text(encoding="utf-8").replace("\\\n", " ")
        for match in _COMMAND.finditer(text):
            words = shlex.split(match[1] or match[2], comments=True)
            found.append((document.name, shlex.join(words)))
    return found


def reason(command, forms=LEFT_OUT):
    return next((why for form, why in forms.items() if re.fullmatch(form, command)), None)


def shortened(words):
    """The words of a command with small numbers in them."""
    name = Path(words[1]).stem if words[1].startswith("experiments/") else ""
    known = [f.name for f in SCRIPTS[name].flags] if name in SCRIPTS else _HAS.get(name, ())
    if "--verify" in words or reason(shlex.join(words), PLANNED):
        return words if "--dry-run" in words else [*words, "--dry-run"]
    if {"--list", "--dry-run", "--evaluate"} & {*words}:
        return words
    for flag, value in SMALL.items():
        if flag in words:
            words[words.index(flag) + 1] = value
        elif flag in known:
            words = [*words, flag, value]
    if words[0] in ("bash", "sbatch") and "print" not in words:
        more = [word for word in words[2:] if not word.isdecimal()]
        words = ["bash", words[1], "0", "0", *more, "--max-iterations", "1", "--log-dir", "logs"]
    return [*words, "--data", "kept"] if "--keep" in words else words


def run(words, folder):
    """Exit code and output of a command, in a fork."""
    # What trains one iteration would be compiled for longer.
    environment = {**os.environ, "COLUMNS": "80", ENGINE: TORCH}
    if words[0] in ("bash", "sbatch"):  # As every batch script does.
        words = ["python3", "experiments/batch.py", *words[1:]]
    before = f"import os; os.chdir({str(folder)!r})\n{_FORK_SHARDS}"
    imports = (
        "stable_nalu.bench.board stable_nalu.bench.challenge stable_nalu.paper.command sympy "
        "fontTools matplotlib.backends.backend_pdf sklearn.datasets"
    )
    with Fork(str(folder / words[1]), words[2:], environment, before, imports) as process:
        output, errors = process.communicate()
        return process.wait(), output + errors


def test_every_reason_for_leaving_a_command_out_is_needed():
    printed = [command for _, command in commands()]
    assert len(printed) > 80
    for form in (*LEFT_OUT, *PLANNED):
        assert any(re.fullmatch(form, command) for command in printed), form


def test_the_documents_show_every_training_script():
    words = [command.split() for _, command in commands()]
    scripts = {Path(w[1]).stem for w in words if w[1:] and w[1].startswith("experiments/")}
    assert scripts == {*SCRIPTS, "reproduce", "weight_distribution"}


@pytest.mark.slow
def test_every_command_of_the_documents_runs(tmp_path):
    for name in ("experiments", "export", "examples", "lfs_batch_jobs", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    # Shortened, a reproduction has a folder of its own below --out.
    (tmp_path / "results/iterations-1/csv").mkdir(parents=True)
    (tmp_path / "results/csv").symlink_to("iterations-1/csv")
    (tmp_path / "tensorboard").mkdir()
    logs = "../results/iterations-1/tensorboard/sltr-in2"
    (tmp_path / "tensorboard/sltr-in2").symlink_to(logs)
    failed, done, trained = [], set(), set()
    for document, command in commands():
        words = shortened(shlex.split(command))
        place = words.index("--out") if "--out" in words else len(words)
        same = frozenset((*words[:place], *words[place + 2 :]))
        if reason(command) or same in done:
            continue
        done.add(same)
        name = Path(words[1]).stem
        if words[1] == f"experiments/{name}.py" and name in SCRIPTS:
            if name in trained and not {"--name-prefix", "--evaluate"} & {*words}:
                words.append("--dry-run")
            trained.add(name)
        code, output = run(words, tmp_path)
        if code:
            failed.append(f"{document}: {shlex.join(words)}: exit code {code}\n{output[-600:]}")
    assert not failed, "\n\n".join(failed)


def test_the_python_of_the_interface_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/api.md").read_text("utf-8")
    codes = re.findall(r"^```python\n(import stable_nalu.*?)^```", page, re.M | re.S)
    assert len(codes) == 2
    for code in codes:
        exec(compile(code, "api.md", "exec"), {})


def test_the_examples_of_public_names_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert sorted(NAMES) == sorted(sn.__all__)
    known = {"sn": sn, "torch": torch}
    runner = doctest.DocTestRunner()
    for name in NAMES:
        documented = getattr(sn, name)
        documented = documented.__call__ if inspect.ismodule(documented) else documented
        text = inspect.getdoc(documented)
        example = doctest.DocTestParser().get_doctest(text, known, name, None, None)
        assert example.examples, f"{name} has no example"
        said = []
        runner.run(example, clear_globs=False, out=said.append)
        known = example.globs
        assert not runner.failures, "".join(said)
