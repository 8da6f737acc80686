"""The doctor: each finding follows from what is there, and what the trial needs decides the exit code."""

import argparse
import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from embodied_iqa.cli import doctor
from embodied_iqa.cli.checks import finding as finding_module
from embodied_iqa.cli.checks import hardware, machine, python, ros
from embodied_iqa.cli.checks.finding import Check, Finding, Outcome, Status, try_code
from embodied_iqa.cli.checks.hardware import build_advice, models
from embodied_iqa.cli.main import main

FINE = Finding("fine", Status.OK, "all is well", required=True)
OPTIONAL = Finding("extra", Status.MISSING, "not there", "install it")
NEEDED = Finding("needed", Status.BROKEN, "does not work", "fix it", required=True)


def _doctor(
    monkeypatch: pytest.MonkeyPatch, *looks: Callable[[], list[Finding]], as_json: bool = False
) -> int:
    monkeypatch.setattr(doctor, "CHECKS", tuple(Check("group", look) for look in looks))
    return doctor.run(argparse.Namespace(json=as_json, use="trial"))


@pytest.mark.parametrize(
    ("findings", "code"), [([FINE], 0), ([FINE, OPTIONAL], 0), ([FINE, NEEDED, OPTIONAL], 1)]
)
def test_exit_code_is_what_the_trial_needs(
    findings: list[Finding], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _doctor(monkeypatch, lambda: findings) == code
    said = capsys.readouterr().out
    for finding in findings:
        assert finding.name in said
        assert finding.fix in said


def test_json_says_the_same(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert _doctor(monkeypatch, lambda: [FINE], lambda: [NEEDED], as_json=True) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["ok"] is False
    assert [(check["name"], check["status"], check["required"]) for check in data["checks"]] == [
        ("fine", "ok", True),
        ("needed", "broken", True),
    ]


def test_check_that_fails_is_a_finding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def bursts() -> list[Finding]:
        raise ZeroDivisionError("by zero")

    assert _doctor(monkeypatch, bursts, lambda: [FINE], as_json=True) == 1
    first, second = json.loads(capsys.readouterr().out)["checks"]
    assert first["name"] == "bursts"
    assert "ZeroDivisionError" in first["detail"]
    assert second["status"] == "ok"


def test_detail_is_not_taken_for_markup(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _doctor(monkeypatch, lambda: [Finding("x", Status.OK, "a [bold]b[/bold] c")])
    assert "[bold]b[/bold]" in capsys.readouterr().out


def test_table_is_plain_where_rich_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert _doctor(monkeypatch, lambda: [NEEDED]) == 1
    assert "does not work -> fix it" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("code", "worked", "text"),
    [
        ("print('one'); print('two')", True, "two"),
        ("raise ValueError('why\\n  indented')", False, "ValueError: why"),
        ("import no_such_module", False, "ModuleNotFoundError"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", False, "crashed with signal 11"),
    ],
)
def test_try_survives_what_it_tries(code: str, worked: bool, text: str) -> None:
    outcome = try_code(code)
    assert outcome.worked is worked
    assert text in outcome.text


def test_try_does_not_wait_for_good() -> None:
    outcome = try_code("import time; time.sleep(600)", timeout_s=0.0)
    assert outcome == Outcome(worked=False, text="no answer within 0 s")


def _pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> Finding:
    for name in ("core", "ros", "ros-build", "models", "dev", "sourced-ros"):
        (tmp_path / f"{name}.txt").write_text(line if name == "core" else "")
    monkeypatch.setattr(python, "shared_file", lambda relative: tmp_path)
    return next(finding for finding in python.packages() if finding.name == "packages: core")


def test_packages_as_pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = _pinned(tmp_path, monkeypatch, f"pytest=={metadata.version('pytest')}\n")
    assert (found.status, found.required) == (Status.OK, True)


def test_missing_package_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = _pinned(tmp_path, monkeypatch, "no-such-package==1.0\n")
    assert found.stops
    assert "no-such-package" in found.detail


def test_other_version_is_told_and_does_not_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = _pinned(tmp_path, monkeypatch, "pytest==0.0.1\n")
    assert found.status is Status.BROKEN
    assert not found.stops
    assert "tested: 0.0.1" in found.detail


def test_pin_for_another_python_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = _pinned(tmp_path, monkeypatch, 'no-such-package==1.0; python_version < "3.0"\n')
    assert found.status is Status.OK


def test_profile_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTRTPS_DEFAULT_PROFILES_FILE", "/no/such/profile.xml")
    found = {finding.name: finding for finding in ros.middleware()}
    assert found["Fast DDS profile"].stops
    assert "unset FASTRTPS_DEFAULT_PROFILES_FILE" in found["Fast DDS profile"].fix


def test_traffic_that_leaves_the_machine_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "may leave" not in ros.middleware()[0].detail
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")
    assert "may leave" in ros.middleware()[0].detail


def test_ros2_launch_belongs_to_an_installed_ros(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "ros2"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    there = {"ros2launch": False}
    monkeypatch.setattr(ros.importlib.util, "find_spec", lambda name: there[name] or None)
    monkeypatch.setattr(ros, "uses_wheels", lambda: True)
    (lacking,) = ros.launching()
    assert (lacking.status, lacking.required) == (Status.MISSING, False)
    assert lacking.detail == "not with the wheels; embodied-iqa trial starts the same graph without it"
    assert "source its setup.bash, then " in lacking.fix
    there["ros2launch"] = True
    assert ros.launching() == [Finding("ros2 launch", Status.OK, str(command))]
    command.unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(ros, "uses_wheels", lambda: False)
    assert ros.launching()[0].detail.startswith("the sourced ROS has no ros2launch")


def test_interfaces_built_from_other_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = tmp_path / "prefix" / "share" / "embodied_iqa_msgs" / "msg"
    source = tmp_path / "checkout" / "msg" / "msg"
    for folder in (built, source):
        folder.mkdir(parents=True)
        for name in ("Same.msg", "Changed.msg"):
            (folder / name).write_text("bool a")
    (source / "Changed.msg").write_text("bool b")
    (source / "New.msg").write_text("bool c")
    monkeypatch.setattr(ros, "source_checkout", lambda: tmp_path / "checkout")
    monkeypatch.setattr(ros, "try_code", lambda code: try_code("print('3 types')"))
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "prefix"))
    (found,) = ros.interfaces()
    assert found.stops
    assert found.detail.endswith("Changed.msg, New.msg")


@pytest.mark.parametrize("variables", [{}, {"ROS_LOG_DIR": "/proc/no-such-folder"}])
def test_logs_that_cannot_be_written(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "ROS_HOME", "ROS_LOG_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert ros.log_folder()[0].stops


def test_leftovers_are_segments_that_nobody_maps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, processes = tmp_path / "shm", tmp_path / "proc"
    memory.mkdir()
    for name in ("fastrtps_mapped", "fastrtps_open_el", "fastrtps_dead", "someone_elses"):
        (memory / name).write_bytes(b"x" * 100)
    (processes / "42" / "fd").mkdir(parents=True)
    (processes / "42" / "maps").write_text(
        "7f00-7f01 rw-s 0000 00:18 5 /dev/shm/fastrtps_mapped\n7f02 r-xp /usr/lib/x\n"
    )
    (processes / "42" / "fd" / "3").symlink_to("/dev/shm/fastrtps_open_el")
    (found,) = machine.leftovers(memory, processes)
    assert found.detail.startswith("1 segments")
    assert not found.required
    (memory / "fastrtps_dead").unlink()
    assert machine.leftovers(memory, processes)[0].status is Status.OK
    monkeypatch.setattr(machine, "has_module", lambda _name: False)
    assert machine.leftovers(memory, processes) == [], "without ROS they are of others"


def test_full_disk_and_missing_shared_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.shared_memory(tmp_path / "none")[0].stops
    full = machine.shutil.disk_usage(tmp_path)._replace(free=10 << 20)
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda path: full)
    assert machine.disk(tmp_path)[0].stops
    assert machine.shared_memory(tmp_path)[0].stops


def test_rendering_through_a_window_fails_clearly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "no-such-back-end")
    (found,) = machine.rendering()
    assert found.stops
    assert "MUJOCO_GL=no-such-back-end" in found.detail


@pytest.fixture(scope="module")
def findings() -> list[Finding]:
    """Of this machine, by every check."""
    return [finding for _, finding in doctor.examine()]


def test_this_machine_can_run_the_trial(findings: list[Finding]) -> None:
    assert not [finding for finding in findings if finding.stops]


@pytest.mark.parametrize(
    ("detail", "has_gpu", "advice"),
    [
        ("torch 2.13.0+cpu: CPU build, without triton, no GPU", False, ""),
        ("torch 2.13.0+cpu: CPU build, without triton, no GPU", True, "install the CUDA build"),
        ("torch 2.13.0: CUDA 13.0 build, with triton 3.7.1, no GPU", False, "make models CPU=1"),
        ("torch 2.13.0: CUDA 13.0 build, with triton 3.7.1, no GPU", True, "nvidia-smi"),
        ("torch 2.13.0: CUDA 13.0 build, with triton 3.7.1, NVIDIA L4", True, ""),
    ],
)
def test_build_of_torch_that_does_not_fit_the_machine(detail: str, has_gpu: bool, advice: str) -> None:
    said = build_advice(detail, has_gpu=has_gpu)
    assert advice in said
    assert bool(said) == bool(advice)


def test_without_a_checkout_and_a_gpu_the_cpu_build_comes_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(hardware, "source_checkout", lambda: None)
    monkeypatch.setattr(finding_module, "source_checkout", lambda: None)
    monkeypatch.setattr(hardware, "_NVIDIA_DRIVER", tmp_path / "none")
    monkeypatch.setattr(hardware.metadata, "version", _not_there)
    cpu = "the pip line for the CPU at https://pytorch.org/get-started/locally/"
    torch, transformers = models()
    assert torch.fix == f"{cpu}, then pip install 'embodied_iqa[models]'"
    assert transformers.fix == "pip install 'embodied_iqa[models]'"
    said = build_advice("torch 2.13.0: CUDA 13.0 build, without triton, no GPU", has_gpu=False)
    assert said.endswith(f"with 4 GB less: in a new environment, {cpu}, then the wheel")
    monkeypatch.setattr(hardware, "_NVIDIA_DRIVER", tmp_path)
    assert models()[0].fix == "pip install 'embodied_iqa[models]'"


def _not_there(name: str) -> str:
    raise metadata.PackageNotFoundError(name)


def test_build_of_torch_is_named(findings: list[Finding]) -> None:
    (torch,) = (finding for finding in findings if finding.name == "torch")
    if torch.status is Status.MISSING:
        pytest.skip("torch is not installed")
    assert re.search(r"(CPU|CUDA \d+\.\d+|ROCm \S+) build, with(out)? triton", torch.detail)


def test_the_gate_is_tried_and_named_in_the_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = python.gate_works()
    assert (found.status, found.detail) == (Status.OK, "works: a black image is judged REJECT")
    assert _doctor(monkeypatch, lambda: [found, NEEDED]) == 1
    assert "the gate works; the simulated trial cannot run yet: needed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("use", "broken", "code"),
    [
        ("gate", "rclpy", 0),
        ("gate", "quality gate", 1),
        ("gate", "Python", 1),
        ("gate", "offscreen images", 0),
        ("ros", "rclpy", 1),
        ("ros", "quality gate", 1),
        ("ros", "offscreen images", 0),
        ("robot", "UR arm", 1),
        ("robot", "rclpy", 1),
        ("robot", "torch", 0),
        ("models", "torch", 1),
        ("models", "rclpy", 0),
        ("trial", "UR arm", 0),
        ("trial", "offscreen images", 1),
    ],
)
def test_the_exit_code_is_of_what_the_use_needs(
    use: str, broken: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {
        python.python_version: "Python",
        python.gate_works: "quality gate",
        ros.rclpy_works: "rclpy",
        machine.rendering: "offscreen images",
        hardware.universal_robots: "UR arm",
        hardware.models: "torch",
    }
    is_of_the_trial = {"Python", "rclpy", "offscreen images"}

    def fake(name: str) -> Callable[[], list[Finding]]:
        status = Status.BROKEN if name == broken else Status.OK
        return lambda: [Finding(name, status, "as it is", required=name in is_of_the_trial)]

    kept = [replace(one, run=fake(names[one.run])) for one in doctor.CHECKS if one.run in names]
    monkeypatch.setattr(doctor, "CHECKS", tuple(kept))
    assert main(["doctor", "--for", use]) == code
    last = capsys.readouterr().out.splitlines()[-1]
    assert (f"everything that {doctor.USES[use]} needs works" in last) is (code == 0)
    assert main(["doctor", "--for", use, "--json"]) == code
    data = json.loads(capsys.readouterr().out)
    assert (data["for"], data["ok"]) == (use, code == 0)
    assert [one["required"] for one in data["checks"] if one["name"] == broken] == [code == 1]


@pytest.mark.parametrize(
    ("has_ros", "checkout", "use"), [(True, False, "trial"), (False, True, "trial"), (False, False, "gate")]
)
def test_a_wheel_without_ros_is_for_the_gate(
    has_ros: bool, checkout: bool, use: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor, "has_module", lambda _name: has_ros)
    monkeypatch.setattr(doctor, "source_checkout", lambda: tmp_path if checkout else None)
    assert doctor.usual_use() == use


def test_a_use_that_is_not_known_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--for", "gaet"]) == 2
    said = capsys.readouterr().err
    assert "got 'gaet'; did you mean gate?; available: trial, gate, ros, robot, models" in said


def test_of_a_wheel_the_extras_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding_module, "source_checkout", lambda: None)
    lines = [
        "numpy<3,>=1.26.4",
        'mcap<2; extra == "record"',
        'embodied_iqa[record]; extra == "data"',
        "no-such-package<2,>=1; extra == 'data'",
        'embodied_iqa[data]; extra == "models"',
    ]
    found = {finding.name: finding for finding in python.extras(lines)}
    assert [found[f"extra {name}"].status for name in ("gate", "record")] == [Status.OK, Status.OK]
    assert found["extra data"].status is Status.MISSING
    assert found["extra data"].fix == "pip install 'embodied_iqa[data]'"
    assert "1 of 2 packages are not installed" in found["extra models"].detail


def test_without_a_checkout_no_fix_is_a_target_of_make(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_: str) -> str:
        raise metadata.PackageNotFoundError

    def fails(_code: str, *, timeout_s: float = 0.0) -> Outcome:
        return Outcome(worked=False, text=f"ModuleNotFoundError: gone ({timeout_s})")

    for module in (finding_module, python, hardware):
        monkeypatch.setattr(module, "source_checkout", lambda: None)
    for module in (python, hardware, machine, ros):
        monkeypatch.setattr(module, "try_code", fails)
    monkeypatch.setattr(metadata, "version", absent)
    monkeypatch.setattr(python, "SUPPORTED", ())
    checks = (
        python.python_version, python.packages, python.gate_works, machine.rendering, ros.rclpy_works,
        hardware.realsense, hardware.universal_robots, hardware.models,
    )  # fmt: skip
    fixes = [finding.fix for check in checks for finding in check()]
    assert len(fixes) > 10
    assert not [fix for fix in fixes if "make " in fix or ".venv" in fix]
