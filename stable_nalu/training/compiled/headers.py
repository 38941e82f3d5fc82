"""Read torch's headers once on a machine, and not again for every piece of compiled code.

Of the 3.6 seconds that a C++ compiler takes for an iteration or for errors, it spends 3 on these
headers, which are the same each time. Precompiled ones take 6.5 seconds, once, and leave 1.1. Torch
can precompile headers too, but not those of kernels, and it looks for changes in every process,
which takes longer than is saved.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path

import torch

from stable_nalu.machine import code_cache

WRAPPER = "#include <torch/csrc/inductor/cpp_wrapper/cpu.h>\n"
HEADERS = f"""{WRAPPER}#if __has_include(<torch/csrc/inductor/cpp_prefix.h>)
#include <torch/csrc/inductor/cpp_prefix.h>
#endif
"""

Run = Callable[..., None]


@cache
def precompile_headers() -> None:
    """Let torch's compile commands of this process use precompiled headers."""
    from torch._inductor import cpp_builder

    run: Run | None = getattr(cpp_builder, "run_compile_cmd", None)
    if run is None:  # a release of torch that starts its compiler elsewhere
        return

    def run_with_headers(cmd_line: str, *where: str, **named: str) -> None:
        run(with_headers(cmd_line), *where, **named)

    cpp_builder.run_compile_cmd = run_with_headers


def with_headers(command: str) -> str:
    """Return a compile command that includes precompiled headers, made now if there are none.

    A command for another compiler than GCC or for other headers is returned as it is, and so is
    every command if precompiling fails.
    """
    compiler, *words = shlex.split(command)
    sources = [word for word in words if word.endswith(".cpp")]
    if len(sources) != 1 or WRAPPER not in Path(sources[0]).read_text():
        return command
    try:
        header = _precompiled([compiler, *_flags(words)])
    except (OSError, subprocess.CalledProcessError):
        return command
    if header is None:
        return command
    return shlex.join([compiler, "-include", str(header), *words])


def _flags(words: list[str]) -> list[str]:
    """Return the words that decide on code: precompiled headers are used only for the same."""
    output = words.index("-o")
    others = words[:output] + words[output + 2 :]
    return [
        word
        for word in others
        if not word.startswith(("-l", "-L", "-Wl,")) and not word.endswith((".cpp", ".o", ".so"))
        if word != "-shared"
    ]


def _precompiled(command: list[str]) -> Path | None:
    version = subprocess.run(
        [command[0], "--version"], check=True, capture_output=True, text=True
    ).stdout
    if "Free Software Foundation" not in version:
        return None
    key = sha256("\n".join([*command, version, torch.__version__]).encode()).hexdigest()[:16]
    header = code_cache() / "headers" / key / "torch.h"
    made = header.with_name("torch.h.gch")
    if not made.exists():
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_text(HEADERS)
        # Another process may be making the same file.
        unfinished = made.with_name(f"{os.getpid()}.gch")
        command = [*command, "-x", "c++-header", str(header), "-o", str(unfinished)]
        try:
            subprocess.run(command, check=True, capture_output=True)
            unfinished.replace(made)
        finally:
            unfinished.unlink(missing_ok=True)
    return header
