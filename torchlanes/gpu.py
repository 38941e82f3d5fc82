"""Runs on a GPU, each in a warp: their numbers, iterations, evaluation; see warps.h.

Every number is the same as on a CPU: by the same operations in the same order, none contracted.
"""

import ctypes
import math
import shutil
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
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
    STATE_WORDS,
    EvaluationRows,
    Lanes,
    SampleSource,
    Schedule,
    function_of,
    header,
    in_order,
    loaded,
    lows_and_widths,
    next_words,
    source,
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
    in_pieces = False
    _terms: Mapping[Node, int] = {}

    def _remember(self) -> None:
        if self.batch % SAMPLES:
            raise NotLoweredError(f"a batch that is no multiple of {SAMPLES}")
        for node, (axes, lasting) in self.plan.kept.items():
            home = self.plan.home[node]
            whole = len(home) > 1 and home[1].axis in axes and home[1].axis != BATCH
            if not lasting and whole:
                self.plan.kept[node] = axes, True
            if node.op == "reduce" and node.axis != BATCH and axes and len(home) == 1:
                raise NotLoweredError("sums side by side over what is no sample")
        kinds, lasting = [*GATHERED, ""], [n for n, (_, lasts) in self.plan.kept.items() if lasts]
        # Sums come first, by their kinds; nodes of equal rank stay in their order.
        lasting.sort(key=lambda node: kinds.index(node.name if node.axis == BATCH else ""))
        self.lasting = {node: self._reserved(self.plan.kept[node][0]) for node in lasting}

    def _begin_sums(self) -> None:
        for kind in GATHERED:
            start = f"q[k] = V({self._literal(Graph.IDENTITY[kind])});"
            for first, end in self._ranges(kind, self.lasting):
                self._line(f"for (int k = {first} + lane; k < {end}; k += WARP) {start}")

    def _ranges(self, kind: str, among: Collection[Node]) -> list[tuple[int, int]]:
        """Return from where to where sums of a kind lie, among some."""
        parts: list[tuple[int, int]] = []
        for node, first in self.lasting.items():
            if node in among and node.axis == BATCH and node.name == kind:
                end = first + self._count(self.plan.kept[node][0])
                if parts and parts[-1][1] == first:
                    first = parts.pop()[0]
                parts.append((first, end))
        return parts

    def _batch(self, loop: Loop) -> None:
        self.samples = SAMPLES
        self._line("for (int round = 0; round < count; round += WARP * 4) {")
        self._line("const int b = round + 4 * lane;")
        self._inside("if (b < count)", loop)
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
        axis, extent = loop.axis, self.graph.extents[loop.axis]
        self._terms = {reduce: self._reserved([axis]) for reduce in loop.sums}
        self._inside(f"for (int {axis} = lane; {axis} < {extent}; {axis} += WARP)", loop)
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
        if node.axis == BATCH:
            return self._array(node)
        return super()._vector(node).replace("OF_SAMPLE", "READ_SAMPLE")

    def _statement(self, statement: Statement) -> None:
        if isinstance(statement, Gather) and statement.reduce in self._terms:
            term = f"q[{self._terms[statement.reduce]} + {statement.reduce.axis}]"
            self._line(f"{term} = {self._vector(*statement.args)};")
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
HEADERS = "one_lane.h", "functions.h"


WarpRuns = structure("warps.h", "Runs")


def device() -> torch.device:
    return torch.device("cuda")


def fast_bytes() -> int:
    """Return how much fast memory a warp can have."""
    properties = torch.cuda.get_device_properties(device())
    return getattr(properties, "shared_memory_per_block_optin", 99 << 10)


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


@cache
def warp_program(program: Program) -> tuple[ctypes.CDLL, Mapping[str, EmittedSource]] | str:
    """Return what trains runs of a program, and of what it was made, or why nothing does."""
    held = program.memory
    try:
        sources = {
            name: WarpEmitter(program.graph, stores, held, name, program.batch).source()
            for name, stores in program.stores.items()
        }
        text = "\n\n".join(part.text for part in sources.values())
        text = named(text, program.places) + "\n\n" + "\n".join(f"LAUNCHED({n})" for n in sources)
        double = program.dtype == torch.float64
        compiled = library(source(text, *HEADERS, "warps.h", double=double))
    except (NotLoweredError, CompileError) as error:
        return str(error)
    return compiled, sources


FEW = 32
"""Runs from which on a GPU is used: a few are done sooner by a processor."""


def not_for_gpu(programs: Sequence[Program]) -> str | None:
    return next((why for why in map(warp_program, programs) if isinstance(why, str)), None)


def checked(code: int) -> None:
    """Refuse the code of a launch that failed."""
    if code:
        said = f"the GPU refused to train (CUDA error {code}); {SETTINGS.without_gpu}"
        raise SETTINGS.refusal(said)


