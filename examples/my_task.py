"""A task of one's own, for `experiments/own_task.py --task-file`."""

import torch

import stable_nalu as sn


def mean_speed(x: torch.Tensor) -> torch.Tensor:
    """Return the mean speed over two ways, each with its length and its time."""
    return (x[:, 0] + x[:, 1]) / (x[:, 2] + x[:, 3])


TASK = sn.task(mean_speed, inputs=4, train=(1, 2), test=(2, 6), name="mean speed")
