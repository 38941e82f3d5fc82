"""Names of layers and cells, looked up when a command line is read.

The registry imports torch; these functions import it only when they are called.
"""

from __future__ import annotations


def layer_names() -> tuple[str, ...]:
    """Every layer key, and those keys that only name a pair of layers."""
    from stable_nalu.layer import entries

    return tuple(key for key, e in entries().items() if e.layer is not None or e.cell is None)


def buildable_layers() -> tuple[str, ...]:
    """Every layer key that stands for a layer."""
    from stable_nalu.layer import entries

    return tuple(key for key, entry in entries().items() if entry.layer is not None)


def layers_of_pairs() -> tuple[str, ...]:
    """Keys of layers that map two inputs, which no task has."""
    from stable_nalu.layer import entries

    return tuple(key for key, entry in entries().items() if entry.takes_pair)


def cell_names() -> tuple[str, ...]:
    """Every key of a recurrent cell."""
    from stable_nalu.layer import entries

    return tuple(key for key, entry in entries().items() if entry.cell is not None)


def activation_names() -> tuple[str, ...]:
    """The plain activations, `linear` among them."""
    from stable_nalu.layer.basic import ACTIVATIONS

    return tuple(ACTIVATIONS)
