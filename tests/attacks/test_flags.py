"""Every flag of the training scripts, with values that it must not take."""

import torch

from tests.attacks.harness import Attack, attacks, quick
from tests.attacks.subjects import put

WHOLE = {
    "single_layer": "--num-subsets=1 --input-size=1 --batch-size=1 --max-iterations=0 "
    "--hidden-size=1 --output-size=1 --regualizer-scaling-start=0 --regualizer-scaling-end=0 "
    "--regualizer-beta-step=1 --regualizer-beta-growth=1 --regualizer-npu-w=0 "
    "--regualizer-gate=0 --pcc2mse-iteration=0 --reinit-epoch-interval=1 "
    "--reinit-max-stored-losses=0 --id= --log-interval=1 --checkpoint-interval=0 "
    "--ensemble-size=1 --workers=1",
    "single_layer_benchmark": "--mlp-depth=0",
    "two_digit_mnist": "--num-folds=1 --samples-per-permutation=1 --max-epochs=0 "
    "--dataset-workers=0 --scheduler-step-size=1 --regualizer-scaling-end=0",
    "sequential_mnist": "--interpolation-length=1 --mnist-outputs=1",
    "sequential_svhn": "--svhn-outputs=1",
    "simple_function_static": "--random-models=0",
    "simple_function_recurrent": "--max-iterations=0 --interpolation-length=1",
    "number_translation": "--max-epochs=0 --embedding-size=1 --hidden-size=1",
    "mystery_arithmetic": "--max-epochs=0 --output-size=1 --train-size=1 --test-size=1 "
    "--problem-seed=0",
    "identity_autoencoder": "--max-iterations=0 --hidden-size=1 --hidden-layers=1 "
    "--batch-size=1 --log-interval=1",
    "gridworld_time": "--max-iterations=0 --time-limit=1 --hidden-size=1 --register-size=1 "
    "--episodes-per-update=1 --entropy-iterations=1 --eval-episodes=1 --eval-interval=1",
    "program_evaluation": "--max-iterations=0 --nesting=1 --hidden-size=1 --register-size=1",
    "notebook_addition": "--max-iterations=0 --train-size=1",
    "even_digit_count": "--max-iterations=0 --max-digits=1 --min-distance=0 --train-images=0 "
    "--valid-images=1 --test-images=1",
    "mnist_counting": "--max-epochs=0 --cnn-outputs=1 --interpolation-length=1 --test-repeats=1",
}
"""Script -> flags of whole numbers, each with the smallest that it may be."""

NOT_WHOLE = ("1.5", "1e3", "ten", "0x10", "1,000", "--1", "1 2", "∞", "½", "NaN", "1__0")

REAL = {
    "single_layer": "--subset-ratio=0,1.1 --overlap-ratio=-0.1,1.1 --mnac-epsilon=-0.1,1.1 "
    "--regualizer=-1 --regualizer-z=-1 --regualizer-oob=-1 --regualizer-beta-start=-1 "
    "--regualizer-beta-end=-1 --learning-rate=-0.1 --momentum=-0.1 --clip-grad-norm=0 "
    "--clip-grad-value=-1 --reinit-loss-thr=",
    "two_digit_mnist": "--val-split=0,1.5 --weight-decay=-1 --regualizer=-1",
    "sequential_mnist": "--regualizer=-0.5 --regualizer-oob=-1e-9",
}
"""Script -> flags of numbers, each with values outside its limits."""

NOT_REAL = ("nan", "inf", "-inf", "1e999", "0,1", "much", "1.2.3", "[1]", "1+1", "0x1p3")

