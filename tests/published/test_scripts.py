"""Scripts and readers written for the published package, on its names alone."""

import warnings
from zipfile import ZipFile

import pandas as pd
import pytest
import torch

import stable_nalu as sn
from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base.errors import UsageError
from stable_nalu.functional import Regualizer, mnac
from stable_nalu.layer import GeneralizedLayer


@pytest.fixture(autouse=True)
def roots(tmp_path, monkeypatch):
    monkeypatch.setenv("TENSORBOARD_DIR", str(tmp_path / "tensorboard"))
    monkeypatch.setenv("SAVE_DIR", str(tmp_path / "save"))
    return tmp_path


class Clipped(ExtendedTorchModule):
    """A layer of one's own as one is written over the published base."""

    def __init__(self, n_in, n_out, start=1.0, **kwargs):
        super().__init__("clipped", **kwargs)
        self.W = torch.nn.Parameter(torch.full((n_out, n_in), start))
        self.penalty = Regualizer(support="mnac", type="bias", shape="squared")

    def regualizer(self):
        return super().regualizer({"W": self.penalty(self.W)})

    def optimize(self, loss):
        self.W.data.clamp_(0, 1)

    def forward(self, x):
        self.writer.add_tensor("W", self.W)
        noise = 0.01 * torch.rand_like(self.W) if self.allow_random else 0
        return mnac(x, self.W + noise)


class Net(ExtendedTorchModule):
    def __init__(self, writer=None, **kwargs):
        super().__init__("network", writer=writer, **kwargs)
        front = GeneralizedLayer(3, 2, "NAC", writer=self.writer, name="front", **kwargs)
        self.add_module("front", front)
        self.back = Clipped(2, 1, start=1.5, writer=self.writer, **kwargs)
        self.front.reset_parameters()

    def forward(self, x):
        return self.back(self.front(x))


def events_of(folder):
    ((_, _, events),) = sn.reader.TensorboardReader(folder)
    return list(events)


def tags_of(folder):
    return {value.tag for event in events_of(folder) for value in event.summary.value}


def two_layers(writer):
    return sn.network.SimpleFunctionStaticNetwork(
        "ReRegualizedLinearNAC",
        10,
        nac_mul="mnac",
        nac_oob="clip",
        regualizer_shape="linear",
        nalu_bias=False,
        writer=writer,
    )


def test_a_loop_logs_what_readers_of_logs_find(roots):
    """The specification's figures of this script: five rows, 89.14942 at last, 30 tags."""
    torch.manual_seed(3)
    log = sn.writer.SummaryWriter("surface/nmu", remove_existing_data=True)
    data = sn.dataset.SimpleFunctionStaticDataset(
        "mul", 10, subset_ratio=0.1, overlap_ratio=0, seed=3, use_cuda=False
    )
    batches = iter(data.fork(sample_range=[1, 2]).dataloader(batch_size=64))
    x_far, t_far = next(iter(data.fork([2, 6], seed=7).dataloader(batch_size=500)))
    net = two_layers(log.every(50).verbose(True))
    net.reset_parameters()
    adam, mse = torch.optim.Adam(net.parameters(), lr=1e-2), torch.nn.MSELoss()
    for step, (x, t) in zip(range(201), batches, strict=False):
        log.set_iteration(step)
        net.set_parameter("tau", 0.9)
        adam.zero_grad()
        if step % 50 == 0:
            with torch.no_grad(), net.no_internal_logging(), net.no_random():
                log.add_scalar("metric/far", mse(net(x_far), t_far))
        fit, terms = mse(net(x), t), net.regualizer()
        (fit + 0.1 * terms["W"] + terms["g"]).backward()
        adam.step()
        net.optimize(fit)
        if step % 50 == 0:
            net.log_gradients()
    log.close()
    folder = roots / "tensorboard" / "surface"
    reader = sn.reader.TensorboardMetricReader(
        folder,
        metric_matcher=lambda tag: tag.startswith("metric/"),
        processes=1,
        progress_bar=False,
    )
    table = pd.concat(reader, ignore_index=True)
    columns = ["name", "metric.far", "step", "wall.time", "sparse.error.max"]
    assert (list(table), len(table)) == (columns, 5)
    assert table["metric.far"].iloc[-1] == pytest.approx(89.14942, rel=1e-4)
    assert len(tags_of(folder)) == 30
    assert {event.step for event in events_of(folder) if event.summary.value} == {
        *range(0, 201, 50)
    }


