"""Runs on a GPU, each in a warp: their numbers, iterations, evaluation; see warps.h.

Every number is that of a processor: the same operations in the same order, and none is contracted.
"""

import ctypes
import math
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .emit import GATHERED, SAMPLES, EmittedSource, Emitter, Place, named
from .graph import BATCH, Gather, Graph, Index, Loop, Node, Statement, Store
from .kept import SETTINGS, CompileError, kept, run_compiler
from .recorded import Program
from .tiles import (
    ADDRESS,
    NUMBER,
    OPERATIONS,
    STATE_WORDS,
    EvaluationRows,
    Lanes,
    Layout,
    SampleSource,
    Schedule,
    header,
    loaded,
    next_words,
    structure,
)
from .values import NotLoweredError

GROUP = 32 * SAMPLES
"""Samples that the threads of a warp have at once."""


def padded(samples: int) -> int:
    """Return how many samples there is memory for."""
    return -(-samples // GROUP) * GROUP


class WarpEmitter(Emitter):
    """Writes functions of which all threads of a warp do their part.

    Each thread has some samples; what it adds to sums lies in `part` until all are added in the
    order in which a processor adds them. Of loops over other axes each thread has every 32nd place;
    what they sum is added by all threads once they are done. All else is computed by all threads.
    """

    most_on_stack = math.inf
    unrolled = "SOME_UNROLLED "
    _terms: Mapping[Node, int] = {}

    def source(self) -> EmittedSource:
        if self.batch % SAMPLES:
            raise NotLoweredError(f"a batch that is no multiple of {SAMPLES}")
        return super().source()

    def _is_long(self, body: Sequence) -> bool:
        return False

    @property
    def sums(self) -> int:
        """Return how many sums over samples there are: they come first in memory."""
        own = [n for n in self.lasting if n.op == "reduce" and n.axis == BATCH]
        return sum(math.prod(self.graph.extents[a] for a in self.plan.kept[n][0]) for n in own)

    def _remember(self) -> None:
        for node, (axes, lasting) in self.plan.kept.items():
            home = self.plan.home[node]
            whole = len(home) > 1 and home[1].axis in axes and home[1].axis != BATCH
            if not lasting and whole:
                self.plan.kept[node] = axes, True
            if node.op == "reduce" and node.axis != BATCH and axes and len(home) == 1:
                raise NotLoweredError("sums side by side over what is no sample")
        kept = self.plan.kept.items()
        kinds = [{n: k for n, k in kept if k[1] and self._is_sum(n, kind)} for kind in GATHERED]
        rest = {n: k for n, k in kept if k[1] and not any(n in own for own in kinds)}
        for own in (*kinds, rest):
            self.lasting |= {node: self._reserved(axes) for node, (axes, _) in own.items()}

    def _is_sum(self, node: Node, kind: str) -> bool:
        return node.op == "reduce" and node.axis == BATCH and node.name == kind

    def _begin_sums(self) -> None:
        for kind in GATHERED:
            start = f"q[k] = V({self._literal(Graph.IDENTITY[kind])});"
            for first, end in self._ranges(kind, self.lasting):
                self._line(f"for (int k = {first} + lane; k < {end}; k += WARP) {start}")

    def _ranges(self, kind: str, among: Collection[Node]) -> list[tuple[int, int]]:
        """Return from where to where sums of a kind lie, among some."""
        found: list[tuple[int, int]] = []
        for node in (n for n in self.lasting if n in among and self._is_sum(n, kind)):
            count = math.prod(self.graph.extents[a] for a in self.plan.kept[node][0])
            first = self.lasting[node]
            if found and found[-1][1] == first:
                first = found.pop()[0]
            found.append((first, self.lasting[node] + count))
        return found

    def _batch(self, loop: Loop) -> None:
        self.samples = SAMPLES
        self._line("for (int round = 0; round < count; round += WARP * 4) {")
        self._line("const int b = round + 4 * lane;")
        self._line("if (b < count) {")
        self._inside(loop)
        self._line("}")
        self.samples = 0
        own = [s.reduce for s in loop.statements if isinstance(s, Gather)]
        if own:
            self._line("SYNC();")
        for kind, form in GATHERED.items():
            for first, end in self._ranges(kind, own):
                self._line(f"FOLD({first}, {end}, {form.format('all', 'one')});")
        self._line("SYNC();")
        self._line("}")

    def _add_samples(self, reduce: Node) -> None:
        axes = self.plan.kept[reduce][0]
        shape = [self.graph.extents[a] for a in axes]
        at = self._offset(str(self.lasting[reduce]), shape, axes)
        self._line(f"PART({at}) = {self._of_samples(reduce)};")

    def _loop(self, loop: Loop) -> None:
        if loop.axis == BATCH or len(self.path) > 1:
            super()._loop(loop)
            return
        extent = self.graph.extents[loop.axis]
        self._terms = {reduce: self._reserved([loop.axis]) for reduce in loop.sums}
        self._line(f"for (int {loop.axis} = lane; {loop.axis} < {extent}; {loop.axis} += WARP) {{")
        self._inside(loop)
        self._line("}")
        self._line("SYNC();")
        for reduce in loop.sums:
            self._start(reduce)
        if loop.sums:
            self._line(f"for (int k = 0; k < {extent}; k++) {{")
            for reduce, first in self._terms.items():
                name = self._variable(reduce)
                term = GATHERED[reduce.name].format(name, f"q[{first} + k]")
                self._line(f"{name} = {term};")
            self._line("}")
        for reduce in loop.sums:
            if reduce in self.plan.kept:
                self._line(f"{self._memory_of(reduce)} = {self._variable(reduce)};")

    def _vector(self, node: Node) -> str:
        if node.op == "reduce" and node.axis == BATCH:
            return self._array(node)
        return super()._vector(node).replace("OF_SAMPLE", "READ_SAMPLE")

    def _statement(self, statement: Statement) -> None:
        if isinstance(statement, Gather) and statement.reduce in self._terms:
            term = f"q[{self._terms[statement.reduce]} + {statement.reduce.axis}]"
            self._line(f"{term} = {self._vector(statement.node)};")
            return
        if isinstance(statement, Store) and len(self.path) == 1:
            self._line("SYNC();")
        super()._statement(statement)

    def _at(self, place: Place, index: Index) -> str:
        if place.memory not in "xtp":
            return super()._at(place, index)
        if index[0] != BATCH:
            raise NotLoweredError("a sample by its number")
        stride, rest = math.prod(place.shape[1:]), self._offset("", place.shape[1:], index[1:])
        first = place.offset // self.batch * padded(self.batch) if place.memory == "p" else 0
        memory = f"{place.memory} + {first}" if first else place.memory
        return f"OF_SAMPLE({memory}, {stride}, {rest})"


FLAGS = ("-x", "cu", "-std=c++17", "-O3", "--fmad=false", "-w", "-shared", "-Xcompiler", "-fPIC")
SLICE = 5 * GROUP
"""Rows of an evaluation that a warp goes through."""
MOST_WARPS, FAST_BYTES, STRIDE = 4, 48 << 10, 33


WarpRuns = structure("warps.h", "Runs")


def device() -> torch.device:
    return torch.device("cuda")


def fast_bytes() -> int:
    """Return how much fast memory a warp can have."""
    found = torch.cuda.get_device_properties(device())
    return getattr(found, "shared_memory_per_block_optin", 99 << 10)


def library(text: str) -> ctypes.CDLL:
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
        self._download()
        return self._host["s"]

    @property
    def o(self) -> np.ndarray:
        self._download()
        return self._host["o"]

    def _download(self) -> None:
        if self._ahead:
            for memory, values in self._host.items():
                values[...] = self._there[memory].cpu().numpy()
            self._ahead = False

    def put(self, name: str, values: torch.Tensor | np.ndarray) -> None:
        super().put(name, values)
        self._upload()

    def _upload(self) -> None:
        self._there["s"].copy_(torch.from_numpy(self._host["s"]))

    def members(
        self, schedule: Schedule, noise: np.ndarray | None, iterations: int, part: str
    ) -> DeviceMembers:
        w, row, step = self._scheduled(schedule, iterations)
        z = None if noise is None else on_device(noise.astype(self.dtype))
        return DeviceMembers(self, part, on_device(w), row, step // self.dtype.itemsize, z)

    def iterate(
        self, members: DeviceMembers, x: np.ndarray, t: np.ndarray, iterations: int
    ) -> None:
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
        checked(launch(ctypes.byref(runs), NUMBER(iterations), ADDRESS(stream)))

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
        numbers = map(NUMBER, (self.runs, count * width, count * width, int(roots)))
        sums = draws_library(double=self.dtype == np.float64).sums
        where = ADDRESS(squares.data_ptr()), *numbers, ADDRESS(means.data_ptr())
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
    return library(source(header("draws.h"), "samples.h", double=double))


def synchronize() -> None:
    if device().type == "cuda":
        torch.cuda.synchronize()


SAMPLE_BYTES = 1 << 30
"""Bytes of the samples that lie on the device for iterations to come, and what they are made of."""
MADE_AT_ONCE = 13 << 10
"""Bytes of the doubles of which a block makes samples: what runs leave free."""


DeviceDraws = structure("draws.h", "Draws")


class Queues:
    """Queues of the GPU: one that draws, one for each program."""

    def __init__(self):
        self._streams: dict[Any, Any] = {}

    def of(self, key: Any) -> Any:
        if device().type != "cuda":
            return None
        if key not in self._streams:
            self._streams[key] = torch.cuda.Stream()
        return self._streams[key]

    @contextmanager
    def after(self, key: Any, events: list[Any]) -> Iterator[Any]:
        """Let a queue wait for events, and hand on its address."""
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
    done: int = 0


@dataclass
class _Buffers:
    """Samples of some iterations to come, and the events after which they are not needed."""

    x: torch.Tensor
    t: torch.Tensor
    free: list[Any] = field(default_factory=list, init=False)


def _kind(stream: SampleSource) -> tuple[str, tuple[tuple[int, int], ...]]:
    operands = tuple((int(a), int(b)) for a, b in stream.targets.operands)
    return stream.targets.operation.name, operands


def _slices(operands: Sequence[Sequence[tuple[int, int]]]) -> np.ndarray:
    """Return from, to of operands `(targets, most operands, 2)`."""
    found = np.zeros((len(operands), max(map(len, operands)), 2), np.int32)
    for own, slices in zip(found, operands, strict=True):
        own[: len(slices)] = slices
    return found


class DeviceTiles:
    """Samples of runs that are drawn on the GPU; see `Tiles`."""

    def __init__(
        self,
        streams: Sequence[Sequence[SampleSource]],
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
        # A generator has sets of samples, and each of these sets of targets.
        trees: dict[Any, dict[Any, dict[Any, None]]] = {}
        some: dict[Any, SampleSource] = {}
        keys = []
        for stream in (stream for own in streams for stream in own):
            place, kind = stream.random.position(), _kind(stream)
            some.setdefault((place, stream.key), stream)
            trees.setdefault(place, {}).setdefault(stream.key, {})[kind] = None
            keys.append((place, stream.key, kind))
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
        intervals = [some[pair].range.intervals[0] for pair in sets]
        slices = _slices([operands for *_, (_, operands) in targets])
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
            words[places[place]] = next_words(state[:-1], int(state[-1]))
        first = _Words(on_device(words.view(np.int32)))
        self._at = dict.fromkeys(range(len(streams)), first)
        self._generators = len(trees)
        self._counts = len(sets), len(targets), slices.shape[1]
        self._queues = Queues()
        self._buffers: list[_Buffers] = []
        self._doubles = torch.empty(0, dtype=torch.float64, device=device())
        portion = max(1, MADE_AT_ONCE // (8 * (self.inputs | 1)))
        self._portion_bits = min((self.batch - 1).bit_length(), portion.bit_length() - 1)

    @property
    def _at_once(self) -> int:
        sets, targets, _ = self._counts
        size = (sets * self._x_size + targets * self._t_size) * self._dtype.itemsize
        return max(1, SAMPLE_BYTES // (size + 8 * self._generators * self.batch * self.inputs))

    def iterate(
        self, members: Mapping[int, DeviceMembers], iterations: int, *, whole: bool
    ) -> None:
        states = {id(self._at[program]): self._at[program] for program in members}
        for state in states.values():
            own = {p: m for p, m in members.items() if self._at[p] is state}
            if any(at is state and p not in own for p, at in self._at.items()):
                state = _Words(state.words.clone(), state.done)
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
            count = at_once * self._generators * self.batch * self.inputs
            self._doubles = torch.empty(count, dtype=torch.float64, device=device())
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
                    rows = {"x_row": sets * self._x_size, "t_row": targets * self._t_size}
                    given = Given(buffers.x, buffers.t, x_of, t_of, **rows)
                    own.lanes.train(own, given, first, some, queue)
                    if queue is not None:
                        buffers.free.append(torch.cuda.Event())
                        buffers.free[-1].record()
        state.done += iterations

    def _draw(self, state: _Words, buffers: _Buffers, iterations: int, queue: Any) -> None:
        sets, targets, most = self._counts
        draws = DeviceDraws(
            words=state.words.data_ptr(),
            **{name: values.data_ptr() for name, values in self._held.items()},
            doubles=self._doubles.data_ptr(),
            x=buffers.x.data_ptr(),
            t=buffers.t.data_ptr(),
            generators=self._generators,
            sets=sets,
            targets=targets,
            batch=self.batch,
            inputs=self.inputs,
            portion_bits=self._portion_bits,
            most_operands=most,
        )
        checked(self._library.draw(ctypes.byref(draws), NUMBER(iterations), ADDRESS(queue)))

    def store(self, program: int) -> None:
        """Put the streams of all runs of a program where its iterations have left them."""
        state = self._at[program]
        words = state.words.cpu().numpy().view(np.uint32)
        for number, stream in zip(self._place_of[program], self._streams[program], strict=True):
            held = stream.random.state
            held[:-1], held[-1] = words[number], 0
