"""Runs on a GPU, each in a warp: their numbers, iterations, evaluation; see warps.h.

Every number is that of a processor: the same operations in the same order, and none is contracted.
"""

import ctypes
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .compiler import run_compiler
from .emit import EmittedSource, named
from .kept import SETTINGS, CompileError, kept
from .lanes import EvaluationRows, Lanes, Schedule
from .recorded import Program
from .tiles import Layout, header, loaded
from .values import NotLoweredError
from .warps import GROUP, WarpEmitter, padded

FLAGS = ("-x", "cu", "-std=c++17", "-O3", "--fmad=false", "-w", "-shared", "-Xcompiler", "-fPIC")
SLICE = 5 * GROUP
"""Rows of an evaluation that a warp goes through."""
MOST_WARPS, FAST_BYTES, STRIDE = 4, 48 << 10, 33

_address, _number = ctypes.c_void_p, ctypes.c_int64


class WarpRuns(ctypes.Structure):
    """`Runs` of warps.h."""

    _fields_ = (
        *((name, _address) for name in ("s", "o", "p", "slow", "w", "z", "x", "t")),
        *((name, _address) for name in ("x_of", "t_of", "p_of")),
        *((name, _number) for name in ("w_row", "w_run", "z_row", "z_run")),
        *((name, _number) for name in ("x_row", "t_row", "p_row")),
        *((name, _number) for name in ("runs", "samples", "slice", "inputs", "outputs")),
        *((name, _number) for name in ("s_size", "q_size", "o_size")),
        *((name, _number) for name in ("sums", "apart", "warps")),
    )


def device() -> torch.device:
    """Return where tensors lie."""
    return torch.device("cuda")


def fast_bytes() -> int:
    """Return how much fast memory a warp can have."""
    found = torch.cuda.get_device_properties(device())
    return getattr(found, "shared_memory_per_block_optin", 99 << 10)


def library(text: str) -> ctypes.CDLL:
    """Return a library, compiled for this GPU unless that was done before."""
    return _library(text, "sm_{}{}".format(*torch.cuda.get_device_capability(device())))


@cache
def _library(text: str, architecture: str) -> ctypes.CDLL:
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"

    def make(path: Path) -> None:
        words = [nvcc, *FLAGS, f"-arch={architecture}", "-", "-o", str(path)]
        run_compiler(words, "the generated CUDA does not compile", text.encode())

    version = run_compiler([nvcc, "--version"], "no CUDA compiler works").stdout
    parts = [version, " ".join((*FLAGS, architecture)).encode(), text.encode()]
    return loaded(kept("libraries", parts, make))


def source(text: str, *headers: str, double: bool) -> str:
    """Return a whole file for the GPU's compiler."""
    kinds = "#define DOUBLE\n" if double else ""
    return kinds + "\n".join([header("one_lane.h"), *map(header, headers), text])


@dataclass(frozen=True)
class WarpProgram:
    """A program for warps. sums: over samples, of each part."""

    library: ctypes.CDLL
    sources: Mapping[str, EmittedSource]
    sums: Mapping[str, int]


@cache
def warp_program(program: Program) -> WarpProgram | str:
    """Return a program for warps, or why there is none."""
    try:
        return _made(program)
    except (NotLoweredError, CompileError) as error:
        return str(error)


def _made(program: Program) -> WarpProgram:
    emitters = {
        name: WarpEmitter(program.graph, stores, program.memory, name, program.batch)
        for name, stores in program.stores.items()
    }
    sources = {name: emitter.source() for name, emitter in emitters.items()}
    text = "\n\n".join(part.text for part in sources.values())
    text = named(text, program.places) + "\n\n" + "\n".join(f"LAUNCHED({n})" for n in sources)
    double = program.dtype == torch.float64
    whole = source(text, "functions.h", "warps.h", double=double)
    sums = {name: emitter.sums for name, emitter in emitters.items()}
    return WarpProgram(library(whole), sources, sums)


FEW = 32
"""Runs from which on a GPU is used: a few are done sooner by a processor."""


def not_for_gpu(programs: Sequence[Program]) -> str | None:
    """Return why programs cannot be trained on a GPU, if they cannot."""
    return next((why for why in map(warp_program, programs) if isinstance(why, str)), None)


def checked(code: int) -> None:
    """Refuse the code of a launch that failed."""
    if code:
        said = f"the GPU refused to train (CUDA error {code}); {SETTINGS.without_gpu}"
        raise SETTINGS.refusal(said)


def singles(runs: int) -> Layout:
    """Return a layout of vectors of one run each."""
    place = np.stack([np.arange(runs), np.zeros(runs, np.int64)], 1)
    return Layout(np.arange(runs)[:, None], [], place)


