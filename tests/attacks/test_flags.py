"""Every flag of the training scripts, with values that it must not take."""

import torch

from stable_nalu.task.table import SCRIPTS
from tests.attacks.harness import Attack, attacks, quick
from tests.attacks.subjects import put

NOT_WHOLE = ("1.5", "1e3", "ten", "0x10", "1,000", "--1", "1 2", "∞", "½", "NaN", "1__0")
NOT_REAL = ("nan", "inf", "-inf", "1e999", "0,1", "much", "1.2.3", "[1]", "1+1", "0x1p3")
BELOW_ZERO = ("--id", "--reinit-loss-thr")
FROM_ZERO = (
    *["--checkpoint-interval", "--cnn-dropout", "--dataset-workers", "--entropy"],
    *["--learning-rate", "--max-epochs", "--max-iterations", "--min-distance", "--mlp-depth"],
    *["--mnac-epsilon", "--momentum", "--noise", "--overlap-ratio", "--pcc2mse-iteration"],
    *["--problem-seed", "--random-models", "--redundant", "--regualizer", "--regualizer-beta-end"],
    *["--regualizer-beta-start", "--regualizer-gate", "--regualizer-npu-w", "--regualizer-oob"],
    *["--regualizer-scaling-end", "--regualizer-scaling-start", "--regualizer-z"],
    *["--reinit-max-stored-losses", "--start-noise", "--train-images", "--warm-start"],
    *("--weight-decay", "equations --hidden-layers"),
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
            yield script, flag.name, "false", flag.name
        elif flag.choices is not None:
            meant = str(max(flag.allowed(), key=lambda choice: len(str(choice))))
            yield script, flag.name, f"{meant}x", (flag.name, meant)
        elif flag.kind.metavar in ("INT", "FLOAT"):
            for word in numbers(script, flag, number):
                yield script, flag.name, word, flag.name


test_a_value_that_a_flag_must_not_take = attacks(
    Attack(f"{script} {flag} {word}", quick(script, (f"{flag}={word}",)), says)
    for script, flag, word, says in wrong_values()
)

DIVIDED = "--operation div --random-models 3"
TOGETHER = {
    "single_layer": (
        ("--regualizer-scaling-start 5 --regualizer-scaling-end 5", "--regualizer-scaling-end"),
        ("--regualizer-scaling-start 50 --regualizer-scaling-end 5", "--regualizer-scaling-"),
        ("--momentum 0.9", "--momentum", "sgd"),
        ("--batch-size 1 2", "--batch-size", "one"),
        ("--resume --remove-existing-data", "--resume", "--remove-existing-data"),
        ("--load-checkpoint --remove-existing-data", "--load-checkpoint", "--remove-existing-data"),
        ("--subset-ratio 1 --num-subsets 2", "--subset-ratio", "--input-size"),
        ("--subset-ratio 1 --overlap-ratio 0", "--subset-ratio", "--input-size"),
        ("--num-subsets 3", "--num-subsets"),
        ("--layer-type SillyReRegualizedLinearNAC", "--layer-type", "--nac-mul mnac"),
        ("--mlp-depth 2", "--mlp-depth"),
        ("--trash-cell", "--trash-cell"),
        ("--nalu-mul mnac", "--nalu-mul"),
        ("--cuda true --no-cuda", "--cuda"),
        (f"--batch-size {10**15}", "lower --batch-size"),
        (f"--input-size {10**15}", "--input-size"),
        (f"--output-size {10**30}", "--output-size"),
        (f"--num-subsets {10**15}", "--num-subsets"),
        (f"--batch-size {'9' * 5000}", "--batch"),
    ),
    "single_layer_curriculum": (
        (
            "--regualizer-beta-start 1e-3 --regualizer-beta-end 1e-4 --regualizer-l1",
            "--regualizer-beta-",
        ),
    ),
    "single_layer_benchmark": (("--mlp-depth 2", "--mlp-depth"),),
    "simple_function_static": (
        ("--layer-type SillyReRegualizedLinearNAC", "--layer-type", "--nac-mul mnac"),
        ("--layer-type NALU --nalu-mul mnac", "--nalu-two-nac"),
        ("--layer-type NAC --nalu-gate linear", "--nalu-gate", "NALU"),
        ("--nac-mul mnac", "--nac-mul"),
        ("--regualizer-l1", "--regualizer-l1"),
        ("--weight-pull-start 5", "--weight-pull-start"),
        ("--extrapolation-rule exceeds", "exceed"),
        (
            "--extrapolation-rule exceed --extrapolation-range [1,1.5]",
            "--extrapolation-range: of 100,000 samples",
        ),
        (f"{DIVIDED} --interpolation-range [-2,2]", "--interpolation-range"),
        (f"{DIVIDED} --extrapolation-range [[-6,-2],[2,6]]", "--extrapolation-range"),
        (f"{DIVIDED} --interpolation-range [0,1] --subset-ratio 0.02", "--interpolation-range"),
        (f"--hidden-size {10**15}", "--hidden-size"),
    ),
    "simple_function_static_npu": (("--random-models 3", "--random-models"),),
    "simple_function_recurrent": (
        ("--cuda true --no-cuda", "cuda"),
        ("--layer-type NPU", "--layer-type"),
        ("--id 3", "argument --id: there is no such flag"),
        ("--nalu-mul mnac", "argument --nalu-mul: mnac shares no weights with adding"),
        ("--input-size 8", "--input-size"),
        ("--subset-ratio 0.05", "--subset-ratio"),
        ("--overlap-ratio 0.2", "--overlap-ratio"),
        ("--input-range [1,0]", "--input-range"),
        ("--momentum 0.9", "--momentum"),
        (f"{DIVIDED} --input-range [-1,1]", "--input-range"),
    ),
    "number_translation": (
        ("--layer-type RealNPU", "--layer-type"),
        ("--nalu-gate independent --nalu-gate-shape vector", "--nalu-gate-shape"),
    ),
    "sequential_mnist": (
        ("--regualizer-scaling-start 50 --regualizer-scaling-end 5", "--regualizer-scaling-"),
        ("--resume --remove-existing-data", "--resume", "--remove-existing-data"),
        ("--operation div", "argument --operation: div divides nothing"),
        ("--operation cumdiv", "argument --operation: cumdiv divides nothing"),
        ("--softmax-transform", "argument --softmax-transform: not accepted"),
        ("--nac-mul safe", "argument --nac-mul: 'safe' is not a choice"),
        ("--layer-type GRU --nac-mul mnac", "argument --nac-mul: GRU has no multiply"),
        ("--layer-type LSTM --nac-mul normal", "argument --nac-mul: an LSTM has a"),
        (
            "--mnist-outputs 2 --model-simplification pass-through",
            "argument --model-simplification: pass-through takes one label",
        ),
    ),
    "two_digit_mnist": (
        ("--regualizer-scaling-start 50 --regualizer-scaling-end 5", "--regualizer-scaling-"),
        (
            "--regualizer-scaling-start 5 --regualizer-scaling-end 5",
            "--regualizer-scaling-end: the ramp starts and ends at",
        ),
        ("--resume --remove-existing-data", "--resume", "--remove-existing-data"),
        ("--use-nalm", "--use-nalm: a unit has parameters to learn; add --learn-labels2out"),
        ("--operation div --use-nalm --learn-labels2out", "--nalm-name: names the unit"),
        ("--nalm-name nru", "--nalm-name: names the unit that divides"),
        ("--nalm-name npu", "--nalm-name: 'npu' is not a choice"),
        ("--num-folds 1000", "--num-folds"),
        ("--num-folds 5", "--num-folds: 5 is not possible here; use 10"),
        ("--num-folds 3 --seed 3", "--seed", "0 to 2"),
        ("--seed 10", "--seed: 10 is not a fold, there are 10; the seed is the fold: 0 to"),
        ("--rgb", "--rgb: not accepted; no network takes three channels a digit"),
        ("--mb-log-interval 3", "--mb-log-interval: not accepted; it had no effect"),
        ("--dummy-writer", "--dummy-writer: not accepted; use --dry-run"),
        ("--only-nalm-cgn", "--only-nalm-cgn: there is nothing to clip"),
        ("--nmu-noise", "--nmu-noise: the last layer is not a unit that has this noise"),
        ("--evaluate nowhere.pth", "--evaluate"),
    ),
    "ST_mnist_labels": (
        ("--operation div", "--operation: 'div' is not a choice"),
        ("--img2label-model conv", "--img2label-model: 'conv' is not a choice"),
        ("--image-concat-dim width", "--image-concat-dim: concat cannot read images"),
        ("--tps-unbounded-stn", "--tps-unbounded-stn: concat has no thin-plate"),
        ("--val-split 1", "--val-split: 1 leaves nothing to train on; use less"),
        ("--num-folds 1", "--num-folds: 100 pairs cannot be cut into 1 folds"),
        ("--nalm-name nru", "--nalm-name: 'nru' is an unknown layer"),
    ),
    "notebook_addition": (("--layer-type NAC --nalu-init xavier-normal", "--layer-type NALU"),),
}
"""Script -> flags that do not go together, or not here, and what is said of them.

Those of the younger tasks are in tests/task/test_command_lines.py.
"""

if not torch.cuda.is_available():
    TOGETHER["simple_function_recurrent"] += (("--cuda true", "--cuda"),)

test_flags_that_do_not_go_together = attacks(
    Attack(f"{script} {words[:60]}", quick(script, words), says)
    for script, cases in TOGETHER.items()
    for words, *says in cases
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
