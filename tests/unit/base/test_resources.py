"""Shared files are found in every layout, and their absence is told clearly."""

import shutil
import sys
from pathlib import Path

import pytest

from embodied_iqa.base import resources
from embodied_iqa.base.errors import InputError

ROOT = Path(__file__).resolve().parents[3]


def _module_at(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "__file__", str(path))


def _share(folder: Path) -> Path:
    (folder / "config" / "gate").mkdir(parents=True)
    (folder / "package.xml").write_text("<package/>")
    (folder / "config" / "gate" / "default.yaml").write_text("")
    return folder


def test_checkout_is_found() -> None:
    assert resources.source_checkout() == ROOT
    assert resources.shared_folder() == ROOT
    assert resources.shared_file("config/fastdds_shared_memory.xml").is_file()


def test_a_checkout_needs_its_manifest_and_its_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _module_at(tmp_path / "src/embodied_iqa/base/resources.py", monkeypatch)
    (tmp_path / "config").mkdir()
    assert resources.source_checkout() is None
    (tmp_path / "ros").mkdir()
    (tmp_path / "ros" / "package.xml").touch()
    assert resources.source_checkout() == resources.shared_folder() == tmp_path


def test_prefix_of_the_installed_module_comes_before_the_environments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = _share(tmp_path / "ours" / "share" / "embodied_iqa")
    theirs = _share(tmp_path / "theirs" / "share" / "embodied_iqa")
    _module_at(tmp_path / "ours/lib/python3.12/site-packages/embodied_iqa/base/resources.py", monkeypatch)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "nowhere"))
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "theirs"))
    assert resources.source_checkout() is None
    assert resources.shared_folder() == ours
    shutil.rmtree(ours)
    assert resources.shared_folder() == theirs


def test_sys_prefix_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = _share(tmp_path / "venv" / "share" / "embodied_iqa")
    _module_at(tmp_path / "a/b/c/d/e/f/resources.py", monkeypatch)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    assert resources.shared_file("config/gate") == expected / "config" / "gate"


def test_missing_file_names_its_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _share(tmp_path / "share" / "embodied_iqa")
    _module_at(tmp_path / "lib/python3.12/site-packages/embodied_iqa/base/resources.py", monkeypatch)
    with pytest.raises(InputError, match=r"no nightly\.yaml in .*available: default\.yaml"):
        resources.shared_file("config/gate/nightly.yaml")


def test_incomplete_installation_says_where_it_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _module_at(tmp_path / "lib/python3.12/site-packages/embodied_iqa/base/resources.py", monkeypatch)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "nowhere"))
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "overlay"))
    with pytest.raises(InputError, match="not installed") as caught:
        resources.shared_folder()
    for place in ("nowhere", "overlay"):
        assert str(tmp_path / place / "share" / "embodied_iqa") in str(caught.value)
