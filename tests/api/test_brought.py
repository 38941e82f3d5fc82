"""Networks, optimisers, losses, schedules, rates and penalties that a program brings."""

import numpy as np
import pytest
import torch

import stable_nalu as sn
from stable_nalu.base.errors import UsageError
from stable_nalu.network import SimpleFunctionStaticNetwork
from stable_nalu.training.step import OPTIMIZERS

HOW = {"operation": "mul", "learning_rate": 0.02, "max_iterations": 300, "log_interval": 100}
TASK = {"layer": "NMU", **HOW}


def curve(runs):
    return runs.table[["step", "metric.test.extrapolation"]].to_numpy()


@pytest.mark.parametrize("name", ["adam", "adamw", "nadam", "rmsprop"])
def test_optimisers_have_the_numbers_of_torch(name):
    names = {"adam": "Adam", "adamw": "AdamW", "nadam": "NAdam", "rmsprop": "RMSprop"}
    ours, theirs = (torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64) for _ in range(2))
    theirs.requires_grad_()
    own = OPTIMIZERS[name]([ours], 0.01)
    other = getattr(torch.optim, names[name])([theirs], lr=0.01)
    random = torch.Generator().manual_seed(0)
    for _ in range(50):
        gradient = torch.randn(3, generator=random, dtype=torch.float64)
        theirs.grad = gradient.clone()
        own.step([gradient])
        other.step()
    assert torch.allclose(ours, theirs.detach(), rtol=1e-9, atol=0)


@pytest.mark.parametrize("name", ["adamw", "nadam", "rmsprop"])
def test_the_engine_takes_every_optimiser(tmp_path, name):
    runs = sn.train("single_layer", optimizer=name, out=tmp_path / "lanes", **TASK)
    assert runs[0].record.engine.startswith("lanes")
    torch_runs = sn.train(
        "single_layer", optimizer=name, engine="torch", out=tmp_path / "torch", **TASK
    )
    assert np.allclose(curve(runs), curve(torch_runs), rtol=1e-3, atol=1e-8)


def test_an_optimiser_of_torch_makes_the_steps_and_goes_on(tmp_path, capsys):
    def adam(parameters):
        return torch.optim.Adam(parameters, lr=0.02)

    runs = sn.train("single_layer", optimizer=adam, seed=[0, 1], out=tmp_path / "own", **TASK)
    assert "plain torch: an optimiser of the program" in capsys.readouterr().err
    known = sn.train("single_layer", engine="torch", seed=[0, 1], out=tmp_path / "known", **TASK)
    assert np.allclose(curve(runs), curve(known), rtol=1e-4, atol=1e-10)
    how = {**TASK, "optimizer": adam, "seed": [0, 1], "out": tmp_path / "halves"}
    sn.train("single_layer", **{**how, "max_iterations": 200})
    assert np.array_equal(curve(sn.train("single_layer", **how))[-1], curve(runs)[-1])


def test_schedules_of_both_kinds_are_one(tmp_path):
    def halved(step):
        return 0.5 ** (step // 100)

    def steps(optimizer):
        return torch.optim.lr_scheduler.StepLR(optimizer, 100, 0.5)

    slow = {**TASK, "learning_rate": 1e-3}
    curves = [
        curve(sn.train("single_layer", schedule=schedule, out=tmp_path / name, **slow, **how))
        for name, schedule, how in (
            ("a", halved, {}),
            ("b", steps, {}),
            ("c", halved, {"engine": "torch"}),
            ("d", None, {}),
        )
    ]
    assert np.array_equal(curves[0], curves[1])
    assert np.allclose(curves[0], curves[2], rtol=1e-3, atol=1e-8)
    assert not np.allclose(curves[0][-2:], curves[3][-2:], rtol=1e-2)


def test_losses(tmp_path, capsys):
    def squares(y, t):
        return torch.mean((y - t) ** 2)

    own = sn.train("single_layer", loss=squares, out=tmp_path / "own", **TASK)
    assert own[0].record.engine.startswith("lanes")
    usual = sn.train("single_layer", loss="mse", out=tmp_path / "usual", **TASK)
    assert np.allclose(curve(own), curve(usual), rtol=1e-4, atol=1e-9)
    assert own.names != usual.names
    runs = sn.train("single_layer", loss=torch.nn.SmoothL1Loss(), out=tmp_path / "smooth", **TASK)
    assert "smooth_l1" in capsys.readouterr().err
    assert np.isfinite(curve(runs)).all()


def test_a_published_loop_hands_its_network_to_the_engine(tmp_path):
    """The bridge: the same streams, the same start weights, the same numbers."""
    how = {**HOW, "learning_rate": 1e-3, "seed": [0, 1]}

    def network(inputs):
        return SimpleFunctionStaticNetwork(
            "ReRegualizedLinearNAC", inputs, nac_mul="mnac", nac_oob="clip"
        )

    own = sn.train("simple_function_static", network=network, out=tmp_path / "own", **how)
    assert own[0].record.engine.startswith("lanes")
    known = sn.train("simple_function_static", layer="NMU", out=tmp_path / "known", **how)
    assert np.array_equal(curve(own), curve(known))


def test_networks_of_torch_alone_and_beside_others(tmp_path):
    start = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))

    def wide(inputs, outputs):
        return torch.nn.Linear(inputs, outputs)

    how = {**HOW, "seed": [0, 1]}
    runs = sn.train("single_layer", network=[start, wide], out=tmp_path / "both", **how)
    assert all(run.record.engine.startswith("lanes") for run in runs)
    first = curve(runs)[curve(runs)[:, 0] == 0, 1]
    assert len(set(first.tolist())) == 3  # two runs begin with the weights of the module
    alone = sn.train("single_layer", network=wide, out=tmp_path / "one", **{**how, "seed": 1})
    assert np.array_equal(curve(runs[3:4]), curve(alone))
    norm = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1))
    pair = [
        curve(sn.train("single_layer", network=norm, engine=e, out=tmp_path / e, **how))
        for e in ("lanes", "torch")
    ]
    assert np.allclose(*pair, rtol=1e-3)
    again = sn.train("single_layer", network=start, engine="torch", out=tmp_path / "t", **how)
    assert np.allclose(curve(again), curve(runs[:2]), rtol=1e-3)


