"""`make wheel` tries both ends of the ranges in pyproject.toml, of each extra."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.version import Version

import check_wheel

PROJECT = """
[project]
name = "acme_iqa"
dependencies = ["numpy>=1.26.4,<3", "PyYAML>=6.0.1,<7"]

[project.optional-dependencies]
light = ["h11>=0.14,<1"]
full = ["acme_iqa[light]", "numpy>=2.0.0,<3"]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    file = tmp_path / "pyproject.toml"
    file.write_text(PROJECT, encoding="utf-8")
    return file


def _versions(**pins: str) -> dict[str, Version]:
    return {name: Version(pin) for name, pin in pins.items()}


def test_every_extra_has_a_trial() -> None:
    project = tomllib.loads((check_wheel.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert check_wheel.TRIALS.keys() == project["optional-dependencies"].keys()


def test_lower_ends_are_those_of_other_extras_too(project: Path) -> None:
    light = _versions(numpy="1.26.4", pyyaml="6.0.1", h11="0.14")
    assert check_wheel.lower_ends(project, "light") == light
    assert check_wheel.lower_ends(project, "full") == light | _versions(numpy="2.0.0")


def test_a_lower_end_that_others_do_not_allow_is_wrong() -> None:
    ends, newest = _versions(numpy="1.26.4", h11="0.14"), _versions(numpy="2.4", h11="0.16")
    assert check_wheel.wrong_ends(ends, newest, _versions(numpy="1.26.4", h11="0.14.0")) == []
    (reason,) = check_wheel.wrong_ends(ends, newest, _versions(numpy="2.0.0", h11="0.14.0"))
    assert reason == "pyproject.toml allows numpy 1.26.4, the others need 2.0.0"


def test_two_ends_of_the_same_versions_are_wrong() -> None:
    newest = _versions(numpy="2.4", attrs="26")
    (reason,) = check_wheel.wrong_ends(_versions(numpy="2.4"), newest, _versions(numpy="2.4", attrs="25"))
    assert reason == "the newest and the lowest versions are the same"


def test_both_ends_are_resolved_from_the_requirements_of_the_package_itself(
    monkeypatch: pytest.MonkeyPatch, project: Path, tmp_path: Path
) -> None:
    """With a wheel as the only direct requirement, uv takes the newest of all that it requires."""
    uv = tmp_path / "uv"
    uv.write_text('#!/bin/sh\necho "numpy==2.0.0"\necho "$@" > "$0.words"\n', encoding="utf-8")
    uv.chmod(0o700)
    monkeypatch.setattr(check_wheel, "UV", uv)
    assert check_wheel.resolved(project, "full", check_wheel.LOWEST) == _versions(numpy="2.0.0")
    words = (tmp_path / "uv.words").read_text(encoding="utf-8").split()
    assert words[:2] == ["pip", "compile"]
    assert words[-5:] == ["--extra", "full", "--resolution", "lowest-direct", str(project)]
    uv.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    assert check_wheel.resolved(project, "full", check_wheel.LOWEST) is None
