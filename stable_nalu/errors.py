"""The errors that users of Python catch."""

from .base.errors import OptionError, UsageError

__all__ = ["OptionError", "UsageError"]
