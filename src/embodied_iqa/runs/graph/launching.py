"""Arguments of the launch files and their translation to command lines, without the launch package."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from embodied_iqa.base.config import Scalar
from embodied_iqa.base.errors import UsageError
from embodied_iqa.runs.graph.camera_sources import CameraSource
from embodied_iqa.runs.graph.launch_arguments import LaunchArgument, files_of, words_of
from embodied_iqa.runs.graph.namespaces import parse_namespace
from embodied_iqa.runs.graph.node_table import resolve

_SHARED = (
    LaunchArgument("vlm", "", "vision-language model, or none", "vlm_node.subject"),
    LaunchArgument("vla", "", "vision-language-action model", "vla_node.subject"),
    LaunchArgument("gate", "", "on, shadow (never holds) or off", "gate_node.judge.mode"),
    LaunchArgument("config", "", "ROS parameter files, separated by commas"),
    LaunchArgument("run_dir", "", "new or empty folder for recording and scores"),
    LaunchArgument("namespace", "", "namespace of the graph, such as cell1, below that of an including file"),
    LaunchArgument(
        "ends_launch", "true", "whether the end of the session ends the launch; false: only the graph"
    ),
)
TRIAL_ARGUMENTS = (
    LaunchArgument("camera", "", ", ".join(CameraSource), "camera_node.source"),
    LaunchArgument("camera_path", "", "folder of images, recording, or module:factory", "camera_node.path"),
    LaunchArgument("robot", "", "which arm moves: sim, ur5 (a UR of any model) or none", "arm_node.robot"),
    LaunchArgument("model", "", "model of the UR arm, such as ur5e", "arm_node.model"),
    LaunchArgument("robot_ip", "", "address of the UR arm's controller", "arm_node.ur.ip"),
    *_SHARED,
    LaunchArgument(
        "task",
        "",
        "with robot sim tasks such as 'pick the red cube', separated by commas (default: one); otherwise one "
        "task, any sentence, which is needed",
    ),
    LaunchArgument("distortion", "", "distortions such as 19:5, separated by commas; none: reference only"),
    LaunchArgument("scene_seed", "7", "seed of the scenes"),
    LaunchArgument("seed", "0", "seed of the distortions"),
    LaunchArgument("schedule", "", "level over time, such as burst:start=2,length=1; empty: constant"),
)
RESCORE_ARGUMENTS = (
    *_SHARED,
    LaunchArgument("recording", "", "recorded trial (trial.mcap)"),
    LaunchArgument("calibration", "", "calibration of the gate; empty: that of the trial"),
)

_WORDS = {"true": True, "false": False}
_NO_DISTORTION = "none"


def overrides_of(arguments: tuple[LaunchArgument, ...], values: Mapping[str, str]) -> dict[str, Scalar]:
    """Return the parameters that arguments set: `node.parameter` to value."""
    return {
        argument.parameter: values[argument.name]
        for argument in arguments
        if argument.parameter and values[argument.name]
    }


def namespace_of(values: Mapping[str, str], including: str = "") -> str:
    """Return the namespace of the graph.

    Args:
        values: Of the arguments.
        including: Namespace that an including launch file has pushed; one with a slash replaces it.

    Raises:
        UsageError: It is not a ROS namespace.
    """
    own = values["namespace"]
    return parse_namespace(own if own.startswith("/") else f"{including.rstrip('/')}/{own}")


def ends_launch(values: Mapping[str, str]) -> bool:
    """Return whether the end of the session ends the whole launch.

    Raises:
        UsageError: The argument is neither true nor false.
    """
    word = values["ends_launch"].lower()
    if word not in _WORDS:
        raise UsageError("ends_launch", expected="true or false", got=word)
    return _WORDS[word]


def trial_words(values: Mapping[str, str], run_folder: Path) -> list[str]:
    """Return the arguments of `embodied-iqa trial` for a session on a running graph."""
    words = ["--attach", "--out", str(run_folder), "--namespace", namespace_of(values)]
    words += ["--scene-seed", values["scene_seed"], "--seed", values["seed"]]
    if values["schedule"]:
        words += ["--schedule", values["schedule"]]
    for path in files_of(values):
        words += ["--config", str(path)]
    for parameter, value in overrides_of(TRIAL_ARGUMENTS, values).items():
        words += ["--set", f"{parameter}={value!r}"]
    words += [f"--task={task}" for task in _tasks(values)]
    if values["distortion"] == _NO_DISTORTION:
        return [*words, "--no-distortion"]
    for distortion in words_of(values["distortion"]):
        words += ["--distortion", distortion]
    return words


def rescore_words(values: Mapping[str, str], run_folder: Path) -> list[str]:
    """Return the arguments of `embodied-iqa rescore` for a playback into a running graph.

    Raises:
        UsageError: No recording.
    """
    if not values["recording"]:
        raise UsageError("no recording to play back", expected="recording:=runs/<id>/trial.mcap")
    words = [values["recording"], "--playback", "--attach", "--out", str(run_folder)]
    words += ["--namespace", namespace_of(values)]
    for path in files_of(values):
        words += ["--config", str(path)]
    if values["calibration"]:
        words += ["--calibration", values["calibration"]]
    return words


def _tasks(values: Mapping[str, str]) -> list[str]:
    """Return the tasks: of the simulated cell several, whose words have no commas; else one, as it was typed.

    An empty task counts as none.
    """
    if not values["task"]:
        return []
    graph = resolve(files_of(values), overrides_of(TRIAL_ARGUMENTS, values), namespace=namespace_of(values))
    return words_of(values["task"]) if graph.arm_node.robot.is_simulated else [values["task"]]
