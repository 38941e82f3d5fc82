"""Make fast code of a recorded graph with torch's compiler."""

from __future__ import annotations

import gc
import os
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import torch
from torch.fx.graph import CodeGen

from stable_nalu.machine import keep_torchs_code_private

from .headers import precompile_headers

if TYPE_CHECKING:
    from torch._inductor.cpu_vec_isa import VecISA

Graph = Callable[..., Sequence[torch.Tensor]]
Direct = Callable[[list[torch.Tensor]], Sequence[torch.Tensor]]
Compiler = Callable[[torch.fx.GraphModule], Graph]


def compiled_by_torch(graph: torch.fx.GraphModule) -> Graph:
    """Return fused code for a graph of lists of tensors, compiled when it is called first.

    The shapes of the tensors must never change. This does what `torch.compile` does without its
    checks before every call, which cost as much as the kernels of a hundred runs.
    """
    graph.graph.set_codegen(CodeGen())
    graph.recompile()
    code: Direct | None = None

    def run(*groups: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        nonlocal code
        flat = [value for group in groups for value in group]
        if code is None:
            code = _without_wrappers(_compile(graph, flat), flat)
            _leave_out_of_collections()
        return code(flat)

    return run


def _without_wrappers(code: Graph, flat: Sequence[torch.Tensor]) -> Direct:
    """Return compiled code as a function of one list, which it empties.

    Torch wraps it for users who may change inputs, ask for gradients or profile; at each call these
    wrappers take as long as the kernels of twenty runs. They are left out where nothing changes.
    """

    def wrapped(flat: list[torch.Tensor]) -> Sequence[torch.Tensor]:
        return code(*flat)

    try:
        from torch._inductor.output_code import CompiledFxGraph
    except ImportError:  # another release of torch
        return wrapped
    called: list[Any] = []
    call = CompiledFxGraph.__call__

    def noted(self: Any, inputs: Sequence[Any]) -> Any:
        called.append(self)
        return call(self, inputs)

    setattr(CompiledFxGraph, "__call__", noted)  # noqa: B010
    try:
        expected = code(*flat)
    finally:
        setattr(CompiledFxGraph, "__call__", call)  # noqa: B010
    direct = getattr(called[0], "current_callable", None) if len(called) == 1 else None
    if direct is None:
        return wrapped
    found = direct(list(flat))
    alike = len(found) == len(expected) and all(map(torch.equal, found, expected))
    return direct if alike else wrapped


def _compile(graph: torch.fx.GraphModule, examples: Sequence[torch.Tensor]) -> Graph:
    keep_torchs_code_private()
    _spare_torch_its_trials()
    precompile_headers()
    # Imported late: it takes longer than most short runs.
    from torch._guards import TracingContext, tracing
    from torch._inductor import compile as compile_graph
    from torch._subclasses import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    # Only in a context with an environment of shapes does torch look into its cache.
    shapes = FakeTensorMode(shape_env=ShapeEnv(), static_shapes=True)
    # Kernels that take microseconds are called from C++: calls from Python take as long.
    # Tables of lines serve profilers alone and take the compiler a second.
    options = {
        "cpp_wrapper": not any(value.is_cuda for value in examples),
        "aot_inductor.enable_line_tables": False,
    }
    with tracing(TracingContext(shapes)):
        return cast("Graph", compile_graph(graph, list[Any](examples), options))


def _leave_out_of_collections() -> None:
    """Let Python's garbage collector pass over all that lives now.

    The compiler leaves half a million objects. Looking through them again and again took as long
    as a quarter of an iteration of twenty runs.
    """
    gc.collect()
    gc.freeze()


@cache
def _spare_torch_its_trials() -> None:
    """Keep torch from compiling, once per user, what takes longer than the code of a model.

    These are programs that try sets of vector instructions, and headers made ready that the
    compiler then does not use, which torch would keep in a folder that all users share.
    """
    from torch._inductor import config, cpu_vec_isa

    if hasattr(config, "cpp_cache_precompile_headers"):
        config.cpp_cache_precompile_headers = False
    setattr(cpu_vec_isa.VecISA, "check_build", _is_known)  # noqa: B010


def _is_known(instructions: VecISA, code: str) -> bool:
    """Return whether the compiler knows vector instructions; torch asks of those that it finds."""
    from torch._inductor.cpp_builder import get_cpp_compiler

    command = [get_cpp_compiler(), *instructions.build_arch_flags().split(), "-x", "c++", "-S"]
    return not subprocess.run(
        [*command, os.devnull, "-o", os.devnull], capture_output=True
    ).returncode


def batch_contiguous(x: torch.Tensor) -> torch.Tensor:
    """Lay x `(runs, batch, in)` with the batch contiguous in memory, as unrolled code reads it."""
    return x.mT.contiguous().mT
