"""Steps run once, again after a failure, and again when their inputs change."""

import os
import queue
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from live_process import COMPLETION_S
from workspace import commands, system
from workspace.commands import alone, run_logged
from workspace.interfaces import keep_generated, remove_installed, reuse_generated
from workspace.layout import Layout, SetupError
from workspace.main import perform
from workspace.prefix import publish
from workspace.ros_source import RosSource
from workspace.stamps import Stamp
from workspace.steps import Extra, Step, steps_for
from workspace.system import Need, browser_command, browser_is_settled, missing_needs, provide_browser

ROOT = Path(__file__).resolve().parents[3]


def test_failed_step_is_not_done(tmp_path: Path) -> None:
    def fails() -> None:
        raise SetupError("no network")

    step = Step("packages", Stamp(tmp_path, "packages"), "digest", fails)
    with pytest.raises(SetupError):
        step.perform()
    assert not step.is_current()
    again = Step("packages", step.stamp, "digest", lambda: None)
    again.perform()
    assert again.is_current()


def _copy(root: Path) -> Layout:
    (root / "requirements").mkdir(parents=True)
    for file in (ROOT / "requirements").glob("*.txt"):
        (root / "requirements" / file.name).write_bytes(file.read_bytes())
    (root / "msg" / "msg").mkdir(parents=True)
    for folder in ("base/kinematics", "arm/robot"):
        (root / "src" / "embodied_iqa" / folder).mkdir(parents=True)
    (root / "msg" / "msg" / "A.msg").write_text("bool a")
    (root / "ros").mkdir()
    (root / "ros" / "setup.py").write_text("")
    (root / "ros" / "package.xml").write_text("")
    return Layout(root)


def _digests(layout: Layout, source: RosSource = RosSource.WHEELS) -> dict[str, str]:
    return {step.stamp.name: step.digest for step in steps_for(layout, source, Extra)}


@pytest.mark.parametrize(
    ("file", "stale"),
    [
        ("requirements/core.txt", {"ros", "requirements", "kernels", "bytecode"}),
        ("requirements/dev.txt", {"requirements", "kernels", "bytecode"}),
        (
            "requirements/constraints.txt",
            {"ros", "requirements", "kernels", "bytecode", "models", "bytecode-models", "ray"},
        ),
        ("requirements/models.txt", {"models", "bytecode-models"}),
        ("requirements/ray.txt", {"ray"}),
        ("requirements/ros.txt", {"ros", "requirements", "interfaces", "kernels", "bytecode"}),
        ("src/embodied_iqa/base/kinematics/kernels.py", {"kernels"}),
        ("src/embodied_iqa/arm/robot/joining_kernels.py", {"kernels"}),
        ("msg/msg/A.msg", {"interfaces"}),
        ("ros/setup.py", {"package"}),
    ],
)
def test_change_makes_the_right_steps_stale(tmp_path: Path, file: str, stale: set[str]) -> None:
    layout = _copy(tmp_path)
    before = _digests(layout)
    with (tmp_path / file).open("a") as stream:
        stream.write("\n# changed\n")
    after = _digests(layout)
    assert {name for name in before if before[name] != after[name]} == stale


def test_extras_are_installed_only_where_asked_for(tmp_path: Path) -> None:
    layout = _copy(tmp_path)

    def names(*extras: Extra) -> list[str]:
        return [step.stamp.name for step in steps_for(layout, RosSource.WHEELS, extras)]

    light = names()
    assert names(Extra.MODELS) == names(Extra.CPU) == [*light, "models", "bytecode-models"]
    assert names(Extra.MODELS, Extra.RAY) == [*light, "models", "bytecode-models", "ray"]
    assert {"models", "bytecode-models", "ray"}.isdisjoint(light)


def test_cpu_build_of_torch_is_a_step_of_its_own(tmp_path: Path) -> None:
    layout = _copy(tmp_path)
    both = (steps_for(layout, RosSource.WHEELS, [extra])[-2:] for extra in (Extra.MODELS, Extra.CPU))
    for ordinary, cpu in zip(*both, strict=True):
        ordinary.stamp.succeed(ordinary.digest)
        assert ordinary.is_current()
        assert not cpu.is_current()


