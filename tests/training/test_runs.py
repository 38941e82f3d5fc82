"""How a plan is cut into stacks, and stacks that draw the same samples and train in turns."""

from stable_nalu.result.shard import train_commands
from tests.ensemble.plans import COMMON, assert_identical, roots, train, trained

SCRIPT = "single_layer"
NOISY = ("--layer-type", "ReRegualizedLinearMNAC", "--operation", "mul", "--nmu-noise")
NOISES = ("[1,5]", "[1,2]")
SMALL = ("--log-interval", "10", "--input-size", "4")
LENGTH = ("--max-iterations", "25", *SMALL)


def test_numbers_are_those_of_each_stack_alone(tmp_path):
    """With noise, penalties and limits of their own; a third stack has samples of its own."""
    words = (*NOISY, *LENGTH, "--seed", "0-1", "--clip-grad-norm", "1", "0.01")
    assert train(tmp_path / "group", SCRIPT, *words, "--noise-range", *NOISES) == 0
    for noise in NOISES:
        assert train(tmp_path / "alone", SCRIPT, *words, "--noise-range", noise) == 0
    assert_identical(trained(tmp_path / "group"), trained(tmp_path / "alone"))


def test_operations_and_lengths_side_by_side(tmp_path):
    """As the shards of an experiment are trained: each plan is cut by itself."""
    words = (*COMMON, *SMALL, "--seed", "0-1", "--layer-type", "ReRegualizedLinearMNAC")
    plans = [
        (*words, "--operation", operation, "--max-iterations", length)
        for operation, length in (("mul", "25"), ("add", "7"), ("squared", "32"))
    ]
    with roots(tmp_path / "group"):
        assert train_commands(SCRIPT, *([plan] for plan in plans)) == 0
    for plan in plans:
        assert train(tmp_path / "alone", SCRIPT, *plan[len(COMMON) :]) == 0
    assert_identical(trained(tmp_path / "group"), trained(tmp_path / "alone"))


def test_stacks_that_stand_apart_catch_up(tmp_path):
    """As after a kill between the checkpoints of two stacks; ranges of a seed share a generator."""
    ranges = ("--interpolation-range", "[1,2]", "[-2,2]", "--extrapolation-range", *["[2,6]"] * 2)
    words = (*NOISY, "--log-interval", "10", "--seed", "0-1", *ranges)
    begun = (*words, "--max-iterations", "17", "--noise-range", NOISES[1])
    assert train(tmp_path / "cut", SCRIPT, *begun) == 0
    both = (*words, "--max-iterations", "30", "--noise-range", *NOISES)
    assert train(tmp_path / "cut", SCRIPT, *both, "--resume") == 0
    assert train(tmp_path / "whole", SCRIPT, *both) == 0
    assert_identical(trained(tmp_path / "cut"), trained(tmp_path / "whole"))
