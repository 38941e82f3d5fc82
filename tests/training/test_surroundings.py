"""Whatever a program has set, `train` gives the runs of the command and leaves it as it was."""

import threading
from contextlib import ExitStack, contextmanager
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch

import stable_nalu as sn
from stable_nalu.training.loop import Training

SCRIPT = "single_layer_benchmark"
FLAGS = {"operation": "mul", "max_iterations": 40, "log_interval": 20, "nmu_noise": True}
LAYERS = ("ReRegualizedLinearMNAC", "NAC")
"""One draws noise while it trains; the other multiplies matrices, which autocast changes."""
OTHERS = {
    "dtype": (torch.get_default_dtype, torch.set_default_dtype, torch.float64),
    "grad": (torch.is_grad_enabled, torch.set_grad_enabled, False),
    "flushing": (
        lambda: (torch.tensor(1e-310, dtype=torch.float64) * 1).item() == 0,
        torch.set_flush_denormal,
        True,
    ),
    "determinism": (
        torch.are_deterministic_algorithms_enabled,
        torch.use_deterministic_algorithms,
        True,
    ),
    "precision": (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "medium"),
    "threads": (torch.get_num_threads, torch.set_num_threads, 2),
    "cudnn": (
        lambda: torch.backends.cudnn.benchmark,
        partial(setattr, torch.backends.cudnn, "benchmark"),
        True,
    ),
    "onednn": (
        lambda: torch.backends.mkldnn.enabled,
        partial(setattr, torch.backends.mkldnn, "enabled"),
        False,
    ),
    "device": (
        lambda: None if (device := torch.empty(0).device).type == "cpu" else device.type,
        torch.set_default_device,
        "meta",
    ),
}


@contextmanager
def setting(name):
    """Change a setting for a while, and find it unchanged at the end."""
    read, change, value = OTHERS[name]
    before = read()
    change(value)
    try:
        yield
        assert read() == value
    finally:
        change(before)


SURROUNDINGS = {
    "settings": [partial(setting, name) for name in OTHERS],
    "gradients": [torch.no_grad, torch.inference_mode],
    "blocks": [
        lambda: torch.autocast("cpu", torch.bfloat16),
        lambda: torch.device("meta"),
        partial(torch.autograd.detect_anomaly, check_nan=True),
        lambda: np.errstate(all="raise"),
    ],
}


def train(seed=3, **flags) -> pd.DataFrame:
    flags = FLAGS | {"seed": seed} | flags
    runs = pd.concat([sn.train(SCRIPT, layer=layer, **flags).table for layer in LAYERS])
    return runs.drop(columns=["wall.time", "name.prefix"])


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> pd.DataFrame:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("TENSORBOARD_DIR", "SAVE_DIR"):
            patch.setenv(name, str(tmp_path_factory.mktemp("runs")))
        return train()


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize("name", SURROUNDINGS)
def test_what_the_program_has_set_changes_no_number(name, expected):
    with ExitStack() as stack:
        for surrounding in SURROUNDINGS[name]:
            stack.enter_context(surrounding())
        found = train()
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_an_error_leaves_everything_as_it_was(monkeypatch):
    def fail(self, units):
        raise ZeroDivisionError

    monkeypatch.setattr(Training, "_end_unit", fail)
    with ExitStack() as stack:
        for name in OTHERS:
            stack.enter_context(setting(name))
        with pytest.raises(ZeroDivisionError):
            train(pytorch_precision=64)


def test_random_numbers_of_the_program_are_those_without_training():
    """A stack of one run, and a run with data of its own, use the generators of the process."""
    torch.manual_seed(5)
    np.random.seed(5)
    first = torch.rand(3), np.random.rand(3)
    torch.manual_seed(5)
    np.random.seed(5)
    train()
    sn.train("simple_function_static", layer="NAC", operation="add", max_iterations=2)
    assert torch.equal(torch.rand(3), first[0])
    assert np.array_equal(np.random.rand(3), first[1])


def test_threads_train_one_after_another(expected):
    found: dict[int, pd.DataFrame] = {}

    def work(precision: int) -> None:
        found[precision] = train(pytorch_precision=precision, name_prefix=f"bits{precision}")

    threads = [threading.Thread(target=work, args=(bits,)) for bits in (64, 32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.get_default_dtype() == torch.float32
    alone = train(pytorch_precision=64)
    for one, other in ((found[32], expected), (found[64], alone)):
        pd.testing.assert_frame_equal(one, other, check_exact=True)


def test_other_threads_print_while_one_trains(monkeypatch, capsys):
    end_unit, printed = Training._end_unit, []

    def beside(self, units):
        printed.append(f"{self.at}\n")
        other = threading.Thread(target=print, args=(self.at,))
        other.start()
        other.join()
        return end_unit(self, units)

    monkeypatch.setattr(Training, "_end_unit", beside)
    train()
    assert capsys.readouterr().out == "".join(printed)
    assert len(printed) > 2
