"""The commands of the published READMEs, and those that stand beside them in the documentation."""

import re
import shlex
from pathlib import Path, PurePath

import pytest

from stable_nalu.cluster import command as batch
from stable_nalu.cluster.job_script import find_job
from stable_nalu.cluster.shard import shards
from stable_nalu.figure import command as plot
from stable_nalu.figure.entries import find
from stable_nalu.inspection import prediction_sweep
from stable_nalu.paper.experiment import expected_runs
from stable_nalu.paper.index import find as find_experiment
from stable_nalu.result import exporters
from stable_nalu.statistics import small_divisors, thresholds
from stable_nalu.task import SCRIPTS
from tests.figure.specimen import write_specimen
from tools.experiment_tables import CSVS, PLOTS, folders, plot_words
from tools.experiment_tables import FROM_THE_PAPERS as DOCUMENT

ROOT = DOCUMENT.parents[1]
DIVISION, ROBUST = "single_layer_task/neurips_2021/", "icml_2022/"
SCRIPTS_OF_READMES = (
    *(
        f"{DIVISION}{name}"
        for name in (
            *("sltr-in2", "in2-realnpu-beta-sweep", "in2-mixed-signs", "sltr-in10"),
            *("sltr-distributions-in2", "sltr-distributions-in10", "divBy0"),
        )
    ),
    *(
        f"{ROBUST}{name}"
        for name in ("single_module", "arithmetic_dataset", "arithmetic_dataset_noise_ranges")
    ),
)
DIGITS = ("static-mnist-mul-isolated", "static-mnist-mul-colour-concat")
OTHER = ("divBy0_gold_test_errors", "surface-mul", "weights_path-isolated", *DIGITS)
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
TRAINED = [key for key in PLOTS if key not in (*OTHER, "robust-sequential_mnist_prod_long")]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The first two stages of the READMEs at 2 iterations: the folder of the tables."""
    root = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TENSORBOARD_DIR", str(root / "tensorboard"))
        patch.setenv("SAVE_DIR", str(root / "saves"))
        for name in SCRIPTS_OF_READMES:
            script = find_job(name)
            count = len(shards(script.chosen([]), [0]))
            tasks = [word for task in range(count) for word in ("--task", str(task))]
            assert batch.main([name, "0", "0", "--max-iterations", "2", *tasks]) == 0
            for model in script.models():
                runs = root / "tensorboard" / model.prefix
                experiment_name = model.prefix.removeprefix("FTS_NAU_NMU_ranges/")
                table = root / "csvs" / f"{experiment_name}.csv"
                if not table.exists():
                    words = ["--tensorboard-dir", f"{runs}/", "--csv-out", str(table)]
                    assert exporters.arithmetic(words) == 0
    return root / "csvs"


def drawn(key, csvs, out, capsys):
    """What the command of a figure writes, and what it says is missing."""
    words = plot_words(key)[1:]
    here = [word.replace(CSVS.rstrip("/"), str(csvs)) for word in words]
    if "--out-dir" in here:
        here = here[: here.index("--out-dir")]
    capsys.readouterr()
    assert plot.main([*here, "--out-dir", str(out)]) == 0
    return [path.name for path in out.iterdir()], capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("key", TRAINED)
def test_the_three_commands_of_a_readme_draw_its_figure(key, tables, tmp_path, capsys):
    """Under the names of folders that the README prints, nothing is missing."""
    files, said = drawn(key, tables, tmp_path / "plots", capsys)
    assert any(name.endswith(".pdf") for name in files)
    # No published script trains this range of noise.
    said = "".join(line for line in said.splitlines() if "[10,20]" not in line)
    assert "no file" not in said


def test_errors_of_exact_weights_are_drawn_in_two_commands(tmp_path, capsys):
    table = tmp_path / "csvs" / "divBy0_test_errors.csv"
    assert small_divisors.main(["--csv-out", str(table)]) == 0
    files, said = drawn("divBy0_gold_test_errors", tmp_path / "csvs", tmp_path / "plots", capsys)
    assert "divBy0_gold_test_errors.pdf" in files
    assert "no file" not in said


@pytest.mark.parametrize("key", DIGITS)
def test_tables_of_digits_are_read_where_the_readme_puts_them(key, tmp_path):
    """At `csvs/static-mnist/mul/<model_name>.csv`, from the folder of that name."""
    entry = find(key)
    folder = tmp_path / "csvs" / "static-mnist" / "mul"
    write_specimen(entry, tmp_path / "csvs")
    read = folders(key)[0].replace(CSVS, f"{tmp_path}/csvs/")
    words = ["--csv-dir", read, "--out-dir", str(tmp_path / "plots"), "--format", "png"]
    assert PurePath(read) == folder
    assert plot.main([key, *words]) == 0


@pytest.mark.parametrize(
    ("key", "experiment"),
    [
        ("class_accs-mul-1digit_conv-Adam", DIGITS[0]),
        ("class_accs-MSE_Adam-lr0.001_TPS-no-concat-conv_ROUNDED", DIGITS[1]),
    ],
)
def test_class_accuracies_of_runs_of_the_scripts_are_found(key, experiment):
    """`--evaluate` names its tables after the saved model: the run of fold and seed 2."""
    models = find_experiment(experiment).models
    for one, model in zip(find(key).series, models, strict=True):
        (run,) = expected_runs(model, [2])
        assert f"{PurePath(run.name).name}_class_accs" in one.files


def test_the_names_of_the_readme_for_sequences_are_read():
    """`sequential_mnist_prod_reference` and `sequential_mnist_prod_long_<MODEL NAME>`."""
    entry = find("robust-sequential_mnist_prod_long")
    named = {f"sequential_mnist_prod_long_{name}" for name in ("nmu", "snmu", "batch-snmu")}
    assert {file for one in entry.series for file in one.files} == named
    assert entry.parts[0].options["runs"].reference.files == ("sequential_mnist_prod_reference",)


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
    for key in PLOTS:
        assert shlex.join(["python3", *plot_words(key)]) in listed
        assert find(key).key == key
        assert find_experiment(key)
    assert len(commands()) > 60


@pytest.mark.parametrize("command", commands())
def test_a_command_of_the_document_is_understood(command, tmp_path, monkeypatch, capsys):
    program, script, *words = shlex.split(command)
    assert (ROOT / script).is_file()
    monkeypatch.chdir(tmp_path)
    name = Path(script).stem
    if program in ("bash", "sbatch"):
        assert batch.main([script, *words, "--dry-run"]) == 0
        assert "python3 experiments/" in capsys.readouterr().out
    elif script.startswith("experiments/") and words[0] not in ("--evaluate", "--help"):
        assert len(SCRIPTS[name].plan(words)) == 1
    elif name == "generate_exp_setups":
        assert thresholds.main([*words, "--samples", "1000"]) == 0
        assert (tmp_path / "exp_setups.csv").is_file()
    elif name == "generate_divBy0_extrap_thresholds":
        out = words.index("--csv-out") + 1
        words[out] = str(tmp_path / "errors.csv")
        assert small_divisors.main(words) == 0
    elif name == "plot":
        assert find(words[0]).key == words[0]
        assert plot.parse_arguments(words).keys == [words[0]]
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
