"""What all command lines share: one dialect, errors of one line, exit codes, times in words."""

import argparse
import re
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from .errors import OptionError, UsageError, did_you_mean, is_text
from .machine import CHECKOUT, is_checkout
from .process import (
    EXIT_INTERRUPTED,
    EXIT_REQUEUE,
    STOP_SIGNALS,
    OutputError,
    Terminated,
    drop_output,
    raised,
    stoppable,
)

EXIT_USAGE = 2
EXIT_DIVERGED = 3
EXIT_BROKEN_PIPE = 141
"""As a shell reports of programs: left by its reader, as in `… | head`."""

NEGATIVE_NUMBER = re.compile(r"-(\.?\d|inf|nan)")
"""How values begin that have a dash; the pattern of Python 3.11 takes -1e-3 for a flag."""

_WIDTH, _COLUMN = 98, 26
_PACKAGES = {"sklearn": "scikit-learn", "markdown_it": "markdown-it-py"}
"""Names under which packages are installed, where modules are called otherwise."""
_UNITS = ((86400 * 365, "years"), (86400, "days"), (3600, "h"), (60, "min"))


class ScriptFormatter(argparse.RawDescriptionHelpFormatter):
    """Format --help: descriptions as they are written, whatever the width of the terminal.

    An action that has an attribute `heading` or `describe` says itself how it is shown.
    """

    def __init__(self, prog: str):
        super().__init__(prog, max_help_position=_COLUMN, width=_WIDTH)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        return getattr(action, "heading", None) or super()._format_action_invocation(action)

    def _get_help_string(self, action: argparse.Action) -> str | None:
        describe = getattr(action, "describe", None)
        # argparse would read a per cent sign as the beginning of a placeholder.
        return describe().replace("%", "%%") if describe else super()._get_help_string(action)


class ScriptParser(argparse.ArgumentParser):
    """A command line in the dialect of this project.

    An error is one line, `PROG: error: argument --flag: what is wrong; what would be right`, and
    exit code 2. A flag cannot be abbreviated, nor repeated unless its action is `append` or has a
    true attribute `repeatable`. A name that is not known gets the most similar one suggested.

    refused: flags of the published scripts that are not accepted, and why.
    stray: what to do about a word that belongs to no flag.
    intermixed: whether the words that belong to no flag may stand between the flags.
    """

    def __init__(
        self,
        *,
        refused: Mapping[str, str] | None = None,
        stray: str = "see --help",
        intermixed: bool = False,
        **settings: Any,
    ):
        settings = {"formatter_class": ScriptFormatter} | settings
        super().__init__(allow_abbrev=False, exit_on_error=False, **settings)
        self._refused = dict(refused or {})
        self._stray = stray
        self._intermixed = intermixed
        self._negative_number_matcher = NEGATIVE_NUMBER

    def parse_args(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, args: Sequence[str] | None = None
    ) -> argparse.Namespace:
        """Read a command line; on --help or an error, say so and leave the process."""
        try:
            return self.read(sys.argv[1:] if args is None else args)
        except UsageError as error:
            self.refuse(error)

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Read a command line, and raise UsageError for one that cannot be obeyed."""
        if "--help" in words or "-h" in words:
            self.exit(exit_code(self.prog, lambda: say(self.format_help().rstrip())))
        self._check_words(words)
        read = self.parse_known_intermixed_args if self._intermixed else self.parse_known_args
        try:
            namespace, unread = read(words)
        except argparse.ArgumentError as error:
            raise self._explained(error) from None
        if unread:
            raise OptionError(None, f"unexpected word {unread[0]!r}", self._stray)
        return namespace

    def refuse(self, error: UsageError) -> NoReturn:
        """Print an error and leave the process with exit code 2."""
        self.exit(EXIT_USAGE, f"{self.prog}: error: {error}\n")

    def error(self, message: str) -> NoReturn:
        """Raise what argparse finds wrong with the command line as a whole."""
        names = message.partition("arguments are required: ")[2]
        if names:
            raise OptionError(names, "missing", "see --help")
        raise UsageError(f"{message}; see --help")

    def _check_words(self, words: Sequence[str]) -> None:
        seen: set[str] = set()
        flag: str | None = None
        for word in words:
            name = word.partition("=")[0]
            if (named := self._option_string_actions.get(name)) is not None:
                flag = None if named.nargs == 0 else name
            if not is_text(word, of_path=True):
                raise OptionError(flag, f"{ascii(word)} is not text", "write it in UTF-8")
            if not name.startswith("--") or name == "--":
                continue
            action = self._option_string_actions.get(name)
            if action is None:
                raise self._unknown(name)
            once = not getattr(action, "repeatable", isinstance(action, argparse._AppendAction))
            if action.dest in seen and once:
                many = getattr(action, "many", action.nargs in ("+", "*"))
                remedy = "give it once" + (", with all values behind it" if many else "")
                raise OptionError(action.option_strings[0], "given twice", remedy)
            seen.add(action.dest)

    def _unknown(self, name: str) -> OptionError:
        if name in self._refused:
            return OptionError(name, "not accepted", self._refused[name])
        known = [n for n in self._option_string_actions if n.startswith("--")]
        otherwise = "see --help for the flags of this script"
        return OptionError(name, "there is no such flag", did_you_mean(name, known, otherwise))

    def _explained(self, error: argparse.ArgumentError) -> OptionError:
        """Return what argparse says of one argument as an error with a remedy."""
        problem, _, remedy = str(error.message).partition("; ")
        action = self._option_string_actions.get(str(error.argument_name))
        if problem.startswith("expected") and action is not None:
            placeholder = action.metavar or action.dest.upper()
            return OptionError(
                error.argument_name, "has no value", f"write {error.argument_name} {placeholder}"
            )
        return OptionError(error.argument_name, problem, remedy or "see --help")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, unknown_choice(value, list(action.choices)))


def unknown_choice(value: object, choices: Sequence[object]) -> str:
    """Return what is wrong with a value that is not a choice, and what would be right."""
    listed = f"choose one of {', '.join(map(str, choices))}"
    return f"{value!r} is not a choice; {did_you_mean(str(value), choices, listed)}"


@contextmanager
def packages(program: str) -> Iterator[None]:
    """Import what a script needs; on a package that is not installed, say so and leave.

    The line says how to install it, and the exit code is 2. This module itself, and what it
    imports, need the standard library only.

    program: the script, by its name or its path.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = str(error.name).partition(".")[0]
        if error.name is None or module == "stable_nalu" or module in sys.stdlib_module_names:
            raise
        what = ["--editable", str(CHECKOUT)] if is_checkout() else [_PACKAGES.get(module, module)]
        install = shlex.join([sys.executable, "-m", "pip", "install", *what])
        sys.stderr.write(
            f"{Path(program).name}: error: {sys.executable} has no package {module}; "
            f"run {install}, or use the Python of an environment that has it\n"
        )
        raise SystemExit(EXIT_USAGE) from None


