"""Ranges, seeds, distributions and lists: every way of writing them that is not one."""

from tests.attacks.harness import Attack, attacks, quick

RANGES = {
    "empty": "",
    "empty list": "[]",
    "two empty lists": "[[],[]]",
    "only the third part": "[[],[],[]]",
    "one number": "[1]",
    "three numbers": "[1,2,3]",
    "a dash": "1-2",
    "open at the left": "1,2]",
    "open at the right": "[1,2",
    "doubled brackets": "[[1,2]]",
    "round brackets within": "[(1,2),(3,4)]",
    "braces": "{1,2}",
    "a dictionary": '{"low":1}',
    "words": "[low,high]",
    "quoted numbers": '["1","2"]',
    "truths": "[True,False]",
    "nothing in it": "[None,1]",
    "not a number": "[nan,1]",
    "infinite": "[1,1e999]",
    "negative infinite": "[-1e999,1]",
    "complex": "[1,2j]",
    "reversed": "[2,1]",
    "mixed": "[1,[2,3]]",
    "four parts": "[[1,2],[3,4],[5,6],[7,8]]",
    "a third part that is not empty": "[[1,2],[3,4],[5,6]]",
    "parts of two widths": "[[1,2],[3,5]]",
    "parts in three numbers": "[[1,2,3],[4,5,6]]",
    "a call": "[__import__('os').getpid(),2]",
    "a sum": "[1+1,3]",
    "a semicolon": "[1;2]",
    "half a number": "[1.,2.e]",
    "comma at the start": "[,1,2]",
    "thousands of brackets": "[" * 3000,
    "nested deeply": "[" * 60 + "1" + "]" * 60,
    "a null byte": "[1,\x002]",
    "full-width": "［1,2］",
    "unicode minus": "[−2,−1]",
    "width beyond float64": "[-1.7e308,1.7e308]",
    "5000 digits": f"[0,{'9' * 5000}]",
}

NO_SEEDS = {
    "negative": "-1",
    "minus in a range": "-3--1",
    "reversed": "5-3",
    "open at the end": "0-",
    "open at the start": "-5",
    "words": "zero",
    "real": "1.0",
    "too large": str(2**32),
    "a range that ends too large": f"0-{2**32}",
    "more than a machine holds": f"0-{2**32 - 1}",
    "doubled dash": "0--3",
    "doubled comma": "0,,3",
    "comma at the end": "0,",
    "comma alone": ",",
    "a blank within": "0 -3",
    "colon": "0:3",
    "dots": "0..3",
    "stars": "*",
    "hexadecimal": "0x1",
    "letters behind": "3a",
    "three ends": "0-3-5",
    "a list": "[0,1]",
    "twice the same": "3,3",
    "the same in a range": "0-3,2",
}

NO_DISTRIBUTIONS = {
    "none such": "poisson",
    "near miss": "uniformm",
    "too many numbers": "uniform 1 2 3",
    "exponential without scale": "exponential",
    "exponential of nothing": "exponential 0",
    "exponential, negative": "exponential -1",
    "exponential, infinite": "exponential inf",
    "exponential, not a number": "exponential nan",
    "exponential in words": "exponential one",
    "exponential of two": "exponential 1 2",
    "truncated normal without numbers": "truncated-normal",
    "truncated normal of one": "truncated-normal 1",
    "truncated normal of three": "truncated-normal 1 2 3",
    "truncated normal of five": "truncated-normal 1 2 3 4 5",
    "truncated normal without spread": "truncated-normal 1 0 3 1",
    "truncated normal, negative spread": "truncated-normal 1 -1 3 1",
    "truncated normal, not a number": "truncated-normal 1 nan 3 1",
    "benford with numbers": "benford 10",
    "benford beyond its range": "benford",
    "capital letters": "Uniform",
    "underscore": "truncated_normal 1 1 1 1",
}

NO_NOISE = {
    "one number": "[1]",
    "three": "[1,2,3]",
    "reversed": "[5,1]",
    "not a number": "[nan,1]",
    "words": "[one,five]",
    "truths": "[True,5]",
    "infinite": "[1,1e999]",
    "nested": "[[1,5]]",
    "empty": "[]",
    "number": "5",
}

NO_LENGTHS = {
    "empty": "[]",
    "zero": "[0]",
    "negative": "[-1,2]",
    "real": "[1.5]",
    "the same twice": "[2,2]",
    "truth": "[True]",
    "words": "[two]",
    "nested": "[[1,2]]",
    "a number": "10",
    "a range": "1-10",
    "not a number": "[nan]",
}