class Pulled(sn.Layer):
    """A sum whose weights a penalty of its own pulls to zero, with a weight of its own."""

    def make_parameters(self):
        self.W = torch.nn.Parameter(torch.empty(self.out_features, self.in_features))

    def reset_parameters(self):
        torch.nn.init.ones_(self.W)

    def forward(self, x):
        return x @ self.W.mT

    def regualizer_terms(self):
        return {"pull": lambda: self.W.abs().sum((-2, -1))}

    def penalty_weights(self, step):
        return {"pull": 0.0 if step < 100 else 1e6}


class Slow(torch.nn.Module):
    """Two numbers, the second of which has a learning rate of its own."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.fast, self.slow = (torch.nn.Parameter(torch.zeros(())) for _ in range(2))

    def forward(self, x):
        return self.fast * x[..., :1] + self.slow * x[..., 1:]

    def param_groups(self):
        return [{"params": [self.slow], "lr": 1e-4}]


def test_a_penalty_of_any_name_has_the_weight_that_its_layer_says(tmp_path):
    how = {**HOW, "operation": "add", "layer": Pulled}
    found = {
        engine: sn.train("single_layer", engine=engine, out=tmp_path / engine, **how)
        for engine in ("lanes", "torch")
    }
    assert found["lanes"][0].record.engine.startswith("lanes")
    for runs in found.values():
        errors = curve(runs)[:, 1]
        assert errors[1] < 1e-6
        assert errors[-1] > 1
    assert np.allclose(curve(found["lanes"]), curve(found["torch"]), rtol=1e-3, atol=1e-9)


def test_a_loop_of_ones_own_weighs_it_alike():
    unit = Pulled(2, 1)
    assert [sn.penalty(unit, step).item() for step in (99, 100)] == [0, 2e6]


def test_rates_of_a_layer(tmp_path, capsys):
    runs = sn.train("single_layer", layer=Slow, out=tmp_path, **HOW)
    assert "learning rates of its own" in capsys.readouterr().err
    state = sn.load(runs[0]).module.state_dict()
    weights = {name.rpartition(".")[2]: float(value) for name, value in state.items()}
    assert 0 < weights["slow"] <= 1.01 * 301e-4
    assert weights["fast"] > 10 * weights["slow"]


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ({"optimizer": "lamb"}, "optimizer: 'lamb' is not a choice; choose one of adam"),
        ({"optimizer": lambda parameters: 3}, "optimizer: AttributeError"),
        ({"optimizer": lambda p: torch.optim.LBFGS(p)}, "optimizer: its step fails"),
        ({"loss": "hinge"}, "loss: 'hinge' is not a choice"),
        ({"loss": "mse", "train_criterion": "pcc"}, "loss: train_criterion names a loss, too"),
        ({"schedule": lambda optimizer: 1 / 0}, "schedule: ZeroDivisionError"),
        ({"schedule": {0: 1.0}.get}, "schedule: at step 1: TypeError"),
        (
            {"loss": lambda y, t: t / "a"},
            "function-.* fails in line .* TypeError.*; fix the function",
        ),
        ({"loss": lambda y, t: (y - t) ** 2}, r"loss: it returned \(128, 1\); return a tensor of"),
        ({"loss": lambda y, t: 3.0}, "loss: it returned 3.0; return a tensor of one number"),
        ({"loss": lambda y, t: y.nope}, "function-.* fails in line"),
        ({"network": 3}, "network: int is no network"),
        ({"network": torch.nn.Linear(2, 1), "layer_type": "NAU"}, "network: layer_type names"),
        ({"network": lambda a, b, c: None}, "network: function-.* does not take"),
        ({"network": lambda: torch.nn.Linear(2, 1), "workers": 2}, "workers: other processes"),
        ({"optimizer": torch.optim.Adam, "workers": 2, "seed": [0, 1]}, "workers: other processes"),
    ],
)
def test_what_cannot_be_brought_is_one_line_that_names_the_argument(tmp_path, flags, says):
    flags = {**({} if "network" in flags else {"layer": "NMU"}), **HOW, **flags}
    with pytest.raises(UsageError, match=f"^{says}") as raised:
        sn.train("single_layer", out=tmp_path, **flags)
    assert "\n" not in str(raised.value)


def test_scripts_with_networks_of_their_own_say_so(tmp_path):
    with pytest.raises(UsageError, match="network: sequential_mnist has its own"):
        sn.train("sequential_mnist", network=torch.nn.Linear(2, 1), out=tmp_path)
