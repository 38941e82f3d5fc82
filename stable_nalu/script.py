"""What scripts share that are no training: errors of one line, and exit codes."""

import argparse
import os
import sys
from collections.abc import Callable
from typing import NoReturn

from .errors import UsageError

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
"""As a shell reports of programs: stopped by Ctrl-C; left by its reader, as in `… | head`."""


class ScriptParser(argparse.ArgumentParser):
    """Says what is wrong in one line; `--help` has the rest."""

    def error(self, message: str) -> NoReturn:
        """Leave with exit code 2."""
        self.exit(EXIT_USAGE, f"{self.prog}: error: {message}\n")


def exit_code(program: str, body: Callable[[], int | None]) -> int:
    """What `body` returns, or the exit code of the way in which it failed."""
    try:
        code = body() or 0
        sys.stdout.flush()
    except UsageError as error:
        sys.stderr.write(f"{program}: error: {error}\n")
        return EXIT_USAGE
    except KeyboardInterrupt:
        sys.stderr.write(f"{program}: interrupted\n")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # What is still buffered would fail again when Python flushes it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE
    return code
