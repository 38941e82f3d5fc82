"""Batch scripts of the pairs of digits: the flags and run names that were published."""

import pytest

from stable_nalu.paper.experiment import expected_runs
from stable_nalu.paper.index import find
from stable_nalu.result.jobs import JOB_SCRIPTS
from stable_nalu.result.pipeline import exporter_of
from stable_nalu.result.shard import how_to_run, pending, shards
from stable_nalu.result.stored import seconds_here
from stable_nalu.script import duration
from stable_nalu.task import SCRIPTS

MODULE = "--use-nalm --learn-labels2out"
RAMP = f"{MODULE} --regualizer-scaling-start 30 --regualizer-scaling-end 40"
FOUR, BATCH_NOISE = "--dataset-workers 4", "--nmu-noise --noise-range [1,0]"
COLOUR = (
    "--num-folds 3 --batch-size 256 --learning-rate 0.001 --img2label-model TPS-no-concat-conv "
    "--optimizer adam --no-scheduler --operation mul --max-epochs 1000 --scheduler-step-size 2000 "
    "--samples-per-permutation 1100 --dataset-workers 4"
)
MUL = "static-mnist/mul/"
TPS = "_MSE_Adam-lr0.001_TPS-no-concat-conv"

# Batch script -> (script, common flags, folds, {id: (prefix, extra flags)}), as papers say.
CONV, DIV = f"{MUL}1digit_conv-", "two-digit-mnist/div/ID"
PUBLISHED = {
    "icml_2022/static_mnist_prod_isolated": (
        "two_digit_mnist",
        "--operation mul --max-epochs 1000",
        10,
        {
            1: (f"{CONV}snmu", f"{RAMP} --nmu-noise --regualizer 100 {FOUR}"),
            2: (f"{CONV}mul", "--dataset-workers 5"),
            3: (f"{CONV}nmu", f"{RAMP} --regualizer 100 {FOUR}"),
            4: (f"{CONV}fc", f"--learn-labels2out {FOUR}"),
            5: (f"{CONV}batch-snmu", f"{RAMP} {BATCH_NOISE} --regualizer 100 {FOUR}"),
        },
    ),
    "icml_2022/static_mnist_prod_colour_concat": (
        "ST_mnist_labels",
        COLOUR,
        3,
        {
            6: (f"{MUL}mul{TPS}", ""),
            7: (f"{MUL}snmu{TPS}", f"{MODULE} --nmu-noise"),
            8: (f"{MUL}nmu{TPS}", MODULE),
            9: (f"{MUL}fc{TPS}", "--learn-labels2out"),
            10: (f"{MUL}batch-snmu{TPS}", f"{MODULE} {BATCH_NOISE}"),
        },
    ),
    "two_digit_mnist/parallel_run": (
        "two_digit_mnist",
        "--operation div --max-epochs 1000 --dataset-workers 5",
        10,
        {
            79: (f"{DIV}79-1digit_conv-div", ""),
            84: (
                f"{DIV}84-1digit_conv-mlp_2L-256HU_wDecay-1e-3",
                "--learn-labels2out --weight-decay 0.001",
            ),
            78: (
                f"{DIV}78-1digit_conv-nru_R30-40-2_gnc1_s3Init",
                f"{RAMP} --nalm-name nru --regualizer 2 --clip-grad-norm 1",
            ),
            80: (
                f"{DIV}80-1digit_conv-realnpu-mod_R30-40-2_s3Init",
                f"{RAMP} --nalm-name realnpu-mod --regualizer-npu-w 2 --regualizer-gate 2",
            ),
            81: (
                f"{DIV}81-1digit_conv-nmruSign_R30-40-2_gncF_s3Init",
                f"{RAMP} --nalm-name nmru-sign --regualizer 2",
            ),
        },
    ),
}


@pytest.mark.parametrize("batch", PUBLISHED)
def test_a_dry_run_is_the_published_plan(batch):
    script, common, folds, models = PUBLISHED[batch]
    spec = SCRIPTS[script]
    planned = {}
    for shard in shards(JOB_SCRIPTS[batch].named_models(), None):
        assert shard.model.script == script
        for command, names in pending(shard):
            (config,) = spec.plan(command.words).configs
            assert names == [spec.run_name(config)]
            planned[config.id, config.seed] = config
    assert len(planned) == folds * len(models)
    # How a run is carried out is ours: it resumes instead of starting anew.
    ours = {"resume", "remove_existing_data", "checkpoint_interval"}
    for number, (prefix, extra) in models.items():
        for seed in range(folds):
            words = f"{common} {extra} --id {number} --name-prefix {prefix} --seed {seed}"
            words = " ".join(words.replace("--dataset-workers 5 --dataset", "--dataset").split())
            (published,) = spec.plan(words.split()).configs
            found = planned[number, seed]
            for name, value in published.as_dict().items():
                assert name in ours or getattr(found, name) == value, (number, name)


def test_runs_have_their_published_names():
    model = JOB_SCRIPTS["icml_2022/static_mnist_prod_isolated"].named_models()["snmu"]
    names = [run.name for run in expected_runs(model, [2])]
    assert names == ["static-mnist/mul/1digit_conv-snmu/1_f2_op-mul_nalmT_learnLT_s2"]


def test_a_shorter_plan_has_whole_epochs():
    model = JOB_SCRIPTS["icml_2022/static_mnist_prod_isolated"].named_models()["mul"]
    variant = model.variants[0]
    assert how_to_run(model, variant) == {"--checkpoint-interval": ("20",)}
    assert how_to_run(model, variant, 1409) == {
        "--max-epochs": ("2",),
        "--checkpoint-interval": ("1",),
    }


@pytest.mark.parametrize("batch", PUBLISHED)
def test_tables_come_from_the_exporter_of_pairs(batch):
    for model in JOB_SCRIPTS[batch].models():
        assert exporter_of(model)[0] == "two_digit_mnist/two_digit_mnist_reader.py"
    assert exporter_of(find("nips-sltr-in2").models[0])[0] == "simple_function_static.py"


def test_estimated_time_is_that_of_image_networks():
    seconds = seconds_here(find("static-mnist-mul-isolated"), cores=2)
    assert seconds is not None
    assert "years" in duration(seconds) or "days" in duration(seconds)
