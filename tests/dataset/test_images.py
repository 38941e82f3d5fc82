"""Images through the real loading code, which of them make which sequence, and pictures of many."""

import functools
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import torch

from stable_nalu.base.errors import UsageError
from stable_nalu.dataset.distribution import LegacyRandom
from stable_nalu.dataset.images import ImageCorpus, load_corpus, load_subset, torchvision
from stable_nalu.task.even_digit_count import EvenDigitPictures, Placement, TrainingStream
from tests.digit_images import (
    digit_sequences,
    first_seed,
    images,
    labels_of,
    published_sizes,
    write_mnist,
    write_svhn,
)

MNIST_TRAIN = ImageCorpus(images(5003, 28, 28), labels_of(5003, 7, 3))
MNIST_TEST = ImageCorpus(images(12, 28, 28, seed=1), labels_of(12, 3, 1))
SVHN_TRAIN = ImageCorpus(images(5002, 32, 32, 3), labels_of(5002, 7, 3))


def assert_same(one, other):
    assert one.images.dtype == np.uint8
    assert np.array_equal(one.images, other.images)
    assert one.labels.dtype == np.int64
    assert np.array_equal(one.labels, other.labels)


def test_mnist_files(tmp_path, monkeypatch):
    write_mnist(tmp_path, monkeypatch, MNIST_TRAIN, MNIST_TEST)
    assert_same(load_corpus("mnist", "mnist", "train", tmp_path), MNIST_TRAIN)
    assert_same(load_corpus("mnist", "mnist", "test", tmp_path), MNIST_TEST)
    train, valid, test = (
        load_subset("mnist", "mnist", subset, tmp_path) for subset in ("train", "valid", "test")
    )
    assert (len(train), len(valid), len(test)) == (3, 5000, 12)
    assert_same(valid, MNIST_TRAIN.part(3, None))


def test_svhn_files(tmp_path, monkeypatch):
    write_svhn(tmp_path, monkeypatch, "train", SVHN_TRAIN)
    assert_same(load_corpus("svhn", "svhn", "train", tmp_path), SVHN_TRAIN)
    assert len(load_subset("svhn", "svhn", "train", tmp_path)) == 2


@pytest.fixture
def server(tmp_path):
    """Address of a server on this machine, and the folder that it serves."""
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}/", tmp_path
        running.shutdown()
        thread.join()


@pytest.mark.parametrize("damaged", [False, True])
def test_a_download(damaged, server, monkeypatch):
    address, folder = server
    write_mnist(folder / "there", monkeypatch, MNIST_TEST, MNIST_TEST)
    mnist, here = torchvision().datasets.MNIST, folder / "here"
    monkeypatch.setattr(mnist, "mirrors", [f"{address}there/MNIST/raw/"])
    if damaged:
        monkeypatch.setattr(mnist, "resources", [(name, "0" * 32) for name, _ in mnist.resources])
        with pytest.raises(UsageError, match=f"in {here} has another checksum than the published"):
            load_corpus("mnist", "mnist", "test", here)
    else:
        assert_same(load_corpus("mnist", "mnist", "test", here), MNIST_TEST)


@pytest.mark.parametrize(("family", "shape"), [("mnist", (28, 28)), ("svhn", (32, 32, 3))])
def test_digits_have_the_shape_of_what_they_stand_for(family, shape):
    sizes = {"train": 1197, "valid": 200, "test": 400}
    found = {name: load_subset(family, "digits", name) for name in sizes}
    assert {name: len(corpus) for name, corpus in found.items()} == sizes
    for corpus in found.values():
        assert corpus.images.shape == (len(corpus), *shape)
        assert corpus.images.dtype == np.uint8
        assert set(corpus.labels) == set(range(10))
    assert found["train"].images.max() == 255


TRAIN_FULL, VALID, TEST = 62379872, 47430696, 88253339


@pytest.fixture
def mnist(monkeypatch):
    published_sizes(monkeypatch, (1, 1), (60000, 10000))


def test_seeds_that_parents_draw():
    drawn = [int(LegacyRandom(seed).integers(0, 2**32 - 1)) for seed in range(4)]
    assert drawn == [2357136044, 1791095845, 1872583848, 2365658986]


def places(sequences):
    """Of the images in the corpus."""
    return sequences.subset.kept[sequences.positions.numpy()]


def test_worked_example_of_all_digits(mnist):
    train = digit_sequences("mnist", "cumsum", 10, first_seed(0))
    full = digit_sequences("mnist", "cumsum", 10, TRAIN_FULL)
    valid = digit_sequences("mnist", "cumsum", 10, VALID, "valid")
    test = digit_sequences("mnist", "cumsum", 100, TEST, "test")
    assert list(map(len, (train, full, valid, test))) == [5500, 5500, 500, 100]
    starts = {
        train: [54333, 33598, 26676, 12128, 16759, 28202, 2571, 53165, 40090, 19293],
        full: [44734, 10516, 29472, 15978, 15924],
        valid: [1079, 1382, 3861, 4971, 423],
        test: [2721, 5800, 6682, 6395, 4795],
    }
    for fork, start in starts.items():
        assert places(fork).ravel()[: len(start)].tolist() == start
    assert train.targets[0].ravel().tolist() == [4, 13, 18, 27, 33, 40, 40, 48, 51, 55]
    assert train.targets.dtype == torch.float32
    assert train.targets.shape == (5500, 10, 1)
    products = digit_sequences("mnist", "prod", 10, first_seed(0))
    assert products.targets[0].ravel().tolist() == [4, 36, 180, 1620, 9720, 68040, 0, 0, 0, 0]


