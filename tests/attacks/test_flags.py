"""Every flag of the training scripts, with values that it must not take."""

import torch

from tests.attacks.harness import Attack, attacks, quick

WHOLE = {
    "single_layer": {
        "--num-subsets": 1,
        "--input-size": 1,
        "--batch-size": 1,
        "--max-iterations": 0,
        "--hidden-size": 1,
        "--output-size": 1,
        "--regualizer-scaling-start": 0,
        "--regualizer-scaling-end": 0,
        "--regualizer-beta-step": 1,
        "--regualizer-beta-growth": 1,
        "--regualizer-npu-w": 0,
        "--regualizer-gate": 0,
        "--pcc2mse-iteration": 0,
        "--reinit-epoch-interval": 1,
        "--reinit-max-stored-losses": 0,
        "--id": None,
        "--log-interval": 1,
        "--checkpoint-interval": 0,
        "--ensemble-size": 1,
        "--workers": 1,
    },
    "single_layer_benchmark": {"--mlp-depth": 0},
    "two_digit_mnist": {
        "--num-folds": 1,
        "--samples-per-permutation": 1,
        "--max-epochs": 0,
        "--dataset-workers": 0,
        "--scheduler-step-size": 1,
        "--regualizer-scaling-end": 0,
    },
    "sequential_mnist": {"--interpolation-length": 1, "--mnist-outputs": 1},
    "sequential_svhn": {"--svhn-outputs": 1},
    "number_translation": {"--max-epochs": 0, "--embedding-size": 1, "--hidden-size": 1},
    "mystery_arithmetic": {
        "--max-epochs": 0,
        "--output-size": 1,
        "--train-size": 1,
        "--test-size": 1,
        "--problem-seed": 0,
    },
    "identity_autoencoder": {
        "--max-iterations": 0,
        "--hidden-size": 1,
        "--hidden-layers": 1,
        "--batch-size": 1,
        "--log-interval": 1,
    },
    "gridworld_time": {
        "--max-iterations": 0,
        "--time-limit": 1,
        "--hidden-size": 1,
        "--register-size": 1,
        "--episodes-per-update": 1,
        "--entropy-iterations": 1,
        "--eval-episodes": 1,
        "--eval-interval": 1,
    },
    "program_evaluation": {
        "--max-iterations": 0,
        "--nesting": 1,
        "--hidden-size": 1,
        "--register-size": 1,
    },
    "notebook_addition": {"--max-iterations": 0, "--train-size": 1},
    "even_digit_count": {
        "--max-iterations": 0,
        "--max-digits": 1,
        "--min-distance": 0,
        "--train-images": 0,
        "--valid-images": 1,
        "--test-images": 1,
    },
    "mnist_counting": {
        "--max-epochs": 0,
        "--cnn-outputs": 1,
        "--interpolation-length": 1,
        "--test-repeats": 1,
    },
}
"""Script -> flag of a whole number -> the smallest that it may be."""

NOT_WHOLE = ("1.5", "1e3", "ten", "0x10", "1,000", "--1", "1 2", "∞", "½", "NaN", "1__0")

REAL = {
    "single_layer": {
        "--subset-ratio": ("0", "1.1"),
        "--overlap-ratio": ("-0.1", "1.1"),
        "--mnac-epsilon": ("-0.1", "1.1"),
        "--regualizer": ("-1",),
        "--regualizer-z": ("-1",),
        "--regualizer-oob": ("-1",),
        "--regualizer-beta-start": ("-1",),
        "--regualizer-beta-end": ("-1",),
        "--learning-rate": ("-0.1",),
        "--momentum": ("-0.1",),
        "--clip-grad-norm": ("0",),
        "--clip-grad-value": ("-1",),
        "--reinit-loss-thr": (),
    },
    "two_digit_mnist": {
        "--val-split": ("0", "1.5"),
        "--weight-decay": ("-1",),
        "--regualizer": ("-1",),
    },
    "sequential_mnist": {"--regualizer": ("-0.5",), "--regualizer-oob": ("-1e-9",)},
}
"""Script -> flag of a number -> values outside its limits."""

NOT_REAL = ("nan", "inf", "-inf", "1e999", "0,1", "much", "1.2.3", "[1]", "1+1", "0x1p3")

