"""Words that a script does not understand: one line that names them, and what would be right."""

from tests.attacks.harness import EXPORTS, ROOT, TRAINING, Attack, attacks, path_of, quick

PAIRS = ("two_digit_mnist", "ST_mnist_labels")
NEEDED = {
    "batch": "nips-sltr-in2",
    "reproduce": "nips-sltr-in2 --dry-run",
    "generate_exp_setups": "--csv-out {tmp}/x.csv",
    "export_sequences": "--tensorboard-dir {tmp}/tensorboard",
    "simple_function_static_export": "--tensorboard-dir {tmp}/tensorboard",
    "two_digit_mnist_reader": "--tensorboard-dir {tmp}/tensorboard",
    "runs": "--tensorboard-dir {tmp}/tensorboard",
    "summarize": "--csv {tmp}/runs.csv --csv-out {tmp}/x.csv",
    "verdict": "--csv {tmp}/runs.csv",
    "model": "--run {tmp} --out {tmp}/x.onnx",
    "formula": "--run {tmp} --csv-out {tmp}/x.csv",
    "expand_weights": "--csv {tmp}/runs.csv",
}
"""What a command line needs beside the words under attack."""

MISSPELT = {
    "batch": "--modell --model",
    "board": "--chek --check",
    "reproduce": "--formatt --format",
    "weight_distribution": "--figure --figure-out",
    "generate_exp_setups": "--table --tables",
    "plot": "--outdir --out-dir",
    "export_sequences": "--csv-outt --csv-out",
    "simple_function_static_export": "--export-gates --export-gate",
    "runs": "--csv-outt --csv-out",
    "summarize": "--csv_out --csv-out",
    "verdict": "--treshold --threshold",
    "generate_divBy0_extrap_thresholds": "--add-epsilon --add-eps",
    "pretrained_model_prediction_sweep": "--step-sizes --step-size",
    "expand_weights": "--csvout --csv-out",
    "model": "--outt --out",
    "formula": "--csvv-out --csv-out",
    "generate_dataset_solution_indexes": "--csv-ou --csv-out",
    "two_digit_mnist_reader": "--from-parent-folders --from-parent-folder",
}
"""Tool -> a misspelt flag, and the right one."""

TOOLS = ("batch", "reproduce", "board", "weight_distribution", *EXPORTS)
ONE_VALUE = dict.fromkeys(TOOLS, "--csv-out") | {
    "batch": "--seeds",
    "board": "--name",
    "reproduce": "--seeds",
    "weight_distribution": "--draws",
    "plot": "--name",
    "verdict": "--csv",
    "model": "--out",
    "pretrained_model_prediction_sweep": "--step-size",
}


def training(script):
    near = "--operation mull" if script in PAIRS else "--layer-type naluu"
    near = "--layer-type EMLL" if script == "eml_recovery" else near
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
        yield Attack(f"{script}: {what}", quick(script, words), says)


def tools(script):
    wrong, right = MISSPELT[script].split()
    flag = ONE_VALUE[script]
    short = {"--csv-out": "--csv-o", "--csv": "--cs"}.get(flag, flag[:-1])
    for what, words, says in (
        ("a flag that it does not have", "--colour red", "--colour"),
        ("a misspelt flag", f"{wrong} x", (wrong, f"did you mean {right}")),
        ("a flag without its value", flag, flag),
        ("a flag given twice", f"{flag} 1 {flag} 2", (flag, "twice")),
        ("a dash that an editor made long", "—help", "—help"),
        ("an abbreviated flag", f"{short} 1", short),
    ):
        yield Attack(f"{script}: {what}", f"{script} {NEEDED.get(script, '')} {words}", says)


test_words_that_are_not_understood = attacks(
    *(case for script in TRAINING for case in training(script)),
    *(case for script in TOOLS for case in tools(script)),
)
test_help_writes_nothing = attacks(
    *(Attack(script, f"{script} --help", "--help", code=0) for script in (*TRAINING, *TOOLS))
)
test_what_is_needed_is_named = attacks(
    *(
        Attack(f"{script}: nothing at all", script, NEEDED[script].split()[0])
        for script in NEEDED
        if script not in ("batch", "reproduce")
    ),
    *(Attack(f"{script}: nothing at all", script, "--list") for script in TOOLS[:2]),
    Attack("board: nothing at all", "board", "FILE"),
    Attack("plot: nothing at all", "plot", "--list"),
    Attack("a sweep of nothing", "pretrained_model_prediction_sweep", "--model-filepath"),
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
