"""Stack separately initialised models into one whose parameters lead with a run dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import torch

Stackable = TypeVar("Stackable", bound=torch.nn.Module)


def stack_models(models: Sequence[Stackable]) -> Stackable:
    """Stack all models: replace parameters and buffers of the first by those of all."""
    first = models[0]
    parts = [dict(model.named_modules()) for model in models]
    with torch.no_grad():
        for path, module in first.named_modules():
            for name, parameter in module._parameters.items():
                if parameter is not None:
                    stacked = torch.stack([part[path].get_parameter(name) for part in parts])
                    module._parameters[name] = torch.nn.Parameter(
                        stacked, requires_grad=parameter.requires_grad
                    )
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    module._buffers[name] = torch.stack(
                        [part[path].get_buffer(name) for part in parts]
                    )
    return first


def run_state(state: dict[str, torch.Tensor], run: int | None) -> dict[str, torch.Tensor]:
    """Cut the state dictionary of one run out of a stacked one (`None`: it is not stacked)."""
    return {
        name: (value if run is None else value[run]).detach().cpu().clone()
        for name, value in state.items()
    }
