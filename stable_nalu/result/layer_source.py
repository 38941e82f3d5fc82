"""What the file of a submitted layer may say: plain torch, and nothing that reaches out of it.

This is a fence, no proof: it refuses the usual ways to the seed, to the target, to files and to
other processes, by the text of the file, before any of it runs.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

MODULES = (
    *("torch", "torch.functional", "torch.nn", "torch.nn.functional", "torch.nn.init"),
    *("torch.nn.parameter", "torch.linalg", "torch.special", "torch.fft", "math", "typing"),
    *("collections.abc", "dataclasses", "functools", "itertools", "__future__"),
)
"""What a layer may import."""
_BUILTINS = re.findall(
    r"\w+",
    "abs all any bool classmethod dict enumerate filter float frozenset int isinstance issubclass "
    "len list map max min pow property range reversed round set slice sorted staticmethod str sum "
    "super tuple zip True False None NotImplementedError RuntimeError TypeError ValueError",
)
_SEEDS = {
    *("initial_seed", "seed", "manual_seed", "get_rng_state", "set_rng_state", "fork_rng"),
    *("Generator", "default_generator"),
}
_FILES = {
    *("load", "save", "from_file", "fromfile", "tofile", "numpy", "memmap", "compile", "ops"),
    *("classes", "import_ir_module", "format", "format_map"),
}
_FRAMES = ("f_", "gi_", "cr_", "ag_", "tb_", "co_")
"""How attributes begin by which code finds what called it."""
MOST_BYTES = 50_000


def problems_of(text: str) -> list[str]:
    """Return why the text of a layer file is refused, each with its line; nothing for a fit one."""
    if len(text.encode()) > MOST_BYTES:
        return [f"layer.py is larger than {MOST_BYTES:,} bytes"]
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        return [f"layer.py is not Python: {error}"]
    found = list(_found(tree))
    return [f"line {line} of layer.py {said}" for line, said in sorted(dict.fromkeys(found))]


def _found(tree: ast.Module) -> Iterator[tuple[int, str]]:
    elsewhere = _modules_behind()
    texts = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((node.lineno, said) for said in _imported(node, elsewhere))
        elif isinstance(node, ast.Attribute):
            if said := _reached(node, elsewhere):
                yield node.lineno, said
        elif isinstance(node, ast.Name):
            if "__" in node.id or (hasattr(builtins, node.id) and node.id not in _BUILTINS):
                yield node.lineno, f"uses {node.id}, which a layer has no need of"
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node.name.startswith("__") and node.name != "__init__":
                yield node.lineno, f"defines {node.name}"
        elif isinstance(node, ast.Constant) and "__" in str(node.value) and id(node) not in texts:
            yield node.lineno, "has text with two underscores, by which code finds other code"


def _modules_behind() -> set[str]:
    """Return names by which the modules that a layer may import lead to others."""
    found: set[str] = set()
    for module in map(import_module, MODULES):
        for name, value in vars(module).items():
            if isinstance(value, ModuleType) and value.__name__ not in MODULES:
                found.add(name)
    return found


def _imported(node: ast.Import | ast.ImportFrom, elsewhere: set[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif node.module is None or node.level:
        names = ["." * node.level + (node.module or "")]
    else:
        names = [node.module]
        for alias in node.names:
            if said := _told(alias.name, elsewhere - {"parameter"}):
                yield said
    for name in names:
        if name not in MODULES:
            yield f"imports {name}; a layer imports torch and math alone"


def _reached(node: ast.Attribute, elsewhere: set[str]) -> str | None:
    of_self = isinstance(node.value, ast.Name) and node.value.id == "self"
    of_super = isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") == "super"
    if node.attr == "__init__" and of_super:
        return None
    if node.attr.startswith("_") and not (of_self and not node.attr.startswith("__")):
        return f"uses the private {node.attr}"
    return _told(node.attr, elsewhere)


def _told(name: str, elsewhere: set[str]) -> str | None:
    if name in _SEEDS:
        return f"uses {name}: a layer that reads the seed knows its run"
    if name in _FILES:
        return f"uses {name}, which reaches files or other code"
    if name.startswith(_FRAMES):
        return f"uses {name}: a layer that reads its callers knows the target"
    if name in elsewhere or name == "*":
        return f"uses {name}, which is not of plain torch"
    return None