def test_interfaces_are_built_beside_the_downloads_once_their_wheels_are_there(tmp_path: Path) -> None:
    layout = _copy(tmp_path)
    steps = steps_for(layout, RosSource.WHEELS)
    assert [step.stamp.name for step in steps][:2] == ["ros", "interfaces"]
    assert [step.stamp.name for step in steps if step.beside] == ["interfaces", "bytecode"]
    sourced = steps_for(layout, RosSource.SOURCED)
    assert [step.stamp.name for step in sourced if step.beside] == ["bytecode"]


@pytest.mark.parametrize("source", RosSource)
def test_bytecode_is_written_when_packages_and_interfaces_are_there(
    tmp_path: Path, source: RosSource
) -> None:
    names = [step.stamp.name for step in steps_for(_copy(tmp_path), source, [Extra.MODELS])]
    assert set(names[: names.index("bytecode")]) >= {"requirements", "package", "interfaces"}
    assert names[-2:] == ["models", "bytecode-models"]


def test_step_beside_runs_with_the_later_ones_and_its_failure_ends_set_up(tmp_path: Path) -> None:
    later = threading.Event()

    def beside() -> None:
        assert later.wait(COMPLETION_S), "the later step waits for it"
        raise SetupError("no compiler")

    steps = [
        Step("build", Stamp(tmp_path, "build"), "x", beside, beside=True),
        Step("packages", Stamp(tmp_path, "packages"), "x", later.set),
    ]
    with pytest.raises(SetupError, match="no compiler"):
        perform(steps, tmp_path / "setup.log")
    assert [step.is_current() for step in steps] == [False, True]


def test_steps_beside_run_one_after_another(tmp_path: Path) -> None:
    done: list[str] = []
    later = threading.Event()

    def slow() -> None:
        assert later.wait(COMPLETION_S), "the later step waits for it"
        done.append("build")

    steps = [
        Step("build", Stamp(tmp_path, "build"), "x", slow, beside=True),
        Step("import", Stamp(tmp_path, "import"), "x", lambda: done.append("import"), beside=True),
        Step("packages", Stamp(tmp_path, "packages"), "x", later.set),
    ]
    perform(steps, tmp_path / "setup.log")
    assert done == ["build", "import"]


def test_other_source_of_ros_makes_every_step_stale(tmp_path: Path) -> None:
    layout = _copy(tmp_path)
    wheels, sourced = _digests(layout), _digests(layout, RosSource.SOURCED)
    assert all(wheels[name] != sourced[name] for name in sourced)


def test_failing_command_shows_its_end_and_names_the_log(tmp_path: Path) -> None:
    log = tmp_path / "setup.log"
    code = "import sys; print('\\n'.join(map(str, range(100)))); sys.exit('it broke')"
    with pytest.raises(
        SetupError, match=r"(?s)counting failed \(exit code 1\).*setup\.log.*99.*it broke"
    ) as caught:
        run_logged(
            [sys.executable, "-c", code], log=log, environment=os.environ, cwd=tmp_path, what="counting"
        )
    assert "\n50\n" not in str(caught.value)
    assert "\n50\n" in log.read_text()


def test_missing_command_is_told(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="cannot start no-such-program"):
        run_logged(["no-such-program"], log=tmp_path / "l", environment={"PATH": ""}, cwd=tmp_path, what="x")


def test_needs_are_asked_one_by_one() -> None:
    there, absent = Need("a", lambda: True, builds=True), Need("b", lambda: False, builds=False)
    assert missing_needs([there, absent]) == [absent]


def test_environments_of_one_working_copy_share_neither_builds_nor_logs(tmp_path: Path) -> None:
    main, second = Layout(tmp_path), Layout(tmp_path, ".venv-3.12")
    assert (main.venv, second.venv) == (tmp_path / ".venv", tmp_path / ".venv-3.12")
    assert (main.build, second.build) == (tmp_path / ".build", tmp_path / ".build" / "3.12")
    assert main.log != second.log
    assert main.shared_lock == second.shared_lock


