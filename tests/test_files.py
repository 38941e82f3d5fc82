"""Files are written whole or not at all, and never in place of something else."""

import pytest

from stable_nalu.errors import UsageError
from stable_nalu.files import atomic_path, atomic_text_file, refuse_one_file, visible_entries


def write(path, text):
    with atomic_text_file(path) as file:
        file.write(text)


def test_a_file_appears_with_its_folder_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "new" / "file.csv"
    write(path, "a\r\n")
    write(path, "b\r\n")
    assert path.read_bytes() == b"b\r\n"
    assert list(path.parent.iterdir()) == [path]


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


def test_the_mode_of_a_file_is_kept(tmp_path):
    path = tmp_path / "file.csv"
    path.write_text("old")
    path.chmod(0o640)
    write(path, "new")
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_path_to_fill(tmp_path):
    path = tmp_path / ("long" * 60)
    with atomic_path(path, durable=True) as temporary:
        temporary.write_bytes(b"1")
        assert not path.exists()
    assert path.read_bytes() == b"1"


def test_hidden_entries_are_not_shown_and_the_others_are_sorted(tmp_path):
    for name in ("b", ".hidden", "a", "c"):
        (tmp_path / name).touch()
    assert [entry.name for entry in visible_entries(tmp_path)] == ["a", "b", "c"]


def test_the_event_file_of_a_run_is_refused(tmp_path):
    path = tmp_path / "events.out.tfevents.1.host"
    path.write_text("events")
    with pytest.raises(OSError, match="it is the event file of a run"):
        write(path, "text")
    assert path.read_text() == "events"
    write(tmp_path / "events.out.tfevents.2.host", "text")


@pytest.mark.parametrize("names", [("a", "a"), ("a", "./a"), ("file", "link")])
def test_two_outputs_are_two_files(names, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    one, other = (tmp_path / name for name in names)
    with pytest.raises(UsageError, match="--other: .* is the file of --one"):
        refuse_one_file({"--one": one, "--other": other})
    refuse_one_file({"--one": one, "--other": tmp_path / "b"})
