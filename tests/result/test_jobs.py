"""Job files: text from an experiment and a site."""

import shlex
import subprocess

import pytest

from stable_nalu.base.errors import UsageError
from stable_nalu.paper.experiment import Resources
from stable_nalu.result.batch import FOLDER, JOB_SCRIPTS, Site, find_job, render_job
from tools.generated import BATCH_FILES

HOSTILE = "/srv/some one's/$(touch x)/project"

# Every batch script that the papers' READMEs and the published code name.
PUBLISHED_SCRIPTS = """
simple_mul function_task_static function_task_static_learning function_task_static_mul_hidden_size
function_task_static_mul_hidden_size_ablation function_task_static_mul_input_size
function_task_static_mul_overlap function_task_static_mul_subset function_task_static_mul_range
function_task_static_mul_num_subsets function_task_static_nalu function_task_static_regualization
execute_all function_task_static_csv_metrics sequential_mnist_csv_metrics
sequential_mnist_prod_reference sequential_mnist_prod_long sequential_mnist_prod_interpolation
sequential_mnist_prod_outputs sequential_mnist_sum_reference sequential_mnist_sum_long
sequential_svhn_prod_reference sequential_svhn_prod_long
single_layer_task/neurips_2021/sltr-in2 single_layer_task/neurips_2021/in2-realnpu-beta-sweep
single_layer_task/neurips_2021/sltr-in10 single_layer_task/neurips_2021/in2-mixed-signs
single_layer_task/neurips_2021/in10-mixed-signs-iridis
single_layer_task/neurips_2021/sltr-distributions-in2
single_layer_task/neurips_2021/sltr-distributions-in10 single_layer_task/neurips_2021/divBy0
two_digit_mnist/parallel_run icml_2022/single_module icml_2022/arithmetic_dataset
icml_2022/arithmetic_dataset_noise_ranges icml_2022/static_mnist_prod_isolated
icml_2022/static_mnist_prod_colour_concat icml_2022/sequential_mnist_prod_reference
icml_2022/sequential_mnist_prod_long icml_2022/sequentialmnist_prod_long single_layer_benchmark
marc_single_layer
single_layer_task/benchmarking/single_layer_benchmark
single_layer_task/benchmarking/marc_single_layer
"""


@pytest.mark.parametrize("name", ["function_task_static", "sequential_mnist"])
def test_the_scripts_of_tables_show_their_commands_and_refuse_other_options(name):
    def run(*words):
        words = ("bash", FOLDER / f"{name}_csv_metrics.sh", *words)
        return subprocess.run(words, capture_output=True, text=True, check=False)

    shown = run("--dry-run", "mine")
    assert shown.stdout.endswith("tensorboard/mine --csv-out results/csv/mine.csv\n")
    refused = run("--dry")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--dry-run" in refused.stderr


BY_HAND = (
    *("run", "execute_all", "csv_metrics"),
    *("function_task_static_csv_metrics", "sequential_mnist_csv_metrics"),
)


def test_every_published_script_is_there_and_is_bash():
    there = set(FOLDER.rglob("*.sh"))
    assert {FOLDER / f"{name}.sh" for name in PUBLISHED_SCRIPTS.split()} <= there
    assert there == {*BATCH_FILES, *(FOLDER / f"{name}.sh" for name in BY_HAND)}
    for path in there:
        assert path.stat().st_mode & 0o111, path
        subprocess.run(["bash", "-n", path], check=True)


def test_a_script_is_found_by_file_name_and_by_figure():
    script = JOB_SCRIPTS["icml_2022/single_module"]
    assert find_job("lfs_batch_jobs/icml_2022/single_module.sh") is script
    assert find_job("nips-sltr-in2").experiments == ("nips-sltr-in2",)
    with pytest.raises(UsageError, match="did you mean"):
        find_job("icml_2022/single_modul")


def test_a_job_quotes_what_it_is_given(tmp_path):
    site = Site(modules=("gcc/4.9 x",), setup=("export A=1",), log_dir="/l o/g", python="/p y")
    words = ["0", "4", "--model", "a b"]
    text = render_job("x", Resources(1), site, words, [0], STABLE_NALU_ROOT=HOSTILE)
    script = tmp_path / "job.sh"
    body = [line for line in text.splitlines() if not line.startswith("exec")]
    body += ['printf "%s\\n" "$STABLE_NALU_ROOT" "$STABLE_NALU_LOGS" "$PYTHON" "$A"']
    script.write_text('module() { echo "[$*]"; }\n' + "\n".join(body))
    said = subprocess.run(["bash", script], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["[load gcc/4.9 x]", HOSTILE, "/l o/g", "/p y", "1"]
    last = text.splitlines()[-1]
    assert shlex.split(last)[3:] == ["x", "0", "4", "--model", "a b"]
