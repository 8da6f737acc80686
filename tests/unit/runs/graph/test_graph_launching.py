"""The launch files hand on what `embodied-iqa` understands."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import pytest

from embodied_iqa.base.errors import EmbodiedIqaError, InputError, UsageError
from embodied_iqa.base.resources import shared_file
from embodied_iqa.cli import rescore, trial
from embodied_iqa.cli.main import Command
from embodied_iqa.runs.graph.graph_nodes import Purpose
from embodied_iqa.runs.graph.launch_arguments import GATE_LAUNCH_ARGUMENTS, files_of
from embodied_iqa.runs.graph.launching import (
    RESCORE_ARGUMENTS,
    TRIAL_ARGUMENTS,
    overrides_of,
    rescore_words,
    trial_words,
)
from embodied_iqa.runs.graph.node_table import nodes_of, resolve

DEFAULTS = {argument.name: argument.default for argument in TRIAL_ARGUMENTS}


def parsed(command: Command, words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(exit_on_error=False)
    command.configure(parser)
    return parser.parse_args(words)


def test_every_argument_reaches_the_session(tmp_path: Path):
    files = [tmp_path / name for name in ("one.yaml", "two.yaml")]
    for file in files:
        file.write_text("trial_node: {ros__parameters: {settle_s: 0.5}}\n", encoding="utf-8")
    values = DEFAULTS | {
        "task": "pick the red cube, press the blue button",
        "distortion": "19:5,02:3",
        "gate": "shadow",
        "scene_seed": "11",
        "seed": "4",
        "schedule": "burst:start=2,length=1",
        "config": ", ".join(map(str, files)),
    }
    arguments = parsed(trial, trial_words(values, tmp_path))
    assert arguments.attach
    assert arguments.out == tmp_path
    assert arguments.task == ["pick the red cube", "press the blue button"]
    assert arguments.distortion == ["19:5", "02:3"]
    assert (arguments.scene_seed, arguments.seed) == (11, 4)
    assert arguments.schedule == ["burst:start=2,length=1"]
    assert arguments.config == files == list(files_of(values))
    assert arguments.set == ["gate_node.judge.mode='shadow'"]


@pytest.mark.parametrize("task", ["open the microwave, then wait", "- 开门, öffne “es” ", "[a, b]"])
def test_a_task_of_anybodys_cell_is_one_sentence_as_it_was_typed(tmp_path: Path, task: str):
    cell = tmp_path / "cell.yaml"
    cell.write_text("arm_node: {ros__parameters: {robot: none}}\n", encoding="utf-8")
    chosen = ({"robot": "none"}, {"config": str(cell)})
    for values in chosen:
        words = trial_words(DEFAULTS | {"camera": "files", "task": task} | values, tmp_path)
        assert parsed(trial, words).task == [task]


def test_no_distortion_is_a_word(tmp_path: Path):
    arguments = parsed(trial, trial_words(DEFAULTS | {"distortion": "none"}, tmp_path))
    assert arguments.no_distortion
    assert arguments.distortion is None


def test_every_parameter_of_an_argument_exists():
    config = resolve().values()
    for argument in (*TRIAL_ARGUMENTS, *RESCORE_ARGUMENTS):
        node, _, parameter = argument.parameter.partition(".")
        assert not parameter or parameter in config[node], argument


def test_empty_arguments_leave_the_configuration_alone():
    assert overrides_of(TRIAL_ARGUMENTS, DEFAULTS) == {}


def test_a_playback_needs_a_recording(tmp_path: Path):
    values = {argument.name: argument.default for argument in RESCORE_ARGUMENTS}
    with pytest.raises(UsageError, match="recording:="):
        rescore_words(values, tmp_path)
    words = rescore_words(values | {"recording": "trial.mcap"}, tmp_path)
    arguments = parsed(rescore, words)
    assert arguments.playback
    assert arguments.attach
    assert (arguments.recording, arguments.out) == (Path("trial.mcap"), tmp_path)


class Action:
    """Stands for any launch action: keeps what it was made with."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        self.args, self.kwargs = args, kwargs


class Substitution(Action):
    values: ClassVar[dict[str, str]] = {}

    def perform(self, _context: object) -> str:
        return self.values.get(str(self.args[0]), "")


