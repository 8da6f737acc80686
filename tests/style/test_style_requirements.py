"""Every requirement is pinned, every import is required, and what the pins pull in is held too."""

from __future__ import annotations

import itertools
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from style_sources import ROOT, imports_of, sources

from embodied_iqa.base.pins import Pin, read_pins

FOLDER = ROOT / "requirements"
CONSTRAINTS = FOLDER / "constraints.txt"
REPLACEMENTS = FOLDER / "sourced-ros.txt"
ROS_TOPS = {"rclpy", "ament_index_python", "builtin_interfaces", "rcl_interfaces"}
ONLY_WITH_INSTALLED_ROS = {"launch", "launch_ros", "ament_copyright"}
IMPORT_NAMES = {"torch": "torch", "transformers": "transformers", "rtde_control": "ur-rtde",
                "rtde_receive": "ur-rtde", "rtde_io": "ur-rtde", "dashboard_client": "ur-rtde"}  # fmt: skip
"""Distributions of optional imports, which may not be installed where the tests run."""


def _sets() -> list[Path]:
    return sorted(set(FOLDER.glob("*.txt")) - {CONSTRAINTS, REPLACEMENTS})


def _direct() -> dict[str, Pin]:
    return {pin.key: pin for file in _sets() for pin in read_pins(file)}


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.name)
def test_every_line_is_an_exact_pin(file: Path) -> None:
    pins = read_pins(file)
    assert pins
    assert len({pin.key for pin in pins}) == len(pins), "a name twice in one file"


def test_no_name_has_two_pins() -> None:
    seen: dict[str, str] = {}
    for file in _sets():
        for pin in read_pins(file):
            assert seen.setdefault(pin.key, pin.version) == pin.version, f"{pin.name} is pinned twice"


def test_constraints_hold_every_pin_with_hashes() -> None:
    """What set-up installs is in them; torch is not: each package index has a build of its own."""
    lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    assert all(" --hash=sha256:" in line for line in lines if not line.startswith("#"))
    held = {pin.key: pin.version for pin in read_pins(CONSTRAINTS)}
    peers = {pin.key for pin in read_pins(FOLDER / "bench-peers.txt")}
    wrong = [
        str(pin)
        for key, pin in _direct().items()
        if held.get(key) != pin.version and key not in peers | {"torch", "torchvision"}
    ]
    assert not wrong, f"run `make constraints`: {wrong}"


def test_replacements_replace_something() -> None:
    for pin in read_pins(REPLACEMENTS):
        assert _direct()[pin.key].version != pin.version


def test_every_import_is_required() -> None:
    distributions = packages_distributions()
    direct = _direct()
    missing = set()
    for source in sources("src", "tests", "benchmarks"):
        for _, name in imports_of(source):
            top = name.split(".")[0]
            if top in sys.stdlib_module_names or top in _our_modules() or _is_ros(top):
                continue
            names = distributions.get(top) or [IMPORT_NAMES.get(top, top)]
            if not any(Pin(item, "", "").key in direct for item in names):
                missing.add(f"{source.name}: {top}")
    assert not missing, "not in requirements/:\n" + "\n".join(sorted(missing))


@cache
def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project


def _asked(extra: str) -> set[str]:
    """Names that an extra asks for beside what the package always needs, with those of other extras."""
    found: set[str] = set()
    for line in _project()["optional-dependencies"][extra]:
        asked = Requirement(line)
        found |= set().union(*map(_asked, asked.extras)) if asked.name == "embodied_iqa" else {_key(line)}
    return found


def _key(line: str) -> str:
    return Pin(Requirement(line).name, "", "").key


def test_the_ranges_of_the_wheel_hold_the_tested_versions() -> None:
    """A sourced ROS replaces pins of what is always needed; an extra may ask for a newer version."""
    sourced = {pin.key: pin.version for pin in read_pins(REPLACEMENTS)}
    always = _project()["dependencies"]
    for line in [*always, *itertools.chain(*_project()["optional-dependencies"].values())]:
        asked, key = Requirement(line), _key(line)
        if key == "embodied-iqa":
            continue
        assert {part.operator for part in asked.specifier} == {">=", "<"}, line
        assert asked.specifier.contains(_direct()[key].version), line
        assert line not in always or key not in sourced or asked.specifier.contains(sourced[key]), line


@pytest.mark.parametrize(
    ("extra", "files"),
    [
        ("gate", ["gate"]),
        ("record", ["gate", "record"]),
        ("all", ["core"]),
        ("models", ["models"]),
        ("hardware", ["hardware"]),
        ("ros", ["ros"]),
    ],
)
def test_extras_ask_for_what_a_checkout_installs(extra: str, files: list[str]) -> None:
    pinned = {pin.key for file in files for pin in read_pins(FOLDER / f"{file}.txt")}
    asked = _asked(extra) | {_key(line) for line in _project()["dependencies"]}
    assert pinned <= asked
    assert asked - pinned <= {pin.key for pin in read_pins(FOLDER / "core.txt")}
    assert (asked == pinned) == (extra in {"gate", "record", "all"})


def test_the_guide_says_of_every_extra_what_it_is_for_and_whether_aarch64_has_it() -> None:
    guide = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
    extras = set(_project()["optional-dependencies"])
    table = guide.partition("| Extra | For |")[2].partition("\n\n")[0]
    assert extras == set(re.findall(r"^\| `([a-z]+)` \|", table, re.MULTILINE))
    on_aarch64 = guide.partition("On aarch64, ")[2].partition("\n\n")[0]
    assert extras <= set(re.findall(r"`([a-z]+)`", on_aarch64))


@cache
def _our_modules() -> set[str]:
    places = ("tests/**/*.py", "benchmarks/*.py", "scripts/*.py")
    local = {path.stem for place in places for path in ROOT.glob(place)}
    return {
        "embodied_iqa",
        "embodied_iqa_msgs",
        "workspace",
        "mutants",
        "reach",
        "stress",
        "policy_host",
    } | local


def _is_ros(top: str) -> bool:
    return top in ROS_TOPS | ONLY_WITH_INSTALLED_ROS or top.endswith(("_msgs", "_srvs"))
