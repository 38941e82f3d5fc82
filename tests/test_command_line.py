"""The command `stable-nalu`: in process, and installed from a wheel."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from importlib import import_module

import pytest

from stable_nalu import __version__
from stable_nalu.command_line import ALSO, EXPORTS, PAPERS, RUNS, TABLES, TRAINING, main
from tests.exported import ROOT, main_of

ROOTS = ("TENSORBOARD_DIR", "SAVE_DIR", "RESULTS_DIR")
BELOW_EXPORT = {**EXPORTS, **TABLES, **ALSO}


def function(place):
    module, _, name = place.partition(":")
    return getattr(import_module(f"stable_nalu.{module}"), name)


def test_every_script_is_a_command():
    experiments = {path.stem for path in (ROOT / "experiments").glob("*.py")}
    assert experiments == {*TRAINING, *PAPERS} - {"list", "plot", "verify"}
    assert {path.stem for path in (ROOT / "export").rglob("*.py")} == {*BELOW_EXPORT}


def test_commands_are_the_functions_of_the_scripts():
    for path in (ROOT / "export").rglob("*.py"):
        assert main_of(path) is function(BELOW_EXPORT[path.stem][0])
    for name in ("batch", "reproduce", "weight_distribution"):
        assert main_of(ROOT / "experiments" / f"{name}.py") is function(PAPERS[name][0])


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_alone_it_lists_all_commands(words, capsys):
    assert main(words) == 0
    listed = capsys.readouterr().out
    assert main(["export", *words]) == 0
    below_export = capsys.readouterr().out
    for name in (*PAPERS, *TRAINING, "export"):
        assert f"\n  {name} " in listed
    for name in BELOW_EXPORT:
        assert f"\n  {name} " in below_export
    assert max(map(len, (listed + below_export).splitlines())) <= 98


def test_it_says_its_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"stable-nalu {__version__}\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["single_layr"], "there is no command 'single_layr'; did you mean single_layer?"),
        (["x"], "there is no command 'x'; see stable-nalu --help"),
        (["export", "verdic"], "there is no command 'verdic'; did you mean verdict?"),
        (["export", "--all"], "there is no command '--all'; see stable-nalu export --help"),
    ],
)
def test_an_unknown_command_is_one_line(words, says, capsys):
    assert main(words) == 2
    assert capsys.readouterr().err == f"stable-nalu: error: {says}\n"


def test_words_go_to_the_command(capsys):
    assert main(["list"]) == 0
    assert "nips-sltr-in2" in capsys.readouterr().out
    assert main(["single_layer", "--dry-run", "--seed", "3"]) == 0
    assert "_s3" in capsys.readouterr().out
    assert main(["export", "simple_function_static"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("stable-nalu export simple_function_static: error: argument --tens")
    assert main(["verify"]) == 2
    assert capsys.readouterr().err.startswith("stable-nalu verify: error: argument KEY: ")
    assert RUNS["formula"] == EXPORTS["formula"]
    for name in ("formula", "model"):
        with pytest.raises(SystemExit, match="2"):
            main([name])
        assert capsys.readouterr().err.startswith(f"stable-nalu {name}: error: argument --run")
    with pytest.raises(SystemExit, match="2"):
        function(RUNS["formula"][0])([])
    assert capsys.readouterr().err.startswith("formula.py: error: argument --run")


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        ("model --run /nope --out x.onnx", "--run"),
        ("summarize --csv /nope", "--csv"),
        ("plot --csv {csv} --kind bars", "--kind"),
        ("plot --csv {csv} --kind curve", "--csv"),
        ("plot nope", "KEY"),
        ("reproduce nope", "KEY"),
        ("batch nope", "NAME"),
        ("single_layer --layer-type Bad --layer-file {layer}", "--layer-type"),
    ],
)
def test_errors_name_the_command_and_the_flag(words, flag, tmp_path, capsys):
    places = {"csv": tmp_path / "a.csv", "layer": tmp_path / "bad.py"}
    places["csv"].write_text("a\n1\n")
    code = "def __init__(self, i, o):\n  super().__init__()\n def forward(self, x):\n  return 1 / 0"
    places["layer"].write_text(f"import torch\nclass Bad(torch.nn.Module):\n {code}\n")
    name, *rest = words.format(**places).split()
    assert main([name, *rest]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"stable-nalu {name}: error: argument {flag}: ")
    assert said.count("\n") == 1


COMPLETE = """
eval "$(cat)"
complete -p stable-nalu | grep -q -- '-F _stable_nalu' || exit 1
of() { COMP_WORDS=(stable-nalu "$@") COMP_CWORD=$#; _stable_nalu; echo "${COMPREPLY[*]}"; }
of veri; of --comp; of export for; of single_layer --rem; of model --; of plot --kind x --csv-d
of single_layer --layer-type Real; of single_layer --layer-type NMU NR; of verify nips-sltr-in2
"""


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_shell_completes_commands_flags_and_layers(shell, capsys):
    assert main(["--completion", shell]) == 0
    words = [shutil.which(shell) or pytest.skip(f"no {shell}"), "-c", COMPLETE]
    given = capsys.readouterr().out
    if shell == "zsh":  # whose own completion needs a terminal
        words[1:] = ["-n"]
    done = subprocess.run(words, input=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = ["verify", "--completion", "formula", "--remove-existing-data", "--run --out"]
    expected += ["--csv-dir", "RealNPU", "NRU", "nips-sltr-in2"]
    assert done.stdout.splitlines() == (expected if shell == "bash" else [])


def test_completion_for_an_unknown_shell_is_refused(capsys):
    assert main(["--completion", "fish"]) == 2
    says = "stable-nalu: error: argument --completion: it takes a shell; write bash or zsh"
    assert capsys.readouterr().err.strip() == says


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The programs of an environment of its own, from a wheel; the other packages as here."""
    folder = tmp_path_factory.mktemp("installed")
    source = folder / "source"
    leave = shutil.ignore_patterns("__pycache__", "pictures", "*.html")
    for name in ("stable_nalu", "torchlanes", "tools"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "docs" / "reproduction", source / "docs/reproduction", ignore=leave)
    for path in (*ROOT.glob("*.csv"), ROOT / "README.md", ROOT / "setup.py"):
        shutil.copy(path, source)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]
    alone = ["--no-deps", "--no-index"]
    build = [*pip, "wheel", *alone, "--no-build-isolation", "--wheel-dir", str(folder), str(source)]
    subprocess.run(build, check=True, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    environment = folder / "venv"
    venv.create(environment, symlinks=True)
    python = ["--python", str(environment / "bin" / "python")]
    subprocess.run(
        [*pip, *python, "install", "--no-compile", *alone, str(wheel)], check=True, cwd=folder
    )
    # Only now, as pip would take a stable-nalu among those packages for the one to replace.
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "of_the_tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    shutil.rmtree(source)
    return environment / "bin"


EACH = """
import contextlib, io, json, sys
from stable_nalu.command_line import main

said = []
for words in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        with contextlib.redirect_stderr(io.StringIO()) as err:
            code = main(words)
    said.append((code, out.getvalue(), err.getvalue()))
json.dump(said, sys.stdout)
"""


@pytest.fixture
def run(installed, tmp_path):
    """Run the installed command in an empty folder, or its Python with some input."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", *ROOTS)}

    def run(program, *words, given=""):
        done = subprocess.run(
            [installed / program, *words],
            cwd=tmp_path,
            input=given,
            capture_output=True,
            text=True,
            env=environment,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.slow
def test_installed_it_lists_refuses_trains_and_exports(run, tmp_path):
    """All files lie below the current folder, and the record holds a command that can be run."""
    words = ("--layer-type", "ReRegualizedLinearMNAC", "--seed", "0-1", "--name-prefix", "t")
    run("stable-nalu", "single_layer", "--operation", "mul", *words, "--max-iterations", "2")
    records = [path.read_text() for path in tmp_path.glob("tensorboard/t/*/*.json")]
    assert len(records) == 2
    assert all('"stable-nalu single_layer --operation mul' in record for record in records)
    commands = (
        *("", "list", "reproduce nips-sltr-in10 --keep", "batch simple_mul --scheduler slurm"),
        "export simple_function_static --tensorboard-dir tensorboard/t --csv-out a",
    )
    given = json.dumps([command.split() for command in commands])
    shown, listed, *refused, exported = json.loads(run("python", "-c", EACH, given=given))
    assert (shown[0], listed[0], exported[0]) == (0, 0, 0)
    assert "usage: stable-nalu COMMAND" in shown[1]
    assert "kept results of " in listed[1]
    assert str(ROOT) not in listed[1]
    for (code, _, errors), says in zip(refused, ("--data", "checkout"), strict=True):
        (line,) = errors.splitlines()
        assert (code, says in line) == (2, True)
    assert len({row.split(",")[0] for row in (tmp_path / "a").read_text().splitlines()[1:]}) == 2
    assert {path.name for path in tmp_path.iterdir()} == {"tensorboard", "save", "a"}
