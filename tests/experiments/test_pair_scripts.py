"""The scripts on pairs of digits from their command lines, on real digits that need no download."""

import signal

import pytest

from stable_nalu.dataset.images import ImageCorpus
from stable_nalu.task.pairs import PairTask
from stable_nalu.training.loop import Training
from tests.digit_images import images, labels_of, write_mnist
from tests.experiments.scripts import assert_same_run, read, run, run_names, saved

TINY = "--data-source digits --samples-per-permutation 1 --batch-size 45"
UNIT = "--use-nalm --learn-labels2out"
MUL, DIV = "--operation mul", "--operation div"
BATCH_NOISE = "--nmu-noise --noise-range [1,0]"
SPLINE = "--img2label-model TPS-no-concat-conv --optimizer adam"
ISOLATED, SCATTERED = "two_digit_mnist", "ST_mnist_labels"


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch):
    """Several threads gain nothing on images as few as these."""
    monkeypatch.setenv("LSB_DJOB_NUMPROC", "1")


def metrics(states, loss, decimals=False):
    found = {
        f"metric/{state}/{name}"
        for state in states
        for quantity in ("output", "label1", "label2")
        for name in (f"{quantity}/{loss}", f"{quantity}/acc", f"{quantity}_rounded/acc")
    }
    if decimals:
        places = ("output_rounded_4dp/acc", "output_rounded_5dp/acc")
        found |= {f"metric/{state}/{name}" for state in states for name in places}
    return found


WEIGHTS = {"label2out/weights/w0", "label2out/weights/w1"}
ERROR = {"network/nac/W/sparsity_error"}
TAGS = {
    "mul": (ISOLATED, MUL, set()),
    "nau": (ISOLATED, UNIT, WEIGHTS | ERROR),
    "nmu": (ISOLATED, f"{MUL} {UNIT}", WEIGHTS | ERROR),
    "batch-snmu": (
        ISOLATED,
        f"{MUL} {UNIT} {BATCH_NOISE}",
        WEIGHTS | ERROR | {"network/nac/snmu_noise/upper"},
    ),
    "verbose nmu": (
        ISOLATED,
        f"{MUL} {UNIT} --verbose",
        WEIGHTS
        | ERROR
        | {"/network/nac/W/text_summary"}
        | {f"network/nac/regualizer/{key}" for key in ("W", "z", "W-OOB")},
    ),
    "nru": (
        ISOLATED,
        f"{DIV} {UNIT} --nalm-name nru --clip-grad-norm 1 --only-nalm-cgn",
        {"network/nru/W/sparsity_error"},
    ),
    "nmru-sign": (
        ISOLATED,
        f"{DIV} {UNIT} --nalm-name nmru-sign --use-tau --use-argmax",
        {"network/nmru-sign/W/sparsity_error"},
    ),
    "scattered mul": (SCATTERED, f"{MUL} {SPLINE}", set()),
    "scattered snmu": (SCATTERED, f"{MUL} {UNIT} --nmu-noise", WEIGHTS | ERROR),
}


def quick(cases, *names):
    """All cases; those that are not named are left to the slow tests."""
    return [name if name in names else pytest.param(name, marks=pytest.mark.slow) for name in cases]


@pytest.mark.parametrize("case", quick(TAGS, "nru", "scattered snmu"))
def test_tags(case):
    script, words, own = TAGS[case]
    assert run(script, words, TINY, "--max-epochs 0 --no-save") == 0
    record = read(run_names(script, words, TINY)[0])
    if script == ISOLATED:
        expected = metrics(("train", "test"), "mse", decimals=words.startswith(DIV))
    else:
        expected = metrics(("train", "valid", "test"), "loss")
    assert record.tags == expected | own | {"epoch"}
    assert list(record.series("metric/test/output/acc")) == [1]
    assert set(record.series("epoch").values()) == {0}


@pytest.mark.slow
def test_evaluation_comes_before_the_first_update_of_an_epoch_and_a_row_each():
    words = f"{MUL} {UNIT} {TINY} --max-epochs 2 --log-interval 2"
    assert run(SCATTERED, words) == 0
    (name,) = run_names(SCATTERED, words)
    record = read(name)
    assert list(record.series("metric/train/output/loss")) == [1, 5]
    assert list(record.series("epoch").values()) == [0, 0, 1, 1, 2, 2]
    checkpoint = saved(name)
    assert checkpoint["epoch"] == 3
    assert checkpoint["args"] is None
    assert checkpoint["config"]["operation"] == "mul"


@pytest.mark.parametrize("place", quick(["an update", "an evaluation"], "an evaluation"))
def test_a_run_that_is_killed_anywhere(place, monkeypatch):
    """Scattered digits draw places from a generator of their own, evaluations included."""
    words = f"{MUL} {UNIT} --nmu-noise {TINY} --max-epochs 1 --resume"
    assert run(SCATTERED, words, "--id 2") == 0
    update, evaluate = Training._update, PairTask.measures

    def stop_training(self, batch, **more):
        result = update(self, batch, **more)
        if self.at == 1 and place == "an update":
            signal.raise_signal(signal.SIGTERM)
        return result

    def stop_evaluating(self, model):
        for seen, item in enumerate(evaluate(self, model)):
            if self.at == 1 and seen == 2 and place == "an evaluation":
                signal.raise_signal(signal.SIGTERM)
            yield item

    with monkeypatch.context() as patch:
        patch.setattr(Training, "_update", stop_training)
        patch.setattr(PairTask, "measures", stop_evaluating)
        assert run(SCATTERED, words, "--id 1") == 75
    names = [run_names(SCATTERED, words, f"--id {number}")[0] for number in "12"]
    batch = saved(names[0])["progress"]["batch"]
    assert batch == (1 if place == "an update" else 0)
    assert run(SCATTERED, words, "--id 1") == 0
    assert_same_run(*names)


def test_mnist_files_on_disk(tmp_path, monkeypatch):
    sizes, labels = (100, 50), (labels_of(100, 7, 3), labels_of(50, 3, 1))
    corpora = [
        ImageCorpus(images(size, 28, 28), own) for size, own in zip(sizes, labels, strict=True)
    ]
    write_mnist(tmp_path / "files", monkeypatch, *corpora)
    words = f"{MUL} --samples-per-permutation 1 --data-path {tmp_path / 'files'}"
    assert run(ISOLATED, words, "--max-epochs 0 --no-save") == 0
    (name,) = run_names(ISOLATED, words)
    assert name == "t/-1_f0_op-mul_nalmF_learnLF_s0"
    assert "metric/test/output_rounded/acc" in read(name).tags
