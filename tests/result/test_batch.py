"""What the batch systems receive, with programs that record it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stable_nalu import bench as command
from stable_nalu.base.files import CHECKOUT
from stable_nalu.result import batch

SCRIPT = "single_layer_task/neurips_2021/sltr-in2"


def submit(tmp_path, *words):
    return command.batch([SCRIPT, *words, "--log-dir", str(tmp_path / "logs")])


LSF_JOB = Path(__file__).with_name("lsf_job.txt").read_text("utf-8")


def test_lsf_gets_the_job_on_standard_input(record, tmp_path, capsys):
    words = ("--scheduler", "lsf", "--model", "realnpu_modified", "--gpus", "1")
    assert submit(tmp_path, "0", "49", *words) == 0
    words, text = record("bsub")
    assert words == []
    assert text == LSF_JOB.format(root=CHECKOUT, logs=tmp_path / "logs", script=SCRIPT)
    assert "Job <7> is submitted" in capsys.readouterr().out


def test_slurm_gets_a_file_that_is_kept(record, tmp_path):
    assert submit(tmp_path, "0", "49", "--scheduler", "slurm", "--model", "nru") == 0
    words, _ = record("sbatch")
    assert words == [str(tmp_path / "logs" / SCRIPT / "slurm.sh")]
    lines = (tmp_path / "logs" / SCRIPT / "slurm.sh").read_text().splitlines()
    assert "#SBATCH --array=0-1" in lines
    assert "#SBATCH --partition=batch" in lines
    assert "#SBATCH --requeue" in lines


def test_a_dry_run_for_a_scheduler_prints_the_job_of_one_figure(record, tmp_path, capsys):
    assert batch.main([SCRIPT, "--figure", "3", "--dry-run", "--scheduler", "slurm"]) == 0
    actual = capsys.readouterr().out
    assert actual.startswith(
        "#!/usr/bin/env bash\n#SBATCH --job-name=sltr-in2\n#SBATCH --array=0-3\n"
    )
    assert f"{SCRIPT} --figure 3" in actual
    assert batch.main([SCRIPT, "--figure", "33", "--dry-run"]) == 2
    assert "choose from 3 (nips-sltr-in2), 1a (nips-realnpu-L1)" in capsys.readouterr().err


LIMITS = 'time = "12:30"\nmemory = 16\ngpus = 1\n'
PRINTED = [
    (
        *(None, "--model nru"),
        [
            *("#SBATCH --array=0", "\n# before it is submitted: mkdir -p {tmp}/logs/"),
            "# shard 0: python3 experiments/single_layer.py --operation div",
        ],
    ),
    (LIMITS, "", ["#SBATCH --time=12:30:00", "#SBATCH --mem=16G", "#SBATCH --gres=gpu:1"]),
    (
        *(LIMITS, "--time 2:05 --memory 3 --gpus 0"),
        ["#SBATCH --time=02:05:00", "#SBATCH --mem=3G", "#BSUB -W 2:05", "mem=3GB"],
    ),
    ('\ufeffscheduler = "slurm"\noptions = ["--qos=long"]\n', "", ["#SBATCH --qos=long"]),
]


@pytest.mark.parametrize(("site", "words", "actual"), PRINTED)
def test_print_shows_what_site_and_flags_ask_for_and_submits_nothing(
    site, words, actual, record, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("STABLE_NALU_SITE", "")  # which counts as none
    words = ["0", "4", "--scheduler", "print", *words.split()]
    if site is not None:
        (tmp_path / "site.toml").write_text(site, encoding="utf-8")
        words += ["--site", str(tmp_path / "site.toml")]
    assert submit(tmp_path, *words) == 0
    said = capsys.readouterr().out
    assert [text for text in actual if text.format(tmp=tmp_path) not in said] == []
    assert ("--gres" in said) == (" -gpu " in said) == (actual == PRINTED[1][2])
    assert not (tmp_path / "sbatch.json").exists()


def test_a_script_says_what_it_would_do():
    words = ["0", "4", "--model", "nru", "--dry-run"]
    environment = {**os.environ, "PYTHON": sys.executable}
    script = CHECKOUT / "lfs_batch_jobs" / f"{SCRIPT}.sh"
    done = subprocess.run(
        ["bash", script, *words], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.startswith("python3 experiments/single_layer.py --operation div")
    assert "--seed 0-4 --name-prefix sltr-in2/nru" in done.stdout


LAYER = CHECKOUT / "examples" / "my_layer.py"


def test_a_job_carries_the_layer_of_the_user(tmp_path, record, monkeypatch):
    """The path is absolute: a job starts in the checkout, wherever it was submitted."""
    monkeypatch.chdir(LAYER.parent)
    own = ("--layer-file", LAYER.name, "--layer-type", "SPU", "--layer-option", "power=2")
    assert submit(tmp_path, "0", "1", "--scheduler", "slurm", *own) == 0
    job = (tmp_path / "logs" / SCRIPT / "slurm.sh").read_text()
    assert f"--layer-type SPU --layer-file {LAYER} --layer-option power=2" in job


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--layer-file", str(LAYER)), "add --layer-type"),
        (("--layer-type", "NAC", "--model", "nru"), "give one of them"),
    ],
)
def test_a_layer_that_is_not_named_is_refused(tmp_path, words, says, capsys):
    assert submit(tmp_path, *words, "--dry-run") == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1
