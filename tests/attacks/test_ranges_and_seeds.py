"""Ranges, seeds, distributions and lists: every way of writing them that is not one."""

import shlex

import pytest

from tests.attacks.harness import Attack, assert_refused, attacks

RANGES = (
    *("", "[]", "[[],[]]", "[[],[],[]]", "[1]", "[1,2,3]", "1-2", "1,2]", "[1,2", "[[1,2]]"),
    *("[(1,2),(3,4)]", "{1,2}", '{"low":1}', "[low,high]", '["1","2"]', "[True,False]", "one"),
    *("[None,1]", "[nan,1]", "[1,1e999]", "[-1e999,1]", "[1,2j]", "[2,1]", "[1,[2,3]]"),
    *("[[1,2],[3,4],[5,6],[7,8]]", "[[1,2],[3,4],[5,6]]", "[[1,2],[3,5]]", "[[1,2,3],[4,5,6]]"),
    *("[__import__('os').getpid(),2]", "[1+1,3]", "[1;2]", "[1.,2.e]", "[,1,2]"),
    *("[" * 3000, "[" * 60 + "1" + "]" * 60, "[1,\x002]", "［1,2］", "[−2,−1]"),
    *("[-1.7e308,1.7e308]", f"[0,{'9' * 5000}]"),
)
SEEDS = (
    *("-1", "-3--1", "5-3", "0-", "-5", "zero", "1.0", str(2**32), f"0-{2**32}"),
    f"0-{2**32 - 1}",  # more than a machine holds
    *("0--3", "0,,3", "0,", ",", "0 -3", "0:3", "0..3", "*", "0x1", "3a", "0-3-5", "[0,1]"),
    *("3,3", "0-3,2"),
)
DISTRIBUTIONS = (
    *("poisson", "uniformm", "Uniform", "uniform 1 2 3", "benford 10"),
    "benford",  # its inputs would be 10 to 100 and 100 to 1000
    *("exponential", "exponential 0", "exponential -1", "exponential inf", "exponential nan"),
    *("exponential one", "exponential 1 2", "truncated_normal 1 1 1 1", "truncated-normal"),
    *("truncated-normal 1", "truncated-normal 1 2 3", "truncated-normal 1 2 3 4 5"),
    *("truncated-normal 1 0 3 1", "truncated-normal 1 -1 3 1", "truncated-normal 1 nan 3 1"),
)
NOISE = (
    *("[1]", "[1,2,3]", "[5,1]", "[nan,1]", "[one,five]", "[True,5]", "[1,1e999]", "[[1,5]]"),
    *("[]", "5"),
)
LENGTHS = (
    *("[]", "[0]", "[-1,2]", "[1.5]", "[2,2]", "[True]", "[two]", "[[1,2]]", "10", "1-10"),
    "[nan]",
)
DIGITS = ("", "12a", "1123", "1,2,3", "-12", "[1,2]", "１２", "none")


IN, OUT, DRAWN = "--interpolation-range", "--extrapolation-range", "--sample-distribution"
WRITTEN = {
    f"single_layer {IN}": RANGES,
    f"single_layer_robust {OUT}": RANGES,
    "single_layer --seed": SEEDS,
    "single_layer --noise-range": NOISE,
    f"single_layer {DRAWN}": DISTRIBUTIONS,
    "sequential_mnist --extrapolation-lengths": LENGTHS,
    "sequential_mnist --mnist-digits": DIGITS,
}


@pytest.mark.parametrize(
    ("flag", "word"),
    [
        pytest.param(flag, word, id=f"{flag} {number}")
        for flag, values in WRITTEN.items()
        for number, word in enumerate(values)
    ],
)
def test_values_of_more_than_one_part(flag, word, capsys):
    script, flag = flag.split()
    words = word.split() if flag == DRAWN else [word]
    typed = (flag, *words) if words != [""] else (f"{flag}=",)
    assert_refused(capsys, script, typed, ["-range" if word == "benford" else flag])


LISTS = {
    "two training ranges for three test ranges": (
        f"{IN} [1,2] [2,3] {OUT} [2,6] [3,6] [4,6]",
        ("-range", "2", "3"),
    ),
    "an empty range says what is right": (f"{IN} []", (IN, "[1,2]")),
    "a malformed range says what is right": (f"{IN} [1,2", (IN, "[1,2]")),
    "a reversed range says what is right": (f"{OUT} [6,2]", (OUT, "[2,6]")),
    "parts of two widths say what is right": (f"{OUT} [[-6,-2],[2,7]]", (OUT, "same width")),
    "a range split at a blank": (f"{IN} [1, 2]", (IN, "[1,2]")),
    "the same range twice": (f"{IN} [1,2] [1,2]", "-range"),
    "the same weight twice": ("--regualizer 1 1", "--regualizer"),
    "the same seed in two words": ("--seed 0-3 2", "--seed"),
    "the same distribution twice": (f"{DRAWN} uniform {DRAWN} uniform", DRAWN),
}


@pytest.mark.parametrize("case", LISTS)
def test_lists_that_do_not_fit(case, capsys):
    words, says = LISTS[case]
    says = (says,) if isinstance(says, str) else says
    assert_refused(capsys, "single_layer", shlex.split(words), says)


PLANS = {
    "--seed 7": (1, "_s7_"),
    "--seed 0-24": (25, "_s24_"),
    "--seed 9,3,0": (3, "_s0_"),
    "--seed 0-3,7 9-10": (7, "_s10_"),
    "--seed 007": (1, "_s7_"),
    f"--seed {2**32 - 1}": (1, f"_s{2**32 - 1}_"),
    "--interpolation-range [1,2] --seed 1": (1, ""),
    "--interpolation-range [[-2,-1],[1,2]]": (1, ""),
    "--interpolation-range [[-2,-1],[1,2],[]]": (1, ""),
    "--interpolation-range (1,2)": (1, ""),
    "--interpolation-range 1,2": (1, ""),
    "--interpolation-range [1e-1,2e0]": (1, ""),
    "--seed 0-1 --interpolation-range [1,2] [2,3] --extrapolation-range [2,6] [3,6]": (4, ""),
    "--seed 0-2 --regualizer 0 1 10": (9, ""),
    "--sample-distribution uniform --sample-distribution exponential 2": (2, ""),
    "--regularizer 3": (1, "r-3.0-"),
    "--seed=4 --batch-size=7": (1, "_b7_"),
    "--noise-range [1,0]": (1, ""),
    "--seed 0-999": (1000, "_s999_"),
}
"""Words -> how many runs they are, and what the name of the last one holds."""


def planned(words, count, last):
    def check(place, outcome):
        lines = outcome.out.splitlines()
        assert len(lines) == len(set(lines)) == count
        assert last in lines[-1]

    argv = tuple(f"single_layer --dry-run {words}".split())
    return Attack(words, argv, code=0, check=check)


test_all_ways_to_write_them = attacks(*(planned(words, *PLANS[words]) for words in PLANS))
