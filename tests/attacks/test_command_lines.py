"""Words that a script does not understand: one line that names them, and what would be right."""

from pathlib import Path

import pytest

from tests.attacks.harness import EXPORTS, NAMES, ROOT, TRAINING, Attack, attacks, path_of, quick
from tests.attacks.known_short import KNOWN_SHORT

PAIRS = ("two_digit_mnist", "ST_mnist_labels")
ONLY_CHOICE = {script: "add" for script in TRAINING} | {
    "sequential_mnist": "cumsum",
    "sequential_svhn": "cumsum",
}
NEEDED = {
    "batch": ("nips-sltr-in2",),
    "reproduce": ("nips-sltr-in2", "--dry-run"),
    "generate_exp_setups": ("--csv-out", "{tmp}/x.csv"),
    "export_sequences": ("--tensorboard-dir", "{tmp}/tensorboard"),
    "simple_function_static_export": ("--tensorboard-dir", "{tmp}/tensorboard"),
    "two_digit_mnist_reader": ("--tensorboard-dir", "{tmp}/tensorboard"),
    "runs": ("--tensorboard-dir", "{tmp}/tensorboard"),
    "summarize": ("--csv", "{tmp}/runs.csv", "--csv-out", "{tmp}/x.csv"),
    "verdict": ("--csv", "{tmp}/runs.csv"),
    "expand_weights": ("--csv", "{tmp}/runs.csv"),
}
"""What a command line needs beside the words under attack."""

TOOLS = ("batch", "reproduce", "weight_distribution", *EXPORTS)
MISSPELT = {
    "batch": ("--modell", "--model"),
    "reproduce": ("--formatt", "--format"),
    "weight_distribution": ("--figure", "--figure-out"),
    "generate_exp_setups": ("--table", "--tables"),
    "plot": ("--outdir", "--out-dir"),
    "export_sequences": ("--csv-outt", "--csv-out"),
    "simple_function_static_export": ("--export-gates", "--export-gate"),
    "runs": ("--csv-outt", "--csv-out"),
    "summarize": ("--csv_out", "--csv-out"),
    "verdict": ("--treshold", "--threshold"),
    "generate_divBy0_extrap_thresholds": ("--add-epsilon", "--add-eps"),
    "pretrained_model_prediction_sweep": ("--step-sizes", "--step-size"),
    "expand_weights": ("--csvout", "--csv-out"),
    "generate_dataset_solution_indexes": ("--csv-ou", "--csv-out"),
    "two_digit_mnist_reader": ("--from-parent-folders", "--from-parent-folder"),
}
ONE_VALUE = {
    "batch": "--seeds",
    "reproduce": "--seeds",
    "weight_distribution": "--draws",
    "plot": "--name",
    "verdict": "--csv",
    "pretrained_model_prediction_sweep": "--step-size",
    **dict.fromkeys(
        (
            "generate_exp_setups",
            "export_sequences",
            "simple_function_static_export",
            "runs",
            "summarize",
            "generate_divBy0_extrap_thresholds",
            "expand_weights",
            "generate_dataset_solution_indexes",
            "two_digit_mnist_reader",
        ),
        "--csv-out",
    ),
}


def training():
    for script in TRAINING:

        def refused(what, says, *words, script=script):
            return Attack(f"{script}: {what}", quick(script, *words), says)

        yield refused("a flag that no script has", ("--colour",), "--colour", "red")
        yield refused("a misspelt flag", ("--seeed", "did you mean --seed"), "--seeed", "1")
        yield refused("an abbreviated flag", ("--name-pre",), "--name-pre", "x")
        yield refused("a flag with one dash", ("-seed",), "-seed", "1")
        yield refused("a flag given twice", ("--seed", "twice"), "--seed", "1", "--seed", "2")
        yield refused("a value without a flag", ("'7'",), "7")
        yield refused("a flag without its value", ("--seed",), "--seed")
        yield refused("an empty value", ("--seed",), "--seed", "")
        yield refused("a switch with a value", ("--verbose",), "--verbose=yes")
        yield refused("a near miss of a layer", ("did you mean",), *_near_layer(script))
        yield refused("a word that is not UTF-8", ("--seed",), "--seed", "\udcff")
        yield refused("two dashes alone", ("--",), "--")
        yield refused("a dash that an editor made long", ("—seed",), "—seed", "1")


def _near_layer(script):
    if script in PAIRS:
        return ("--operation", "mull")
    return ("--layer-type", "naluu")


def tools():
    for script in TOOLS:
        base = (script, *NEEDED.get(script, ()))

        def refused(what, says, *words, script=script, base=base):
            return Attack(f"{script}: {what}", (*base, *words), says)

        wrong, right = MISSPELT[script]
        yield refused("a flag that it does not have", ("--colour",), "--colour", "red")
        yield refused("a misspelt flag", (wrong, f"did you mean {right}"), wrong, "x")
        flag = ONE_VALUE[script]
        yield refused("a flag without its value", (flag,), flag)
        yield refused("a flag given twice", (flag, "twice"), flag, "1", flag, "2")
        yield refused("a dash that an editor made long", ("—help",), "—help")
        abbreviated = {"--csv-out": "--csv-o", "--csv": "--cs"}.get(flag, flag[:-1])
        yield refused("an abbreviated flag", (abbreviated,), abbreviated, "1")


@attacks([*training(), *tools()])
def test_words_that_are_not_understood(case, place):
    place.hold(case)


@attacks(
    Attack(f"{script}: help", (script, "--help"), ("--help",), code=0)
    for script in (*TRAINING, *TOOLS)
)
def test_help_writes_nothing(case, place):
    place.hold(case)


@attacks(
    Attack(f"{script}: nothing at all", (script,), (named,))
    for script, named in {
        "batch": "--list",
        "reproduce": "--list",
        "generate_exp_setups": "--csv-out",
        "plot": "--list",
        "export_sequences": "--tensorboard-dir",
        "simple_function_static_export": "--tensorboard-dir",
        "runs": "--tensorboard-dir",
        "summarize": "--csv",
        "verdict": "--csv",
        "expand_weights": "--csv",
        "pretrained_model_prediction_sweep": "--model-filepath",
        "two_digit_mnist_reader": "--tensorboard-dir",
    }.items()
)
def test_what_is_needed_is_named(case, place):
    place.hold(case)


def test_every_script_is_attacked():
    scripts = {*(ROOT / "experiments").glob("*.py"), *(ROOT / "export").rglob("*.py")}
    assert {path_of(script) for script in (*TRAINING, *TOOLS)} == scripts


@pytest.mark.parametrize("script", TRAINING)
def test_a_dry_run_writes_nothing(script, place):
    place.hold(
        Attack(script, (script, "--seed", "0-2", "--dry-run"), code=0, check=_names_of_three_runs)
    )


def _names_of_three_runs(place, outcome):
    assert len(set(outcome.out.splitlines())) == 3


def test_what_is_known_to_fall_short_is_an_attack(request):
    """A name that no case has would hide that its fault was mended."""
    collected = {item.path for item in request.session.items}
    if collected >= set(Path(__file__).parent.glob("test_*.py")):
        assert set(KNOWN_SHORT) <= NAMES
