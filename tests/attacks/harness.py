"""Attacks: a command line, what it meets, and what must hold afterwards.

Everything here goes through `main(argv)` of a script and through files. An attack that is refused
must leave by exit code 2 with one line on stderr, and everything as it was.
"""

import os
import shlex
import shutil
import signal
import stat
import sys
import traceback
import urllib.request
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

import pytest

from stable_nalu.task.table import SCRIPTS
from tests.exported import ROOT, main_of

TRAINING = tuple(SCRIPTS)
EXPORTS = {
    "generate_exp_setups": "export",
    "plot": "export",
    "export_sequences": "export",
    "formula": "export",
    "model": "export",
    "simple_function_static_export": "export",
    "runs": "export",
    "summarize": "export",
    "verdict": "export",
    "generate_divBy0_extrap_thresholds": "export/single_layer_task",
    "pretrained_model_prediction_sweep": "export/single_layer_task/benchmark",
    "expand_weights": "export/single_layer_task/robustness",
    "generate_dataset_solution_indexes": "export/single_layer_task/robustness",
    "two_digit_mnist_reader": "export/two_digit_mnist",
}
_SAME_NAME = {
    "export_sequences": "sequential_mnist",
    "simple_function_static_export": "simple_function_static",
}
"""Exporters that are called like a training script."""

MOST_SECONDS = 900.0
"""After which a command hangs, or has begun what it should have refused."""

_IMAGES = "--max-epochs 0 --data-source digits --batch-size 500"
QUICK = {
    **dict.fromkeys(TRAINING, "--max-iterations 1"),
    "number_translation": "--max-epochs 0",
    **dict.fromkeys(
        ("sequential_mnist", "sequential_svhn"),
        f"{_IMAGES} --interpolation-length 1 --extrapolation-lengths [1]",
    ),
    **dict.fromkeys(
        ("two_digit_mnist", "ST_mnist_labels"), f"{_IMAGES} --samples-per-permutation 1"
    ),
    "fractional_sir": "--max-iterations 1 --polish 0",
    "mystery_arithmetic": "--max-epochs 0 --train-size 40",
    "marked_addition": "--max-iterations 1 --train-size 4 --batch-size 4",
    "gridworld_time": "--max-iterations 1 --eval-episodes 1",
    "notebook_addition": "--max-iterations 1 --train-size 9",
    "even_digit_count": "--max-iterations 1 --valid-images 1 --test-images 1",
    "mnist_counting": "--max-epochs 0 --cnn mlp8 --extrapolation-lengths [1] --test-repeats 1",
}
"""Words with which a command that is not refused, as it should be, ends soon."""


def path_of(script: str) -> Path:
    """The file of a script."""
    folder = EXPORTS.get(script, "experiments")
    return ROOT / folder / f"{_SAME_NAME.get(script, script)}.py"


def call(words: "Words") -> object:
    """Exit code of a command; used to make what attacks meet."""
    script, *argv = split(words)
    return main_of(path_of(script))(argv)


Words = str | tuple[str, ...]


def split(words: Words) -> list[str]:
    """The words of a command line."""
    return shlex.split(words) if isinstance(words, str) else [*words]


@dataclass(frozen=True)
class Attack:
    """One case.

    words: the script and its arguments, as a shell reads them or one by one; `{tmp}` is the
        test's own folder.
    says: what the one line (or, of a success, all that is printed) must hold: one text or some.
    prepare: puts things into the folder first.
    code: the exit code; also a tuple of those that are right.
    env: environment variables; None takes one away.
    writes: patterns, relative to the folder, of what the command is asked to write.
    check: looks at the outcome of a command that succeeds.
    folders: whether new folders count, too, empty as they are.
    """

    name: str
    words: Words
    says: str | tuple[str, ...] = ()
    prepare: "Callable[[Place], object] | None" = None
    code: int | tuple[int, ...] = 2
    env: Mapping[str, str | None] = field(default_factory=dict)
    writes: tuple[str, ...] = ()
    check: "Callable[[Place, Outcome], object] | None" = None
    folders: bool = False


def quick(script: str, words: Words = ()) -> tuple[str, ...]:
    """A training command that would end soon; words that are given win over those for that."""
    typed, more = split(words), split(QUICK[script])
    given = {word.partition("=")[0] for word in typed}
    pairs = zip(more[::2], more[1::2], strict=True)
    return (script, *typed, *(word for pair in pairs if pair[0] not in given for word in pair))


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: object
    out: str
    err: str


class TookTooLong(BaseException):
    """A command that hangs, on a pipe that nobody fills or in a loop."""