CHOICES = {
    "single_layer": {
        "--operation": ("mull", "mul"),
        "--layer-type": ("RealNPUs", "RealNPU"),
        "--oob-mode": ("clipped", "clip"),
        "--nru-div-mode": ("div-sepsign", "div-sepSign"),
        "--npu-clip": ("gw", "w"),
        "--npu-Wr-init": ("xavier-unifrom", "xavier-uniform"),
        "--realnpu-reg-type": ("w", "W"),
        "--regualizer-scaling": ("linea", "linear"),
        "--regualizer-shape": ("square", "squared"),
        "--reg-scale-type": ("haim", "heim"),
        "--train-criterion": ("mses", "mse"),
        "--optimizer": ("Adam", "adam"),
        "--pytorch-precision": ("63", "32"),
        "--nalu-gate": ("Normal", "normal"),
        "--nalu-gate-shape": ("vektor", "vector"),
        "--nalu-init": ("xavier_normal", "xavier-normal"),
        "--lp-norm": ("3", "1"),
    },
    "ST_mnist_labels": {
        "--image-concat-dim": ("color", "colour"),
        "--optimizer": ("SGD", "sgd"),
    },
    "simple_function_static": {
        "--nac-mul": ("realnpu", "real-npu"),
        "--nalu-mul": ("maxsafe", "max-safe"),
        "--first-layer": ("nac", "NAC"),
    },
    "single_layer_benchmark": {"--nac-weight": ("golden_ratio", "golden-ratio")},
    "sequential_mnist": {
        "--operation": ("cumprods", "cumprod"),
        "--data-source": ("digit", "digits"),
        "--model-simplification": ("solved_accumulator", "solved-accumulator"),
        "--nac-oob": ("clips", "clip"),
    },
    "sequential_svhn": {"--resnet": ("resnet-18", "resnet18"), "--data-source": ("mnist", "svhn")},
    "two_digit_mnist": {
        "--nalm-name": ("NMRUU", "NMRU"),
        "--rounded": ("perhaps", "true"),
    },
    "simple_function_recurrent": {
        "--layer-type": ("rnn_tan", "RNN-tanh"),
        "--cuda": ("maybe", "true"),
    },
    "number_translation": {
        "--layer-type": ("gru", "GRU"),
        "--number-range": ("papers", "paper"),
        "--head": ("last", "final"),
    },
    "mystery_arithmetic": {
        "--layer-type": ("vanila", "vanilla"),
        "--nalu-variant": ("two_nac", "two-nac"),
        "--operations": ("add,mull", "mul"),
    },
    "identity_autoencoder": {
        "--layer-type": ("Thresold", "Threshold"),
        "--train-sampling": ("grids", "grid"),
        "--optimizer": ("rms-prop", "rmsprop"),
    },
    "gridworld_time": {
        "--layer-type": ("lstm", "LSTM"),
        "--nac-wiring": ("feed-forward", "feedforward"),
        "--observation": ("pixel", "pixels"),
        "--reward-shape": ("linea", "linear"),
        "--late": ("zeros", "zero"),
    },
    "program_evaluation": {
        "--layer-type": ("UGRN", "UGRNN"),
        "--program": ("program", "programs"),
        "--controller-sees-value": ("maybe", "no"),
        "--controller-sees-registers": ("true", "yes"),
    },
    "mnist_counting": {
        "--task": ("counts", "count"),
        "--layer-type": ("lstm", "LSTM"),
        "--cnn": ("smal", "small"),
        "--sequence-loss": ("first", "last"),
        "--digit-source": ("digit", "digits"),
    },
    "notebook_addition": {
        "--layer-type": ("NALUU", "NALU"),
        "--nalu-init": ("truncate", "truncated"),
    },
    "even_digit_count": {
        "--layer-type": ("sigmoyd", "sigmoid"),
        "--digit-source": ("mnits", "mnist"),
    },
}
"""Script -> flag -> a near miss and what is meant by it, or one of what there is."""

SWITCHES = {
    "single_layer": (
        "--simple",
        "--nmu-noise",
        "--nau-noise",
        "--beta-nau",
        "--nalu-bias",
        "--regualizer-l1",
        "--reinit",
        "--remove-existing-data",
        "--no-save",
        "--load-checkpoint",
        "--resume",
        "--no-cuda",
        "--no-compile",
        "--dry-run",
    ),
    "simple_function_static": ("--save-best-model", "--nalu-two-nac", "--nalu-two-gate"),
    "two_digit_mnist": ("--use-nalm", "--use-tau", "--no-scheduler", "--identity-start"),
}


