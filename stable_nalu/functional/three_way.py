"""A weight as a choice between +1, -1 and 0: probabilities `(…, 3)` in that order."""

import torch


def expected_sign(probabilities: torch.Tensor) -> torch.Tensor:
    """Mean of the choice, p_+ - p_-: `(…, 3)` -> `(…)`."""
    return probabilities[..., 0] - probabilities[..., 1]


def chosen_sign(category: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The sign that a category index stands for: 0, 1, 2 -> +1, -1, 0."""
    return (category == 0).to(dtype) - (category == 1).to(dtype)
