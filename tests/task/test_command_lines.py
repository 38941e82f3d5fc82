"""Command lines of tasks: names of runs, what is refused, and runs that are interrupted."""

import pytest

from stable_nalu.options import OptionError
from stable_nalu.task.table import SCRIPTS

NAMES = {
    "identity_autoencoder": [
        ("--layer-type NAC --seed 3", "nac_b64_s3_lr-adam-0.01000"),
        ("--train-sampling uniform --batch-size 32", "relu_t-uniform_b32_s0_lr-adam-0.01000"),
        ("--train-range [-4,4] --hidden-layers 2", "relu_i--4-4_h8x2_b64_s0_lr-adam-0.01000"),
        ("--test-range [-9.5,9] --optimizer rmsprop", "relu_e--9.5-9_b64_s0_lr-rmsprop-0.01000"),
        ("--clip-grad-norm 1", "relu_b64_s0_lr-adam-0.01000_gn-1.0"),
    ],
    "notebook_addition": [
        ("--seed 3", "nalu_s3_lr-adam-0.10000"),
        ("--train-size 500", "nalu_n500_s0_lr-adam-0.10000"),
        ("--train-on-test", "nalu_tt_s0_lr-adam-0.10000"),
        ("--nalu-init default", "nalu_s0_lr-adam-0.10000_ni-default"),
        ("--layer-type NAC --learning-rate 0.01", "nac_s0_lr-adam-0.01000"),
    ],
    "mystery_arithmetic": [
        ("--layer-type vanilla --seed 3", "vanilla_b32_s3_lr-adam-0.00100"),
        ("--nalu-variant two-nac", "nalu_v-two-nac_b32_s0_lr-adam-0.00100"),
        ("--input-size 9 --output-size 2", "nalu_n9_m2_b32_s0_lr-adam-0.00100"),
        ("--operations mul,add", "nalu_op-add-mul_b32_s0_lr-adam-0.00100"),
        ("--operations div,sub", "nalu_op-sub-div_b32_s0_lr-adam-0.00100"),
        ("--train-range [0,5] --test-range [-9,9]", "nalu_i-0-5_e--9-9_b32_s0_lr-adam-0.00100"),
        ("--train-size 500 --shuffle", "nalu_t500-1000_sh_b32_s0_lr-adam-0.00100"),
        ("--problem-seed 0 --batch-size 8", "nalu_p0_b8_s0_lr-adam-0.00100"),
        (
            "--nalu-variant custom --nalu-two-nac --nalu-gate independent",
            "nalu_v-custom_b32_s0_lr-adam-0.00100_nalu-2ni",
        ),
    ],
    "program_evaluation": [
        ("--seed 3", "nalu_b64_s3_lr-adam-0.00300"),
        (
            "--program programs --nesting 3 --layer-type LSTM",
            "lstm_p-programs_k3_b64_s0_lr-adam-0.00300",
        ),
        (
            "--train-range [1,9] --test-ranges [[10,20],[30,40]] --hidden-size 5",
            "nalu_i-1-9_e-10-20-30-40_h5_b64_s0_lr-adam-0.00300",
        ),
        (
            "--register-size 2 --controller-sees-value yes --controller-sees-registers no",
            "nalu_r2_v-yes_n-no_b64_s0_lr-adam-0.00300",
        ),
    ],
    "gridworld_time": [
        ("--layer-type LSTM --seed 2", "lstm_s2_lr-adam-0.00100"),
        (
            "--nac-wiring feedforward --observation pixels --stimulus-range [4,9]",
            "nac_w-feedforward_o-pixels_t-4-9_s0_lr-adam-0.00100",
        ),
        (
            "--max-reward 3 --time-limit 30 --reward-shape exact --late zero --no-reachable-only",
            "nac_m3.0_l30_r-exact_late-zero_far_s0_lr-adam-0.00100",
        ),
        (
            "--hidden-size 32 --register-size 8 --episodes-per-update 16 --entropy 0.1",
            "nac_h32_k8_b16_e-0.1-3000_s0_lr-adam-0.00100",
        ),
        ("--discount 0.9 --clip-grad-norm 1", "nac_g0.9_s0_lr-adam-0.00100_gn-1.0"),
    ],
    "mnist_counting": [
        ("--layer-type RNN-ReLU --seed 3", "rnn-relu_b64_s3_lr-adam-0.00100"),
        ("--task sum --cnn large", "nac_t-sum_c-large_b64_s0_lr-adam-0.00100"),
        (
            "--sequence-loss all --digit-source mnist",
            "nac_l-all_d-mnist_b64_s0_lr-adam-0.00100",
        ),
        ("--data-source mnist", "nac_d-mnist_b64_s0_lr-adam-0.00100"),
        (
            "--interpolation-length 5 --extrapolation-lengths [2,9]",
            "nac_i-5_e-2-9_b64_s0_lr-adam-0.00100",
        ),
        (
            "--cnn-outputs 3 --cnn-dropout 0.5 --batch-size 8",
            "nac_h-3_do-0.5_b8_s0_lr-adam-0.00100",
        ),
        ("--test-repeats 2 --max-epochs 7 --clip-grad-norm 1", "nac_b64_s0_lr-adam-0.00100"),
    ],
    "even_digit_count": [
        ("--head-weight nac --no-head-bias --seed 2", "nac_b-0_b32_s2_lr-adam-0.00100"),
        ("--layer-type NAC --head-bias", "nac_b32_s0_lr-adam-0.00100"),
        ("--head-weight tanh --batch-size 8", "tanh_b8_s0_lr-adam-0.00100"),
        (
            "--layer-type nalu --max-digits 3 --min-distance 14 --image-size 60",
            "nalu_n3_d14_i60_b32_s0_lr-adam-0.00100",
        ),
        (
            "--train-images 6000 --data-source mnist --valid-images 7 --test-images 7",
            "linear_t6000_mnist_b32_s0_lr-adam-0.00100",
        ),
    ],
}
REFUSED = {
    "identity_autoencoder": [
        ("--train-range [5,-5]", "--train-range", "low end above"),
        ("--train-range [1,1]", "--train-range", "is empty"),
        ("--train-range []", "--train-range", "is not a pair"),
        ("--test-range [-4,4]", "--test-range", "lies within"),
        ("--train-range [0.2,0.8]", "--train-range", "too narrow"),
    ],
    "mystery_arithmetic": [
        ("--input-size 1", "--input-size", "two different operands, there is 1 input; give 2"),
        ("--operations add,sub,add", "--operations", "add is given twice"),
        ("--operations add,", "--operations", "'' is not a choice; choose one of add, sub"),
        ("--train-range [10,-10]", "--train-range", "low end above"),
        ("--test-range [0,0]", "--test-range", "is empty"),
        ("--layer-type NAC --nalu-variant shared", "--nalu-variant", "--layer-type is NAC"),
        ("--nalu-gate normal", "--nalu-gate", "what --nalu-variant article says; add --nalu-var"),
        ("--layer-type vanilla --nalu-gate linear", "--nalu-gate", "vanilla is not a NALU"),
    ],
    "program_evaluation": [
        (
            "--layer-type LSTM --controller-sees-value no",
            "--controller-sees-value",
            "no controller",
        ),
        ("--layer-type GRU --register-size 2", "--register-size", "no registers"),
        ("--layer-type NALU --nalu-gate linear", "--nalu-gate", "makes the matrices"),
        ("--layer-type NALU --nalu-mul safe", "--nalu-mul", "makes the matrices"),
        ("--train-range [9,9]", "--train-range", "is empty"),
        ("--train-range [-5,9]", "--train-range", "whole numbers from 0"),
        ("--train-range [0,2.5]", "--train-range", "whole numbers from 0"),
        ("--test-ranges [1,2]", "--test-ranges", "not a list of ranges"),
        ("--test-ranges []", "--test-ranges", "not a list of ranges"),
        ("--test-ranges [[5,6],[5,6]]", "--test-ranges", "given twice"),
        ("--test-ranges [[0,100]]", "--test-ranges", "range of training"),
        ("--test-ranges [[1,10000000000000]]", "--test-ranges", "to 10"),
    ],
    "gridworld_time": [
        ("--layer-type LSTM --nac-wiring recurrent", "--nac-wiring", "no unit to be wired"),
        ("--layer-type GRU --nac-wiring feedforward", "--nac-wiring", "a recurrent cell alone"),
        ("--stimulus-range [0,5]", "--stimulus-range", "from 1 on"),
        ("--stimulus-range [9,5]", "--stimulus-range", "low end above"),
        ("--stimulus-range [5,30]", "--time-limit", "ends worlds before step 30"),
        ("--eval-stimuli [5.5,9]", "--eval-stimuli", "other ends than whole numbers"),
        ("--reachable-only --no-reachable-only", "--reachable-only", "contradicts"),
        ("--max-reward 0", "--max-reward", "greater than 0"),
        ("--discount 1.5", "--discount", "largest value is 1"),
    ],
    "mnist_counting": [
        ("--cnn mlp8 --digit-source mnist", "--cnn", "8 x 8, those of --digit-source mnist are"),
        ("--cnn large --cnn-dropout 0.5", "--cnn-dropout", "--cnn large has no dropout"),
        ("--cnn-dropout 1", "--cnn-dropout", "leaves everything out"),
        ("--cnn-dropout 1.5", "--cnn-dropout", "largest value is 1"),
        ("--extrapolation-lengths [1,1]", "--extrapolation-lengths", "different lengths"),
        ("--extrapolation-lengths []", "--extrapolation-lengths", "different lengths"),
        ("--layer-type linear", "--layer-type", "linear"),
    ],
    "depth": [
        ("--start near --layer-type EQL", "--start", "no exact weights of EQL for add are known"),
        ("--start near --layer-type NMU", "--start", "weights of ReRegualizedLinearMNAC for add"),
        ("--start near --layer-type EML", "--start", "no exact weights of EML for add"),
        (
            "--start near --layer-type EML --operations eml --layer-option tree=bottom",
            *("--start", "variables at the bottom"),
        ),
        ("--sum-layer NAU --layer-type EQL", "--sum-layer", "EQL is all levels in one"),
        ("--sum-layer NAU --operations mul", "--sum-layer", "mul has no sums"),
        ("--depth 9", "--depth", "largest value is 8"),
        ("--operations add,pow", "--operations", "not a choice"),
        ("--noise 2", "--noise", "largest value is 1"),
    ],
    "equations": [
        ("--equation F-5", "--equation", "not a choice"),
        ("--noise -1", "--noise", "smallest value is 0"),
        ("--adam-epsilon 0", "--adam-epsilon", "greater than 0"),
        ("--hidden-size 0", "--hidden-size", "smallest value is 1"),
    ],
    "even_digit_count": [
        ("--min-distance 60", "--min-distance", "5 digits 60 pixels apart find no room"),
        ("--max-digits 9", "--min-distance", "9 digits 28 pixels apart find no room"),
        ("--image-size 50", "--min-distance", "in pictures of 50 x 50"),
        ("--image-size 28", "--image-size", "no larger than a digit"),
        ("--head-bias --no-head-bias", "--head-bias", "contradicts"),
        ("--head-weight Tanh", "--layer-type", "Tanh"),
    ],
}


def each(table):
    """The rows of all scripts."""
    return [(script, *row) for script, rows in table.items() for row in rows]


@pytest.mark.parametrize(("script", "words", "leaf"), each(NAMES))
def test_names(script, words, leaf):
    (config,) = SCRIPTS[script].plan(words.split()).configs
    assert SCRIPTS[script].leaf(config) == leaf


@pytest.mark.parametrize(("script", "words", "flag", "problem"), each(REFUSED))
def test_bad_input(script, words, flag, problem):
    with pytest.raises(OptionError, match=problem) as refused:
        SCRIPTS[script].plan(words.split())
    assert refused.value.flag == flag
    assert "\n" not in str(refused.value)