def test_overrides_of_a_child_are_called_by_its_parents(roots):
    log = sn.writer.SummaryWriter("own/run")
    with pytest.warns(UserWarning, match="no layer reads the option.s. unused"):
        net = Net(nac_oob="clip", unused=3, writer=log)
    x = torch.rand(5, 3)
    assert not torch.equal(net(x), net(x))
    with net.no_random():
        assert torch.equal(net(x), net(x))
    penalties = net.regualizer()
    assert penalties["W"].item() == 0.5625
    assert (penalties["z"], penalties["of no layer"]) == (0, 0)
    net.optimize(torch.tensor(1.0))
    assert net.back.W.tolist() == [[1, 1]]
    log.close()
    wanted = {"network/front/nac/W", "/network/clipped/W/text_summary"}
    assert wanted | {"network/clipped/regualizer/W"} <= tags_of(roots / "tensorboard" / "own")


def test_a_class_that_initialises_itself_draws_once():
    torch.manual_seed(0)
    net = Net()
    left = torch.rand(3)
    torch.manual_seed(0)
    front = GeneralizedLayer(3, 2, "NAC")
    assert torch.equal(left, torch.rand(3))
    assert torch.equal(net.front.layer.W_hat, front.layer.W_hat)


def test_weights_that_nobody_initialises_are_not_numbers():
    """The published base leaves them as memory is: any number."""

    class Forgetful(ExtendedTorchModule):
        def __init__(self):
            super().__init__("forgetful")
            self.layer = GeneralizedLayer(3, 2, "NAC")

    assert Forgetful().layer(torch.ones(1, 3)).isnan().all()


def test_a_plain_container_ends_recursion_with_a_warning():
    class Contained(ExtendedTorchModule):
        def __init__(self):
            super().__init__("contained")
            self.layers = torch.nn.Sequential(Clipped(2, 1, start=1.5))

    net = Contained()
    with pytest.warns(UserWarning, match="does not reach the layers within its Sequential"):
        assert dict(net.regualizer()) == {}
    with warnings.catch_warnings(action="error"):
        net.optimize(torch.tensor(0.0))
    assert net.layers[0].W.tolist() == [[1.5, 1.5]]


def test_gradients_and_parameters_are_logged_element_by_element(roots):
    log = sn.writer.SummaryWriter("gradients/run")
    net = two_layers(log)
    net(torch.rand(4, 10)).sum().backward()
    net.log_gradients()
    net.log_gradient_elems()
    net.log_learnable_parameters()
    net.log_gradients_mse_normalised(torch.full((4, 1), 2.0))
    log.close()
    found = tags_of(roots / "tensorboard" / "gradients")
    layer = "network/layer_2/nac"
    of_gradient = {f"{layer}/W/grad/{name}" for name in ("mean", "var", "norm", "W_1", "mse-norm")}
    assert of_gradient | {f"{layer}/param/W/1"} <= found