NO_DIGITS = {
    "empty": "",
    "letters": "12a",
    "the same twice": "1123",
    "commas": "1,2,3",
    "negative": "-12",
    "a list": "[1,2]",
    "full-width": "１２",
    "none": "none",
}


def written(what, script, flag, values):
    for name, word in values.items():
        words = word.split() if flag == "--sample-distribution" else [word]
        typed = (flag, *words) if words != [""] else (f"{flag}=",)
        # The inputs of Benford's law are 10 to 100 and 100 to 1000; the line names the range.
        says = "-range" if name == "benford beyond its range" else flag
        yield Attack(f"{what}: {name}", quick(script, typed), says)


test_values_of_more_than_one_part = attacks(
    *written("interpolation range", "single_layer", "--interpolation-range", RANGES),
    *written("extrapolation range", "single_layer_robust", "--extrapolation-range", RANGES),
    *written("seeds", "single_layer", "--seed", NO_SEEDS),
    *written("noise", "single_layer", "--noise-range", NO_NOISE),
    *written("distribution", "single_layer", "--sample-distribution", NO_DISTRIBUTIONS),
    *written("lengths", "sequential_mnist", "--extrapolation-lengths", NO_LENGTHS),
    *written("digits", "sequential_mnist", "--mnist-digits", NO_DIGITS),
)

IN, OUT, DRAWN = "--interpolation-range", "--extrapolation-range", "--sample-distribution"
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
    "the same range twice": (f"{IN} [1,2] [1,2] --dry-run", "-range"),
    "the same weight twice": ("--regualizer 1 1 --dry-run", "--regualizer"),
    "the same seed in two words": ("--seed 0-3 2 --dry-run", "--seed"),
    "the same distribution twice": (f"{DRAWN} uniform {DRAWN} uniform --dry-run", DRAWN),
}
test_lists_that_do_not_fit = attacks(
    *(Attack(k, f"single_layer {words}", says) for k, (words, says) in LISTS.items()),
    Attack("the same seed twice for pairs", "two_digit_mnist --seed 1,1 --dry-run", "--seed"),
    Attack(
        "two ranges that one name stands for",
        f"single_layer {IN} [1,2] [1.0,2.0] --dry-run",
        code=(0, 2),
    ),
)


def planned(name, words, count, last=""):
    def check(place, outcome):
        lines = outcome.out.splitlines()
        assert len(lines) == len(set(lines)) == count
        assert last in lines[-1]

    argv = tuple(f"single_layer --dry-run {words}".split())
    return Attack(name, argv, code=0, check=check)


test_all_ways_to_write_them = attacks(
    planned("one seed", "--seed 7", 1, "_s7_"),
    planned("a range of seeds, ends included", "--seed 0-24", 25, "_s24_"),
    planned("a list of seeds", "--seed 9,3,0", 3, "_s0_"),
    planned("lists and ranges of seeds", "--seed 0-3,7 9-10", 7, "_s10_"),
    planned("leading zeros", "--seed 007", 1, "_s7_"),
    planned("the largest seed", f"--seed {2**32 - 1}", 1, f"_s{2**32 - 1}_"),
    planned("a range with blanks", "--interpolation-range [1,2] --seed 1", 1),
    planned("a range of two parts", "--interpolation-range [[-2,-1],[1,2]]", 1),
    planned("a range of halves", "--interpolation-range [[-2,-1],[1,2],[]]", 1),
    planned("round brackets", "--interpolation-range (1,2)", 1),
    planned("no brackets", "--interpolation-range 1,2", 1),
    planned("exponents", "--interpolation-range [1e-1,2e0]", 1),
    planned(
        "pairs of ranges",
        "--seed 0-1 --interpolation-range [1,2] [2,3] --extrapolation-range [2,6] [3,6]",
        4,
    ),
    planned("weights by seeds", "--seed 0-2 --regualizer 0 1 10", 9),
    planned(
        "two distributions", "--sample-distribution uniform --sample-distribution exponential 2", 2
    ),
    planned("the other spelling", "--regularizer 3", 1, "r-3.0-"),
    planned("an equals sign", "--seed=4 --batch-size=7", 1, "_b7_"),
    planned("noise of a batch", "--noise-range [1,0]", 1),
    planned("a thousand seeds", "--seed 0-999", 1000, "_s999_"),
)
