"""Imports on first use: what a name points at, and one line where it points at nothing."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from embodied_iqa.base.errors import MissingDependencyError, UsageError
from embodied_iqa.base.lazy import load, without
from embodied_iqa.cli.main import COMMANDS
from embodied_iqa.models.subjects.registry import BACKENDS


def test_it_loads_a_module_and_an_attribute() -> None:
    assert load("json").dumps([1]) == "[1]"
    assert load("pathlib:Path") is Path
    assert load("pathlib:Path.cwd")() == Path.cwd()


@pytest.mark.parametrize("target", ["no_such_library", "no_such_library.part:thing"])
def test_a_missing_library_is_reported_with_how_to_install_it(target: str) -> None:
    with pytest.raises(
        MissingDependencyError, match=r"^no_such_library is not installed; expected make models$"
    ):
        load(target, "make models")


def test_a_library_that_cannot_be_loaded_is_reported_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unfit.py").write_text("raise OSError('libfoo.so: wrong ELF class\\nsecond line')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingDependencyError) as caught:
        load("unfit", "make models")
    assert str(caught.value) == "unfit cannot be loaded: libfoo.so: wrong ELF class; expected make models"
    with pytest.raises(OSError, match="wrong ELF class"):
        load("unfit")


def test_a_missing_attribute_lists_those_that_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plain.py").write_text("def make(): ...\n_hidden = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=r"^plain has no factory; available: make$"):
        load("plain:factory")


def test_a_module_of_this_package_that_is_missing_is_a_bug() -> None:
    with pytest.raises(ModuleNotFoundError):
        load("embodied_iqa.no_such_module:run")


def test_a_module_is_hidden_in_the_block_alone_and_not_where_it_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "optional_thing.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError), without("optional_thing"):
        importlib.import_module("optional_thing")
    there = importlib.import_module("optional_thing")
    with without("optional_thing"):
        assert importlib.import_module("optional_thing") is there
    monkeypatch.delitem(sys.modules, "optional_thing")


def test_every_back_end_and_command_exists() -> None:
    for target in (target for targets in BACKENDS.values() for target in targets.values()):
        assert callable(load(target))
    for module, _ in COMMANDS.values():
        assert callable(load(module).configure)


def test_it_is_light() -> None:
    code = "import sys, embodied_iqa.base.lazy; print(sum(m.startswith('embodied_iqa') for m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == 4