def flags():
    number = 0
    for script, of_script in WHOLE.items():
        for flag, smallest in of_script.items():
            word = NOT_WHOLE[number % len(NOT_WHOLE)]
            number += 1
            yield Attack(f"{script} {flag} {word}", quick(script, f"{flag}={word}"), (flag,))
            if smallest is not None:
                low = str(smallest - 1)
                yield Attack(f"{script} {flag} {low}", quick(script, flag, low), (flag,))
    for script, of_script in REAL.items():
        for flag, outside in of_script.items():
            for word in (NOT_REAL[number % len(NOT_REAL)], *outside):
                yield Attack(f"{script} {flag} {word}", quick(script, flag, word), (flag,))
            number += 1
    for script, of_script in CHOICES.items():
        for flag, (word, meant) in of_script.items():
            yield Attack(f"{script} {flag} {word}", quick(script, flag, word), (flag, meant))
    for script, of_script in SWITCHES.items():
        for flag in of_script:
            yield Attack(f"{script} {flag} false", quick(script, flag, "false"), (flag,))


@attacks(flags())
def test_a_value_that_a_flag_must_not_take(case, place):
    place.hold(case)


def refused(name, script, words, *says):
    return Attack(name, quick(script, *words.split()), says)


TOGETHER = [
    refused(
        "a ramp that ends where it starts",
        "single_layer",
        "--regualizer-scaling-start 5 --regualizer-scaling-end 5",
        "--regualizer-scaling-end",
    ),
    refused(
        "a ramp that ends before it starts",
        "single_layer",
        "--regualizer-scaling-start 50 --regualizer-scaling-end 5",
        "--regualizer-scaling-",
    ),
    refused(
        "a ramp of epochs that ends before it starts",
        "two_digit_mnist",
        "--regualizer-scaling-start 50 --regualizer-scaling-end 5",
        "--regualizer-scaling-",
    ),
    refused(
        "a ramp of updates that ends before it starts",
        "sequential_mnist",
        "--regualizer-scaling-start 50 --regualizer-scaling-end 5",
        "--regualizer-scaling-",
    ),
    refused(
        "beta that ends below its start, where it only grows",
        "single_layer_curriculum",
        "--regualizer-beta-start 1e-3 --regualizer-beta-end 1e-4 --regualizer-l1",
        "--regualizer-beta-",
    ),
    refused("momentum for adam", "single_layer", "--momentum 0.9", "--momentum", "sgd"),
    refused("one value for a pair", "single_layer", "--batch-size 1 2", "--batch-size", "one"),
    refused(
        "resuming and removing",
        "single_layer",
        "--resume --remove-existing-data",
        "--resume",
        "--remove-existing-data",
    ),
    refused(
        "continuing and removing",
        "single_layer",
        "--load-checkpoint --remove-existing-data",
        "--load-checkpoint",
        "--remove-existing-data",
    ),
    refused(
        "resuming and removing sequences",
        "sequential_mnist",
        "--resume --remove-existing-data --data-source digits",
        "--resume",
        "--remove-existing-data",
    ),
    refused(
        "resuming and removing pairs",
        "two_digit_mnist",
        "--resume --remove-existing-data --data-source digits",
        "--resume",
        "--remove-existing-data",
    ),
    refused(
        "slices longer than the input",
        "single_layer",
        "--subset-ratio 1 --num-subsets 2",
        "--subset-ratio",
        "--input-size",
    ),
    refused("three slices for a product", "single_layer", "--num-subsets 3", "--num-subsets"),
    refused("an operand less", "mystery_arithmetic", "--input-size 1", "--input-size", "2 or more"),
    refused("add twice", "mystery_arithmetic", "--operations add,mul,add", "--operations", "once"),
    refused("no operation", "mystery_arithmetic", "--operations", "--operations"),
    refused("a NAC's gate", "mystery_arithmetic", "--layer-type NAC --nalu-variant shared", "NAC"),
    refused("two gates", "mystery_arithmetic", "--nalu-gate independent", "--nalu-variant custom"),
    refused(
        "a gate of a dense layer",
        "mystery_arithmetic",
        "--layer-type vanilla --nalu-gate linear",
        "vanilla",
    ),
    refused("no room", "even_digit_count", "--min-distance 60", "--min-distance", "no room"),
    refused("a small picture", "even_digit_count", "--image-size 28", "--image-size", "larger"),
    refused("a bias and none", "even_digit_count", "--head-bias --no-head-bias", "contradicts"),
    refused("a gpu and none", "simple_function_recurrent", "--cuda true --no-cuda", "cuda"),
    refused("no range", "identity_autoencoder", "--train-range []", "--train-range", "[-5,5]"),
    refused("a range of nothing", "identity_autoencoder", "--train-range [2,2]", "--train-range"),
    refused("a reversed range", "identity_autoencoder", "--test-range [9,-9]", "--test-range"),
    refused("three ends", "identity_autoencoder", "--test-range [1,2,3]", "--test-range"),
    refused("nothing outside", "identity_autoencoder", "--test-range [-5,5]", "--train-range"),
    refused("no whole number", "identity_autoencoder", "--train-range [.1,.9]", "--train-sampling"),
    refused(
        "another start of a unit without a gate",
        "notebook_addition",
        "--layer-type NAC --nalu-init xavier-normal",
        "--layer-type NALU",
    ),
    refused(
        "mnac without weights of its own",
        "simple_function_static",
        "--layer-type NALU --nalu-mul mnac",
        "--nalu-two-nac",
    ),
    refused(
        "a gate without inputs that maps inputs",
        "number_translation",
        "--nalu-gate independent --nalu-gate-shape vector",
        "--nalu-gate-shape",
    ),
    refused(
        "a gate of a unit without one",
        "simple_function_static",
        "--layer-type NAC --nalu-gate linear",
        "--nalu-gate",
        "NALU",
    ),
    refused("a unit without parameters", "two_digit_mnist", "--use-nalm", "--learn-labels2out"),
    refused(
        "division without a divider",
        "two_digit_mnist",
        "--operation div --use-nalm --learn-labels2out",
        "--nalm-name",
    ),
    refused("division of scattered digits", "ST_mnist_labels", "--operation div", "--operation"),
    refused("more folds than pairs", "two_digit_mnist", "--num-folds 1000", "--num-folds"),
    refused(
        "a fold that is not there",
        "two_digit_mnist",
        "--num-folds 3 --seed 3 --data-source digits",
        "--seed",
        "0 to 2",
    ),
    refused("a batch beyond memory", "single_layer", f"--batch-size {10**15}", "--batch-size"),
    refused("an input beyond memory", "single_layer", f"--input-size {10**15}", "--input-size"),
    refused(
        "a layer beyond memory",
        "simple_function_static",
        f"--hidden-size {10**15}",
        "--hidden-size",
    ),
    refused(
        "an output beyond all numbers", "single_layer", f"--output-size {10**30}", "--output-size"
    ),
    refused("slices beyond memory", "single_layer", f"--num-subsets {10**15}", "--num-subsets"),
    refused("a number of 5000 digits", "single_layer", f"--batch-size {'9' * 5000}", "--batch"),
    refused("an evaluation of nothing", "two_digit_mnist", "--evaluate nowhere.pth", "--evaluate"),
]