@pytest.fixture
def launch_packages(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The names that the launch files use; the packages themselves exist on an installed ROS only."""
    names = {
        "launch": ("LaunchContext", "LaunchDescription", "LaunchDescriptionEntity"),
        "launch.actions": (
            "DeclareLaunchArgument",
            "EmitEvent",
            "ExecuteProcess",
            "OpaqueFunction",
            "Shutdown",
        ),
        "launch.events": ("matches_action",),
        "launch.events.process": ("ProcessExited", "ShutdownProcess"),
        "launch.substitutions": ("LaunchConfiguration",),
        "launch_ros": (),
        "launch_ros.actions": ("Node",),
    }
    for module_name, classes in names.items():
        module = ModuleType(module_name)
        for name in classes:
            base = Substitution if name == "LaunchConfiguration" else Action
            setattr(module, name, type(name, (base,), {}))
        monkeypatch.setitem(sys.modules, module_name, module)
    before = [*sys.path], {*sys.modules}
    yield
    assert (sys.path, "embodied_iqa_launch" in sys.modules) == (before[0], False)


@pytest.fixture
def domains() -> list[ExitStack]:
    """What holds the domain of each launch."""
    return []


@pytest.fixture
def launch(
    launch_packages: None, monkeypatch: pytest.MonkeyPatch, domains: list[ExitStack]
) -> Iterator[Callable[..., list[Action]]]:
    """Returns the actions of the trial's launch file."""
    monkeypatch.setenv("ROS_DOMAIN_ID", f"{os.getpid()}")

    def actions(pushed: str = "", **values: str) -> list[Action]:
        path = str(shared_file("launch/trial.launch.py"))
        file = runpy.run_path(path)
        domains.append(file["describe"].__globals__["_DOMAIN"])
        description = file["generate_launch_description"]()
        *declared, function = description.args[0]
        assert [action.args[0] for action in declared] == [argument.name for argument in TRIAL_ARGUMENTS]
        Substitution.values = DEFAULTS | values
        found: list[Action] = function.kwargs["function"](
            SimpleNamespace(launch_configurations={"ros_namespace": pushed})
        )
        return found

    yield actions
    for domain in domains:
        domain.close()


def test_the_launch_file_starts_the_graph_of_the_table(
    launch: Callable[..., list[Action]], tmp_path: Path
) -> None:
    actions = launch(run_dir=str(tmp_path / "run"), task="pick the red cube")
    nodes = [action.kwargs["executable"] for action in actions if type(action).__name__ == "Node"]
    assert nodes == [entry.name for entry in nodes_of(resolve(), Purpose.TRIAL)]
    (session,) = (action for action in actions if type(action).__name__ == "ExecuteProcess")
    assert session.kwargs["cmd"][5:7] == ["trial", "--attach"]
    assert (tmp_path / "run" / "log" / "parameters.yaml").is_file()


@pytest.mark.parametrize(
    ("argument", "value", "words"),
    [
        ("task", "juggle the red cube", "juggle"),
        ("distortion", "99:5", "99"),
        ("vla", "no-such-model", "no-such-model"),
        ("robot", "ur10", "ur10"),
        ("seed", "many", "many"),
    ],
)
def test_a_wrong_argument_is_refused_before_anything_starts(
    launch: Callable[..., list[Action]], tmp_path: Path, argument: str, value: str, words: str
) -> None:
    with pytest.raises(EmbodiedIqaError, match=words):
        launch(run_dir=str(tmp_path / "run"), **{argument: value})
    assert list(tmp_path.iterdir()) == []


def test_a_failed_start_does_not_block_the_next_one(
    launch: Callable[..., list[Action]], tmp_path: Path, domains: list[ExitStack]
) -> None:
    run = tmp_path / "run"
    launch(run_dir=str(run))
    (run / "config.yaml").touch()
    domains.pop().close()
    assert launch(run_dir=str(run))
    (run / "trial.mcap").touch()
    with pytest.raises(InputError, match="not empty"):
        launch(run_dir=str(run))


def test_a_second_launch_on_a_domain_is_refused(launch: Callable[..., list[Action]], tmp_path: Path) -> None:
    launch(run_dir=str(tmp_path / "one"))
    with pytest.raises(InputError, match=f"ROS domain {os.getpid()}"):
        launch(run_dir=str(tmp_path / "two"))


def test_the_launch_ends_with_a_process_and_fails_with_it(
    launch: Callable[..., list[Action]], tmp_path: Path
) -> None:
    processes = [action for action in launch(run_dir=str(tmp_path / "run")) if "on_exit" in action.kwargs]
    assert len(processes) == 1 + len(nodes_of(resolve(), Purpose.TRIAL))
    running, ending = SimpleNamespace(is_shutdown=False), SimpleNamespace(is_shutdown=True)
    for process in processes:
        ended = process.kwargs["on_exit"]
        failed = SimpleNamespace(process_name="x-1", returncode=3)
        with pytest.raises(InputError, match="x-1 failed with exit code 3"):
            ended(failed, running)
        done = SimpleNamespace(process_name="x-1", returncode=0)
        assert [type(action).__name__ for action in ended(done, running)] == ["Shutdown"]
        assert ended(done, ending) == ended(failed, ending) == []


def test_an_included_launch_ends_only_its_own_processes(
    launch: Callable[..., list[Action]], tmp_path: Path
) -> None:
    processes = launch(run_dir=str(tmp_path / "run"), ends_launch="false")
    assert {type(action).__name__ for action in processes} == {"Node", "ExecuteProcess"}
    for process in processes:
        event = SimpleNamespace(process_name="x-1", returncode=3, action=process)
        stopped = process.kwargs["on_exit"](event, SimpleNamespace(is_shutdown=False))
        matched = [action.kwargs["event"].kwargs["process_matcher"].args[0] for action in stopped]
        assert matched == [other for other in processes if other is not process]


@pytest.mark.parametrize(
    ("pushed", "own", "namespace"),
    [
        ("", "cell1", "/cell1"),
        ("/site", "cell1", "/site/cell1"),
        ("/site", "/cell1", "/cell1"),
        ("/site", "", "/site"),
        ("", "", ""),
    ],
)
def test_graph_and_session_stand_in_one_namespace(
    launch: Callable[..., list[Action]], tmp_path: Path, pushed: str, own: str, namespace: str
) -> None:
    *nodes, session = launch(pushed, run_dir=str(tmp_path / "run"), namespace=own)
    assert {node.kwargs["namespace"] for node in nodes} == {namespace}
    arguments = parsed(trial, session.kwargs["cmd"][6:])
    assert trial.check(arguments).namespace == namespace
    written = (tmp_path / "run" / "log" / "parameters.yaml").read_text(encoding="utf-8")
    assert f"\n{namespace}/gate_node:" in written if namespace else "\ngate_node:" in written


@pytest.mark.parametrize(("argument", "value"), [("namespace", "cell-1"), ("ends_launch", "perhaps")])
def test_a_wrong_word_for_an_including_file_is_refused(
    launch: Callable[..., list[Action]], tmp_path: Path, argument: str, value: str
) -> None:
    with pytest.raises(UsageError, match=value):
        launch(run_dir=str(tmp_path / "run"), **{argument: value})


@pytest.mark.usefixtures("launch_packages")
def test_the_gate_beside_a_stack_of_others_is_one_node(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("/**:\n  ros__parameters:\n    mode: shadow\n")
    file = runpy.run_path(str(shared_file("launch/gate.launch.py")))
    *declared, function = file["generate_launch_description"]().args[0]
    assert [action.args[0] for action in declared] == [argument.name for argument in GATE_LAUNCH_ARGUMENTS]
    chosen = {"image": "/camera/color/image_raw", "name": "eyes", "namespace": "cell1", "config": str(mine)}
    monkeypatch.setattr(
        Substitution, "values", {one.name: one.default for one in GATE_LAUNCH_ARGUMENTS} | chosen
    )
    (node,) = function.kwargs["function"](SimpleNamespace())
    named = {word: node.kwargs[word] for word in ("executable", "name", "namespace", "parameters")}
    assert named == {
        "executable": "gate_only_node",
        "name": "eyes",
        "namespace": "cell1",
        "parameters": [str(mine), {"topic.image": "/camera/color/image_raw"}],
    }
    running, ending = SimpleNamespace(is_shutdown=False), SimpleNamespace(is_shutdown=True)
    failed = SimpleNamespace(process_name="eyes-1", returncode=1)
    with pytest.raises(InputError, match="eyes-1 failed with exit code 1"):
        node.kwargs["on_exit"](failed, running)
    for event, context in ((failed, ending), (SimpleNamespace(process_name="x", returncode=0), running)):
        assert not node.kwargs["on_exit"](event, context)
    Substitution.values |= {"ends_launch": "false"}
    (included,) = function.kwargs["function"](SimpleNamespace())
    assert not included.kwargs["on_exit"](failed, running), "the launch of others goes on"
    for wrong in ({"ends_launch": "perhaps"}, {"ends_launch": "true", "mode": "sharp"}):
        Substitution.values |= wrong
        with pytest.raises(UsageError, match=r"perhaps|sharp"):
            function.kwargs["function"](SimpleNamespace())
