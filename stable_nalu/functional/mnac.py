"""The multiplicative product of NMU-like layers and its division modes."""

import torch
from torch.overrides import handle_torch_function, has_torch_function_unary

MNAC_MODES = ("prod", "exp-log", "no-idendity", "div", "div-sepSign")


def product(factors: torch.Tensor) -> torch.Tensor:
    """Return the product over dimension -2 of factors `(*runs, batch, in, out)`.

    Like a function of torch, it can be overridden by a `TorchFunctionMode`.
    """
    if has_torch_function_unary(factors):
        return handle_torch_function(product, (factors,), factors)
    return factors.prod(-2)


def mnac(
    x: torch.Tensor, W: torch.Tensor, mode: str = "prod", is_training: bool | None = None
) -> torch.Tensor:
    """Multiply the inputs: x `(*runs, batch, in)`, W `(*runs, out, in)` -> `(*runs, batch, out)`.

    prod           prod_i (x w + 1 - w)
    exp-log        exp sum_i log(x w + 1 - w)
    no-idendity    prod_i x w
    div            prod_i (A sign(x) |x|^w + (1 - A))
    div-sepSign    prod_i (A |x|^w + (1 - A)) * prod_i sign(x)^round(w)

    with A = tanh(1000 w)^2 in training and |w| otherwise. W is broadcast once and that view serves
    every occurrence of w: the order in which its gradients are summed is part of the figures.
    """
    w = W.mT.unsqueeze(-3)
    x = x.unsqueeze(-1)
    if mode == "prod":
        return product(x * w + 1 - w)
    if mode == "exp-log":
        return (x * w + 1 - w).log().sum(-2).exp()
    if mode == "no-idendity":
        return product(x * w)
    if mode in ("div", "div-sepSign"):
        active = torch.tanh(1000 * w) ** 2 if is_training else w.abs()
        magnitude = x.abs() ** w
        if mode == "div":
            return product(active * (torch.sign(x) * magnitude) + (1 - active))
        sign = torch.sign(x.detach()) ** torch.round(w.detach())
        return product(active * magnitude + (1 - active)) * product(sign)
    raise ValueError(f"mnac mode {mode!r} is not one of {', '.join(MNAC_MODES)}")
