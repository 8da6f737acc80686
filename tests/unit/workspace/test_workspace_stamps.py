"""A stamp is current for exactly the inputs of the last success."""

from pathlib import Path

import pytest

from workspace.stamps import Stamp, hash_inputs


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.txt").write_text("1")
    (tmp_path / "a" / "two.txt").write_text("2")
    return tmp_path


def test_hash_depends_on_content_name_and_words(tree: Path) -> None:
    seen = {hash_inputs(tree, [tree / "a"]), hash_inputs(tree, [tree / "a"], extra=["3.11"])}
    (tree / "a" / "one.txt").write_text("changed")
    seen.add(hash_inputs(tree, [tree / "a"]))
    (tree / "a" / "one.txt").rename(tree / "a" / "renamed.txt")
    seen.add(hash_inputs(tree, [tree / "a"]))
    (tree / "a" / "two.txt").unlink()
    seen.add(hash_inputs(tree, [tree / "a"]))
    assert len(seen) == 5


def test_content_cannot_move_between_files_unseen(tree: Path) -> None:
    before = hash_inputs(tree, [tree / "a"])
    (tree / "a" / "one.txt").write_text("2")
    (tree / "a" / "two.txt").write_text("1")
    assert hash_inputs(tree, [tree / "a"]) != before


def test_hash_does_not_depend_on_time_place_or_caches(
    tree: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    before = hash_inputs(tree, [tree / "a"])
    (tree / "a" / "one.txt").touch()
    (tree / "a" / "__pycache__").mkdir()
    (tree / "a" / "__pycache__" / "x.pyc").write_bytes(b"x")
    other = tmp_path_factory.mktemp("elsewhere")
    (other / "a").mkdir()
    for name, text in (("one.txt", "1"), ("two.txt", "2")):
        (other / "a" / name).write_text(text)
    assert hash_inputs(tree, [tree / "a"]) == before == hash_inputs(other, [other / "a"])


def test_stamp_is_written_only_by_success(tmp_path: Path) -> None:
    stamp = Stamp(tmp_path / "stamps", "step")
    assert not stamp.is_current("x")
    stamp.begin()
    assert not stamp.is_current("x")
    stamp.succeed("x")
    assert stamp.is_current("x")
    assert not stamp.is_current("y")


def test_beginning_again_takes_the_old_success_away(tmp_path: Path) -> None:
    stamp = Stamp(tmp_path, "step")
    stamp.succeed("x")
    stamp.begin()
    assert not stamp.is_current("x")


def test_damaged_stamp_counts_as_none(tmp_path: Path) -> None:
    stamp = Stamp(tmp_path, "step")
    stamp.file.write_bytes(b"\xff\xfe")
    assert not stamp.is_current("x")
