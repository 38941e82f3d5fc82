"""A recorded model: its C++, where its numbers lie, and what it needs from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from .emit import EmittedSource, Memory, Place
from .graph import Graph, Store


@dataclass(frozen=True)
class Draw:
    """Noise that one run draws in an iteration: the method of torch, its shape and its bounds."""

    kind: str
    shape: tuple[int, ...]
    bounds: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True)
class Told:
    """What a logged iteration tells under a tag: kind of value, and where it lies in `o`.

    of_modules: whether modules tell it of their inputs; else it is a penalty.
    """

    kind: str
    tag: str
    name: str
    of_modules: bool


@dataclass(eq=False)
class Program:
    """C++ of a model, where its numbers lie, and what it needs from outside.

    graph, stores, batch: what the text was made of. draws: the noise of an iteration and, if
    `draws_in_evaluation`, of an evaluation. trained: parameters that an update changes. told: what
    the logged iteration tells.
    """

    text: str
    memory: Memory
    sources: Mapping[str, EmittedSource]
    draws: list[Draw]
    trained: list[str]
    told: list[Told]
    dtype: torch.dtype
    draws_in_evaluation: bool
    graph: Graph
    stores: Mapping[str, Sequence[Store]]
    batch: int

    @property
    def numpy_type(self) -> np.dtype:
        """Return the type of its numbers in NumPy."""
        return np.dtype(str(self.dtype).removeprefix("torch."))

    @property
    def work(self) -> int:
        """Return how many operations a sample takes."""
        return self.sources["run"].work

    @property
    def places(self) -> Mapping[str, Place]:
        """Return where named tensors lie."""
        return self.memory.places
