"""The commands of the published READMEs, and those that stand beside them in the documentation."""

import re
import shlex
from pathlib import Path, PurePath

import pytest

from stable_nalu.base.files import CHECKOUT
from stable_nalu.base.papers import MISTRY_2022_DIVISION, MISTRY_2022_ROBUST
from stable_nalu.inspection import prediction_sweep
from stable_nalu.paper import command as plot
from stable_nalu.paper.index import EXPERIMENTS, find, find_figure
from stable_nalu.result import batch
from stable_nalu.result import export as exporters
from stable_nalu.statistics import means, thresholds
from stable_nalu.task.table import SCRIPTS
from tests.figure.drawing import rough_fit
from tests.figure.specimen import write_specimen

DOCUMENT = CHECKOUT / "docs" / "from-the-papers.md"
CSVS = "/data/nalms/csvs/"
"""Folder of exported tables, as the READMEs name it."""
DIGITS = ("static-mnist-mul-isolated", "static-mnist-mul-colour-concat")
RUNS = "/data/nalms/tensorboard/"
SAME = (
    "bash lfs_batch_jobs/icml_2022/single_module.sh 0 24",
    "bash lfs_batch_jobs/icml_2022/sequential_mnist_prod_reference.sh",
    "python3 experiments/simple_function_static.py --help",
    "python3 experiments/sequential_mnist.py --help",
    "python3 experiments/simple_function_static.py --operation mul --seed 0"
    " --layer-type ReRegualizedLinearNAC --nac-mul mnac --max-iterations 5000000"
    " --verbose --name-prefix test --remove-existing-data",
    f"python3 export/simple_function_static.py --tensorboard-dir {RUNS}a/ --csv-out {CSVS}a.csv",
    "python3 export/two_digit_mnist/two_digit_mnist_reader.py"
    f" --tensorboard-dir {RUNS}a --csv-out {CSVS}static-mnist/mul/a.csv",
    f"python3 export/sequential_mnist.py --tensorboard-dir {RUNS}a/ --csv-out {CSVS}a.csv",
)
"""Commands of the READMEs that are typed as published, which the document therefore leaves out."""


def test_tables_of_digits_are_read_where_the_readme_puts_them(tmp_path, monkeypatch):
    """At `csvs/static-mnist/mul/<model_name>.csv`, from the folder of that name."""
    monkeypatch.setattr(means, "exact_fit", rough_fit)
    entry = find_figure(key := DIGITS[1])
    folder = tmp_path / "csvs" / "static-mnist" / "mul"
    write_specimen(entry, tmp_path / "csvs")
    words = next(one.split() for one in commands() if f"{key} --csv-dir" in one)
    read = words[words.index("--csv-dir") + 1].replace(CSVS, f"{tmp_path}/csvs/")
    words = ["--csv-dir", read, "--out-dir", str(tmp_path / "plots"), "--format", "png"]
    assert PurePath(read) == folder
    assert plot.plot_command([key, *words]) == 0


def commands() -> list[str]:
    """Every command on the right side of a table of the document, and those left out of it."""
    found = dict.fromkeys(SAME)
    for line in DOCUMENT.read_text(encoding="utf-8").splitlines():
        cells = re.split(r"(?<!\\) \| ", line.strip("| "))
        if line.startswith("|") and len(cells) > 1:
            texts = re.findall(r"`((?:python3|bash|sbatch) [^`]+)`", cells[-1])
            keys = re.findall(r"`(\S+)`", cells[0])
            for text in texts:
                each = [text.replace("KEY", key) for key in keys] if "KEY" in text else [text]
                found |= dict.fromkeys(each)
    return list(found)


def test_the_document_has_a_command_for_every_figure_of_both_readmes():
    listed = "\n".join(commands())
    for experiment in EXPERIMENTS.values():
        if experiment.paper in (MISTRY_2022_DIVISION, MISTRY_2022_ROBUST):
            for key in experiment.figure_keys:
                assert f"python3 export/plot.py {key}" in listed or key == "confusion_matrix"
    assert len(commands()) > 60


@pytest.mark.parametrize("command", commands())
def test_a_command_of_the_document_is_understood(command, tmp_path, monkeypatch, capsys):
    program, script, *words = shlex.split(command)
    assert (CHECKOUT / script).is_file()
    monkeypatch.chdir(tmp_path)
    name = Path(script).stem
    if program in ("bash", "sbatch"):
        assert batch.main([script, *words, "--dry-run"]) == 0
        assert "python3 experiments/" in capsys.readouterr().out
    elif name == "reproduce":
        assert find(words[0]).key == words[0]
    elif script.startswith("experiments/") and words[0] not in ("--evaluate", "--help"):
        assert len(SCRIPTS[name].plan(words)) == 1
    elif name == "generate_exp_setups":
        assert thresholds.main([*words, "--samples", "1000"]) == 0
        assert (tmp_path / "exp_setups.csv").is_file()
    elif name == "generate_divBy0_extrap_thresholds":
        out = words.index("--csv-out") + 1
        words[out] = str(tmp_path / "errors.csv")
        assert thresholds.write_residuals(words) == 0
    elif name == "plot":
        assert find_figure(words[0]).key == words[0]
        assert plot.plot_arguments(words).keys == [words[0]]
    elif name == "pretrained_model_prediction_sweep":
        words[words.index("--csv-save-folder") + 1] = str(tmp_path)
        assert prediction_sweep.main(words) == 0
        assert (tmp_path / "mul_gold.csv").is_file()
    else:
        understood(name, words, capsys)


def understood(name, words, capsys):
    """The words of exporters and of saved models are flags of these programs."""
    mains = {
        "simple_function_static": exporters.arithmetic,
        "sequential_mnist": exporters.sequences,
        "two_digit_mnist_reader": exporters.pairs,
    }
    if words == ["--help"]:
        with pytest.raises(SystemExit) as end:
            SCRIPTS[name].parse(words)
        assert end.value.code == 0
    elif "--evaluate" in words:
        assert SCRIPTS[name].plan(words).configs[0].evaluate == words[1]
    else:
        assert mains[name](words) == 2
        assert "/data/nalms/tensorboard" in capsys.readouterr().err
