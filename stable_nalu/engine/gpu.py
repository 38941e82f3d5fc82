"""Runs on a GPU, each in a warp: their numbers, iterations, evaluation, samples; see warps.h.

Every number is that of a processor: the same operations in the same order, and none is contracted.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import torch

from stable_nalu.dataset.distribution import STATE_WORDS
from stable_nalu.dataset.stream import SampleStream, numpy_type
from stable_nalu.machine import kept

from .emit import SAMPLES, EmittedSource, named
from .lanes import Lanes, Schedule
from .program import Program
from .tiles import OPERATIONS, Layout, NoCompilerError, _next_words, header
from .values import NotLoweredError
from .warps import GROUP, WarpEmitter, padded

FLAGS = ("-x", "cu", "-std=c++17", "-O3", "--fmad=false", "-w", "-shared", "-Xcompiler", "-fPIC")
SAMPLE_BYTES = 512 << 20
"""Bytes of the samples that lie on the device for iterations to come."""
DRAWN_AT_ONCE = 13 << 10
"""Bytes of the doubles that are drawn before samples are made of them: what runs leave free."""
SLICE = 5 * GROUP
"""Rows of an evaluation that a warp goes through."""
MOST_WARPS, FAST_BYTES, STRIDE = 4, 48 << 10, 33

_address, _number = ctypes.c_void_p, ctypes.c_int64


class Runs(ctypes.Structure):
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


class Draws(ctypes.Structure):
    """`Draws` of draws.h."""

    _fields_ = (
        *((name, _address) for name in ("words", "low", "width", "of_generator", "of_set")),
        *((name, _address) for name in ("slices", "operations", "operands", "x", "t")),
        *((name, _number) for name in ("generators", "sets", "targets", "position", "batch")),
        *((name, _number) for name in ("inputs", "portion", "most_operands")),
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

    def make(path) -> None:
        words = [nvcc, *FLAGS, f"-arch={architecture}", "-", "-o", str(path)]
        subprocess.run(words, input=text.encode(), capture_output=True, check=True)

    try:
        version = subprocess.run([nvcc, "--version"], capture_output=True, check=True).stdout
        parts = [version, " ".join((*FLAGS, architecture)).encode(), text.encode()]
        return ctypes.CDLL(str(kept("libraries", parts, make)))
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").splitlines() if error.stderr else []
        raise NoCompilerError(said[0] if said else f"exit code {error.returncode}") from None
    except OSError as error:
        raise NoCompilerError(error.strerror or str(error)) from None


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


PROGRAMS: dict[int, tuple[Program, WarpProgram | str]] = {}


def warp_program(program: Program) -> WarpProgram:
    """Return a program for warps, or raise NotLoweredError."""
    key = id(program)
    if key not in PROGRAMS:
        try:
            PROGRAMS[key] = program, _made(program)
        except (NotLoweredError, NoCompilerError) as error:
            PROGRAMS[key] = program, str(error)
    found = PROGRAMS[key][1]
    if isinstance(found, str):
        raise NotLoweredError(found)
    return found


def _made(program: Program) -> WarpProgram:
    if program.sources.get("eval") is not None and program.sources["eval"].passes > 1:
        raise NotLoweredError("an evaluation that goes through rows several times")
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


def is_there(config: Any) -> bool:
    """Return whether there is a GPU that a run may use."""
    return not config.no_cuda and torch.cuda.is_available()


def not_for_gpu(programs: Sequence[Program]) -> str | None:
    """Return why programs cannot be trained on a GPU, if they cannot."""
    try:
        for program in programs:
            warp_program(program)
    except NotLoweredError as error:
        return str(error)
    return None


def checked(code: int) -> None:
    """Refuse the code of a launch that failed."""
    if code:
        raise RuntimeError(f"the GPU refused to train (CUDA error {code})")


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
    x_row: int
    t_row: int


@dataclass(frozen=True)
class DeviceMembers:
    """What runs of a program need to iterate."""

    lanes: DeviceLanes
    part: str
    w: torch.Tensor
    w_row: int
    w_run: int
    z: torch.Tensor | None


class DeviceLanes(Lanes):
    """Runs of one program, whose numbers lie on a GPU."""

    def __init__(self, program: Program, layout: Layout, shape: tuple[int, int]):
        self.program = program
        self.layout = layout
        self.batch, self.inputs = shape
        self.runs = self.count = len(layout.place)
        self.lanes = 1
        self.dtype = numpy_type(program.dtype)
        self.warps = warp_program(program)
        sizes = program.memory.sizes
        self._host = {m: self._memory(sizes[m]) for m in "so"}
        self._there = {m: on_device(self._host[m]) for m in "so"}
        self._ahead = False
        self._p = torch.zeros(0, dtype=program.dtype, device=device())
        self._p_size = sizes.get("p", 0) // self.batch * padded(self.batch)
        self._rows: dict[Any, tuple[Any, Any]] = {}
        self._errors: list[torch.Tensor] | None = None
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
            self._given = x, Given(*there, *of, *rows)
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
        w = members.w[first:]
        z_run = 0 if members.z is None else members.z[0, 0].numel()
        z = 0 if members.z is None else members.z[first:].data_ptr()
        runs = self._runs(members.part, given, p_of, p_row, w=w.data_ptr(), z=z)
        runs.w_row, runs.w_run = members.w_row, members.w_run
        runs.z_row, runs.z_run = z_run * self.runs, z_run
        self._launch(members.part, runs, iterations, stream)

    def _runs(self, part: str, given: Given, p_of, p_row: int, **more: Any) -> Runs:
        sizes, item = self.program.memory.sizes, self.dtype.itemsize
        scratch, sums = self.warps.sources[part].scratch, self.warps.sums[part]
        bytes_of_run = (max(1, sizes["s"]) + scratch + sums * STRIDE) * item
        found = Runs(
            s=self._there["s"].data_ptr(),
            o=self._there["o"].data_ptr(),
            p=self._p.data_ptr(),
            p_of=None if p_of is None else p_of.data_ptr(),
            p_row=p_row,
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

    def _launch(self, part: str, runs: Runs, iterations: int, stream: Any) -> None:
        size = runs.s_size + runs.q_size + runs.sums * STRIDE
        if size * self.dtype.itemsize > fast_bytes():
            count = size * runs.runs * (iterations if runs.apart else 1)
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
        runs = self._runs("prepare", given, places, p_row, w=0, z=0, runs=len(own), s_size=0)
        runs.o_size, runs.x_of, runs.t_of, runs.apart = 0, own.data_ptr(), None, 1
        self._launch("prepare", runs, iterations, stream)
        return p_of, p_row

    def observe(self, x: np.ndarray | None, schedule: Schedule) -> None:
        """Let modules tell of x, and leave all as it is."""
        before = self.s.copy()
        shape = (self.runs, self.batch, self.inputs)
        x = np.ones(shape) if x is None else x
        self.iterate(
            self.members(schedule, self._middle_noise(), 1, "log"),
            x[None],
            np.zeros((1, *x.shape[:2], 1)),
            1,
        )
        self.s[...] = before
        self._upload()

    def evaluate(
        self,
        x: np.ndarray,
        t: np.ndarray,
        x_of: np.ndarray,
        t_of: np.ndarray,
        noise: np.ndarray | None,
        schedule: Schedule,
        *,
        roots: bool,
    ) -> np.ndarray:
        """Return errors on rows of x and t; see Lanes.evaluate."""
        rows, (_, width) = x.shape[1], self.program.places["squares"].shape
        if rows % SAMPLES:
            raise ValueError(f"{rows} rows: the engine evaluates a multiple of {SAMPLES}")
        there, of = self._rows_of(x, t, x_of, t_of)
        if self._errors is None:
            shapes = ((rows * width,), self.program.dtype), ((2,), torch.float64)
            self._errors = [
                torch.zeros(self.runs, *shape, dtype=kind, device=device())
                for shape, kind in shapes
            ]
        squares, means = self._errors
        members = self.members(schedule, noise, 1, "eval")
        z = 0 if members.z is None else members.z.data_ptr()
        runs = self._runs("eval", Given(*there, *of, 0, 0), None, 0, w=members.w.data_ptr(), z=z)
        runs.w_run, runs.z_run = members.w_run, 0 if members.z is None else members.z[0, 0].numel()
        runs.o, runs.o_size, runs.samples = squares.data_ptr(), rows * width, rows
        runs.slice = rows if self.warps.sums["eval"] else SLICE
        runs.outputs = t.shape[2]
        self._launch("eval", runs, 1, None)
        numbers = map(_number, (self.runs, rows * width, rows * width, int(roots)))
        sums = draws_library(double=self.dtype == np.float64).sums
        where = _address(squares.data_ptr()), *numbers, _address(means.data_ptr())
        checked(sums(*where, None))
        return means.cpu().numpy()[:, : 1 + roots].T.copy()

    def _rows_of(self, *arrays: np.ndarray) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Return rows on the device, and where those of each run begin; they are kept there."""
        key = arrays[0].ctypes.data, arrays[1].ctypes.data
        if key not in self._rows:
            there = [on_device(in_groups(values)) for values in arrays[:2]]
            sizes = [values.shape[-1] for values in there]
            of = [on_device(np.int64(k) * n) for k, n in zip(arrays[2:], sizes, strict=True)]
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


