"""Files are written whole or not at all, and never in place of something else."""

from contextlib import nullcontext

import pytest

from stable_nalu.base.files import atomic_text_file


def write(path, text):
    with atomic_text_file(path) as file:
        file.write(text)


def test_a_file_has_the_line_ends_that_it_is_given_and_its_mode_is_kept(tmp_path):
    path = tmp_path / "file.csv"
    path.write_text("old")
    path.chmod(0o640)
    write(path, "new\r\n")
    assert path.read_bytes() == b"new\r\n"
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_failure_keeps_the_old_file(error, tmp_path):
    path = tmp_path / "file.csv"
    path.write_text("old")

    def fail():
        with atomic_text_file(path) as file:
            file.write("new")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("old", "new", "is_replaced"),
    [
        ("name,seed\na,1\n", '"seed","error"\n1,2\n', True),
        ("", "name,seed\n", True),
        ('{\n "a": 1}', '{\n "b": 1}', True),
        ("<!doctype html>\n", "<!doctype html>\n<p>", True),
        ("import numpy as np\n", "name,seed\n", False),
        ("name,seed\na,1\n", "error,step\n", False),
        ("\\documentclass{article}\n", "<!doctype html>\n", False),
    ],
)
def test_a_file_that_a_user_named_is_replaced_if_it_is_of_the_same_kind(
    old, new, is_replaced, tmp_path
):
    path = tmp_path / "file"
    path.write_text(old)
    expected = nullcontext() if is_replaced else pytest.raises(OSError, match="something else")
    with expected, atomic_text_file(path, named=True) as file:
        file.write(new)
    assert path.read_text() == (new if is_replaced else old)
    assert list(tmp_path.iterdir()) == [path]


def test_the_event_file_of_a_run_is_refused(tmp_path):
    path = tmp_path / "events.out.tfevents.1.host"
    path.write_text("events")
    with pytest.raises(OSError, match="it is the event file of a run"):
        write(path, "text")
    assert path.read_text() == "events"
    write(tmp_path / "events.out.tfevents.2.host", "text")
