"""Errors that a person at the command line can act on; the text of each fits on one line."""

import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class Terminated(BaseException):
    """Raised by SIGTERM where Ctrl-C raises KeyboardInterrupt."""


class UsageError(Exception):
    """A request that cannot be met as given.

    The message is one line that says what is wrong and what to do. Scripts print it to stderr
    and exit with code 2; they show no traceback.
    """


class OptionError(UsageError):
    """A flag that cannot be obeyed: which one, what is wrong with it, and what would be right."""

    def __init__(self, flag: str | None, problem: str, remedy: str):
        self.flag = flag
        self.problem = problem
        self.remedy = remedy
        subject = f"argument {flag}: " if flag else ""
        super().__init__(" ".join(f"{subject}{problem}; {remedy}".split()))

    @classmethod
    def of(cls, flag: str | None, text: str) -> "OptionError":
        """Return an error of a text `what is wrong; what would be right`."""
        problem, _, remedy = text.partition("; ")
        return cls(flag, problem, remedy)


@contextmanager
def flagged(flag: str) -> Iterator[None]:
    """Let errors that name no flag name this one."""
    try:
        yield
    except UsageError as error:
        if isinstance(error, OptionError) or str(error).startswith("argument "):
            raise
        said = str(error).removeprefix(f"{flag.lstrip('-')}: ")
        raise UsageError(f"argument {flag}: {said}") from error.__cause__


@contextmanager
def named_as_in_python(**names: str) -> Iterator[None]:
    """Let errors name arguments of functions in place of flags; `names` are called otherwise."""
    try:
        yield
    except UsageError as error:
        words = _FLAG.sub(lambda flag: flag[1].replace("-", "_"), str(error))
        said = re.sub(r"^\w+(?=:)", lambda word: names.get(word[0], word[0]), words)
        if said == str(error):
            raise
        raise UsageError(said) from error.__cause__


_FLAG = re.compile(r"(?:argument )?(?<![\w'-])--([a-z][\w-]*)")

STOPS = (KeyboardInterrupt, Terminated)
"""What code of users raises where somebody stops it; all else is a failure, SystemExit, too."""


def in_words(error: BaseException) -> str:
    """Return an error of foreign code in one line: its kind, and the first line of what it says."""
    try:
        said = str(error)
    except Exception:  # An error of foreign code may fail, too.
        said = ""
    first = next(iter(said.strip().splitlines()), "").rstrip(" .")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def did_you_mean(word: str, known: Iterable[object], otherwise: str, most: int = 1) -> str:
    """Return a remedy for a word that is not known: the names most like it, else `otherwise`.

    most: number of names to suggest; with more than one, they may be less like the word.
    """
    by_lower = {str(name).lower(): str(name) for name in known}
    near = difflib.get_close_matches(word.lower(), by_lower, most, 0.6 if most == 1 else 0.5)
    return f"did you mean {', '.join(by_lower[name] for name in near)}?" if near else otherwise


CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Characters that a name of one line does not have."""


def is_text(word: str, *, of_path: bool = False) -> bool:
    """Return whether a word can be written as UTF-8; one `of_path` may be of any bytes but 0."""
    try:
        word.encode(errors="surrogateescape" if of_path else "strict")
    except UnicodeEncodeError:
        return False
    return "\0" not in word