@dataclass(frozen=True)
class Place:
    """The folder of a test, and finished runs to copy from."""

    tmp: Path
    made: Path
    monkeypatch: pytest.MonkeyPatch
    capture: pytest.CaptureFixture[str]

    def __truediv__(self, name: str) -> Path:
        return self.tmp / name

    def file(self, name: str, content: str | bytes = "") -> Path:
        """A new file; text is written with the line ends as given."""
        path = self.tmp / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def bring(self, *names: str) -> None:
        """Copy finished runs, models or tables into the folder."""
        for name in names:
            source, target = self.made / name, self.tmp / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
            else:
                shutil.copy2(source, target)

    def run(self, words: Words) -> Outcome:
        """Call a script as a shell would; a traceback counts as a code of its own."""
        script, *argv = (word.replace("{tmp}", str(self.tmp)) for word in split(words))
        self.capture.readouterr()
        # It keeps the proxies that an attack was the first to download with.
        self.monkeypatch.setattr(urllib.request, "_opener", None)
        self.monkeypatch.setattr(sys, "argv", [str(path_of(script)), *argv])
        with patience(), _warnings_on_stderr():
            try:
                code: object = main_of(path_of(script))(argv)
            except SystemExit as end:
                code = 0 if end.code is None else end.code
            except TookTooLong:
                code = "hangs"
            except BaseException as error:
                code = f"traceback: {error!r}\n{traceback.format_exc()}"
        out, err = self.capture.readouterr()
        return Outcome(code, out, err)

    def hold(self, case: Attack) -> None:
        """Carry out an attack and check all that must hold."""
        here = self.tmp / "here"
        here.mkdir(exist_ok=True)
        self.monkeypatch.chdir(here)
        for name, value in case.env.items():
            if value is None:
                self.monkeypatch.delenv(name, raising=False)
            else:
                self.monkeypatch.setenv(name, value.replace("{tmp}", str(self.tmp)))
        if case.prepare is not None:
            case.prepare(self)
        before, outside = snapshot(self.tmp), _checkout()
        outcome = self.run(case.words)
        codes = case.code if isinstance(case.code, tuple) else (case.code,)
        assert outcome.code in codes, f"{outcome.code}, not {codes}\n{outcome.out}{outcome.err}"
        assert "Traceback" not in outcome.out + outcome.err
        if outcome.code == 2:
            lines = outcome.err.splitlines()
            assert len(lines) == 1, outcome.err
            assert lines[0].startswith(f"{path_of(split(case.words)[0]).name}: error: ")
        said = outcome.err if outcome.code == 2 else outcome.out + outcome.err
        for text in [case.says] if isinstance(case.says, str) else case.says:
            assert text.replace("{tmp}", str(self.tmp)) in said, said
        after = snapshot(self.tmp)
        changed = changes(before, after)
        if not case.folders:
            changed = [p for p in changed if p in before or not stat.S_ISDIR(after[p][0])]
        unasked = [p for p in changed if not any(fnmatch(p, pattern) for pattern in case.writes)]
        assert not unasked, unasked
        assert _checkout() == outside, "the checkout has changed"
        if case.check is not None:
            case.check(self, outcome)


def attacks(*given: Attack | Iterable[Attack]) -> Callable[..., None]:
    """The test that carries out attacks, each by its name."""
    cases = [case for one in given for case in ([one] if isinstance(one, Attack) else one)]
    names = [case.name for case in cases]
    twice = {name for name in names if names.count(name) > 1}
    assert not twice, twice

    @pytest.mark.parametrize("case", cases, ids=names)
    def test(case: Attack, place: Place) -> None:
        place.hold(case)

    return test


Entry = tuple[str, int, int, object]


def snapshot(folder: Path) -> dict[str, Entry]:
    """Path -> type and rights, size, time of change, and bytes or target.

    Of folders only that they are there: a file that comes and goes is no change.
    """
    found: dict[str, Entry] = {}
    for base, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(base, name)
            state = path.lstat()
            shown = str(path.relative_to(folder))
            kind = stat.S_IFMT(state.st_mode)
            # A process that looks whether it may write leaves its number in a lock.
            if kind == stat.S_IFDIR or name == ".lock":
                found[shown] = (state.st_mode, 0, 0, None)
                continue
            read = {stat.S_IFLNK: path.readlink, stat.S_IFREG: path.read_bytes}.get(kind)
            content = read() if read else None
            found[shown] = (state.st_mode, state.st_size, state.st_mtime_ns, content)
    return found


def changes(before: Mapping[str, Entry], after: Mapping[str, Entry]) -> list[str]:
    """What is new, gone or different."""
    return sorted(p for p in before.keys() | after.keys() if before.get(p) != after.get(p))


def _checkout() -> dict[str, int]:
    """What a command could write to by mistake: the page, the kept results, default folders."""
    folders = ("", "docs", "docs/reproduction", "docs/reproduction/data", "lfs_batch_jobs")
    return {
        entry.path: 0 if entry.is_dir() else entry.stat().st_mtime_ns
        for folder in folders
        for entry in os.scandir(ROOT / folder)
        if not entry.name.startswith((".", "__pycache__"))
    }


@contextmanager
def patience():
    """Let a command go on for long, as the machine may be busy: not for ever."""

    def give_up(*_: object) -> None:
        raise TookTooLong

    old = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


@contextmanager
def _warnings_on_stderr():
    """Show warnings as a user sees them, where pytest would collect them or raise."""

    def show(message, category, filename, lineno, file=None, line=None) -> None:
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show
        yield


def assert_refused(
    capture: pytest.CaptureFixture[str], script: str, words: Iterable[str], says: Iterable[str]
) -> None:
    """The words alone are refused, in one line that holds what is said; nothing else is done."""
    begin = SCRIPTS[script].parse if script in SCRIPTS else main_of(path_of(script))
    try:
        code: object = begin([*words])
    except SystemExit as end:
        code = end.code
    out, err = capture.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"{path_of(script).name}: error: ")
    assert all(text in err for text in says), err