def test_when_a_writer_writes(roots, capsys):
    log = sn.writer.SummaryWriter("gates/run")
    every = log.every(2)
    quiet = every.verbose(False)

    def add(step):
        log.set_iteration(step)
        every.namespace("a").add_scalar("always", step, verbose_only=False)
        quiet.add_scalar("quiet", step, verbose_only=True)

    for step in range(3):
        add(step)
    with log.force_logging(True):
        add(3)
    with every.no_logging():
        add(4)
    add(6)
    log.namespace("b").print("value", 7)
    assert "b/value:\n7" in capsys.readouterr().out
    with pytest.raises(ValueError, match="nan detected"):
        quiet.add_histogram("W", torch.tensor([float("nan")]))
    assert (log.get_iteration(), log.name) == (6, "gates/run")
    log.close()
    events = events_of(roots / "tensorboard" / "gates")
    found = [(v.tag, e.step) for e in events for v in e.summary.value]
    assert found == [("a/always", step) for step in (0, 2, 3, 6)]


def test_removal_spares_what_is_no_log(roots):
    sn.writer.SummaryWriter("mine").close()
    folder = roots / "tensorboard" / "mine"
    sn.writer.SummaryWriter("mine", remove_existing_data=True).close()
    assert len(list(folder.iterdir())) == 1
    (folder / "thesis.tex").write_text("")
    with pytest.raises(UsageError, match="will not remove .* it holds thesis.tex"):
        sn.writer.SummaryWriter("mine", remove_existing_data=True)
    (folder / "thesis.tex").unlink()
    with pytest.raises(UsageError, match="it holds all runs"):
        sn.writer.SummaryWriter("", remove_existing_data=True)


def test_a_network_keeps_what_its_first_layer_gave():
    net, x = two_layers(None), torch.rand(4, 10)
    net(x)
    assert torch.equal(net.z_1_stored, net.layer_1(x))


def test_a_dummy_writer_does_nothing():
    writer = sn.writer.DummySummaryWriter()
    assert writer.every(3).verbose(True).namespace("a") is writer
    with writer.no_logging(), writer.force_logging(True):
        writer.add_histogram("W", torch.tensor([float("nan")]))
    assert writer.get_iteration() == 0


def trained(seed):
    torch.manual_seed(seed)
    net = two_layers(None)
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.rand(4, 10)).sum().backward()
    optimizer.step()
    return net, optimizer


def test_a_checkpoint_resumes_models_and_random_states():
    import numpy as np

    net, optimizer = trained(1)
    states = {"torch": torch.get_rng_state(), "numpy": np.random.get_state()}
    sn.writer.save_model_checkpoint("a/b", 7, net, optimizer, states)
    drawn = torch.rand(2), np.random.rand(2)
    other, its_optimizer = trained(2)
    assert sn.writer.load_model("a/b", other, its_optimizer) == 7
    assert torch.equal(torch.rand(2), drawn[0])
    assert (np.random.rand(2) == drawn[1]).all()
    assert torch.equal(other.layer_1.layer.W, net.layer_1.layer.W)
    sn.writer.save_model("weights", net)
    assert sn.writer.load_model("weights", trained(3)[0]) == 0


def test_a_published_checkpoint_is_read_and_a_pickled_model_is_not(roots):
    import numpy as np

    net, optimizer = trained(1)
    content = {"epoch": 3, "model_state_dict": net.state_dict(), "args": None}
    content["optimizer_state_dict"] = optimizer.state_dict()
    content |= {"torch_rng_state": torch.get_rng_state(), "numpy_rng_state": np.random.get_state()}
    (roots / "save").mkdir()
    torch.save(content, roots / "save" / "published.pth")
    assert sn.writer.load_model("published", *trained(2)) == 3
    with (
        ZipFile(roots / "save" / "published.pth") as new,
        ZipFile(roots / "save" / "older.pth", "w") as old,
    ):
        for part in new.infolist():
            names = new.read(part).replace(b"numpy._core.", b"numpy.core.")
            old.writestr(part.filename, names)
    assert sn.writer.load_model("older", *trained(2)) == 3
    torch.save(net, roots / "save" / "pickled.pth")
    with pytest.raises(UsageError, match="would run code .* torch.save.model.state_dict"):
        sn.writer.load_model("pickled", net)
    with pytest.raises(UsageError, match="there is no saved model"):
        sn.writer.load_model("absent", net)
