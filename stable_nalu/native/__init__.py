"""What C++ does several times faster than NumPy and torch, for work that is worth compiling it.

Drawing samples is half of what training a small module costs. `load` compiles the C++ beside this
file once, in two seconds, and keeps the library (`compiled_files`). Until then, and wherever
that fails or does not give NumPy's numbers, NumPy and torch do the work.

    draws.cpp        samples of NumPy's generator, and their targets
    products.cpp     products of matrices
    few_outputs.cpp  products with many inputs and two or three outputs
    cells.cpp        steps of LSTMs
    adam.cpp         steps of the optimizer
    operations.cpp   what compiled code calls through torch, by torch.h
"""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from stable_nalu.compiled_files import compiler, described, kept

SOURCES = sorted(Path(__file__).parent.glob("*.cpp"))
HEADERS = sorted(Path(__file__).parent.glob("*.h"))
FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-std=c++17", "-shared", "-fPIC")
CHECKED = (1, 311, 312, 313, 5000)
"""Lengths of the draws compared with NumPy's: around the length of the generator's state, too."""
TORCHS = (
    *("get_data_ptr", "get_dim", "get_sizes", "get_strides", "get_dtype", "empty_strided"),
    *("create_tensor_from_blob", "_reinterpret_tensor", "copy_", "delete_tensor_object"),
    *("call_dispatcher", "dtype_float32", "library_init_impl", "library_impl"),
)
"""Functions of torch's C interface that operations.cpp calls."""
LONGEST_SUM = 128
"""The most numbers that NumPy adds one after another; it adds longer sums in halves."""

_library: ctypes.CDLL | None = None


class Targets(ctypes.Structure):
    """An operation on the first operands, and where its results go, as in draws.cpp."""

    _fields_ = (
        ("operation", ctypes.c_int64),
        ("operands", ctypes.c_int64),
        ("t", ctypes.POINTER(ctypes.c_float)),
    )


class SampleBlock(ctypes.Structure):
    """Inputs x and targets of many runs and batches to draw; draws.cpp says what each field is.

    The fields are those of the structure of the same name there, in the same order.
    """

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("group_count", "batches", "samples", "inputs")),
        *((name, ctypes.c_int64) for name in ("steps", "operands", "kinds", "samples_adjoin")),
        *((name, ctypes.c_int64) for name in ("x_batch", "x_run", "t_batch", "t_run")),
        ("generators", ctypes.POINTER(ctypes.c_uint64)),
        ("first_run", ctypes.POINTER(ctypes.c_int64)),
        ("place", ctypes.POINTER(ctypes.c_int64)),
        ("intervals", ctypes.POINTER(ctypes.c_double)),
        ("slices", ctypes.POINTER(ctypes.c_int64)),
        ("scratch", ctypes.POINTER(ctypes.c_double)),
        ("x", ctypes.POINTER(ctypes.c_float)),
        ("targets", ctypes.POINTER(Targets)),
    )


_KINDS = {
    np.dtype(kind): kind
    for kind in (ctypes.c_uint64, ctypes.c_int64, ctypes.c_double, ctypes.c_float)
}


def pointer(array: np.ndarray) -> Any:
    """Return a typed pointer to an array's memory; a `SampleBlock` refuses one of another type."""
    return array.ctypes.data_as(ctypes.POINTER(_KINDS[array.dtype]))


def load() -> bool:
    """Draw in C++ from now on where that gives NumPy's numbers; return whether it does."""
    global _library
    _library = _checked_library()
    return _library is not None


def library() -> ctypes.CDLL | None:
    """Return the compiled functions, once `load` has found them to give NumPy's numbers."""
    return _library


def calls_torch() -> bool:
    """Return whether C++ calls torch, and torch the kernels of operations.cpp, from now on.

    Releases of torch without these functions do not.
    """
    return _library is not None and _knows_torch(_library) and _torch_knows(_library)


@cache
def _knows_torch(library: ctypes.CDLL) -> bool:
    functions = _functions_of_torch()
    return bool(functions) and bool(library.find_torch(functions, len(functions)))


@cache
def _torch_knows(library: ctypes.CDLL) -> bool:
    # Torch keeps the kernels of the first library, which are those of any other.
    if not _registered:
        _registered.append(bool(library.register_operations()))
    return _registered[0]


_registered: list[bool] = []


