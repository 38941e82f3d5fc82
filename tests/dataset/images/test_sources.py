"""Images through the real loading code, from files in the published formats."""

import gzip
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from stable_nalu.dataset.images import ImageCorpus, load_corpus, load_subset
from stable_nalu.dataset.images.sources import torchvision
from stable_nalu.errors import UsageError
from tests.digit_images import images, labels_of, write_mnist, write_svhn

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
def offline(monkeypatch):
    """Every address is that of a closed port on this machine."""
    datasets = torchvision().datasets
    monkeypatch.setattr(datasets.MNIST, "mirrors", ["http://127.0.0.1:9/"])
    known = {
        split: ["http://127.0.0.1:9/x.mat", *rest]
        for split, (_, *rest) in datasets.SVHN.split_list.items()
    }
    monkeypatch.setattr(datasets.SVHN, "split_list", known)


def cut_svhn(folder, monkeypatch):
    write_svhn(folder, monkeypatch, "test", SVHN_TRAIN.part(0, 4))
    path = folder / "test_32x32.mat"
    path.write_bytes(path.read_bytes()[:-1])


def cut_mnist(folder, monkeypatch):
    write_mnist(folder, monkeypatch, MNIST_TEST, MNIST_TEST)
    load_corpus("mnist", "mnist", "train", folder)
    raw = folder / "MNIST" / "raw"
    content = gzip.decompress((raw / "t10k-images-idx3-ubyte.gz").read_bytes())
    (raw / "t10k-images-idx3-ubyte").write_bytes(content[:-5])


@pytest.mark.parametrize(
    ("family", "prepare", "message"),
    [
        ("mnist", None, "^MNIST is not in {}, .*cannot be downloaded; use --data-source digits"),
        ("svhn", None, "^SVHN is not in {}, .*cannot be downloaded; use --data-source digits"),
        ("svhn", cut_svhn, "or damaged there"),
        ("mnist", cut_mnist, "cannot be read"),
        (
            "mnist",
            lambda folder, _: folder.touch(),
            "cannot store MNIST in {}: .*name another --data-dir",
        ),
    ],
)
def test_what_is_missing_or_damaged_is_explained(family, prepare, message, tmp_path, monkeypatch):
    """Without a network."""
    datasets, folder, nowhere = torchvision().datasets, tmp_path / "images", "http://127.0.0.1:9/"
    monkeypatch.setattr(datasets.MNIST, "mirrors", [nowhere])
    known = {
        split: [f"{nowhere}x.mat", *rest] for split, (_, *rest) in datasets.SVHN.split_list.items()
    }
    monkeypatch.setattr(datasets.SVHN, "split_list", known)
    if prepare is not None:
        prepare(folder, monkeypatch)
    with pytest.raises(UsageError, match=message.format(folder)) as error:
        load_corpus(family, family, "test", folder)
    assert "\n" not in str(error.value)


@pytest.fixture
def server(tmp_path):
    """Address of a server on this machine, and the folder that it serves."""

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(tmp_path))

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}/", tmp_path
        running.shutdown()
        thread.join()


@pytest.mark.parametrize("damaged", [False, True])
def test_a_download(damaged, server, monkeypatch, capfd):
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
        assert capfd.readouterr().err == ""


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


def test_digits_are_those_of_scikit_learn():
    from sklearn.datasets import load_digits

    published = load_digits()
    both = [load_corpus("mnist", "digits", split) for split in ("train", "test")]
    assert np.array_equal(np.concatenate([c.labels for c in both]), published.target)
    # Linear interpolation between the centres of the published pixels.
    grid = (np.arange(28) + 0.5) * 8 / 28 - 0.5
    image = published.images[7] * 255 / 16
    rows = np.array([np.interp(grid, np.arange(8), row) for row in image])
    expected = np.array([np.interp(grid, np.arange(8), column) for column in rows.T]).T
    assert np.abs(both[0].images[7] - expected).max() <= 0.5 + 1e-4


def test_torchvision_is_not_imported_unasked():
    code = (
        "import sys; import stable_nalu.training.loop; "
        "sys.exit('torchvision' in sys.modules or 'sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_torchvision_can_be_imported_where_its_operations_are_missing():
    assert torchvision().datasets.MNIST is not None
    assert torchvision() is torchvision()
