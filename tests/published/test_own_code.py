"""Classes of users over the published base and networks, and what a loop does with its data."""

import pickle
import warnings

import pytest
import torch
from stable_nalu.layer.generalized import unit_name_to_layer_class

import stable_nalu as sn
from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.layer import registry


@pytest.fixture(autouse=True)
def roots(tmp_path, monkeypatch):
    monkeypatch.setenv("TENSORBOARD_DIR", str(tmp_path / "tensorboard"))
    return tmp_path


def tags_of(folder):
    ((_, _, events),) = sn.reader.TensorboardReader(folder)
    return [value.tag for event in events for value in event.summary.value]


class Composed(ExtendedTorchModule):
    """Hands on all that it is given, as the published layers do."""

    def __init__(self, in_features, out_features, **kwargs):
        super().__init__("composed", **kwargs)
        own = kwargs | {"writer": self.writer}
        self.add = sn.layer.ReRegualizedLinearNACLayer(in_features, 2, **own)
        self.multiply = sn.layer.ReRegualizedLinearMNACLayer(2, out_features, **own)

    def reset_parameters(self):
        self.add.reset_parameters()
        self.multiply.reset_parameters()

    def forward(self, x):
        return self.multiply(self.add(x))


@pytest.fixture
def composed():
    unit_name_to_layer_class["Composed"] = Composed
    yield "Composed"
    registry.drop("Composed")


def test_a_network_holds_a_unit_of_ones_own_with_all_options(composed, roots):
    """Names of parameters, tags and options are those that the published network gives it."""
    log = sn.writer.SummaryWriter("own/run")
    options = {"nac_oob": "clip", "regualizer_shape": "linear", "nalu_bias": False}
    net = sn.network.SingleLayerNetwork(composed, 3, writer=log, **options)
    unit = net.layer_1.layer
    assert type(unit) is Composed
    assert (unit.add.nac_oob, unit.multiply.regualizer_shape) == ("clip", "linear")
    assert list(net.state_dict()) == ["layer_1.layer.add.W", "layer_1.layer.multiply.W"]
    assert not net(torch.rand(4, 3)).isnan().any()
    assert net.regualizer()["W"] == unit.add.regualizer()["W"] + unit.multiply.regualizer()["W"]
    log.close()
    tags = tags_of(roots / "tensorboard" / "own")
    assert "network/layer_1/composed/nac/W/sparsity_error" in tags
    assert not [tag for tag in tags if "plain" in tag]


def test_foreign_options_are_ignored_within_a_class_of_ones_own():
    with warnings.catch_warnings(action="error"):
        unit = Composed(3, 1, nac_oob="clip", nalu_bias=False, eps=1e-7)
    assert unit.multiply.nac_oob == "clip"
    with pytest.warns(UserWarning, match="no layer reads the option.s. nac_oop"):
        Composed(3, 1, nac_oop="clip")
    with pytest.raises(TypeError, match="takes no option nac_oop"):
        sn.layer.NACLayer(3, 1, nac_oop="clip")


def test_children_without_a_writer_write_nothing_in_a_network(roots):
    class Silent(ExtendedTorchModule):
        def __init__(self, in_features, out_features, **kwargs):
            super().__init__("silent", **kwargs)
            self.layer = sn.layer.GeneralizedLayer(in_features, out_features, "NAC")

        def forward(self, x):
            self.writer.add_scalar("own", 1)
            return self.layer(x)

    unit_name_to_layer_class["Silent"] = Silent
    log = sn.writer.SummaryWriter("silent/run")
    try:
        sn.network.SingleLayerNetwork("Silent", 2, writer=log)(torch.ones(1, 2))
    finally:
        registry.drop("Silent")
    log.close()
    tags = [tag for tag in tags_of(roots / "tensorboard" / "silent") if "layer_1" in tag]
    assert tags == ["network/layer_1/silent/own"]


