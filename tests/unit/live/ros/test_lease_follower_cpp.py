"""The header of the C++ example decides as the filter does. Its node is not built: no wheel of rclcpp."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from embodied_iqa.arm.robot.lease_filter import LeaseFilter
from embodied_iqa.arm.robot.lease_watch import Moment
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.base.resources import source_checkout
from lease_cases import VIEWS, lease_cases
from live_process import completed
from manual_clock import PATIENCE_S

PACKAGE = (source_checkout() or Path()) / "examples" / "ros" / "lease_follower_cpp"
SEEDS = 400


def arrival(lease: GateLease, now: Moment) -> str:
    flags = f"{lease.needs_decision:d} {lease.decision is not None:d}"
    times = f"{lease.frame_stamp_ns} {lease.verdict:d} {lease.expires_ns}"
    return f"lease {now.ros_ns} {now.steady_ns} {lease.view} {times} {flags}"


def played() -> tuple[list[str], list[int]]:
    """Return lines for the program, and what the filter decides."""
    lines, expected = [], []
    for seed in range(SEEDS):
        lines.append(f"new {' '.join(map(str, VIEWS))}")
        ours = LeaseFilter(VIEWS)
        for number, (lease, now, later) in enumerate(lease_cases(seed)):
            ours = ours.with_lease(lease, now)
            lines += [arrival(lease, now), f"watch {now.ros_ns} {now.steady_ns}"]
            ours, reason = ours.watch(now)
            expected.append(int(bool(reason)))
            if number % 3:
                lines.append(f"command {later.ros_ns} {later.steady_ns}")
                ours, found = ours.command(later)
                expected.append(int(found.verdict is Verdict.PASS))
            lines.append(f"watch {later.ros_ns} {later.steady_ns}")
            ours, reason = ours.watch(later)
            expected.append(int(bool(reason)))
    return lines, expected


def test_it_passes_and_stops_as_the_filter_does(tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++")
    program, source = tmp_path / "play_cases", PACKAGE / "test" / "play_cases.cpp"
    words = ("-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", str(PACKAGE / "include"))
    completed([compiler, *words, "-o", str(program), str(source)], tmp_path, PATIENCE_S)
    lines, expected = played()
    done = subprocess.run(
        [program], input="\n".join(lines), capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    assert list(map(int, done.stdout.split())) == expected
    assert 500 < sum(expected) < len(expected) - 500


def test_the_package_names_what_it_includes_and_colcon_leaves_it_alone() -> None:
    declared = {item.text for item in ET.parse(PACKAGE / "package.xml").getroot().iter("depend")}
    build = (PACKAGE / "CMakeLists.txt").read_text(encoding="utf-8")
    node = (PACKAGE / "src" / "lease_follower.cpp").read_text(encoding="utf-8")
    lines = (line for line in node.splitlines() if line.startswith('#include "'))
    included = {line.split('"')[1].split("/")[0] for line in lines}
    assert included == declared | {"lease_follower_cpp"}
    assert all(f"find_package({name} REQUIRED)" in build for name in declared)
    assert (PACKAGE.parents[1] / "COLCON_IGNORE").is_file(), "colcon build of a workspace does not build it"
