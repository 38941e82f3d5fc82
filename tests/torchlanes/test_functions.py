"""The engine's elementary functions: within one ulp of exact values, the same bits everywhere."""

import ctypes
import hashlib
import platform
import shutil
from pathlib import Path

import mpmath
import numpy as np
import pytest
import torch

import torchlanes as engine
from tests.turn import weekly
from torchlanes.kept import library_of

HEADERS = Path(engine.__file__).parent
SOURCE = Path(__file__).with_name("functions.cpp")
TYPES = {"float": np.float32, "double": np.float64}
SMOOTH = ("exp", "expm1", "log", "log1p", "tanh", "sigmoid", "sinh", "cosh", "sin", "cos", "erf")
OTHER = ("rint", "sign", "abs", "sqrt")
OF_TWO = ("pow", "atan2", "min", "max")
INF, NAN = np.inf, np.nan
SPECIAL = (0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1e30, -1e30)
FAST = {"widest": (16, "-O3 -march=native"), "scalar": (1, "-O1")}
SLOW = {
    "no AVX-512": (8, "-O3 -march=native -mno-avx512f"),
    "old": (4, "-O3 -march=x86-64-v2"),
    "called": (16, "-O3 -march=native -DCALLED"),
}


class Library:
    """The harness compiled for a number of lanes, with some flags."""

    def __init__(self, lanes: int, flags: str) -> None:
        fixed = "-std=c++17 -ffp-contract=off -fno-math-errno -w -shared -fPIC"
        names = [f"-DLANES={lanes}", f"-I{HEADERS}"]
        # A library is kept by its text: this one changes with every header.
        headers = b"".join(path.read_bytes() for path in sorted(HEADERS.glob("*.h")))
        text = f"// {hashlib.sha256(headers).hexdigest()}\n{SOURCE.read_text()}"
        self.loaded = ctypes.CDLL(str(library_of(text, [*fixed.split(), *flags.split(), *names])))

    def __call__(self, name: str, x: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
        kind = {4: "float", 8: "double"}[x.dtype.itemsize]
        arrays = [np.pad(a, (0, -len(x) % 16)) for a in (x, x if y is None else y)]
        arrays.append(np.empty_like(arrays[0]))
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
        getattr(self.loaded, f"{kind}_{name}")(*pointers, ctypes.c_int64(len(arrays[0])))
        return arrays[2][: len(x)]


@pytest.fixture(scope="module")
def library():
    if not shutil.which("g++"):
        pytest.skip("no C++ compiler")
    return Library(*FAST["widest"])


def arguments(kind: str, binade_step: int, in_a_binade: int) -> np.ndarray:
    """Numbers of every or some binades, ends included, and where functions are hard."""
    random, limits = np.random.default_rng(1), np.finfo(TYPES[kind])
    bits = np.dtype(f"u{limits.bits // 8}").type
    binades = np.arange(0, 2**limits.nexp - 1, binade_step, dtype=bits)
    mantissas = random.integers(0, 2**limits.nmant, (len(binades), in_a_binade), dtype=bits)
    mantissas[:, :2] = 0, 2**limits.nmant - 1
    found = (binades[:, None] << bits(limits.nmant) | mantissas).view(TYPES[kind]).ravel()
    near = np.log(float(limits.max))
    hard = (
        *(random.uniform(-end, end, 3000) for end in (1e-3, 1, 20, 1.1 * near)),
        *(1 + random.uniform(-end, end, 1000) for end in (1e-6, 1e-2, 0.5)),
        np.arange(-1000, 1000) * np.pi / 2,
        random.integers(0, 2**20, 1000) * np.pi / 2,
        [6381956970095103 * 2.0**797 if kind == "double" else 0],  # almost n pi / 2
        np.array([near, -near, np.log(limits.tiny), np.log(limits.smallest_subnormal)]),
    )
    return np.concatenate([found, -found, np.concatenate(hard).astype(found.dtype)])


def sigmoid(x: np.ndarray) -> np.ndarray:
    small = np.exp(-abs(x))
    return np.where(x < 0, small, 1) / (1 + small)


def exact(name: str, *x: np.ndarray) -> np.ndarray:
    """Values with 11 bits more than a double's, by the C library or mpmath."""
    if np.finfo(np.longdouble).nmant < 63:
        pytest.skip("no numbers longer than doubles")
    if name == "erf":
        with mpmath.workprec(120):
            values = [mpmath.erf(float(a)) for a in x[0]]
            low = [float(v - float(v)) for v in values]
        return np.array([float(v) for v in values], np.longdouble) + low
    function = sigmoid if name == "sigmoid" else getattr(np, name)
    with np.errstate(all="ignore"):
        return function(*(a.astype(np.longdouble) for a in x))


def ulps(found: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Errors in units in the last place of the exact value; overflow counts as the next number."""
    limits = np.finfo(found.dtype)
    end = np.ldexp(np.longdouble(1), limits.maxexp)
    unit = np.ldexp(np.longdouble(1), np.maximum(np.frexp(abs(right))[1] - 1, limits.minexp))
    unit = np.where(abs(right) < end, unit, end / 2) * np.longdouble(limits.eps)
    errors = abs(np.clip(found.astype(np.longdouble), -end, end) - np.clip(right, -end, end)) / unit
    both = np.isnan(found) & np.isnan(right)
    return np.where(both, 0, np.where(np.isnan(errors), np.inf, errors))


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize(("kind", "bound"), [("float", 0.51), ("double", 0.95)])
def test_functions_are_within_one_ulp(library, kind, bound, name):
    x = arguments(kind, 1 if kind == "float" else 4, 50)[:: 20 if name == "erf" else 1]
    found, right = library(name, x), exact(name, x)
    errors = ulps(found, right)
    worst = errors.argmax()
    assert errors[worst] < bound, (x[worst], found[worst], right[worst])


@pytest.mark.parametrize(("kind", "bound"), [("float", 0.51), ("double", 0.95)])
def test_powers_are_within_one_ulp(library, kind, bound):
    random, limits = np.random.default_rng(2), np.finfo(TYPES[kind])
    x = abs(arguments(kind, 1 if kind == "float" else 4, 8))
    x = x[x > 0]
    with np.errstate(divide="ignore", over="ignore"):  # results are in all binades, and beyond
        near = np.log(float(limits.max)) / abs(np.log(x.astype(float)))
        y = (np.minimum(near, 1e300) * random.uniform(-1.2, 1.2, len(x))).astype(x.dtype)
    y[::3] = random.integers(-4, 5, len(y[::3]))
    errors = ulps(library("pow", x, y), exact("power", x, y))
    worst = np.nanargmax(errors)
    assert errors[worst] < bound, (x[worst], y[worst])


@pytest.mark.parametrize(("kind", "bound"), [("float", 0.51), ("double", 0.95)])
def test_angles_are_within_one_ulp(library, kind, bound):
    """Of sides of all sizes, and of such that differ little."""
    random = np.random.default_rng(4)
    x = arguments(kind, 1 if kind == "float" else 4, 50)
    with np.errstate(over="ignore"):
        slopes = np.exp(random.uniform(-4, 4, len(x))).astype(x.dtype)
        for y in (random.permutation(x), slopes * x, x):
            for sides in ((x, y), (y, x), (y, -x)):
                errors = ulps(library("atan2", *sides), exact("arctan2", *sides))
                worst = errors.argmax()
                assert errors[worst] < bound, [side[worst] for side in sides]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", [*SMOOTH, *OTHER])
def test_special_values(library, kind, name):
    x = np.array(SPECIAL, TYPES[kind])
    found = library(name, x)
    with np.errstate(all="ignore"):
        right = {"sign": torch.sign, "sigmoid": torch.sigmoid, "erf": torch.erf}.get(name)
        right = right(torch.tensor(x)).numpy() if right else getattr(np, name)(x)
    assert np.allclose(found, right, 1e-6, 0, equal_nan=True)
    assert np.array_equal(np.signbit(found[found == 0]), np.signbit(right[found == 0]))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", OF_TWO)
def test_special_values_of_two(library, kind, name):
    x, y = np.array([(a, b) for a in SPECIAL for b in SPECIAL], TYPES[kind]).T.copy()
    found, (tx, ty) = library(name, x, y), (torch.tensor(x), torch.tensor(y))
    with np.errstate(all="ignore"):
        right = {
            "pow": lambda: np.power(x, y),
            "atan2": lambda: np.arctan2(x, y),
            "min": lambda: torch.minimum(tx, ty).numpy(),
            "max": lambda: torch.maximum(tx, ty).numpy(),
        }[name]()
    assert np.allclose(found, right, 1e-6, 0, equal_nan=True)
    if name in ("pow", "atan2"):
        assert np.array_equal(np.signbit(found[found == 0]), np.signbit(right[found == 0]))


@pytest.mark.parametrize("kind", TYPES)
def test_roots_and_integers_are_exact(library, kind):
    x = np.concatenate([arguments(kind, 3, 20), np.arange(-20, 20).astype(TYPES[kind]) / 4])
    with np.errstate(invalid="ignore"):
        for name, right in (("sqrt", np.sqrt(x)), ("rint", np.rint(x)), ("abs", np.abs(x))):
            found = library(name, x)
            assert np.array_equal(found, right, equal_nan=True), name
            assert np.array_equal(np.signbit(found[found == 0]), np.signbit(right[found == 0]))


def check_same_bits(one: Library, other: Library, in_a_binade: int) -> None:
    """Compare all functions, neighbours in a vector being of very different size."""
    for kind, step in (("float", 1), ("double", 8)):
        x = np.concatenate([arguments(kind, step, in_a_binade), np.array(SPECIAL, TYPES[kind])])
        np.random.default_rng(3).shuffle(x)
        y = np.roll(x, 5)
        for name in (*SMOOTH, *OTHER, *OF_TWO):
            found = [library(name, x, y).view(f"u{x.itemsize}") for library in (one, other)]
            different = np.flatnonzero(found[0] != found[1])
            assert not len(different), (name, kind, x[different[:3]], y[different[:3]])


def test_one_lane_without_optimisation_has_the_same_bits(library):
    check_same_bits(library, Library(*FAST["scalar"]), 20)


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="flags of x86")
@pytest.mark.parametrize(
    "variant", [pytest.param(name, marks=weekly(place)) for place, name in enumerate(SLOW)]
)
def test_all_instruction_sets_have_the_same_bits(library, variant):
    check_same_bits(library, Library(*SLOW[variant]), 200)