NETWORKS = {
    "SimpleFunctionStaticNetwork": (4,),
    "SingleLayerNetwork": (2,),
    "SimpleFunctionRecurrentNetwork": (4,),
    "SequentialMnistNetwork": (1,),
    "NumberTranslationNetwork": (),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_constructors_of_networks_initialise_them(name):
    """Within a class of one's own, too; and what a subclass sets behind that stays."""
    network = getattr(sn.network, name)

    class Holder(ExtendedTorchModule):
        def __init__(self):
            super().__init__("holder")
            self.net = network("ReRegualizedLinearNAC", *NETWORKS[name])

    class Ones(network):
        def __init__(self):
            super().__init__("ReRegualizedLinearNAC", *NETWORKS[name])
            for parameter in self.parameters():
                torch.nn.init.ones_(parameter)

    torch.manual_seed(1)
    held = Holder().net.state_dict()
    torch.manual_seed(1)
    alone = network("ReRegualizedLinearNAC", *NETWORKS[name]).state_dict()
    assert all(torch.equal(held[key], alone[key]) for key in alone)
    assert all((parameter == 1).all() for parameter in Ones().parameters())


def test_parameters_called_device_and_dtype_reach_a_class_that_has_them():
    class Placed(ExtendedTorchModule):
        def __init__(self, device, dtype=None, **kwargs):
            super().__init__("placed", **kwargs)
            self.of = device, dtype

    assert Placed(device="cpu", dtype=torch.float64).of == ("cpu", torch.float64)
    assert Placed("cpu").of == ("cpu", None)


def test_the_switch_for_text_is_stored_and_handed_on(composed):
    assert not ExtendedTorchModule("own").use_robustness_exp_logging
    for unit in (composed, "ReRegualizedLinearMNAC"):
        net = sn.network.SingleLayerNetwork(unit, 2, use_robustness_exp_logging=True)
        layers = [m for m in net.modules() if isinstance(m, sn.layer.NMULayer)]
        assert [layer.use_robustness_exp_logging for layer in layers] == [True]


def test_units_over_time_follow_the_iteration_of_the_writer():
    log = sn.writer.SummaryWriter("run")
    net = sn.network.SingleLayerNetwork("MultiWeightNAU", 2, writer=log)
    x, layer = torch.ones(1, 2), net.layer_1.layer
    first = net(x)
    log.set_iteration(1)
    assert torch.equal(net(x), x @ layer.W_1.clamp(-1, 1).T)
    assert not torch.equal(net(x), first)
    log.close()


def test_batches_may_be_changed_in_place():
    fork = sn.dataset.NumberTranslationDataset(seed=1).fork("valid")
    words, values = (part.clone() for part in fork[0:50])
    for x, t in (fork[0:50], next(iter(fork.dataloader(50, shuffle=False)))):
        assert torch.equal(x, words)
        assert torch.equal(t, values)
        x.zero_()
        t.zero_()
    assert fork[0][1].item() == values[0].item()


def test_forks_go_to_workers_of_a_loader_of_torch():
    data = sn.dataset.SimpleFunctionStaticDataset("mul", 4, subset_ratio=0.5, seed=1)
    fork = data.fork([1, 2], seed=3)
    copy = pickle.loads(pickle.dumps(fork))
    assert torch.equal(copy[0:5][1], fork[0:5][1])
    with pytest.raises(TypeError, match="name both ends of a slice"):
        fork[5:2]
    with pytest.raises(ValueError, match="batch_size 0 is not 1 or more"):
        fork.dataloader(0)


def test_all_published_layers_come_by_a_star():
    names = {}
    exec("from stable_nalu.layer import *", names)
    wanted = {"NACLayer", "NACCell", "GeneralizedLayer", "GeneralizedCell", "MCFullyConnected"}
    assert wanted | {"ReRegualizedLinearNALULayer", "BasicCell"} <= names.keys()
    assert "sys" not in names


def test_an_unknown_way_to_multiply_is_refused():
    """It would be taken for none, and train another model than was asked for."""
    for network in ("SimpleFunctionStaticNetwork", "SequentialMnistNetwork"):
        with pytest.raises(ValueError, match="nac_mul 'log' is not one of mnac, npu"):
            getattr(sn.network, network)("NAC", 4, nac_mul="log")


def test_a_layer_logs_when_it_is_called(roots):
    log = sn.writer.SummaryWriter("called/run")
    layer = sn.network.SingleLayerNetwork("NAC", 2, writer=log).layer_1.layer
    layer.forward(torch.ones(1, 2))
    layer(torch.ones(1, 2))
    log.close()
    tags = tags_of(roots / "tensorboard" / "called")
    assert tags.count("network/layer_1/nac/W/sparsity_error") == 1