def in_groups(values: np.ndarray) -> np.ndarray:
    """Lay samples `(..., samples, numbers)` as the threads of warps read them."""
    *rows, samples, numbers = values.shape
    held = np.zeros((*rows, padded(samples), numbers), values.dtype)
    held[..., :samples, :] = values
    grouped = held.reshape(*rows, -1, GROUP, numbers)
    return np.ascontiguousarray(np.swapaxes(grouped, -1, -2)).reshape(*rows, -1)


def on_device(values: np.ndarray) -> torch.Tensor:
    """Return a copy on the device."""
    return torch.from_numpy(np.ascontiguousarray(values)).to(device())


@dataclass(frozen=True)
class Given:
    """Samples on the device: rows of iterations, and where those of each run begin in a row."""

    x: torch.Tensor
    t: torch.Tensor
    x_of: torch.Tensor
    t_of: torch.Tensor
    _: KW_ONLY
    x_row: int = 0
    t_row: int = 0


@dataclass(frozen=True)
class DeviceMembers:
    """What runs of a program need to iterate."""

    lanes: "DeviceLanes"
    part: str
    w: torch.Tensor
    w_row: int
    w_run: int
    z: torch.Tensor | None

    def told(self, first: int) -> dict[str, int]:
        """Return where schedules and noise lie, from an iteration on."""
        found = {"w_row": self.w_row, "w_run": self.w_run, "w": self.w[first:].data_ptr()}
        if self.z is not None:
            runs, size = self.z.shape[1:]
            found |= {"z_row": runs * size, "z_run": size, "z": self.z[first:].data_ptr()}
        return found


