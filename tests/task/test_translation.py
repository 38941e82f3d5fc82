from dataclasses import replace

import pytest
import torch

from stable_nalu.dataset.number_translation import encode, split_numbers, words_of
from stable_nalu.network.sequences import NumberReaderNetwork
from stable_nalu.result import run_script as run_whole
from stable_nalu.task.number_translation import SCRIPT as SPEC
from stable_nalu.task.number_translation import TranslationTask
from tests.sequence_runs import logged, results

SCRIPT = "number_translation"
LOSSES = ("loss/train/critation", "loss/train/regualizer", "loss/train/total")


def run_script(*words):
    return run_whole(SPEC, TranslationTask, words)


def test_losses_known_of_the_published_script(capsys):
    assert run_script("--max-epochs", "51", "--verbose") == 0
    printed = capsys.readouterr().out.splitlines()
    begin = printed.index("running")
    assert printed[begin + 1 : begin + 6] == [
        "  - seed: 0",
        "  - layer_type: NALU",
        f"  - cuda: {torch.cuda.is_available()}",
        "  - verbose: True",
        "  - max_epochs: 51",
    ]
    lines = dict(line.split(": ") for line in printed if line.startswith("train "))
    assert list(lines) == ["train 0", "train 50"]
    assert float(lines["train 0"]) == pytest.approx(281481.40625, rel=1e-7)
    # Made with vector instructions: without them, fifty epochs magnify another rounding.
    vectors = torch.backends.cpu.get_cpu_capability() != "DEFAULT"
    assert float(lines["train 50"]) == pytest.approx(325412.59375, rel=1e-6 if vectors else 1e-4)

    (record,) = results(SCRIPT)
    assert list(record) == [
        "seed",
        "layer_type",
        "cuda",
        "verbose",
        "max_epochs",
        "loss_train",
        "loss_valid",
    ]
    end = printed.index("finished:")
    assert printed[end : end + 3] == [
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


PAPER = (
    *("--number-range", "paper", "--head", "final", "--embedding-size", "3"),
    *("--hidden-size", "4", "--max-epochs"),
)
LEAF = "n-paper_head-final_e3_h4"
SPLITS = ("train", "valid", "test")


@pytest.fixture
def often(monkeypatch):
    every = replace(TranslationTask.logging, interval=2)
    monkeypatch.setattr(TranslationTask, "logging", every)


@pytest.mark.usefixtures("often")
def test_the_split_of_the_paper_is_measured_by_epochs():
    words = ("--layer-type", "NAC", *PAPER, "3", "--seed", "1", "--verbose")
    assert run_script(*words) == 0
    log = logged(f"{SCRIPT}/nac_1_{LEAF}")
    for name in SPLITS:
        assert [step for step, _ in log[f"metric/{name}/mae"]] == [0, 2, 3]
    assert all([step for step, _ in log[tag]] == [0, 2] for tag in LOSSES)
    assert "loss/valid" not in log
    torch.manual_seed(1)
    network = NumberReaderNetwork("NAC", 3, 4)
    network.reset_parameters()
    splits = split_numbers(1, "paper")
    for name in SPLITS:
        error = (network(encode(splits[name], "paper")) - column(splits[name])).detach()
        for measure, value in (("mae", error.abs().mean()), ("mse", (error**2).mean())):
            _, found = log[f"metric/{name}/{measure}"][0]
            assert found == pytest.approx(value.item(), rel=1e-5)
    (record,) = results(SCRIPT)
    assert [record[f"loss_{name}"] > 0 for name in SPLITS] == [True] * 3
    assert (record["number_range"], record["head"]) == ("paper", "final")
    check_traces(log, splits["test"], network)


def column(numbers):
    return torch.tensor(numbers, dtype=torch.float32).unsqueeze(-1)


def check_traces(log, numbers, network):
    """Eight test numbers: the answer behind each word, as numbers and as a text."""
    place, number = next((k, n) for k, n in enumerate(numbers) if n > 200 and n % 100)
    words, (ids,) = words_of(number), encode([number])
    answers = [network(ids[: k + 1].unsqueeze(0)).item() for k in range(len(words))]
    assert log[f"metric/trace/{place}/number"][0] == (0, number)
    found = [log[f"metric/trace/{place}/{k + 1}"][0][1] for k in range(len(words))]
    assert found == pytest.approx(answers, rel=1e-4, abs=1e-6)
    text = log[f"trace/{number}/text_summary"][0][1].decode().splitlines()
    assert [line.split(" | ")[0].strip("| ") for line in text[2:]] == words
    assert sum(tag.startswith("trace/") for tag in log) == 8
