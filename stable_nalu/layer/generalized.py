"""Build a layer or a recurrent cell from its public key and a set of options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from stable_nalu.abstract import ExtendedTorchModule

from .registry import LayerEntry, entries


def select_options(entry: LayerEntry, options: dict[str, object]) -> dict[str, object]:
    """Return those options that the layer of `entry` reads; refuse names that no layer reads.

    `own_options`, which scripts give, are those that no flag sets. A torch module that was not
    written for this package reads no others: what its options mean cannot be known.
    """
    options = dict(options)
    own: dict[str, object] | None = options.pop("own_options", None)  # pyright: ignore
    if own is None and not options.keys() <= entry.options:  # what flags set is known
        known = frozenset().union(*(e.options for e in entries().values()))
        unknown = options.keys() - known
        if unknown:
            raise TypeError(f"no layer reads the option(s) {', '.join(sorted(unknown))}")
    own = own or {}
    options = own if entry.is_plain else own | options
    return {k: v for k, v in options.items() if k in entry.options} | entry.fixed_options


def lookup(
    unit_name: str, *, cell: bool = False
) -> tuple[LayerEntry, Callable[..., ExtendedTorchModule]]:
    """Return the entry of a key, and its layer or cell class."""
    entry = entries().get(unit_name)
    build = entry and (entry.cell if cell else entry.layer)
    if entry is None or build is None:
        kind = "recurrent cell" if cell else "layer"
        raise ValueError(f"{unit_name!r} is not a {kind}; see docs/layers.md")
    return entry, build


class GeneralizedLayer(ExtendedTorchModule):
    """The registered layer `unit_name`, given those options that it reads."""

    @staticmethod
    def unit_names() -> list[str]:
        """Return all layer keys."""
        return [key for key, entry in entries().items() if entry.of_layer]

    def __init__(
        self,
        in_features: int,
        out_features: int,
        unit_name: str,
        name: str | None = None,
        **options,
    ):
        super().__init__("layer", name)
        self.unit_name = unit_name
        entry, build = lookup(unit_name)
        selected = select_options(entry, options)
        if entry.origin is not None:
            from .trial import obstacle

            self.obstacle = obstacle(build, in_features, out_features, selected)
        self.layer = build(in_features, out_features, **selected)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


class GeneralizedCell(ExtendedTorchModule):
    """The registered recurrent cell `unit_name`, given those options that it reads."""

    @staticmethod
    def unit_names() -> list[str]:
        """Return all cell keys."""
        return [key for key, entry in entries().items() if entry.of_cell]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        unit_name: str,
        name: str | None = None,
        **options,
    ):
        super().__init__("cell", name)
        self.unit_name = unit_name
        entry, build = lookup(unit_name, cell=True)
        selected = select_options(entry, options)
        if entry.origin is not None and entry.layer is not None:
            from .trial import obstacle

            width = input_size + hidden_size
            self.obstacle = obstacle(entry.layer, width, hidden_size, selected)
        self.cell = build(input_size, hidden_size, name=name, **selected)

    def forward(self, x_t: torch.Tensor, h_tm1):
        return self.cell(x_t, h_tm1)

    def unroll(self, x: torch.Tensor, state: Any) -> torch.Tensor:
        """Return h behind the last step of x `(*runs, batch, time, input_size)`."""
        return self.cell.unroll(x, state)