def command_of(script: str, *words: str) -> str:
    """Return the command that runs a script: by its path, or where it is installed by its name.

    script: its path below the checkout, such as `export/plot.py`.
    """
    start = ["python3", script]
    if not is_checkout():
        path = Path(script)
        start = ["stable-nalu", *(["export"] if path.parts[0] == "export" else []), path.stem]
    return shlex.join([*start, *words])


def exit_code(program: str, body: Callable[[], int | None]) -> int:
    """Return what `body` returns, or the exit code of the way in which it failed."""
    try:
        with stoppable():
            code = _code_of(program, body)
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _stopped(program, signal.SIGINT)
    except Terminated:
        return _stopped(program, signal.SIGTERM)
    except BrokenPipeError:
        drop_output()
        return EXIT_BROKEN_PIPE
    except OutputError as error:
        drop_output()
        sys.stderr.write(f"{program}: error: cannot write standard output: {error.strerror}\n")
        return EXIT_USAGE
    except Exception:
        # Foreign code, such as a module in its import, makes other exceptions of a signal's.
        number = raised()
        if number is None:
            raise
        return _stopped(program, number)


def _stopped(program: str, number: int) -> int:
    interrupted = number == signal.SIGINT
    sys.stderr.write(f"{program}: {'interrupted' if interrupted else 'stopped by SIGTERM'}\n")
    return EXIT_INTERRUPTED if interrupted else EXIT_REQUEUE


def _code_of(program: str, body: Callable[[], int | None]) -> int:
    try:
        with packages(program):
            return body() or 0
    except UsageError as error:
        sys.stderr.write(f"{program}: error: {error}\n")
        return EXIT_USAGE


def say(line: str) -> None:
    """Print a line at once, also where standard output is a file."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def duration(seconds: float) -> str:
    """Return a time in its largest unit, such as `3 h`."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} s"


ONE_REQUEST_SECONDS = 1.0
"""Signals that come this close belong together: `timeout` and some schedulers send two."""


class Interruption:
    """While entered, SIGTERM and SIGINT are noted instead of ending the process.

    `signal_number` is the one that came last, or None. A later one ends the process as usual; not
    so if it does not `insist`: a worker is told by its parent and, in a process group, again by
    whoever told the parent.
    """

    def __init__(self, *, insists: bool = True):
        self.signal_number: int | None = None
        self._insists = insists
        self._noted_at: float | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Interruption":
        # Only the main thread may install handlers; elsewhere signals keep their effect.
        if threading.current_thread() is threading.main_thread():
            for number in STOP_SIGNALS:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *exception) -> None:
        self._restore()

    def _note(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self._noted_at is None:
            self._noted_at = now
        self.signal_number = number
        if self._insists and now - self._noted_at > ONE_REQUEST_SECONDS:
            self._restore()
            signal.raise_signal(number)

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}
