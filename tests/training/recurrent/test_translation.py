import pytest
import torch

from stable_nalu.layer import GeneralizedCell
from stable_nalu.training.recurrent import translation
from stable_nalu.training.script import run_script
from tests.sequence_runs import logged, results

SCRIPT = "number_translation"
LOSSES = ("loss/train/critation", "loss/train/regualizer", "loss/train/total")


def test_losses_known_of_the_published_script(capsys):
    assert run_script(SCRIPT, ["--max-epochs", "51", "--verbose"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[1:6] == [
        "  - seed: 0", "  - layer_type: NALU", f"  - cuda: {torch.cuda.is_available()}",
        "  - verbose: True", "  - max_epochs: 51",
    ]  # fmt: skip
    lines = dict(line.split(": ") for line in printed if line.startswith("train "))
    assert list(lines) == ["train 0", "train 50"]
    assert float(lines["train 0"]) == pytest.approx(281481.40625, rel=1e-7)
    # Made with vector instructions: without them, fifty epochs magnify another rounding.
    vectors = torch.backends.cpu.get_cpu_capability() != "DEFAULT"
    assert float(lines["train 50"]) == pytest.approx(325412.59375, rel=1e-6 if vectors else 1e-4)

    (record,) = results(SCRIPT)
    assert list(record) == [
        "seed", "layer_type", "cuda", "verbose", "max_epochs", "loss_train", "loss_valid",
    ]  # fmt: skip
    assert printed[-3:] == [
        "finished:",
        f"  - loss_train: {record['loss_train']}",
        f"  - loss_valid: {record['loss_valid']}",
    ]

    log = logged(f"{SCRIPT}/nalu_0")
    assert all([step for step, _ in log[tag]] == [*range(1, 154)] for tag in LOSSES)
    assert [step for step, _ in log["loss/valid"]] == [1, 151]
    cell = "network/recurrent_output/recurrent_output/recurrent_output"
    assert [step for step, _ in log[f"{cell}/gate/mean"]] == [150]
    assert [step for step, _ in log[f"{cell}/G_add/grad/norm"]] == [1, 31, 61, 91, 121, 151]


def test_validation_counts_every_sentence_once():
    assert run_script(SCRIPT, ["--layer-type", "NAC", "--max-epochs", "1", "--seed", "1"]) == 0
    torch.manual_seed(1)
    network = translation.NumberTranslationNetwork("NAC")
    network.reset_parameters()
    valid = translation.NumberTranslationDataset(seed=1).fork("valid")
    error = ((network(valid.ids) - valid.values) ** 2).mean().item()
    ((step, value),) = logged(f"{SCRIPT}/nac_1")["loss/valid"]
    assert step == 1
    assert value == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize("unit_name", GeneralizedCell.unit_names())
def test_every_cell(unit_name):
    assert run_script(SCRIPT, ["--layer-type", unit_name, "--max-epochs", "1", "--verbose"]) == 0
    log = logged(f"{SCRIPT}/{unit_name.lower()}_0")
    assert all([step for step, _ in log[tag]] == [1, 2, 3] for tag in LOSSES)


def test_no_epochs():
    assert run_script(SCRIPT, ["--max-epochs", "0"]) == 0
    assert set(logged(f"{SCRIPT}/nalu_0")) == {"config/text_summary", "hparam/valid"}
    (record,) = results(SCRIPT)
    assert record["loss_train"] > 0


def test_a_diverged_run_ends(monkeypatch):
    monkeypatch.setattr(translation, "LOG_EPOCHS", 2)
    build = translation.build_network

    def broken(config, layer_options):
        network = build(config, layer_options)
        network.reset_parameters = lambda: torch.nn.init.constant_(network.embedding, torch.inf)
        return network

    monkeypatch.setattr(translation, "build_network", broken)
    assert run_script(SCRIPT, ["--max-epochs", "6"]) == 3
    log = logged(f"{SCRIPT}/nalu_0")
    assert [step for step, _ in log["/diverged/text_summary"]] == [7]
    assert [step for step, _ in log["loss/train/total"]] == [*range(1, 7)]
    (record,) = results(SCRIPT)
    assert record["loss_train"] is None