@cache
def _functions_of_torch() -> Any:
    import torch

    try:
        torchs = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
        found = [getattr(torchs, f"aoti_torch_{name}") for name in TORCHS]
    except (OSError, AttributeError):
        return ()
    addresses = (ctypes.cast(function, ctypes.c_void_p).value for function in found)
    return (ctypes.c_void_p * len(found))(*addresses)


def fill(generator: int, doubles: np.ndarray) -> bool:
    """Fill a contiguous float64 array with uniform doubles, or return False to leave it to NumPy.

    generator: the address of its state.
    """
    if _library is None:
        return False
    _library.draw_doubles(generator, doubles.ctypes.data, doubles.size)
    return True


@cache
def _checked_library() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL(str(_compiled()))
        _declare(library)
    except Exception:  # whatever keeps this from being compiled, NumPy draws the same numbers
        return None
    same = library.sample_block_size() == ctypes.sizeof(SampleBlock)
    return library if same and _draws_as_numpy(library) and _adds_as_numpy(library) else None


def _compiled() -> Path:
    return compiled(SOURCES, FLAGS)


def compiled(sources: Sequence[Path], flags: Sequence[str]) -> Path:
    """Return a library, compiled unless that was done for this processor and compiler before."""
    command = compiler(flags)
    code = [source.read_bytes() for source in (*sources, *HEADERS)]

    def make(path: Path) -> None:
        subprocess.run([*command, *sources, "-o", path], capture_output=True, check=True)

    return kept("native", [described(command), *code], make)


def _declare(library: ctypes.CDLL) -> None:
    """Declare the arguments of all functions; one that is missing raises an AttributeError."""
    address, number = ctypes.c_void_p, ctypes.c_int64
    library.draw_doubles.argtypes = [address, address, number]
    library.sum_inputs.argtypes = [address, *[number] * 4, address]
    library.draw_samples.argtypes = [ctypes.POINTER(SampleBlock)]
    library.turn_matrices.argtypes = [address, address, *[number] * 3]
    library.multiply_runs.argtypes = [address, address, *[number] * 5, address]
    library.multiply_runs_back.argtypes = library.multiply_runs.argtypes
    library.multiply_matrices.argtypes = [*[address, *[number] * 3] * 2, *[number] * 5, address]
    library.lstm_gates.argtypes = [*[number] * 3, address, *[number] * 2, *[address] * 6]
    library.lstm_slopes.argtypes = [*[number] * 3, *[address] * 7]
    library.lstm_changes.argtypes = [*[number] * 4, *[address] * 7]
    single = ctypes.c_float
    library.adam_steps.argtypes = [address, number, *[single] * 4, number]
    library.find_torch.argtypes = [address, number]
    library.find_torch.restype = library.register_operations.restype = number
    names = "draw_doubles", "sum_inputs", "draw_samples", "turn_matrices"
    products = "multiply_matrices", "multiply_runs", "multiply_runs_back"
    steps = "lstm_gates", "lstm_slopes", "lstm_changes", "adam_steps"
    for name in (*names, *products, *steps):
        getattr(library, name).restype = None
    for name in ("sample_block_size", "multiplies_faster"):
        getattr(library, name).restype = number


def _draws_as_numpy(library: ctypes.CDLL) -> bool:
    theirs, ours = (np.random.MT19937(0) for _ in range(2))
    for count in CHECKED:
        expected = np.random.Generator(theirs).random(count)
        found = np.empty(count)
        library.draw_doubles(ours.ctypes.state_address, found.ctypes.data, count)
        if not np.array_equal(expected, found) or _position(theirs) != _position(ours):
            return False
    return True


def _adds_as_numpy(library: ctypes.CDLL) -> bool:
    values = np.random.RandomState(0).random_sample((2, 40, LONGEST_SUM + 3))
    samples = values.shape[0] * values.shape[1]
    for length in range(1, LONGEST_SUM + 1):
        sums = np.empty(samples)
        ends = 2, 2 + length
        library.sum_inputs(values.ctypes.data, samples, values.shape[2], *ends, sums.ctypes.data)
        if not np.array_equal(sums, values[..., slice(*ends)].sum(axis=2).ravel()):
            return False
    return True


def _position(bits: np.random.MT19937) -> tuple[bytes, int]:
    state = bits.state["state"]
    return state["key"].tobytes(), int(state["pos"])
