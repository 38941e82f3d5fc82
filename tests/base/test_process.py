"""Signals and broken standard streams, as a process meets them from its first lines on."""

import ast
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stable_nalu.writer.event_file import EventFileReader
from tests.forks import Fork

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(path for top in ("experiments", "export") for path in (ROOT / top).rglob("*.py"))
HELP = [sys.executable, "export/verdict.py", "--help"]
WRONG = [sys.executable, "export/verdict.py", "--none"]
TRAIN = [
    *(sys.executable, "experiments/single_layer.py", "--max-iterations", "3"),
    *("--interpolation-range", "[1,2]", "--extrapolation-range", "[2,6]", "--no-save"),
]
FULL = "error: cannot write standard output: No space left on device"


def python(body, number):
    """Exit code and messages of a program that gets a signal where it prints `ready`."""
    # Programs that were started in the background inherit that Ctrl-C is ignored.
    heeded = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    with subprocess.Popen(
        [sys.executable, "-c", heeded + body],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        _, err = process.communicate()
    return process.returncode, err


def shell(words, redirections, folder):
    """Exit code, output and messages of a command."""
    return subprocess.run(
        ["bash", "-c", f"{shlex.join(words)} {redirections}"],
        cwd=ROOT,
        env={**os.environ, "TENSORBOARD_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


BEGIN = "from stable_nalu.base.script import begin; begin(__name__)\n"
READY = "import time; print('ready', flush=True); time.sleep(600)\n"
IN_BODY = f"""{BEGIN}
from stable_nalu.base.script import exit_code

def body():
    try:
        {READY.strip()}
    finally:
        print("left in order", flush=True)

raise SystemExit(exit_code("a.py", body))
"""


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [(signal.SIGTERM, 75, "stopped by SIGTERM"), (signal.SIGINT, 130, "interrupted")],
)
def test_a_signal_has_its_exit_code_before_the_work_and_in_it(number, code, said):
    assert python(f"{BEGIN}{READY}", number) == (code, "")
    assert python(IN_BODY, number) == (code, f"a.py: {said}\n")


def test_a_signal_in_an_import_that_makes_another_error_of_it():
    body = IN_BODY.replace(
        "    finally:", "    except BaseException: raise ImportError\n    finally:"
    )
    assert python(body, signal.SIGTERM) == (75, "a.py: stopped by SIGTERM\n")


def test_a_program_that_is_not_begun_keeps_its_handlers():
    body = f"from stable_nalu.base.script import begin; begin('some.module')\n{READY}"
    assert python(body, signal.SIGTERM) == (-signal.SIGTERM, "")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_begin_before_they_import_anything_else_of_the_package(path):
    lines = ast.parse(path.read_text(encoding="utf-8")).body
    words = [ast.unparse(line) for line in lines]
    first = next(place for place, line in enumerate(words) if "stable_nalu" in line)
    assert words[first].startswith("from stable_nalu.base.script import begin")
    assert words[first + 1] == "begin(__name__)"


@pytest.mark.parametrize(
    ("words", "streams", "said"), [(HELP, [1], FULL), (WRONG, [2], ""), (TRAIN, [1, 2], "")]
)
def test_an_output_that_takes_nothing_is_one_line(words, streams, said, tmp_path):
    full = "import os\nfor stream in {}: os.dup2(os.open('/dev/full', os.O_WRONLY), stream)"
    environment = {**os.environ, "TENSORBOARD_DIR": str(tmp_path)}
    path, *words = words[1:]
    with Fork(str(ROOT / path), words, environment, full.format(streams), "") as process:
        _, errors = process.communicate()
    assert process.returncode == 2
    assert said in errors
    assert len(errors.splitlines()) == bool(said)


@pytest.mark.parametrize(("words", "redirection", "code"), [(WRONG, "2>&-", 2), (HELP, ">&-", 0)])
def test_streams_that_are_closed_change_nothing_else(words, redirection, code, tmp_path):
    assert shell(words, redirection, tmp_path).returncode == code


def test_runs_are_whole_where_nothing_can_be_said(tmp_path):
    done = shell(TRAIN, "<&- >&- 2>&-", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (events,) = tmp_path.rglob("events*")
    reader = EventFileReader(events)
    assert {event.step for event in reader} >= {0, 3}
    assert reader.problem is None
