"""Options: every flag, its default, help and place in the run name, declared once.

A script's `ScriptSpec` reads command lines into plans of read-only configurations, names their
runs and renders its help; `parse_leaf` reads a run name back.
"""

from .config import Config, Plan
from .errors import OptionError
from .flag import Flag, FlagGroup
from .flag_tables import render_flag_tables
from .run_name import parse_leaf
from .script_spec import ScriptSpec
from .scripts import SCRIPTS

__all__ = [
    "SCRIPTS",
    "Config",
    "Flag",
    "FlagGroup",
    "OptionError",
    "Plan",
    "ScriptSpec",
    "parse_leaf",
    "render_flag_tables",
]