CHOICES = {
    "single_layer": "--operation=mull:mul --layer-type=RealNPUs:RealNPU --oob-mode=clipped:clip "
    "--nru-div-mode=div-sepsign:div-sepSign --npu-clip=gw:w "
    "--npu-Wr-init=xavier-unifrom:xavier-uniform --realnpu-reg-type=w:W "
    "--regualizer-scaling=linea:linear --regualizer-shape=square:squared "
    "--reg-scale-type=haim:heim --train-criterion=mses:mse --optimizer=Adam:adam "
    "--pytorch-precision=63:32 --nalu-gate=Normal:normal --nalu-gate-shape=vektor:vector "
    "--nalu-init=xavier_normal:xavier-normal --lp-norm=3:1",
    "ST_mnist_labels": "--image-concat-dim=color:colour --optimizer=SGD:sgd",
    "simple_function_static": "--nac-mul=realnpu:real-npu --nalu-mul=maxsafe:max-safe "
    "--first-layer=nac:NAC",
    "single_layer_benchmark": "--nac-weight=golden_ratio:golden-ratio",
    "sequential_mnist": "--operation=cumprods:cumprod --data-source=digit:digits "
    "--model-simplification=solved_accumulator:solved-accumulator --nac-oob=clips:clip",
    "sequential_svhn": "--resnet=resnet-18:resnet18 --data-source=mnist:svhn",
    "two_digit_mnist": "--nalm-name=NMRUU:NMRU --rounded=perhaps:true",
    "simple_function_recurrent": "--layer-type=rnn_tan:RNN-tanh --cuda=maybe:true",
    "number_translation": "--layer-type=gru:GRU --number-range=papers:paper --head=last:final",
    "mystery_arithmetic": "--layer-type=vanila:vanilla --nalu-variant=two_nac:two-nac "
    "--operations=add,mull:mul",
    "identity_autoencoder": "--layer-type=Thresold:Threshold --train-sampling=grids:grid "
    "--optimizer=rms-prop:rmsprop",
    "gridworld_time": "--layer-type=lstm:LSTM --nac-wiring=feed-forward:feedforward "
    "--observation=pixel:pixels --reward-shape=linea:linear --late=zeros:zero",
    "program_evaluation": "--layer-type=UGRN:UGRNN --program=program:programs "
    "--controller-sees-value=maybe:no --controller-sees-registers=true:yes",
    "mnist_counting": "--task=counts:count --layer-type=lstm:LSTM --cnn=smal:small "
    "--sequence-loss=first:last --digit-source=digit:digits",
    "notebook_addition": "--layer-type=NALUU:NALU --nalu-init=truncate:truncated",
    "even_digit_count": "--layer-type=sigmoyd:sigmoid --digit-source=mnits:mnist",
}
"""Script -> flags with a near miss and what is meant by it, or one of what there is."""

SWITCHES = {
    "single_layer": "--simple --nmu-noise --nau-noise --beta-nau --nalu-bias --regualizer-l1 "
    "--reinit --remove-existing-data --no-save --load-checkpoint --resume --no-cuda --no-compile "
    "--dry-run",
    "simple_function_static": "--save-best-model --nalu-two-nac --nalu-two-gate",
    "two_digit_mnist": "--use-nalm --use-tau --no-scheduler --identity-start",
}


def listed(table):
    """Script, flag and what stands behind it."""
    for script, flags in table.items():
        for flag in flags.split():
            yield script, *flag.partition("=")[::2]


def flags():
    for number, (script, flag, smallest) in enumerate(listed(WHOLE)):
        words = [f"{flag}={NOT_WHOLE[number % len(NOT_WHOLE)]}"]
        words += [f"{flag}={int(smallest) - 1}"] if smallest else []
        yield from ((script, (word,), flag) for word in words)
    for number, (script, flag, outside) in enumerate(listed(REAL)):
        for word in (NOT_REAL[number % len(NOT_REAL)], *filter(None, outside.split(","))):
            yield script, (flag, word), flag
    for script, flag, choice in listed(CHOICES):
        word, meant = choice.split(":")
        yield script, (flag, word), (flag, meant)
    for script, flag, _ in listed(SWITCHES):
        yield script, (flag, "false"), flag


test_a_value_that_a_flag_must_not_take = attacks(
    Attack(f"{script} {' '.join(words)}", quick(script, words), says)
    for script, words, says in flags()
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