@pytest.mark.parametrize(
    "name", ["src", ".venv-", ".venv/../src", "/tmp/.venv", ".venvs", ".venv-a/b", ".venv-pyiqa"]
)
def test_an_environment_has_a_name_of_its_own(tmp_path: Path, name: str) -> None:
    with pytest.raises(SetupError, match=r"VENV must be \.venv or \.venv-NAME"):
        Layout(tmp_path, name)


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({}, ".venv"),
        ({"VENV": ""}, ".venv"),
        ({"VENV": ".venv-3.12"}, ".venv-3.12"),
        ({"VENV": "/opt/venv"}, ".venv"),
    ],
)
def test_make_runs_the_commands_of_the_environment(variables: dict[str, str], folder: str) -> None:
    clean = {name: value for name, value in os.environ.items() if name not in {"VENV", "MAKEFLAGS"}}
    words = ["make", "--dry-run", "lint"]
    shown = subprocess.run(
        words, cwd=ROOT, env=clean | variables, capture_output=True, text=True, check=True
    ).stdout
    assert f"\n{folder}/bin/ruff check ." in shown


def test_set_up_waits_for_another_that_holds_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    file = tmp_path / "new" / "setup.lock"
    said: queue.Queue[str] = queue.Queue()
    monkeypatch.setattr(commands, "say", said.put)

    def second() -> None:
        with alone(file, "waiting for the first"):
            order.append("second")

    with alone(file, "nobody is there"):
        thread = threading.Thread(target=second)
        thread.start()
        assert said.get(timeout=COMPLETION_S) == "waiting for the first"
        order.append("first")
    thread.join(60.0)
    assert order == ["first", "second"]


def test_a_browser_that_cannot_be_installed_is_named_and_set_up_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CI", raising=False)
    said: list[str] = []
    layout, missing = Layout(tmp_path), Need("chromium", lambda: False, builds=False)
    assert not browser_is_settled(layout, missing)
    provide_browser(layout, said.append, missing)
    (line,) = said
    assert line.startswith("no browser, and apt-get may not install here: tests of pages are skipped until")
    assert line.endswith(f"runs {browser_command()}")
    assert browser_is_settled(layout, missing)
    for word in ("true", "1"):
        monkeypatch.setenv("CI", word)
        assert not browser_is_settled(layout, missing)
    present = Need("chromium", lambda: True, builds=False)
    assert browser_is_settled(layout, present)
    provide_browser(layout, said.append, present)
    assert len(said) == 1


def test_a_browser_is_tried_again_after_an_installation_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[list[str]] = []

    def install(packages: list[str], *_: object) -> None:
        tries.append(packages)
        if len(tries) == 1:
            raise SetupError("no network\nits log")

    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(system, "apt_prefix", list)
    monkeypatch.setattr(system, "_install", install)
    layout, need = Layout(tmp_path), Need("chromium", lambda: len(tries) > 1, builds=False)
    said: list[str] = []
    provide_browser(layout, said.append, need)
    assert said[-1].startswith("no browser, and no network: tests of pages are skipped until")
    assert not browser_is_settled(layout, need)
    provide_browser(layout, said.append, need)
    assert browser_is_settled(layout, need)
    assert tries == [["chromium"], ["chromium"]]
    assert said[2:] == ["installing system packages: chromium"]


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ('NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\n', "sudo snap install chromium"),
        ('NAME="Debian"\nID=debian\n', "sudo apt-get install chromium"),
        (None, "sudo apt-get install chromium"),
    ],
)
def test_a_browser_is_a_snap_on_ubuntu(tmp_path: Path, text: str | None, command: str) -> None:
    if text is not None:
        (tmp_path / "os-release").write_text(text)
    assert browser_command(tmp_path / "os-release") == command


def test_only_files_below_the_prefix_are_removed(tmp_path: Path) -> None:
    prefix = tmp_path / "venv"
    prefix.mkdir()
    inside, outside = prefix / "old.msg", tmp_path / "mine.txt"
    inside.touch()
    outside.touch()
    manifest = tmp_path / "manifest.txt"
    manifest.write_text(f"{inside}\n{outside}\n{prefix / 'gone.msg'}")
    assert remove_installed(manifest, prefix) == 1
    assert not inside.exists()
    assert outside.exists()
    assert remove_installed(tmp_path / "none.txt", prefix) == 0