def in_groups(values: np.ndarray) -> np.ndarray:
    """Lay samples `(..., samples, numbers)` as the threads of warps read them."""
    *rows, samples, numbers = values.shape
    held = np.zeros((*rows, padded(samples), numbers), values.dtype)
    held[..., :samples, :] = values
    grouped = held.reshape(*rows, -1, GROUP, numbers)
    return np.ascontiguousarray(np.swapaxes(grouped, -1, -2)).reshape(*rows, -1)


def on_device(values: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(values)).to(device())


def zeros(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype, device=device())


Given = dict[str, Any]
"""Samples on the device, `x` and `t`: rows of iterations, and where those of each run begin."""


@dataclass(frozen=True)
class DeviceMembers:
    """What runs of a program need to iterate. given: schedules and noise, and where they lie."""

    lanes: "DeviceLanes"
    part: str
    given: Mapping[str, Any]

    def after(self, first: int) -> dict[str, Any]:
        """Return what is given from an iteration on."""
        return {n: v[first:] if torch.is_tensor(v) else v for n, v in self.given.items()}


class DeviceLanes(Lanes):
    """Runs of one program, whose numbers lie on a GPU."""

    def _allocate(self, program: Program, sizes: Mapping[str, int]) -> None:
        made = warp_program(program)
        assert isinstance(made, tuple)
        self.library, self.sources = made
        self._host = {m: self._memory(sizes[m]) for m in "so"}
        self._there = {m: on_device(self._host[m]) for m in "so"}
        self._ahead = False
        self._p = zeros(0, dtype=program.dtype)
        self._p_size = sizes.get("p", 0) // self.batch * padded(self.batch)
        self._rows: dict[Any, tuple[Any, Any]] = {}
        self._squares = zeros(self.runs, 0, dtype=program.dtype)
        self._given: tuple[Any, Any] = None, None
        self._sets: tuple[Any, Any] = None, None
        self._slow: torch.Tensor | None = None

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
        given = {"w": on_device(w), "w_row": row, "w_run": step // self.dtype.itemsize}
        if noise is not None:
            runs, size = noise.shape[1:]
            given |= {"z": on_device(noise.astype(self.dtype)), "z_row": runs * size, "z_run": size}
        return DeviceMembers(self, part, given)

    def iterate(
        self, members: DeviceMembers, x: np.ndarray, t: np.ndarray, iterations: int
    ) -> None:
        if len(x) > 1 or self._given[0] is not x:
            there = [on_device(in_groups(values.astype(self.dtype))) for values in (x, t)]
            of = [torch.arange(self.runs, device=device()) * v.shape[-1] for v in there]
            rows = [v[0].numel() if len(x) > 1 else 0 for v in there]
            names = "x", "t", "x_of", "t_of", "x_row", "t_row"
            self._given = x, dict(zip(names, (*there, *of, *rows), strict=True))
        self.train(members, self._given[1], 0, iterations, None)
        synchronize()

    def train(
        self, members: DeviceMembers, given: Given, first: int, iterations: int, stream: Any
    ) -> None:
        self._ahead = True
        more = members.after(first)
        if "prepare" in self.sources:
            more |= self._prepared(given, iterations, stream)
        self._launch(members.part, self._runs(members.part, given, **more), iterations, stream)

    def _runs(self, part: str, given: Given, **more: Any) -> WarpRuns:
        sizes, item = self.program.memory.sizes, self.dtype.itemsize
        scratch, sums = self.sources[part].scratch, self.sources[part].sums
        bytes_of_run = (max(1, sizes["s"]) + scratch + sums * STRIDE) * item
        fields = {"runs": self.runs, "samples": self.batch, "slice": self.batch, "sums": sums}
        fields |= {"inputs": self.inputs, "outputs": 1, "q_size": scratch}
        fields |= {f"{memory}_size": max(1, sizes[memory]) for memory in "so"}
        fields["warps"] = max(1, min(MOST_WARPS, FAST_BYTES // bytes_of_run))
        fields |= self._there | {"p": self._p} | given | more
        return WarpRuns(**{n: v.data_ptr() if torch.is_tensor(v) else v for n, v in fields.items()})

    def _launch(self, part: str, runs: WarpRuns, iterations: int, stream: Any) -> None:
        size = runs.s_size + runs.q_size + runs.sums * STRIDE
        if size * self.dtype.itemsize > fast_bytes():
            parts = iterations if runs.apart else -(-runs.samples // runs.slice)
            count = size * runs.runs * parts
            self._slow = torch.empty(count, dtype=self.program.dtype, device=device())
            runs.slow, runs.warps = self._slow.data_ptr(), 1
        launch = getattr(self.library, f"{part}_launch")
        checked(launch(ctypes.byref(runs), NUMBER(iterations), ADDRESS(stream)))

    def _prepared(self, given: Given, iterations: int, stream: Any) -> dict[str, Any]:
        """Compute what follows from inputs alone, once for each set; return where it lies."""
        if self._sets[0] is not given["x_of"]:
            own, number = torch.unique(given["x_of"], return_inverse=True)
            places = torch.arange(len(own), device=device()) * self._p_size
            self._sets = given["x_of"], (own, places, number * self._p_size)
            synchronize()
        own, places, p_of = self._sets[1]
        p_row = len(own) * self._p_size
        if self._p.numel() < p_row * iterations:
            self._p = zeros(p_row * iterations, dtype=self.program.dtype)
        sets = {"runs": len(own), "s_size": 0, "o_size": 0, "apart": 1, "p_row": p_row}
        runs = self._runs("prepare", given, **sets, x_of=own, t_of=None, p_of=places)
        self._launch("prepare", runs, iterations, stream)
        return {"p_of": p_of, "p_row": p_row}

    def observe(self, x: np.ndarray | None, schedule: Schedule) -> None:
        """Let modules tell of x, and leave all as it is."""
        super().observe(x, schedule)
        self._upload()

    def _errors(
        self, rows: EvaluationRows, noise: np.ndarray | None, schedule: Schedule, *, roots: bool
    ) -> np.ndarray:
        (x, t, *_), (_, width) = rows, self.program.places["squares"].shape
        count = x.shape[1]
        given = self._rows_of(*rows)
        if self._squares.shape[1] < count * width:
            self._squares = zeros(self.runs, count * width, dtype=self.program.dtype)
        squares, means = self._squares, zeros(self.runs, 2, dtype=torch.float64)
        members = self.members(schedule, noise, 1, "eval")
        size = count if self.sources["eval"].sums else SLICE
        more = {"o": squares, "o_size": count * width, "samples": count, "slice": size}
        runs = self._runs("eval", given, **members.given, **more, outputs=t.shape[2])
        self._launch("eval", runs, 1, None)
        numbers = map(NUMBER, (self.runs, count * width, count * width, int(roots)))
        sums = draws_library(double=self.dtype == np.float64).sums
        where = ADDRESS(squares.data_ptr()), *numbers, ADDRESS(means.data_ptr())
        checked(sums(*where, None))
        return means.cpu().numpy().T.copy()

    def _rows_of(self, *arrays: np.ndarray) -> Given:
        """Return rows on the device, which are kept there."""
        key = arrays[0].ctypes.data, arrays[1].ctypes.data
        if key not in self._rows:
            x, t = (on_device(in_groups(values)) for values in arrays[:2])
            x_of, t_of = (on_device(k.astype(np.int64)) for k in arrays[2:])
            of = {"x_of": x_of * x.shape[-1], "t_of": t_of * t.shape[-1]}
            self._rows[key] = arrays, {"x": x, "t": t} | of
        return self._rows[key][1]


@cache
def draws_library(*, double: bool) -> ctypes.CDLL:
    return library(source(header("draws.h"), *HEADERS, "samples.h", double=double))


def synchronize() -> None:
    if device().type == "cuda":
        torch.cuda.synchronize()


SAMPLE_BYTES = 1 << 30
"""Bytes of the samples that lie on the device for iterations to come, and what they are made of."""
MADE_AT_ONCE = 13 << 10
"""Bytes of the doubles of which a block makes samples: what runs leave free."""


DeviceDraws = structure("draws.h", "Draws")


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


def _numbered(values: Iterable[Hashable]) -> list[int]:
    """Return numbers that are equal where values are, from 0 on."""
    known: dict[Hashable, int] = {}
    return [known.setdefault(value, len(known)) for value in values]


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
        self.layouts = [in_order(len(own), 1) for own in streams]
        self.batch, self.inputs = shape
        self._dtype = dtype
        self._library = draws_library(double=dtype == np.float64)
        self._x_size, self._t_size = padded(self.batch) * self.inputs, padded(self.batch)
        # A generator has sets of samples, and each of these sets of targets.
        flat = [stream for own in streams for stream in own]
        kinds = [(function_of(s), s.targets.operands) for s in flat]
        places = _numbered(s.random.position() for s in flat)
        keys = np.stack([places, _numbered(s.key for s in flat), _numbered(kinds)], 1)
        how: Any = {"axis": 0, "return_index": True, "return_inverse": True}
        sets, some, set_of = np.unique(keys[:, :2], **how)
        targets, some_targets, target_of = np.unique(keys, **how)
        self._generators = max(places) + 1
        of_generator = np.searchsorted(sets[:, 0], range(self._generators + 1))
        set_of, target_of = set_of.ravel(), target_of.ravel()
        ends = np.cumsum([len(own) for own in streams])[:-1]
        self._place_of = np.split(np.array(places), ends)
        rows = {"x_row": len(sets) * self._x_size, "t_row": len(targets) * self._t_size}
        self._given = [
            rows | {"x_of": on_device(x_of * self._x_size), "t_of": on_device(t_of * self._t_size)}
            for x_of, t_of in zip(np.split(set_of, ends), np.split(target_of, ends), strict=True)
        ]
        low, width = lows_and_widths([flat[k] for k in some])
        made = [flat[k].targets for k in some_targets]
        slices = np.zeros((len(made), max(len(own.operands) for own in made), 2), np.int32)
        for own, of in zip(slices, made, strict=True):
            own[: len(of.operands)] = of.operands
        numbers = {
            "of_generator": of_generator,
            "of_set": np.searchsorted(set_of[some_targets], range(len(sets) + 1)),
            "slices": slices,
            "functions": np.array([kinds[k][0] for k in some_targets]),
            "operands": np.array([len(own.operands) for own in made]),
        }
        self._held = {name: on_device(values.astype(np.int32)) for name, values in numbers.items()}
        self._held |= {"low": on_device(low), "width": on_device(width)}
        words = np.empty((self._generators, STATE_WORDS), np.uint32)
        for own, first in zip(words, some[of_generator[:-1]], strict=True):
            state = flat[first].random.state
            own[:] = next_words(state[:-1], int(state[-1]))
        self._at = dict.fromkeys(range(len(streams)), _Words(on_device(words.view(np.int32))))
        self._counts = len(sets), len(targets), slices.shape[1]
        self._queues: dict[Any, Any] = {}
        self._buffers: list[_Buffers] = []
        self._doubles = zeros(0, dtype=torch.float64)
        portion = max(1, MADE_AT_ONCE // (8 * (self.inputs | 1)))
        self._portion_bits = min((self.batch - 1).bit_length(), portion.bit_length() - 1)

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
        doubles = self._generators * self.batch * self.inputs
        size = (sets * self._x_size + targets * self._t_size) * self._dtype.itemsize + 8 * doubles
        at_once = min(max(1, SAMPLE_BYTES // size), iterations)
        if not self._buffers or len(self._buffers[0].x) < at_once:
            kind = torch.float64 if self._dtype == np.float64 else torch.float32
            shapes = (at_once, sets, self._x_size), (at_once, targets, self._t_size)
            buffers = ([zeros(*shape, dtype=kind) for shape in shapes] for _ in range(2))
            self._buffers = [_Buffers(*own) for own in buffers]
            self._doubles = zeros(at_once * doubles, dtype=torch.float64)
        synchronize()
        for k, first in enumerate(range(0, iterations, at_once)):
            buffers = self._buffers[k % 2]
            some = min(at_once, iterations - first)
            drawn: list[Any] = []
            with self._queue("draw", buffers.free, drawn) as queue:
                self._draw(state, buffers, some, queue)
            buffers.free = []
            for program, own in members.items():
                with self._queue(program, drawn, buffers.free) as queue:
                    given = self._given[program] | {"x": buffers.x, "t": buffers.t}
                    own.lanes.train(own, given, first, some, queue)
        state.done += iterations

    def _draw(self, state: _Words, buffers: _Buffers, iterations: int, queue: Any) -> None:
        sets, targets, most = self._counts
        held = self._held | {"words": state.words, "doubles": self._doubles}
        held |= {"x": buffers.x, "t": buffers.t}
        draws = DeviceDraws(
            **{name: values.data_ptr() for name, values in held.items()},
            **{"generators": self._generators, "sets": sets, "targets": targets},
            **{"batch": self.batch, "inputs": self.inputs, "most_operands": most},
            portion_bits=self._portion_bits,
        )
        checked(self._library.draw(ctypes.byref(draws), NUMBER(iterations), ADDRESS(queue)))

    @contextmanager
    def _queue(self, key: Any, events: list[Any], done: list[Any]) -> Iterator[Any]:
        """Let a queue wait for events, hand on its address, and note when it is done.

        One queue draws, and there is one for each program.
        """
        if device().type != "cuda":
            yield None
            return
        if key not in self._queues:
            self._queues[key] = torch.cuda.Stream()
        stream = self._queues[key]
        for event in events:
            stream.wait_event(event)
        with torch.cuda.stream(stream):
            yield stream.cuda_stream
            done.append(torch.cuda.Event())
            done[-1].record()

    def store(self, program: int) -> None:
        """Put the streams of all runs of a program where its iterations have left them."""
        state = self._at[program]
        words = state.words.cpu().numpy().view(np.uint32)
        for number, stream in zip(self._place_of[program], self._streams[program], strict=True):
            held = stream.random.state
            held[:-1], held[-1] = words[number], 0
