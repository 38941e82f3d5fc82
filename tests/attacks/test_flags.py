"""Every flag of the training scripts, with values that it must not take."""

from pathlib import Path

import pytest

from stable_nalu.task.table import SCRIPTS
from tests.attacks.harness import Attack, assert_refused, attacks, quick
from tests.attacks.subjects import put

NOT_WHOLE = ("1.5", "1e3", "ten", "0x10", "1,000", "--1", "1 2", "∞", "½", "NaN", "1__0")
NOT_REAL = ("nan", "inf", "-inf", "1e999", "0,1", "much", "1.2.3", "[1]", "1+1", "0x1p3")
BELOW_ZERO = ("--id", "--mean-g", "--mean-m", "--mean-w", "--reinit-loss-thr")
FROM_ZERO = (
    *["--checkpoint-interval", "--cnn-dropout", "--dataset-workers", "--entropy"],
    *["--learning-rate", "--max-epochs", "--max-iterations", "--min-distance", "--mlp-depth"],
    *["--mnac-epsilon", "--momentum", "--noise", "--overlap-ratio", "--pcc2mse-iteration"],
    *["--problem-seed", "--random-models", "--redundant", "--regualizer", "--regualizer-beta-end"],
    *["--regualizer-beta-start", "--regualizer-gate", "--regualizer-npu-w", "--regualizer-oob"],
    *["--regualizer-scaling-end", "--regualizer-scaling-start", "--regualizer-z"],
    *["--reinit-max-stored-losses", "--start-noise", "--train-images", "--warm-start"],
    *("--weight-decay", "equations --hidden-layers", "--hidden", "--readout-l2", "--tenth-every"),
    *("--beta", "--polish", "--penalty-epoch", "--forget-bias", "inalu --hidden-size"),
)
TO_ONE = ("--cnn-dropout", "--discount", "--mnac-epsilon", "--overlap-ratio", "--subset-ratio")
"""Numbers that flags may take; all others are above 0."""


def flags():
    """Every declaration of a flag: the first script that has it, and the flag."""
    found = {}
    for script, spec in SCRIPTS.items():
        for flag in spec.flags:
            choices = flag.choices if isinstance(flag.choices, tuple) else id(flag.choices)
            found.setdefault((flag.name, id(flag.kind), choices), (script, flag))
    return found.values()


def numbers(script, flag, number):
    """Words that are no such number, and numbers beyond its limits."""
    wrong = NOT_WHOLE if flag.kind.metavar == "INT" else NOT_REAL
    yield wrong[number % len(wrong)]
    if flag.name not in BELOW_ZERO:
        yield "-1"
        if not {flag.name, f"{script} {flag.name}"} & {*FROM_ZERO}:
            yield "0"
    if flag.name in TO_ONE:
        yield "1.1"


def wrong_values():
    """Script, flag, a word that it must not take, and what is said."""
    for number, (script, flag) in enumerate(flags()):
        if flag.kind is None:
            yield script, flag.name, "false", [flag.name]
        elif flag.choices is not None:
            meant = str(max(flag.allowed(), key=lambda choice: len(str(choice))))
            yield script, flag.name, f"{meant}x", [flag.name, meant]
        elif flag.kind.metavar in ("INT", "FLOAT"):
            for word in numbers(script, flag, number):
                yield script, flag.name, word, [flag.name]


@pytest.mark.parametrize(("script", "flag", "word", "says"), [*wrong_values()])
def test_a_value_that_a_flag_must_not_take(script, flag, word, says, capsys):
    assert_refused(capsys, script, (f"{flag}={word}",), says)


REFUSED = (Path(__file__).parent / "refused.txt").read_text().splitlines()
"""Command lines with words that do not go together, or not here, and what is said of each."""


@pytest.mark.parametrize("line", REFUSED)
def test_words_that_do_not_go_together(line, capsys):
    command, *says = line.split(" | ")
    script, *words = command.split()
    assert_refused(capsys, script, words, says)


DIVIDED = "--operation div --random-models 3"
BEYOND_MEMORY = (
    f"single_layer --batch-size {10**15}",
    f"single_layer --input-size {10**15}",
    f"simple_function_static --hidden-size {10**15}",
)
test_sizes_beyond_any_memory = attacks(
    Attack(words, quick(*words.split(" ", 1)), words.split()[1]) for words in BEYOND_MEMORY
)

test_what_no_cell_can_be_built_with = attacks(
    Attack(
        script,
        quick(script, "--layer-type PosNALU --nalu-two-nac --nalu-mul mnac"),
        "PosNALULayer has no multiplying layer",
        writes=("results/*.ndjson",),
    )
    for script in ("simple_function_recurrent", "number_translation")
)

FITS = (
    "--operation div --interpolation-range [-2,2]",
    f"{DIVIDED} --interpolation-range [0,1]",
    "--operation mul --interpolation-range [-2,2] --random-models 3",
    f"{DIVIDED} --subset-ratio 0.01 --extrapolation-range [[-6,-2],[2,6]]",
    "--extrapolation-rule exceed --extrapolation-range [1,2.5]",
)
test_division_is_refused_only_where_a_score_has_no_base = attacks(
    *(Attack(words, f"simple_function_static --dry-run {words}", code=0) for words in FITS)
)

NO_FOLDER = {"SAVE_DIR": "{tmp}/file/below"}
test_models_that_cannot_be_saved_matter_only_when_they_are_saved = attacks(
    Attack(
        "none is saved",
        quick("single_layer", "--no-save"),
        prepare=put("file"),
        code=0,
        env=NO_FOLDER,
        writes=("tensorboard*",),
    ),
    Attack(
        "the best is saved",
        quick("simple_function_static", "--layer-type NAC --no-save --save-best-model"),
        "SAVE_DIR",
        put("file"),
        env=NO_FOLDER,
    ),
)

TABLES = "--csv {tmp}/none.csv"
EXPORT = "simple_function_static_export --tensorboard-dir {tmp}/none --csv-out {tmp}/out/x.csv"
PREFIX = f"--layer-type NAC --name-prefix {'n' * 256}"
LEAVES_NO_FOLDER = {
    "a batch beyond memory": f"single_layer --batch-size {10**15}",
    "a log root that is a file": quick("single_layer"),
    "a prefix beyond the disk": quick("number_translation", PREFIX),
    "too long sequences": quick("sequential_mnist", "--extrapolation-lengths [5000]"),
    "more folds than pairs": quick("two_digit_mnist", "--num-folds 1000"),
    "too long a name": f"plot --csv {{tmp}}/file --out-dir {{tmp}}/out --name {'n' * 300}",
    "a figure of no table": f"plot {TABLES} --out-dir {{tmp}}/out",
    "a summary of no table": f"summarize {TABLES} --csv-out {{tmp}}/out/x.csv",
    "an export of no runs": EXPORT,
    "no model": "two_digit_mnist --evaluate {tmp}/none.pth --evaluation-dir {tmp}/out",
}
test_a_refusal_leaves_no_folder = attacks(
    Attack(
        f"{name}, and leaves no folder",
        words,
        prepare=put("file"),
        env={"TENSORBOARD_DIR": "{tmp}/file"} if "root" in name else {},
        folders=True,
    )
    for name, words in LEAVES_NO_FOLDER.items()
)
