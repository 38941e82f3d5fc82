"""The one error of a command line: which flag, what is wrong, what would be right."""

from __future__ import annotations

from stable_nalu.errors import UsageError


class OptionError(UsageError):
    """A command line that cannot be run; its text fits on one line."""

    def __init__(self, flag: str | None, problem: str, remedy: str):
        self.flag = flag
        self.problem = problem
        self.remedy = remedy
        subject = f"argument {flag}: " if flag else ""
        super().__init__(" ".join(f"{subject}{problem}; {remedy}".split()))
