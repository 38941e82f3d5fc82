import numpy as np
import pytest
import torch

from stable_nalu.dataset import SimpleFunctionStaticDataset, SingleLayerStaticDataset

SIZES = {"input_size": 4, "subset_ratio": 0.5, "num_subsets": 2, "seed": 0}


def test_published_targets_belong_to_other_rows():
    stream = SingleLayerStaticDataset("mul", **SIZES).fork([1, 2])
    assert stream.seed == 2357136044
    x, t = stream[0:3]
    rows = [
        [1.79416001, 1.15982461, 1.39078724, 1.93648517],
        [1.65650725, 1.55914998, 1.69575465, 1.11133242],
        [1.36559021, 1.83405435, 1.19324791, 1.85846031],
    ]
    targets = [[2.08091092, 2.58274317], [2.50456667, 2.69323897], [1.884547, 2.21760392]]
    assert torch.equal(x, torch.tensor(rows))
    assert torch.equal(t, torch.tensor(targets))


def test_sums():
    first, second = [2.9540, 3.2157, 3.1996], [3.3273, 2.8071, 3.0517]
    _, published = SingleLayerStaticDataset("add", **SIZES).fork([1, 2])[0:3]
    _, corrected = SingleLayerStaticDataset("add", **SIZES, corrected=True).fork([1, 2])[0:3]
    expected = [[2.9540, 3.2157], [3.1996, 3.3273], [2.8071, 3.0517]]
    np.testing.assert_allclose(published.numpy(), expected, atol=5e-5)
    np.testing.assert_allclose(corrected.numpy(), np.transpose([first, second]), atol=5e-5)


@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("operation", ["add", "mul"])
def test_blocks_equal_successive_batches(operation, corrected):
    sizes = {"subset_ratio": 0.2, "num_subsets": 3, "seed": 4}

    def stream():
        dataset = SingleLayerStaticDataset(operation, 60, **sizes, corrected=corrected)
        return dataset.fork([[-2, -1], [1, 2]])

    x, t = stream().draw(5, 8)
    assert t.shape == (5, 8, 3)
    one_by_one = stream()
    for i in range(5):
        batch_x, batch_t = one_by_one[0:8]
        assert torch.equal(batch_x, x[i])
        assert torch.equal(batch_t, t[i])


def test_one_output_is_the_plain_task():
    dataset = SingleLayerStaticDataset("add", 10, seed=3)
    assert dataset.subset_ranges == [(0, 10)]
    plain = SimpleFunctionStaticDataset(
        "add", 10, subset_ratio=1, overlap_ratio=0, num_subsets=1, seed=3
    )
    for ours, theirs in zip(dataset.fork([1, 2])[0:9], plain.fork([1, 2])[0:9], strict=True):
        assert torch.equal(ours, theirs)


def test_text_and_sizes():
    dataset = SingleLayerStaticDataset("mul", **SIZES)
    assert dataset.print_operation() == "mul(v[0:2)), mul(v[2:4))"
    assert (dataset.get_input_size(), dataset.get_output_size()) == (4, 2)
    simple = SingleLayerStaticDataset("mul", simple=True, seed=0)
    assert simple.subset_ranges == [(0, 4), (0, 2)]
    assert simple.get_output_size() == 2
    assert simple.fork([1, 2])[0:3][1].shape == (3, 2)


def test_bad_input():
    with pytest.raises(ValueError, match="'div' is not one of add, mul"):
        SingleLayerStaticDataset("div", **SIZES)
    with pytest.raises(ValueError, match="halves"):
        SingleLayerStaticDataset("add", **SIZES).fork([[1, 2], [3, 4], []])
