"""Errors that a person at the command line can act on."""


class UsageError(Exception):
    """A request that cannot be met as given.

    The message is one line that says what is wrong and what to do. Scripts print it to stderr
    and exit with code 2; they show no traceback.
    """
