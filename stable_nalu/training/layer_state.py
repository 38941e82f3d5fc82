"""Saves and restores what a layer keeps besides parameters and persistent buffers."""

from collections.abc import Mapping
from typing import Any

import torch

from stable_nalu.base.errors import UsageError
from stable_nalu.layer.python_state import (
    OF_TORCH,
    OURS,
    SHARED,
    PythonState,
    foreign_modules,
    tensors_of,
)

PLAIN = type(None), bool, int, float, str, list, tuple, dict, torch.Tensor
KEPT = "layer_state"
"""The key of it in a checkpoint; absent where there is nothing."""


class LayerState:
    """Buffers and attributes of users' layers that are in no state dictionary."""

    def __init__(self, model: torch.nn.Module, *, stacked: bool):
        self.model = model
        # The engine trains no layer whose passes change anything in Python.
        self._first = None if stacked or not foreign_modules(model) else PythonState(model)

    def saved(self, run: int | None) -> dict[str, Any]:
        """Return the part of a checkpoint. `run` is None if the model is not stacked."""
        found: dict[str, Any] = {}
        buffers = {
            name: (value if run is None else value[run]).detach().cpu().clone()
            for name, value in self._unsaved_buffers().items()
        }
        if buffers:
            found["buffers"] = buffers
        if self._first is not None:
            now = PythonState(self.model)
            if self._first.difference(now, SHARED) is not None:
                found["attributes"] = self._attributes()
            held = [f"{path}.{name}" for path, own in self._attributes().items() for name in own]
            lost = self._first.difference(now, [*held, SHARED[1]])
            if lost is not None:
                found["lost"] = lost
        return {KEPT: found} if found else {}

    @torch.no_grad()
    def restore(self, run: int | None, saved: Mapping[str, Any], name: str, flag: str) -> None:
        """Restore it, or refuse a run if no checkpoint can hold all of it."""
        found = saved.get(KEPT, {})
        if "lost" in found:
            raise UsageError(
                f"argument {flag}: {name} cannot go on: a pass of its layer changes "
                f"{found['lost']}, which no checkpoint holds; keep it in a buffer, or "
                "--remove-existing-data starts anew"
            )
        held = self._unsaved_buffers()
        for path, value in found.get("buffers", {}).items():
            if run is None and held[path].shape != value.shape:
                owner, _, last = path.rpartition(".")
                self.model.get_submodule(owner)._buffers[last] = value
            else:
                (held[path] if run is None else held[path][run]).copy_(value)
        for path, own in found.get("attributes", {}).items():
            for attribute, value in own.items():
                _put(self.model.get_submodule(path), attribute, value)

    def _unsaved_buffers(self) -> dict[str, torch.Tensor]:
        """Return non-persistent buffers of users. Every pass sets those of this package first."""
        saved, owners = self.model.state_dict().keys(), foreign_modules(self.model)
        inside = tuple(f"{path}." if path else "" for path, _ in owners)
        buffers = self.model.named_buffers()
        return {n: b for n, b in buffers if n not in saved and n.startswith(inside)}

    def _attributes(self) -> dict[str, dict[str, Any]]:
        """Return those attributes of users' modules that consist of plain values and tensors."""
        known = {id(tensor) for tensor in tensors_of(self.model).values()}
        found = {}
        for path, module in foreign_modules(self.model):
            own = {n: v for n, v in vars(module).items() if n not in OURS | OF_TORCH}
            found[path] = {n: _copied(v) for n, v in own.items() if _is_plain(v, known)}
        return found


def _is_plain(value: Any, known: set[int]) -> bool:
    if type(value) not in PLAIN or id(value) in known:
        return False
    if isinstance(value, dict):
        return all(_is_plain(part, known) for pair in value.items() for part in pair)
    return not isinstance(value, list | tuple) or all(_is_plain(part, known) for part in value)


def _copied(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().clone()
    if isinstance(value, dict):
        return {key: _copied(part) for key, part in value.items()}
    return type(value)(map(_copied, value)) if isinstance(value, list | tuple) else value


def _put(module: torch.nn.Module, name: str, value: Any) -> None:
    """Set an attribute. A container is filled in place, since others may refer to it."""
    before = vars(module).get(name)
    if isinstance(value, list) and type(before) is list:
        before[:] = value
    elif isinstance(value, dict) and type(before) is dict:
        before.clear()
        before.update(value)
    else:
        setattr(module, name, value)
