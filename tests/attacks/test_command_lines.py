"""Words that a script does not understand: one line that names them, and what would be right."""

from tests.attacks.harness import EXPORTS, ROOT, TRAINING, Attack, attacks, path_of, quick

PAIRS = ("two_digit_mnist", "ST_mnist_labels")
OF_EVERY_SCRIPT = ("a misspelt flag", "a flag given twice", "a near miss of a layer")
"""What all training scripts meet; one of them meets the rest, as they read words by one parser."""

TOOLS = ("batch", "reproduce", "board", "weight_distribution", *EXPORTS)


def training(script):
    near = "--operation mull" if script in PAIRS else "--layer-type naluu"
    own = {"eml_recovery": "--layer-type EMLL", "fractional_sir": "--layer-type RealNPUU"}
    near = own.get(script, near)
    for what, words, says in (
        ("a flag that no script has", "--colour red", "--colour"),
        ("a misspelt flag", "--seeed 1", ("--seeed", "did you mean --seed")),
        ("an abbreviated flag", "--name-pre x", "--name-pre"),
        ("a flag with one dash", "-seed 1", "-seed"),
        ("a flag given twice", "--seed 1 --seed 2", ("--seed", "twice")),
        ("a value without a flag", "7", "'7'"),
        ("a flag without its value", "--seed", "--seed"),
        ("an empty value", "--seed ''", "--seed"),
        ("a switch with a value", "--verbose=yes", "--verbose"),
        ("a near miss of a layer", near, "did you mean"),
        ("a word that is not UTF-8", "--seed '\udcff'", "--seed"),
        ("two dashes alone", "--", "--"),
        ("a dash that an editor made long", "—seed 1", "—seed"),
    ):
        if script == TRAINING[0] or what in OF_EVERY_SCRIPT:
            yield Attack(f"{script}: {what}", quick(script, words), says)


test_words_that_are_not_understood = attacks(
    case for script in TRAINING for case in training(script)
)
test_help_writes_nothing = attacks(
    *(Attack(script, f"{script} --help", "--help", code=0) for script in (*TRAINING, *TOOLS))
)


def test_every_script_is_attacked():
    scripts = {*(ROOT / "experiments").glob("*.py"), *(ROOT / "export").rglob("*.py")}
    assert {path_of(script) for script in (*TRAINING, *TOOLS)} == scripts


def _names_of_three_runs(place, outcome):
    assert len(set(outcome.out.splitlines())) == 3


test_a_dry_run_writes_nothing = attacks(
    Attack(script, f"{script} --seed 0-2 --dry-run", code=0, check=_names_of_three_runs)
    for script in TRAINING
)
