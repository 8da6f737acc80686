"""An environment is kept when it fits; half-made ones and half-installed packages are made again."""

from pathlib import Path

import pytest

from workspace.environment import drop_half_installed, fault_of, make_environment
from workspace.layout import Layout, SetupError
from workspace.ros_source import RosSource


def _environment(
    root: Path, version: str = "3.12.1", *, system: bool = False, place: Path | None = None
) -> Path:
    venv = root / ".venv"
    home = root / "base"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").touch()
    home.mkdir()
    (home / f"python{version[:4]}").touch()
    (venv / "pyvenv.cfg").write_text(
        f"home = {home}\ninclude-system-site-packages = {str(system).lower()}\nversion = {version}\n"
        f"command = python -m venv {place or venv}\n"
    )
    return venv


def test_fitting_environment_has_no_fault(tmp_path: Path) -> None:
    venv = _environment(tmp_path)
    assert fault_of(venv, RosSource.WHEELS, None) == ""
    assert fault_of(venv, RosSource.WHEELS, "3.12") == ""


def test_missing_environment(tmp_path: Path) -> None:
    assert "none yet" in fault_of(tmp_path / ".venv", RosSource.WHEELS, None)


def test_unsupported_or_other_version(tmp_path: Path) -> None:
    venv = _environment(tmp_path, "3.13.0")
    assert "not one of 3.11, 3.12" in fault_of(venv, RosSource.WHEELS, None)
    other = _environment(tmp_path / "other")
    assert "Python 3.11 was asked for" in fault_of(other, RosSource.WHEELS, "3.11")


@pytest.mark.parametrize(("system", "source"), [(False, RosSource.SOURCED), (True, RosSource.WHEELS)])
def test_other_source_of_ros(tmp_path: Path, system: bool, source: RosSource) -> None:
    assert "ROS now comes" in fault_of(_environment(tmp_path, system=system), source, None)
    assert fault_of(_environment(tmp_path / "b", system=not system), source, None) == ""


def test_moved_working_copy(tmp_path: Path) -> None:
    venv = _environment(tmp_path, place=tmp_path / "before" / ".venv")
    assert "moved" in fault_of(venv, RosSource.WHEELS, None)


def test_python_that_is_gone(tmp_path: Path) -> None:
    venv = _environment(tmp_path)
    (tmp_path / "base" / "python3.12").unlink()
    assert "gone" in fault_of(venv, RosSource.WHEELS, None)


def test_interrupted_making_is_begun_again(tmp_path: Path) -> None:
    layout = Layout(tmp_path)

    def dies(words: list[str]) -> None:
        _environment(tmp_path)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_environment(layout, RosSource.WHEELS, dies, explicit=False)
    assert "interrupted" in fault_of(layout.venv, RosSource.WHEELS, None)
    made: list[list[str]] = []
    make_environment(layout, RosSource.WHEELS, made.append, explicit=False)
    assert len(made) == 1
    assert not layout.venv.exists(), "the half-made one is gone before the new one is made"


@pytest.mark.parametrize("source", RosSource)
def test_sourced_ros_needs_the_systems_packages(tmp_path: Path, source: RosSource) -> None:
    made: list[list[str]] = []
    make_environment(Layout(tmp_path), source, made.append, explicit=False)
    assert ("--system-site-packages" in made[0]) == (source is RosSource.SOURCED)


def test_folder_that_is_no_environment_is_never_removed(tmp_path: Path) -> None:
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "thesis.txt").write_text("years of work")
    with pytest.raises(SetupError, match="not a virtual environment"):
        make_environment(Layout(tmp_path), RosSource.WHEELS, lambda words: None, explicit=False)
    assert (tmp_path / ".venv" / "thesis.txt").exists()


def test_half_installed_packages_are_dropped(tmp_path: Path) -> None:
    for name, record in {
        "whole-1.0": "whole/x.py,,\nwhole-1.0.dist-info/INSTALLER,,\n",
        "wheels_record-1.0": "wheels_record/x.py,,\n",
        "nothing-1.0": None,
    }.items():
        folder = tmp_path / f"{name}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Name: x")
        if record is not None:
            (folder / "RECORD").write_text(record)
    (tmp_path / "~umpy").mkdir()
    assert drop_half_installed(tmp_path) == ["nothing-1.0.dist-info", "wheels_record-1.0.dist-info"]
    assert [path.name for path in tmp_path.iterdir()] == ["whole-1.0.dist-info"]
