"""What all commands share: the process and its signals, one dialect, exit codes, what people see.

Scripts call `begin` before they import anything that takes long.
"""

import argparse
import contextlib
import ctypes
import io
import os
import platform
import re
import shlex
import shutil
import signal
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TextIO

from .errors import OptionError, Terminated, UsageError, did_you_mean, is_text
from .files import CHECKOUT, is_checkout

EXIT_USAGE = 2
EXIT_DIVERGED = 3
EXIT_REQUEUE = 75
"""Stopped by SIGTERM with its state saved: batch systems put the job back into the queue."""
EXIT_INTERRUPTED = 130
"""Stopped by Ctrl-C, as a shell reports of programs."""
EXIT_BROKEN_PIPE = 141
"""As a shell reports of programs: left by its reader, as in `… | head`."""

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class OutputError(OSError):
    """Raised where standard output takes no more, such as on a full disk."""


def begin(name: str = "__main__") -> None:
    """Prepare the process of a script, named by its `__name__`; do nothing where it is imported.

    From now on SIGTERM ends it with exit code 75 and SIGINT with 130, each without a traceback.
    What is written to a stream that is closed, or to a standard error that takes no more, is lost;
    a standard output that takes no more raises OutputError.
    """
    if name != "__main__":
        return
    for number in STOP_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup` and `&` have it
            signal.signal(number, _leave)
    for stream in ("stdin", "stdout", "stderr"):
        if getattr(sys, stream) is None:
            # It takes the lowest number, which is that of the stream, so no other file gets it.
            mode = "r" if stream == "stdin" else "w"
            setattr(sys, stream, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
        elif stream != "stdin":
            setattr(sys, stream, _Stream.over(getattr(sys, stream)))


@contextmanager
def stoppable() -> Iterator[None]:
    """Let a signal raise KeyboardInterrupt or Terminated, so that files are left whole.

    That is so in the process of a script, after `begin`; else nothing changes.
    """
    ours = [number for number in STOP_SIGNALS if signal.getsignal(number) is _leave]
    for number in ours:
        signal.signal(number, _raise)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, _leave)


def _leave(number: int, _frame: object) -> None:
    """Leave at once: work has not begun or is done, and imports make others of exceptions."""
    os._exit(EXIT_INTERRUPTED if number == signal.SIGINT else EXIT_REQUEUE)


_PROCESS = os.getpid()
_raised: list[int] = []
"""The signals that have raised an exception in this process."""


def _raise(number: int, _frame: object) -> None:
    _raised.append(number)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    if os.getpid() == _PROCESS:
        raise Terminated
    # A process that this one has forked ends as any other.
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


class _Stream(io.FileIO):
    """Standard output, or standard error, of which is lost what cannot be written."""

    is_for_messages = False

    def write(self, data: Any, /) -> int | None:
        try:
            return super().write(data)
        except OSError as error:
            if self.is_for_messages:
                return len(data)
            if isinstance(error, BrokenPipeError):
                raise
            raise OutputError(error.errno, error.strerror) from None

    @classmethod
    def over(cls, stream: TextIO) -> TextIO:
        """Return a text stream for the file of another one."""
        assert isinstance(stream, io.TextIOWrapper)
        file = cls(stream.fileno(), "w", closefd=False)
        file.is_for_messages = stream is sys.stderr
        buffer = file if stream.write_through else io.BufferedWriter(file)
        how: Any = {"line_buffering": stream.line_buffering, "write_through": stream.write_through}
        return io.TextIOWrapper(buffer, stream.encoding, stream.errors, **how)


GRANTS = ("LSB_DJOB_NUMPROC", "SLURM_CPUS_PER_TASK")
"""Environment variables in which batch systems state the cores of a job."""


def processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return " ".join(value.split())
    return platform.processor() or platform.machine()


def usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def granted_cores() -> int | None:
    """Return the cores that a batch system grants, at most all usable ones; None without one."""
    for variable in GRANTS:
        value = os.environ.get(variable, "")
        if value.isdecimal() and int(value) > 0:
            return min(int(value), usable_cores())
    return None


def cores() -> int:
    """Return the cores to use: those granted, else all usable ones."""
    return granted_cores() or usable_cores()


@cache
def keep_freed_memory() -> None:
    """Let the process keep up to 512 MiB of freed memory.

    By default the megabytes that each iteration of a large stack needs go back to the system and
    come again page by page, which can take as long as the arithmetic. Where the C library has no
    such setting, nothing happens.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(-3, 32 << 20)  # M_MMAP_THRESHOLD: the largest that glibc accepts.
    mallopt(-1, 512 << 20)  # M_TRIM_THRESHOLD.


NEGATIVE_NUMBER = re.compile(r"-(\.?\d|inf|nan)")
"""How values begin that have a dash; the pattern of Python 3.11 takes -1e-3 for a flag."""

WIDTH, _COLUMN = 98, 26
_PACKAGES = {"sklearn": "scikit-learn", "markdown_it": "markdown-it-py"}
"""Names under which packages are installed, where modules are called otherwise."""


class ScriptFormatter(argparse.RawDescriptionHelpFormatter):
    """Format --help: descriptions as they are written, whatever the width of the terminal.

    An action that has an attribute `heading` or `describe` says itself how it is shown.
    """

    def __init__(self, prog: str):
        super().__init__(prog, max_help_position=_COLUMN, width=WIDTH)

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
        self._refused, self._stray, self._intermixed = refused or {}, stray, intermixed
        self._negative_number_matcher = NEGATIVE_NUMBER

    @property
    def prog(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Return the command of which the script is a part, or else the script."""
        return command.get() or self._script

    @prog.setter
    def prog(self, script: str) -> None:
        self._script = script

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
            action = self._option_string_actions.get(name)
            if action is not None:
                flag = None if action.nargs == 0 else name
            if not is_text(word, of_path=True):
                raise OptionError(flag, f"{ascii(word)} is not text", "write it in UTF-8")
            if not name.startswith("--") or name == "--":
                continue
            if action is None and name in self._refused:
                raise OptionError(name, "not accepted", self._refused[name])
            if action is None:
                known = [n for n in self._option_string_actions if n.startswith("--")]
                remedy = did_you_mean(name, known, "see --help for the flags of this script")
                raise OptionError(name, "there is no such flag", remedy)
            once = not getattr(action, "repeatable", isinstance(action, argparse._AppendAction))
            if action.dest in seen and once:
                many = getattr(action, "many", action.nargs in ("+", "*"))
                remedy = "give it once" + (", with all values behind it" if many else "")
                raise OptionError(action.option_strings[0], "given twice", remedy)
            seen.add(action.dest)

    def _explained(self, error: argparse.ArgumentError) -> OptionError:
        problem, _, remedy = str(error.message).partition("; ")
        action = self._option_string_actions.get(str(error.argument_name))
        if problem.startswith("expected") and action is not None:
            placeholder = action.metavar or action.dest.upper()
            problem, remedy = "has no value", f"write {error.argument_name} {placeholder}"
        return OptionError(error.argument_name, problem, remedy or "see --help")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, unknown_choice(value, list(action.choices)))


def adder(parser: argparse._ActionsContainer) -> Callable[..., None]:
    """Return what adds flags to a command line, or to a section of it, with their help.

    A flag is given as people write it: `--csv PATH ...` takes values, `--csv PATH` takes one, and
    `--list` is a switch, unless a setting of `add_argument` says more. The help of a flag names
    its default where that is given as `usual`.
    """

    def add(usage: str, text: str | None = None, usual: Any = None, **settings: Any) -> None:
        name, *value = usage.split()
        if value:
            settings["metavar"] = value[0]
            settings |= {"nargs": "+"} if value[1:] else {}
        if usual is not None:
            settings["default"] = usual
            text = f"{text} (default: %(default)s)"
        if not (value or settings):
            settings["action"] = "store_true"
        parser.add_argument(name, help=text, **settings)

    return add


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


command = ContextVar[str | None]("command", default=None)
"""The command that errors name in place of its script, such as `stable-nalu plot`."""


def exit_code(program: str, body: Callable[[], int | None]) -> int:
    """Return what `body` returns, or the exit code of the way in which it failed."""
    program = command.get() or program
    try:
        with stoppable():
            try:
                with packages(program):
                    code = body() or 0
            except UsageError as error:
                sys.stderr.write(f"{program}: error: {error}\n")
                code = EXIT_USAGE
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        number = signal.SIGINT
    except Terminated:
        number = signal.SIGTERM
    except (BrokenPipeError, OutputError) as error:
        # What standard output still holds is lost, as it would fail again at the end of Python.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return EXIT_BROKEN_PIPE
        sys.stderr.write(f"{program}: error: cannot write standard output: {error.strerror}\n")
        return EXIT_USAGE
    except Exception:
        # Foreign code, such as a module in its import, makes other exceptions of a signal's.
        if not _raised:
            raise
        number = _raised[-1]
    interrupted = number == signal.SIGINT
    sys.stderr.write(f"{program}: {'interrupted' if interrupted else 'stopped by SIGTERM'}\n")
    return EXIT_INTERRUPTED if interrupted else EXIT_REQUEUE


def say(line: str) -> None:
    """Print a line at once, also where standard output is a file."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def duration(seconds: float) -> str:
    """Return a time in its largest unit, such as `3 h`."""
    for size, unit in ((86400 * 365, "years"), (86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} s"


ONE_REQUEST_SECONDS = 1.0
"""Signals that come this close belong together: `timeout` and some schedulers send two."""


class Interruption:
    """While entered, SIGTERM and SIGINT are noted instead of ending the process.

    `signal_number` is the one that came last, or None. A later one ends the process as usual; not
    so if it does not `insist`: a worker gets it from its parent and, in a process group, again from
    the sender.
    """

    def __init__(self, *, insists: bool = True):
        self.signal_number: int | None = None
        self._insists = insists
        self._noted_at: float | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Interruption":
        # Only the main thread may install handlers; elsewhere signals keep their effect.
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in STOP_SIGNALS}
        return self

    def __exit__(self, *exception) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _note(self, number: int, _frame: object) -> None:
        now = time.monotonic()
        self._noted_at = self._noted_at or now
        self.signal_number = number
        if self._insists and now - self._noted_at > ONE_REQUEST_SECONDS:
            self.__exit__()
            signal.raise_signal(number)


BOLD, GREEN, RED = "1", "32", "31"
PROGRESS = "STABLE_NALU_PROGRESS"
"""The environment variable that names a file for how far a process is, to who started it."""


class Progress(NamedTuple):
    """How far a process is: units that are trained, units that are left, runs that are solved."""

    done: float = 0
    left: float = 0
    solved: int = 0

    @classmethod
    def read(cls, path: Path) -> "Progress | None":
        try:
            done, left, solved = path.read_text(encoding="utf-8").split()
            return cls(float(done), float(left), int(solved))
        except (OSError, ValueError):
            return None

    def write(self, path: Path) -> None:
        """Tell who started this process, if that can be done."""
        with contextlib.suppress(OSError):
            path.write_text(" ".join(map(str, self)), encoding="utf-8")


def bar(
    work: Iterable[Any] | None = None,
    *,
    total: int | None = None,
    unit: str,
    what: str = "",
    hidden: bool = False,
) -> Any:
    """Return tqdm's bar on standard error, of items or to be moved by `update`.

    One is seen in terminals and notebooks only; of items, when they take more than a second, unless
    it is `hidden`. The estimate of what is left is the mean pace so far: of work in bursts, the
    last one says less.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    in_notebook = hasattr(shell, "kernel")
    if in_notebook:
        with warnings.catch_warnings(action="ignore"):  # of a notebook without widgets
            from tqdm.auto import tqdm
    else:
        from tqdm import tqdm

    how: dict[str, Any] = {
        **{"unit_scale": True, "smoothing": 0, "mininterval": 0.2, "delay": int(work is not None)},
        **{"leave": False, "dynamic_ncols": True},
        "disable": hidden or not (in_notebook or sys.stderr.isatty()),
        "bar_format": "{l_bar}{bar}| {n_fmt}/{total_fmt} "
        f"{unit} [{{elapsed}}<{{remaining}}{{postfix}}]",
    }
    return tqdm(work, what or None, total, **how)


def is_terminal() -> bool:
    return sys.stdout.isatty()


def paint(text: str, *codes: str) -> str:
    """Return a text in colours where these are seen and wanted."""
    is_seen = any(codes) and is_terminal() and not os.environ.get("NO_COLOR")
    return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if is_seen else text


def fact(name: str, text: str) -> str:
    """Return a line of a name and what is said under it."""
    return f"{paint(f'{name:<7}', BOLD)} {text}"


def joined(facts: Sequence[str]) -> str:
    """Return facts in a few lines below what `fact` says, and how many there was no room for."""
    indent, text = " " * 8, "; ".join(fact.replace(" ", "\xa0") for fact in facts)
    columns = shutil.get_terminal_size((80, 24)).columns - len(" and 99 more") - len(indent)
    wrapped = textwrap.wrap(text, columns, break_long_words=False, break_on_hyphens=False)
    kept = "\n".join(wrapped[:3])
    rest = len(facts) - kept.count(";") - (not kept.endswith(";"))
    more = f" and {rest} more" if wrapped[3:] else ""
    return kept.replace("\n", f"\n{indent}").replace("\xa0", " ") + more


def plural(count: int, noun: str) -> str:
    """Return `1 run`, `2 runs`, `2 processes`."""
    ending = "" if count == 1 else "es" if noun.endswith(("s", "x")) else "s"
    return f"{count:,} {noun}{ending}"


def shown(path: Path) -> str:
    """Return a path from here where it is below this folder, else as it is."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def plain(label: str) -> str:
    """Return a label without LaTeX, for terminals and documents."""
    text = label.replace(r"\bullet", "•").replace(r"\sigma", "σ").replace(r"\odot", "⊙")
    text = text.replace(r"\mathcal{R}_{sparse}", "R_sparse")
    text = re.sub(r"\\(?:mathrm|mathbf|hat|bm)\b", "", text)
    return re.sub(r"[${}\\]", "", text)