if not torch.cuda.is_available():
    TOGETHER.append(
        refused("a gpu where there is none", "simple_function_recurrent", "--cuda true", "--cuda")
    )


@attacks(TOGETHER)
def test_flags_that_do_not_go_together(case, place):
    place.hold(case)


@attacks(
    [
        Attack(
            f"{name}, and leaves no folder",
            words,
            folders=True,
            prepare=lambda p: p.file("file", "mine"),
            env=env,
        )
        for name, words, env in (
            ("a batch beyond memory", ("single_layer", "--batch-size", str(10**15)), {}),
            ("a log root that is a file", quick("single_layer"), {"TENSORBOARD_DIR": "{tmp}/file"}),
            (
                "a prefix beyond the disk",
                quick("number_translation", "--layer-type", "NAC", "--name-prefix", "n" * 256),
                {},
            ),
            (
                "sequences longer than the images suffice for",
                quick("sequential_mnist", "--extrapolation-lengths", "[5000]"),
                {},
            ),
            ("more folds than pairs", quick("two_digit_mnist", "--num-folds", "1000"), {}),
            (
                "a figure with too long a name",
                ("plot", "--csv", "{tmp}/file", "--out-dir", "{tmp}/out", "--name", "n" * 300),
                {},
            ),
            (
                "a figure of no table",
                ("plot", "--csv", "{tmp}/none.csv", "--out-dir", "{tmp}/out"),
                {},
            ),
            (
                "a summary of no table",
                ("summarize", "--csv", "{tmp}/none.csv", "--csv-out", "{tmp}/out/x.csv"),
                {},
            ),
            (
                "an export of no runs",
                (
                    *("simple_function_static_export", "--tensorboard-dir", "{tmp}/none"),
                    *("--csv-out", "{tmp}/out/x.csv"),
                ),
                {},
            ),
            (
                "an evaluation of no model",
                (
                    *("two_digit_mnist", "--evaluate", "{tmp}/none.pth"),
                    *("--evaluation-dir", "{tmp}/out"),
                ),
                {},
            ),
        )
    ]
)
def test_a_refusal_leaves_no_folder(case, place):
    place.hold(case)
