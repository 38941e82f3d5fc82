"""Names of runs of each script, from what flags say."""

from pathlib import Path

import pytest

from stable_nalu.task.table import SCRIPTS

NAMES = (Path(__file__).parent / "fixtures" / "names.txt").read_text().splitlines()
"""Command lines, and the name in the line after each."""


@pytest.mark.parametrize("line", range(0, len(NAMES), 2))
def test_a_command_keeps_its_name(line):
    command, name = NAMES[line : line + 2]
    script, *words = command.split()
    (config,) = SCRIPTS[script].plan(words).configs
    assert SCRIPTS[script].run_name(config) == name.strip()
