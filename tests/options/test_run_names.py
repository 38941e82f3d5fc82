"""Run names: the published ones, the defaults of each script, and which flags they hold."""

import json
from pathlib import Path

import pytest

from stable_nalu.options.flag import Flag
from stable_nalu.task.table import SCRIPTS

FIXTURES = Path(__file__).parent / "fixtures"
PUBLISHED = json.loads((FIXTURES / "run_names.json").read_text())
KEPT = (FIXTURES / "names.txt").read_text().splitlines()
"""Command lines of each script and each part of a name, and the name in the line after it."""


@pytest.mark.parametrize(
    "entry", [e for e in PUBLISHED if e["run_name"] is not None], ids=lambda e: e["name"]
)
def test_published_command_gives_published_name(entry):
    spec = SCRIPTS[entry["script"]]
    (config,) = spec.plan(entry["argv"].split()).configs
    assert spec.leaf(config) == entry["run_name"]


@pytest.mark.parametrize("line", range(0, len(KEPT), 2))
def test_a_command_keeps_its_name(line):
    command, name = KEPT[line : line + 2]
    script, *words = command.split()
    spec = SCRIPTS[script]
    assert spec.run_name(spec.plan(words).configs[0]) == name.strip()


def test_names_of_all_scripts_are_kept():
    assert set(SCRIPTS) <= set(KEPT[::2])


SHORT = (FIXTURES / "short_names.txt").read_text().splitlines()


@pytest.mark.parametrize("line", SHORT)
def test_short_names_say_what_varies_and_one_run_alone_keeps_its_own(line):
    command, *names = line.split(" | ")
    script, *words = command.split()
    spec = SCRIPTS[script]
    configs = spec.plan([*words, "--short-names"]).configs
    assert list(map(spec.leaf, configs)) == names
    alone = [spec.plan(spec.argv_of(config)).configs[0] for config in configs]
    assert list(map(spec.leaf, alone)) == names


def test_no_two_layers_print_alike():
    for flag in (f for spec in SCRIPTS.values() for f in spec.flags if f.dest == "layer_type"):
        assert len({name.lower() for name in flag.allowed()}) == len(flag.allowed())


OTHERS = {
    **dict.fromkeys(("interpolation_range", "extrapolation_range", "input_range"), [3, 4]),
    **dict.fromkeys(("train_range", "stimulus_range", "eval_stimuli"), [4, 9]),
    **dict.fromkeys(("mnist_digits", "svhn_digits"), [1, 2]),
    **{"noise_range": [2, 3], "test_ranges": [[4, 9]], "test_range": [-30, 30], "cuda": False},
    **{"extrapolation_lengths": [7], "sample_distribution": ("benford",), "nac_mul": "normal"},
    **{"name_prefix": "elsewhere", "first_layer": "NAC", "layer_type": "ReRegualizedLinearMNAC"},
    **{"layer_file": ("mine.py",), "layer_option": ("power=2",), "nalm_name": "mine"},
    **{"operations": "mul", "schedule": "mine-12345678()", "threshold": "1.0", "target": "x1"},
    **{"train": ("1,3",), "test": ("4,6",), "input_names": ("3",), "data": "mine.csv"},
    **{"task": "mine", "task_file": "mine.py"},
}
"""Values of flags that have no next number or choice."""


def other_value(flag: Flag):
    """A value that differs from the default in a way that no rounding hides."""
    if flag.kind is None:
        return not flag.default
    if flag.dest in OTHERS and OTHERS[flag.dest] != flag.default:
        return OTHERS[flag.dest]
    if flag.choices is not None:
        return next(c for c in flag.allowed() if c != flag.default)
    return (flag.default or 0) + 1


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_name_holds_exactly_what_it_claims(script):
    """Changing one flag changes the name, or the flag is listed as unnamed, with the reason."""
    spec = SCRIPTS[script]
    (config,) = spec.plan([]).configs
    for flag in spec.flags:
        if flag.dest == "short_names":
            continue
        changed = config.replace(**{flag.dest: other_value(flag)})
        if spec.run_name(changed) != spec.run_name(config):
            assert flag.dest in spec.fully_named | set(spec.partly_named), flag.name
            continue
        assert flag.dest not in spec.fully_named or flag.dest in _WITHOUT_EFFECT, flag.name
        if flag.dest in spec.partly_named or flag.dest in _WITHOUT_EFFECT:
            continue
        assert not flag.result or flag.dest in spec.unnamed(config), flag.name


# The NRU's forward mode is printed for the NRU only, which alone reads it.
_WITHOUT_EFFECT = {"nru_div_mode"}


COLLISIONS = (FIXTURES / "collisions.txt").read_text().splitlines()


@pytest.mark.parametrize("line", COLLISIONS)
def test_inherited_collisions_differ_in_unnamed(line):
    """Two different runs of one name differ in what `unnamed` returns."""
    one, _, other = line.partition(" | ")
    script, *words = one.split()
    spec = SCRIPTS[script]
    (a,), (b,) = (spec.plan(command).configs for command in (words, other.split()))
    assert spec.run_name(a) == spec.run_name(b)
    assert spec.unnamed(a) != spec.unnamed(b)