class DeviceLanes(Lanes):
    """Runs of one program, whose numbers lie on a GPU."""

    def __init__(self, program: Program, layout: Layout, shape: tuple[int, int]):
        self.program = program
        self.layout = layout
        self.shape = self.batch, self.inputs = shape
        self.runs = self.count = len(layout.place)
        self.lanes = 1
        self.dtype = program.numpy_type
        warps = warp_program(program)
        assert isinstance(warps, WarpProgram)
        self.warps = warps
        sizes = program.memory.sizes
        self._host = {m: self._memory(sizes[m]) for m in "so"}
        self._there = {m: on_device(self._host[m]) for m in "so"}
        self._ahead = False
        self._p = torch.zeros(0, dtype=program.dtype, device=device())
        self._p_size = sizes.get("p", 0) // self.batch * padded(self.batch)
        self._rows: dict[Any, tuple[Any, Any]] = {}
        self._squares: list[torch.Tensor] | None = None
        self._given: tuple[Any, Any] = None, None
        self._sets: tuple[Any, Any] = None, None
        self._hold: list[Any] = []

    @property
    def s(self) -> np.ndarray:
        """Return what lasts, as it stands."""
        self._download()
        return self._host["s"]

    @property
    def o(self) -> np.ndarray:
        """Return what the last iteration told."""
        self._download()
        return self._host["o"]

    def _download(self) -> None:
        if self._ahead:
            for memory, values in self._host.items():
                values[...] = self._there[memory].cpu().numpy()
            self._ahead = False

    def put(self, name: str, values: torch.Tensor | np.ndarray) -> None:
        """Put a tensor `(runs, ...)` into memory."""
        super().put(name, values)
        self._upload()

    def _upload(self) -> None:
        self._there["s"].copy_(torch.from_numpy(self._host["s"]))

    def members(
        self, schedule: Schedule, noise: np.ndarray | None, iterations: int, part: str
    ) -> DeviceMembers:
        """Return what is needed to iterate."""
        w, row, step = self._scheduled(schedule, iterations)
        z = None if noise is None else on_device(noise.astype(self.dtype))
        return DeviceMembers(self, part, on_device(w), row, step // self.dtype.itemsize, z)

    def iterate(
        self, members: DeviceMembers, x: np.ndarray, t: np.ndarray, iterations: int
    ) -> None:
        """Train on given samples; see Lanes.iterate."""
        if len(x) > 1 or self._given[0] is not x:
            there = [on_device(in_groups(values.astype(self.dtype))) for values in (x, t)]
            of = [torch.arange(self.runs, device=device()) * v.shape[-1] for v in there]
            rows = [v[0].numel() if len(x) > 1 else 0 for v in there]
            self._given = x, Given(*there, *of, x_row=rows[0], t_row=rows[1])
        self.train(members, self._given[1], 0, iterations, None)
        synchronize()

    def train(
        self, members: DeviceMembers, given: Given, first: int, iterations: int, stream: Any
    ) -> None:
        """Train on samples, from a row of schedules on."""
        self._ahead = True
        p_of, p_row = None, 0
        if "prepare" in self.warps.sources:
            p_of, p_row = self._prepared(given, iterations, stream)
        runs = self._runs(members.part, given, **members.told(first))
        if p_of is not None:
            runs.p_of, runs.p_row = p_of.data_ptr(), p_row
        self._launch(members.part, runs, iterations, stream)

    def _runs(self, part: str, given: Given, **more: Any) -> WarpRuns:
        sizes, item = self.program.memory.sizes, self.dtype.itemsize
        scratch, sums = self.warps.sources[part].scratch, self.warps.sums[part]
        bytes_of_run = (max(1, sizes["s"]) + scratch + sums * STRIDE) * item
        found = WarpRuns(
            s=self._there["s"].data_ptr(),
            o=self._there["o"].data_ptr(),
            p=self._p.data_ptr(),
            **{name: getattr(given, name).data_ptr() for name in ("x", "t", "x_of", "t_of")},
            **{name: getattr(given, name) for name in ("x_row", "t_row")},
            runs=self.runs,
            samples=self.batch,
            slice=self.batch,
            inputs=self.inputs,
            outputs=1,
            s_size=max(1, sizes["s"]),
            q_size=scratch,
            o_size=max(1, sizes["o"]),
            sums=sums,
            warps=max(1, min(MOST_WARPS, FAST_BYTES // bytes_of_run)),
        )
        for name, value in more.items():
            setattr(found, name, value)
        return found

    def _launch(self, part: str, runs: WarpRuns, iterations: int, stream: Any) -> None:
        size = runs.s_size + runs.q_size + runs.sums * STRIDE
        if size * self.dtype.itemsize > fast_bytes():
            parts = iterations if runs.apart else -(-runs.samples // runs.slice)
            count = size * runs.runs * parts
            slow = torch.empty(count, dtype=self.program.dtype, device=device())
            runs.slow, runs.warps = slow.data_ptr(), 1
            self._hold = [slow]
        launch = getattr(self.warps.library, f"{part}_launch")
        checked(launch(ctypes.byref(runs), _number(iterations), _address(stream)))

    def _prepared(self, given: Given, iterations: int, stream: Any) -> tuple[torch.Tensor, int]:
        """Compute what follows from inputs alone, once for each set of samples."""
        if self._sets[0] is not given.x_of:
            own, number = torch.unique(given.x_of, return_inverse=True)
            places = torch.arange(len(own), device=device()) * self._p_size
            self._sets = given.x_of, (own, places, number * self._p_size)
            synchronize()
        own, places, p_of = self._sets[1]
        p_row = len(own) * self._p_size
        if self._p.numel() < p_row * iterations:
            self._p = torch.zeros(p_row * iterations, dtype=self.program.dtype, device=device())
        runs = self._runs("prepare", given, runs=len(own), s_size=0, o_size=0, apart=1)
        runs.x_of, runs.t_of = own.data_ptr(), None
        runs.p_of, runs.p_row = places.data_ptr(), p_row
        self._launch("prepare", runs, iterations, stream)
        return p_of, p_row

    def observe(self, x: np.ndarray | None, schedule: Schedule) -> None:
        """Let modules tell of x, and leave all as it is."""
        super().observe(x, schedule)
        self._upload()

    def _errors(
        self, rows: EvaluationRows, noise: np.ndarray | None, schedule: Schedule, *, roots: bool
    ) -> np.ndarray:
        (x, t, *_), (_, width) = rows, self.program.places["squares"].shape
        count = x.shape[1]
        there, of = self._rows_of(*rows)
        if self._squares is None or self._squares[0].shape[1] < count * width:
            shapes = ((count * width,), self.program.dtype), ((2,), torch.float64)
            self._squares = [
                torch.zeros(self.runs, *shape, dtype=kind, device=device())
                for shape, kind in shapes
            ]
        squares, means = self._squares
        members = self.members(schedule, noise, 1, "eval")
        runs = self._runs("eval", Given(*there, *of), **members.told(0))
        runs.o, runs.o_size, runs.samples = squares.data_ptr(), count * width, count
        runs.slice = count if self.warps.sums["eval"] else SLICE
        runs.outputs = t.shape[2]
        self._launch("eval", runs, 1, None)
        numbers = map(_number, (self.runs, count * width, count * width, int(roots)))
        sums = draws_library(double=self.dtype == np.float64).sums
        where = _address(squares.data_ptr()), *numbers, _address(means.data_ptr())
        checked(sums(*where, None))
        return means.cpu().numpy().T.copy()

    def _rows_of(self, *arrays: np.ndarray) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Return rows on the device, and where those of each run begin; they are kept there."""
        key = arrays[0].ctypes.data, arrays[1].ctypes.data
        if key not in self._rows:
            there = [on_device(in_groups(values)) for values in arrays[:2]]
            sizes = [values.shape[-1] for values in there]
            of = [on_device(k.astype(np.int64) * n) for k, n in zip(arrays[2:], sizes, strict=True)]
            self._rows[key] = arrays, (there, of)
        return self._rows[key][1]


@cache
def draws_library(*, double: bool) -> ctypes.CDLL:
    """Return the library that draws samples and adds up errors."""
    return library(source(header("draws.h"), "samples.h", double=double))


def synchronize() -> None:
    """Wait for all that the GPU was asked for."""
    if device().type == "cuda":
        torch.cuda.synchronize()