def test_worked_example_of_some_digits_and_of_products_that_wrap_around_as_int64(mnist):
    targets = digit_sequences("mnist", "cumprod", 20, TEST, "test", [9]).targets[0].ravel()
    assert targets[18] == float(np.float32(9**19))
    assert targets[19] == float(np.float32(9**20 - 2**64))
    train = digit_sequences("mnist", "cumprod", 2, first_seed(1), digits=range(1, 10))
    assert len(train) == 24750
    assert places(train).ravel()[:6].tolist() == [17837, 27299, 38127, 44902, 18017, 5104]
    assert train.targets[:2].tolist() == [[[2], [12]], [[2], [14]]]


@pytest.mark.parametrize(
    ("family", "shape", "values"),
    [("mnist", (1, 28, 28), (-0.424212962, 2.82148671)), ("svhn", (3, 32, 32), (0.0, 1.0))],
)
def test_batches_of_digits(family, shape, values):
    train = digit_sequences(family, "sum", 3, first_seed(0), digits=range(1, 10), source="digits")
    x, t = next(iter(train.dataloader(7, shuffle=False)))
    assert x.shape == (7, 3, *shape)
    assert (x.dtype, t.shape) == (torch.float32, (7, 3, 1))
    assert (x.min().item(), x.max().item()) == pytest.approx(values)
    labels = train.subset.labels[train.positions[:7]]
    assert t[..., 0].tolist() == np.cumsum(labels, -1).tolist()
    image = train.subset.images[train.positions[4, 2]]
    assert torch.equal(x[4, 2], train.table(image))


def made_up(placement=None, count=50):
    """Pictures of random bytes that are labelled in turn."""
    corpus = ImageCorpus(images(count, 28, 28), np.arange(count) % 10)
    return EvenDigitPictures(corpus, placement or Placement())


@pytest.mark.parametrize("placement", [Placement(), Placement(60, 3, 14), Placement(29, 2, 0)])
def test_where_digits_lie(placement):
    layouts = placement.draw(np.random.default_rng(1), 3000, 7)
    shares = np.bincount(layouts.count, minlength=placement.most + 1) / 3000
    np.testing.assert_allclose(shares, 1 / (placement.most + 1), atol=0.04)
    assert set(layouts.digit.ravel()) == set(range(7))
    there = np.arange(placement.most) < layouts.count[:, None]
    corners = layouts.corner[there]
    assert (corners.min(), corners.max()) == (0, placement.size - 29)
    for k in range(2, placement.most + 1):
        sets = layouts.corner[layouts.count == k, :k]
        apart = np.sqrt(((sets[:, None] - sets[:, :, None]) ** 2).sum(-1))
        apart[:, range(k), range(k)] = np.inf
        assert apart.min() >= placement.apart


def test_pictures_are_those_of_a_plain_loop():
    placement = Placement(60, 4, 10)
    pictures = made_up(placement)
    layouts = pictures.draw(np.random.default_rng(2), 40)
    painted, labels = pictures.paint(layouts), pictures.labels(layouts)
    corpus = images(50, 28, 28).astype(int)
    for n in range(40):
        canvas, even = np.zeros((60, 60), int), 0
        for j in range(layouts.count[n]):
            (y, x), digit = layouts.corner[n, j], layouts.digit[n, j]
            canvas[y : y + 28, x : x + 28] += corpus[digit]
            even += digit % 10 % 2 == 0
        assert np.array_equal(painted[n], canvas.clip(0, 255))
        assert labels[n] == even
    x, t = pictures.batch(layouts)
    assert (x.dtype, t.dtype) == (torch.float32, torch.int64)
    assert np.array_equal(x.numpy(), painted.astype(np.float32) / np.float32(127.5) - 1)
    assert (float(x.min()), float(x.max())) == (-1, 1)


def test_a_stream_is_found_from_the_number_of_an_update():
    pictures = made_up()
    stream = TrainingStream(pictures, 3, 2)
    in_order = [stream.batch(update) for update in range(130)]
    for update in (129, 64, 63, 0):
        x, t = TrainingStream(pictures, 3, 2).batch(update)
        assert torch.equal(x, in_order[update][0])
        assert torch.equal(t, in_order[update][1])
    # The second block is drawn by NumPy's generator of (seed, 1).
    drawn = pictures.draw(np.random.default_rng((3, 1)), 2 * 64)
    assert torch.equal(in_order[64][0], pictures.batch(drawn.rows(slice(0, 2)))[0])
    other = TrainingStream(pictures, 4, 2).batch(0)
    assert not torch.equal(other[0], in_order[0][0])
    assert len({x.numpy().tobytes() for x, _ in in_order}) > 125
