"""What training computes in: settings of torch and numpy, which are put back, and its errors."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import backends

from stable_nalu import abstract
from stable_nalu.base.errors import STOPS, UsageError, in_words
from stable_nalu.options import Config

_LOCK = threading.RLock()

DTYPES = {32: torch.float32, 64: torch.float64}
_DOES_NOT_FIT = ("can't allocate memory", "not enough memory", "out of memory", "overflow")
"""How torch words that memory is short: on the CPU by system, on a GPU, for absurd sizes."""

Setting = tuple[Callable[[], Any], Callable[[Any], object], Any]
"""How a setting is read, how it is changed, and its value at the start of a process."""


@contextmanager
def as_at_the_start() -> Iterator[None]:
    """Let torch and numpy be set as at the start of a process, and put everything back afterwards.

    One thread at a time: all threads share most of these settings, and torch's generator.
    """
    with _LOCK, ExitStack() as left:
        left.enter_context(torch.inference_mode(False))
        left.enter_context(torch.enable_grad())
        left.enter_context(np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"))
        for device in ("cpu", "cuda"):
            left.enter_context(torch.autocast(device, enabled=False))
        # Torch 2.6 fails to say what the default is, once it was put back.
        if torch.empty(0).device.type != "cpu":
            left.enter_context(torch.device("cpu"))
        if torch.is_anomaly_enabled():
            left.enter_context(torch.autograd.set_detect_anomaly(False))
        for read, change, at_start in _settings():
            left.callback(_put_back, read, change, read())
            _put_back(read, change, at_start)
        threads = torch.get_num_threads()
        left.callback(torch.set_num_threads, threads)
        left.callback(np.random.set_state, np.random.get_state())
        cuda = [torch.cuda.current_device()] if torch.cuda.is_available() else []
        left.enter_context(torch.random.fork_rng(devices=cuda))
        yield


def _put_back(read: Callable[[], Any], change: Callable[[Any], object], value: Any) -> None:
    """Change a setting that has another value; some warn, or import much, when they are set."""
    if read() != value:
        change(value)


def _settings() -> list[Setting]:
    small = torch.tensor(1e-310, dtype=torch.float64, device="cpu")
    settings: list[Setting] = [
        (torch.get_default_dtype, torch.set_default_dtype, torch.float32),
        (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode, 0),
        # Torch can only set whether results too small for a normal number become 0.
        (lambda: bool(small * 1 == 0), torch.set_flush_denormal, False),
        _attribute(backends.mkldnn, "enabled", True),
        _attribute(backends.cudnn, "enabled", True),
        _attribute(backends.cudnn, "benchmark", False),
        _attribute(backends.cudnn, "deterministic", False),
    ]
    if not hasattr(backends, "fp32_precision"):  # before torch 2.9
        read, change = torch.get_float32_matmul_precision, torch.set_float32_matmul_precision
        return [*settings, (read, change, "highest")]
    mkldnn: Any = backends.mkldnn
    # What is set for all of torch comes first.
    owners = (backends, mkldnn, mkldnn.matmul, mkldnn.conv, backends.cuda.matmul)
    precisions = [_attribute(owner, "fp32_precision", "ieee") for owner in owners]
    return settings + [one for one in precisions if one[0]() not in ("none", "ieee")]


def _attribute(owner: Any, name: str, at_start: Any) -> Setting:
    return partial(getattr, owner, name), partial(setattr, owner, name), at_start


def has_gpu(config: Config) -> bool:
    """Return whether there is a GPU, unless the configuration stays on the CPU."""
    return torch.cuda.is_available() and not config.no_cuda


def floats(values: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Return numbers on a device, in the precision that models compute in."""
    return values.to(device, torch.get_default_dtype())


def default_dtype(config: Config) -> AbstractContextManager[None]:
    """Let parameters and data have the float type of a configuration while the context lasts."""
    return abstract.default_dtype(DTYPES[getattr(config, "pytorch_precision", 32)])


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """Say in one line that something does not fit into memory, or where a user's layer fails."""
    try:
        yield
    except (UsageError, *STOPS):
        raise
    except BaseException as error:
        from stable_nalu.layer.own_layers import failure_of_own_layer

        words = in_words(error) if isinstance(error, RuntimeError) else ""
        short = any(one in words for one in _DOES_NOT_FIT)
        if short or isinstance(error, MemoryError | OverflowError):
            said = (
                "this does not fit into memory: lower --batch-size, --input-size, --hidden-size "
                "or, with many runs, --ensemble-size"
            )
        else:
            said = failure_of_own_layer(error)
        if said is None:
            raise
        raise UsageError(said) from error