def test_environment_becomes_an_ament_prefix(tmp_path: Path) -> None:
    layout = _copy(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "trial.yaml").write_text("a: 1")
    (tmp_path / "launch").mkdir()
    (tmp_path / "launch" / "trial.launch.py").touch()
    executables = tmp_path / "resource" / "executables"
    executables.mkdir(parents=True)
    (executables / "gate_node").touch()
    for _ in range(2):
        publish(layout, RosSource.WHEELS)
    assert (layout.venv / "share" / "embodied_iqa" / "config" / "trial.yaml").read_text() == "a: 1"
    assert (layout.venv / "share" / "embodied_iqa" / "package.xml").is_file()
    walked = [name for _, _, names in os.walk(layout.venv / "share" / "embodied_iqa") for name in names]
    assert "trial.launch.py" in walked, "ros2 launch walks the share folder without following links"
    assert [path.name for path in (layout.venv / "lib" / "embodied_iqa").iterdir()] == ["gate_node"]
    assert (layout.venv / "share/ament_index/resource_index/packages/embodied_iqa").is_file()
    assert (layout.venv / "COLCON_IGNORE").is_file()
    assert (tmp_path / "config" / "trial.yaml").exists(), "links are replaced, their targets stay"


def test_ros2_runs_in_the_environment_beside_a_sourced_ros(tmp_path: Path) -> None:
    layout = _copy(tmp_path / "with space")
    (layout.venv / "bin").mkdir(parents=True)
    layout.python.symlink_to(sys.executable)
    publish(layout, RosSource.WHEELS)
    assert not (layout.venv / "bin" / "ros2").exists(), "the wheels have no ros2"
    publish(layout, RosSource.SOURCED)
    fake = tmp_path / "sourced" / "ros2cli"
    fake.mkdir(parents=True)
    (fake / "__init__.py").touch()
    (fake / "cli.py").write_text(
        "import os, sys\n"
        "def main():\n"
        "    print(sys.argv, os.environ['AMENT_PREFIX_PATH'], os.environ['LD_LIBRARY_PATH'], sep='|')\n"
        "    return 5\n"
    )
    variables = {"PYTHONPATH": str(fake.parent), "AMENT_PREFIX_PATH": "/sourced", "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [layout.venv / "bin" / "ros2", "launch", "a b"],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 5, done.stderr
    assert done.stdout.strip() == f"['ros2', 'launch', 'a b']|{layout.venv}:/sourced|{layout.venv}/lib"


def test_generated_sources_are_kept_once_and_look_newly_made_in_another_tree(tmp_path: Path) -> None:
    tree, other, kept = tmp_path / "tree", tmp_path / "other", tmp_path / "generated" / "digest"
    made = [
        tree / name / "msgs" / "a.c"
        for name in (
            "rosidl_generator_type_description", "rosidl_generator_c", "rosidl_generator_py",
            "rosidl_typesupport_c", "rosidl_typesupport_fastrtps_c", "rosidl_typesupport_introspection_c",
        )
    ]  # fmt: skip
    for file in made:
        file.parent.mkdir(parents=True)
        file.write_text(file.parts[-3])
    (made[2].parent / "module.so").touch()
    earlier = kept.with_name("of other messages")
    earlier.mkdir(parents=True)
    assert not reuse_generated(kept, other)
    keep_generated(tree, kept)
    assert list(kept.parent.iterdir()) == [kept]
    configured = other / "rosidl_generator_c" / "msgs" / "visibility.h"
    configured.parent.mkdir(parents=True)
    configured.touch()
    assert reuse_generated(kept, other)
    found = [file for file in other.rglob("*") if file.is_file()]
    assert {file.relative_to(other) for file in found} == {
        *(file.relative_to(tree) for file in made),
        configured.relative_to(other),
    }
    assert len({file.stat().st_mtime_ns for file in found}) == 1, "make compares them with each other"
    assert all(file.stat().st_mtime_ns >= made[-1].stat().st_mtime_ns for file in found)
