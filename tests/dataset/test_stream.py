import copy
import io
import pickle

import numpy as np
import pytest
import torch

from stable_nalu.dataset import SimpleFunctionStaticDataset

SMALL = {"input_size": 4, "subset_ratio": 0.5, "overlap_ratio": 0}
NORMAL = ("truncated-normal", -1.0, 3.0, -10.0, 4.0)
KINDS = {
    "single": (("uniform",), [-2, 2]),
    "mixture": (("uniform",), [[-6, -2], [2, 6]]),
    "halves": (("uniform",), [[-6, -2], [2, 6], []]),
    "normal": (NORMAL, [-2, 3]),
    "normal mixture": (NORMAL, [[-6, -2], [2, 6]]),
    "exponential": (("exponential", 0.5), [1, 2]),
    "exponential mixture": (("exponential", 0.5), [[-6, -2], [2, 6]]),
    "benford": (("benford",), [10, 100]),
    "benford halves": (("benford",), [[10, 100], [10, 100], []]),
}


def make_stream(kind, operation="mul", seed=5):
    dist_params, sample_range = KINDS[kind]
    dataset = SimpleFunctionStaticDataset(operation, **SMALL, dist_params=dist_params, seed=seed)
    return dataset.fork(sample_range)


def same(first, second):
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_draw_equals_successive_batches(kind):
    x, t = make_stream(kind).draw(6, 7)
    assert x.shape == (6, 7, 4)
    assert t.shape == (6, 7, 1)
    one_by_one = make_stream(kind)
    for i in range(6):
        assert same(one_by_one[i * 7 : (i + 1) * 7], (x[i], t[i]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_draw_into_strided_views(kind, dtype):
    runs, batches, size = 3, 5, 7
    x = np.full((batches, runs, size, 4), np.nan, dtype)
    t = np.full((batches, runs, size, 1), np.nan, dtype)
    for run in range(runs):
        make_stream(kind, seed=run).draw_into(x[:, run], t[:, run])
    for run in range(runs):
        wide_x, wide_t = np.empty((batches, size, 4)), np.empty((batches, size, 1))
        make_stream(kind, seed=run).draw_into(wide_x, wide_t)
        assert (x[:, run] == wide_x.astype(dtype)).all()
        assert (t[:, run] == wide_t.astype(dtype)).all()
        if dtype == np.float32:
            drawn = make_stream(kind, seed=run).draw(batches, size)
            assert same(drawn, (torch.from_numpy(x[:, run]), torch.from_numpy(t[:, run])))


@pytest.mark.parametrize("kind", ["single", "mixture", "halves"])
def test_blocks_longer_than_the_internal_one(kind):
    x, t = make_stream(kind).draw(70, 500)
    pieces = make_stream(kind)
    for start in range(0, 70, 10):
        piece = pieces.draw(10, 500)
        assert same(piece, (x[start : start + 10], t[start : start + 10]))


def test_a_batch_larger_than_the_internal_block():
    dataset = SimpleFunctionStaticDataset("add", 100, seed=0)
    x, _ = dataset.fork([1, 2], seed=1).draw(2, 1000)
    expected = np.random.RandomState(1).uniform(1, 2, (2, 1000, 100)).astype(np.float32)
    assert (x.numpy() == expected).all()


@pytest.mark.parametrize("kind", KINDS)
def test_state_round_trip(kind):
    stream = make_stream(kind)
    stream.draw(3, 7)
    file = io.BytesIO()
    torch.save(stream.get_state(), file)
    expected = stream.draw(4, 7)
    file.seek(0)
    resumed = make_stream(kind, seed=99)
    resumed.set_state(torch.load(file, weights_only=True))
    assert same(resumed.draw(4, 7), expected)


def test_bad_states_are_refused():
    stream = make_stream("single")
    state = stream.get_state()
    with pytest.raises(ValueError, match="624 words"):
        stream.set_state(state | {"key": state["key"][:10]})
    with pytest.raises(ValueError, match="position 625"):
        stream.set_state(state | {"position": 625})


def test_copies_continue_on_their_own():
    stream = make_stream("mixture")
    stream.draw(1, 3)
    copies = [copy.deepcopy(stream), pickle.loads(pickle.dumps(stream))]
    expected = stream.draw(5, 7)
    for other in copies:
        assert same(other.draw(5, 7), expected)


def test_forks_are_independent():
    dataset = SimpleFunctionStaticDataset("add", **SMALL, seed=0)
    first, second = dataset.fork([1, 2]), dataset.fork([1, 2])
    expected = second.get_state()["key"].clone()
    first.draw(10, 10)
    assert torch.equal(second.get_state()["key"], expected)


def test_global_generators_are_untouched():
    numpy_state, torch_state = np.random.get_state()[1].copy(), torch.get_rng_state()
    for kind in KINDS:
        make_stream(kind).draw(2, 3)
    assert (np.random.get_state()[1] == numpy_state).all()
    assert torch.equal(torch.get_rng_state(), torch_state)


def test_a_single_sample_has_no_batch_axis():
    x, t = make_stream("single")[123]
    assert x.shape == (4,)
    assert t.shape == (1,)
    batch_x, batch_t = make_stream("single")[0:1]
    assert same((x, t), (batch_x[0], batch_t[0]))


@pytest.mark.parametrize("index", [slice(None, 3), slice(3, None), slice(0.0, 2.0)])
def test_open_slices_are_refused(index):
    with pytest.raises(TypeError):
        make_stream("single")[index]


@pytest.mark.parametrize("index", [slice(3, 3), slice(3, 1), slice(0, 8, 2)])
def test_empty_slices_are_refused(index):
    with pytest.raises(ValueError, match="start < stop"):
        make_stream("single")[index]


def test_bad_sizes_are_refused():
    stream = make_stream("single")
    with pytest.raises(ValueError, match="do not fit"):
        stream.draw_into(np.empty((2, 3, 5)), np.empty((2, 3, 1)))
    with pytest.raises(ValueError, match="do not fit"):
        stream.draw_into(np.empty((2, 3, 4)), np.empty((2, 3)))
    with pytest.raises(ValueError, match="batch size"):
        stream.dataloader(0)


def test_loader_lengths():
    dataset = SimpleFunctionStaticDataset("add", **SMALL, seed=0)
    assert len(dataset.fork([1, 2])) == 2**32 - 1
    assert len(dataset.fork([1, 2]).dataloader()) == 33554431
    assert len(dataset.fork([1, 2]).dataloader(batch_size=10000)) == 429496
    short = SimpleFunctionStaticDataset("add", **SMALL, seed=0, max_size=25).fork([1, 2])
    assert [len(x) for x, _ in short.dataloader(10)] == [10, 10]
    assert list(short.dataloader(26)) == []


def test_a_new_iterator_continues_the_stream():
    x, t = make_stream("mixture").draw(4, 8)
    loader = make_stream("mixture").dataloader(8)
    first = iter(loader)
    batches = [next(first), next(first), *(next(iter(loader)) for _ in range(2))]
    assert same(
        (torch.stack([b[0] for b in batches]), torch.stack([b[1] for b in batches])), (x, t)
    )


def fork_of(operation="add", sample_range=(1, 2), seed=7, extrapolation=False, **options):
    dataset = SimpleFunctionStaticDataset(operation, **SMALL | {"seed": 0} | options)
    return dataset.fork(list(sample_range), seed, extrapolation)


def test_keys_of_equal_streams():
    first, other_operation = fork_of(), fork_of("mul")
    assert first.inputs_key() == other_operation.inputs_key()
    assert hash(first.inputs_key()) == hash(other_operation.inputs_key())
    assert first.targets_key() != other_operation.targets_key()
    assert first.targets_key() == fork_of().targets_key()
    assert hash(first.targets_key()) == hash(fork_of().targets_key())
    # A second mean that is not used, and one that is.
    wide, narrow = (("truncated-normal", 0.0, 1.0, 3.0, s) for s in (1.0, 2.0))
    assert fork_of(dist_params=wide).inputs_key() == fork_of(dist_params=narrow).inputs_key()
    key = fork_of(dist_params=wide, extrapolation=True).inputs_key()
    assert key != fork_of(dist_params=narrow, extrapolation=True).inputs_key()


@pytest.mark.parametrize(
    "options",
    [
        {"seed": 8},
        {"sample_range": (1, 3)},
        {"sample_range": ([1, 2], [3, 4])},
        {"sample_range": ([1, 2], [3, 4], [])},
        {"input_size": 6},
        {"dist_params": ("exponential", 1.0)},
        {"dist_params": NORMAL},
    ],
)
def test_keys_of_different_inputs(options):
    assert fork_of(**options).inputs_key() != fork_of().inputs_key()


def test_keys_follow_the_position_and_the_subsets():
    first, second = fork_of(), fork_of()
    first.draw(2, 3)
    assert first.inputs_key() != second.inputs_key()
    second.draw(2, 3)
    assert first.targets_key() == second.targets_key()
    # The position of the slices moves the targets, not the inputs.
    sizes = {"input_size": 10, "subset_ratio": 0.1}
    near, far = (
        SimpleFunctionStaticDataset("add", **SMALL | sizes, seed=seed).fork([1, 2], 7)
        for seed in (0, 2)
    )
    assert near.inputs_key() == far.inputs_key()
    assert near.targets_key() != far.targets_key()
