"""A sourced ROS is used where it works, and never leaks into an environment with wheels."""

import sys
from pathlib import Path

import pytest

from workspace.ros_source import RosSource, base_python, can_import_rclpy, clean_environment, decide


def _never() -> bool:
    raise AssertionError("nothing to probe where no ROS is sourced")


def test_wheels_where_no_ros_is_sourced() -> None:
    assert decide({}, _never) == (RosSource.WHEELS, "")
    assert decide({"ROS_DISTRO": ""}, _never) == (RosSource.WHEELS, "")


def test_sourced_ros_is_used_where_python_imports_it() -> None:
    source, remark = decide({"ROS_DISTRO": "jazzy"}, lambda: True)
    assert source is RosSource.SOURCED
    assert "jazzy" in remark


def test_sourced_ros_of_another_python_is_told_and_left() -> None:
    source, remark = decide({"ROS_DISTRO": "humble"}, lambda: False)
    assert source is RosSource.WHEELS
    assert "humble" in remark
    assert "cannot import its rclpy" in remark


def test_probe_asks_the_given_python(tmp_path: Path) -> None:
    fake = tmp_path / "rclpy" / "impl"
    fake.mkdir(parents=True)
    (tmp_path / "rclpy" / "__init__.py").write_text("")
    (fake / "__init__.py").write_text("")
    environment = {"PYTHONPATH": str(tmp_path), "PATH": ""}
    assert not can_import_rclpy(base_python(), environment), "the compiled part is missing"
    (fake / "implementation_singleton.py").write_text("rclpy_implementation = None")
    assert can_import_rclpy(base_python(), environment)
    assert not can_import_rclpy(tmp_path / "no-python", environment)


def test_base_python_is_outside_of_the_environment() -> None:
    assert not base_python().is_relative_to(sys.prefix)
    assert base_python().exists()


@pytest.mark.parametrize(
    "variable", ["PYTHONPATH", "LD_LIBRARY_PATH", "_ROS_WHEELS_BOOTSTRAP_COMPLETE", "ROS_DISTRO"]
)
def test_foreign_ros_is_kept_out_of_wheels(variable: str) -> None:
    caller = {variable: "/opt/ros/humble/x", "HOME": "/somewhere", "AMENT_PREFIX_PATH": "/opt/ros/humble"}
    clean = clean_environment(caller, RosSource.WHEELS, Path("/venv"))
    assert variable not in clean
    assert clean == {"HOME": "/somewhere", "AMENT_PREFIX_PATH": "/venv", "CMAKE_PREFIX_PATH": "/venv"}


def test_sourced_ros_is_passed_on_whole() -> None:
    caller = {"AMENT_PREFIX_PATH": "/opt/ros/jazzy", "PYTHONPATH": "/opt/ros/jazzy/lib"}
    assert clean_environment(caller, RosSource.SOURCED, Path("/venv")) == caller