class Streams:
    """Queues of the GPU: one that draws, one for each program."""

    def __init__(self):
        self._streams: dict[Any, Any] = {}

    def of(self, key: Any) -> Any:
        """Return the queue of a key, None where there are none."""
        if device().type != "cuda":
            return None
        if key not in self._streams:
            self._streams[key] = torch.cuda.Stream()
        return self._streams[key]

    @contextmanager
    def after(self, key: Any, events: list[Any]) -> Iterator[Any]:
        """Let a queue wait for events, hand on its address, and add an event for its end."""
        stream = self.of(key)
        if stream is None:
            yield None
            return
        for event in events:
            stream.wait_event(event)
        with torch.cuda.stream(stream):
            yield stream.cuda_stream


@dataclass
class _Words:
    """Generators of all sets of samples, after how many iterations."""

    words: torch.Tensor
    position: int = 0
    done: int = 0


@dataclass
class _Buffers:
    """Samples of some iterations to come, and the events after which they are not needed."""

    x: torch.Tensor
    t: torch.Tensor
    free: list[Any] = field(default_factory=list)


def _kind(stream: SampleStream) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return what targets are made by."""
    operands = tuple((int(a), int(b)) for a, b in stream.targets.operands)
    return stream.targets.operation.name, operands


class DeviceTiles:
    """Samples of runs that are drawn on the GPU; the same interface as `Tiles`."""

    def __init__(
        self,
        streams: Sequence[Sequence[SampleStream]],
        work: Sequence[int],
        shape: tuple[int, int],
        dtype: np.dtype,
    ):
        self._streams = streams
        self.layouts = [singles(len(own)) for own in streams]
        self.batch, self.inputs = shape
        self._dtype = dtype
        self._library = draws_library(double=dtype == np.float64)
        self._x_size, self._t_size = padded(self.batch) * self.inputs, padded(self.batch)
        every = [(p, stream) for p, own in enumerate(streams) for stream in own]
        # A generator has sets of samples, and each of these sets of targets.
        trees: dict[Any, dict[Any, dict[Any, None]]] = {}
        some: dict[Any, SampleStream] = {}
        keys = []
        for _, stream in every:
            place, kind = stream.random.position(), _kind(stream)
            some.setdefault((place, stream.sampler.key), stream)
            trees.setdefault(place, {}).setdefault(stream.sampler.key, {})[kind] = None
            keys.append((place, stream.sampler.key, kind))
        sets = [(place, key) for place, own in trees.items() for key in own]
        targets = [(*pair, kind) for pair in sets for kind in trees[pair[0]][pair[1]]]
        numbers = {pair: k for k, pair in enumerate(sets)}
        of_targets = {one: k for k, one in enumerate(targets)}
        places = {place: k for k, place in enumerate(trees)}
        ends = np.cumsum([len(own) for own in streams])[:-1]
        self._place_of = np.split(np.array([places[key[0]] for key in keys]), ends)
        set_of = np.split(np.array([numbers[key[:2]] for key in keys]), ends)
        target_of = np.split(np.array([of_targets[key] for key in keys]), ends)
        self._x_of = [on_device(own * self._x_size) for own in set_of]
        self._t_of = [on_device(own * self._t_size) for own in target_of]
        intervals = [some[pair].sampler.range.intervals[0] for pair in sets]
        most = max(len(kind[1]) for *_, kind in targets)
        slices = np.zeros((len(targets), most, 2), np.int32)
        for own, (*_, kind) in zip(slices, targets, strict=True):
            own[: len(kind[1])] = kind[1]
        held = {
            "low": np.array([float(a) for a, _ in intervals]),
            "width": np.array([float(b) - float(a) for a, b in intervals]),
            "of_generator": np.cumsum([0, *(len(own) for own in trees.values())], dtype=np.int32),
            "of_set": np.cumsum([0, *(len(trees[a][b]) for a, b in sets)], dtype=np.int32),
            "slices": slices,
            "operations": np.array([OPERATIONS.index(k[0]) for *_, k in targets], np.int32),
            "operands": np.array([len(k[1]) for *_, k in targets], np.int32),
        }
        self._held = {name: on_device(values) for name, values in held.items()}
        words = np.empty((len(trees), STATE_WORDS), np.uint32)
        for place, key in sets:
            state = some[place, key].random.state
            words[places[place]] = _next_words(state[:-1], int(state[-1]))
        first = _Words(on_device(words.view(np.int32)))
        self._at = dict.fromkeys(range(len(streams)), first)
        self._counts = len(sets), len(targets), most
        self._queues = Streams()
        self._buffers: list[_Buffers] = []
        self._portion = max(1, min(self.batch, DRAWN_AT_ONCE // (8 * (self.inputs | 1))))

    @property
    def _at_once(self) -> int:
        sets, targets, _ = self._counts
        size = (sets * self._x_size + targets * self._t_size) * self._dtype.itemsize
        return max(1, SAMPLE_BYTES // size)

    def iterate(
        self, members: Mapping[int, DeviceMembers], iterations: int, *, whole: bool
    ) -> None:
        """Train the runs of some programs, which are given by their numbers."""
        states = {id(self._at[program]): self._at[program] for program in members}
        for state in states.values():
            own = {p: m for p, m in members.items() if self._at[p] is state}
            if any(at is state and p not in own for p, at in self._at.items()):
                state = _Words(state.words.clone(), state.position, state.done)
                self._at |= dict.fromkeys(own, state)
            self._iterate(own, state, iterations)
        for program, state in self._at.items():  # Those that stand equally far go on together.
            others = (at for at in self._at.values() if at.done == state.done)
            self._at[program] = next(others)
        synchronize()

    def _iterate(
        self, members: Mapping[int, DeviceMembers], state: _Words, iterations: int
    ) -> None:
        sets, targets, _ = self._counts
        at_once = min(self._at_once, iterations)
        if not self._buffers or len(self._buffers[0].x) < at_once:
            kind = torch.float64 if self._dtype == np.float64 else torch.float32
            shapes = (at_once, sets, self._x_size), (at_once, targets, self._t_size)
            self._buffers = [
                _Buffers(*(torch.zeros(s, dtype=kind, device=device()) for s in shapes))
                for _ in range(2)
            ]
        synchronize()
        for k, first in enumerate(range(0, iterations, at_once)):
            buffers = self._buffers[k % 2]
            some = min(at_once, iterations - first)
            with self._queues.after("draw", buffers.free) as queue:
                self._draw(state, buffers, some, queue)
                drawn = [torch.cuda.Event()] if queue is not None else []
                for event in drawn:
                    event.record()
            buffers.free = []
            for program, own in members.items():
                with self._queues.after(program, drawn) as queue:
                    x_of, t_of = self._x_of[program], self._t_of[program]
                    rows = sets * self._x_size, targets * self._t_size
                    given = Given(buffers.x, buffers.t, x_of, t_of, *rows)
                    own.lanes.train(own, given, first, some, queue)
                    if queue is not None:
                        buffers.free.append(torch.cuda.Event())
                        buffers.free[-1].record()
        state.done += iterations

    def _draw(self, state: _Words, buffers: _Buffers, iterations: int, queue: Any) -> None:
        sets, targets, most = self._counts
        draws = Draws(
            words=state.words.data_ptr(),
            **{name: values.data_ptr() for name, values in self._held.items()},
            x=buffers.x.data_ptr(),
            t=buffers.t.data_ptr(),
            generators=len(state.words),
            sets=sets,
            targets=targets,
            position=state.position,
            batch=self.batch,
            inputs=self.inputs,
            portion=self._portion,
            most_operands=most,
        )
        checked(self._library.draw(ctypes.byref(draws), _number(iterations), _address(queue)))
        taken = 2 * self.batch * self.inputs * iterations
        state.position = (state.position + taken) % STATE_WORDS

    def store(self, program: int) -> None:
        """Put the streams of all runs of a program where its iterations have left them."""
        state = self._at[program]
        words = state.words.cpu().numpy().view(np.uint32)
        for number, stream in zip(self._place_of[program], self._streams[program], strict=True):
            held = stream.random.state
            held[:-1], held[-1] = np.roll(words[number], -state.position), 0
