"""Options: every flag, its default, help and place in the run name, declared once.

A script's `ScriptSpec` reads command lines into plans of read-only configurations, names their
runs and renders its help. `run_names` reads a run name back.
"""

from stable_nalu.base.errors import OptionError

from .flag import Config, Flag, FlagGroup, switch
from .script_spec import Plan, ScriptSpec

__all__ = ["Config", "Flag", "FlagGroup", "OptionError", "Plan", "ScriptSpec", "switch"]
