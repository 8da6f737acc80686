"""`embodied-iqa trial`: run tasks through the ROS graph, record and score them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.config import Scalar
from embodied_iqa.base.errors import EmbodiedIqaError, UsageError
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.cell_options import add_cell_options, cell_overrides
from embodied_iqa.cli.distortion_options import add_distortion_options, schedules_of
from embodied_iqa.cli.gate_options import add_calibration, add_judge, gate_overrides
from embodied_iqa.cli.node_options import add_consent, add_node_options, with_consent, with_settings
from embodied_iqa.cli.output import next_command, print_json, print_note, print_progress, program
from embodied_iqa.cli.person import END_KEY, end_key, person_at_terminal
from embodied_iqa.cli.plan_options import seed_number
from embodied_iqa.cli.results import print_scores
from embodied_iqa.imaging.distortions import parse_distortion
from embodied_iqa.runs.graph.camera_parameters import CameraParameters
from embodied_iqa.runs.graph.camera_sources import CameraKind, CameraSource
from embodied_iqa.runs.graph.namespaces import parse_namespace
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.graph.parameters import GraphParameters
from embodied_iqa.runs.graph.session_outlook import outlook
from embodied_iqa.runs.graph.session_plan import (
    DEFAULT_BURST,
    DEFAULT_DISTORTIONS,
    DEFAULT_TASK,
    TOUR_TASKS,
    SessionPlan,
    TaskFolder,
    check_graph,
    check_tasks,
)
from embodied_iqa.runs.graph.session_results import SessionInfo, finish_session
from embodied_iqa.runs.trial.command_start import CommandStart
from embodied_iqa.runs.trial.protocol import Stage
from embodied_iqa.runs.trial.run_folder import drop_unbegun, make_run_folder, new_run_id

if TYPE_CHECKING:
    from embodied_iqa.live.ros.trial_client import TrialProgress

    _Show: TypeAlias = Callable[[int, TrialProgress], None]

_STAGES: Final = {
    Stage.OPEN: "opening",
    Stage.RESET: "reset",
    Stage.DISTORT: "distortion",
    Stage.ARM: "arming",
    Stage.EXECUTE: "executing",
    Stage.SETTLE: "the scene comes to rest",
    Stage.CLOSE: "closing",
    Stage.PREPARE: "preparing",
    Stage.JUDGE: "judging",
    Stage.RECOVER: "before the way back",
}
_BAR: Final = "runs done"
_RETURNING: Final = "returning to the start"
_BEFORE_A_RUN: Final = frozenset({Stage.OPEN, Stage.PREPARE, Stage.CLOSE})
"""Stages of a trial whose first run has not begun."""
_WAITING: Final = frozenset({Stage.OPEN, Stage.RESET, Stage.ARM, Stage.EXECUTE})
"""Stages whose messages say what the trial waits for."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add(
        "--task",
        action="append",
        metavar="TEXT",
        help=f"such as 'pick the red cube' (default '{DEFAULT_TASK}'); any sentence, and needed, where the "
        f"robot is not sim; may be repeated",
    )
    add(
        "--tour", action="store_true", help=f"{len(TOUR_TASKS)} tasks instead of one, where --task names none"
    )
    add("--scene-seed", type=seed_number, default=7, metavar="N", help="seed of the scene (default 7)")
    add(
        "--distortion",
        action="append",
        metavar="ID:LEVEL",
        help=f"such as 19:5; may be repeated (default {', '.join(DEFAULT_DISTORTIONS)})",
    )
    add("--no-distortion", action="store_true", help="the reference run only")
    add_distortion_options(parser)
    add(
        "--gate",
        choices=[str(mode) for mode in GateMode],
        help="mode of the gate (default: shadow in simulation, on otherwise)",
    )
    add_calibration(add, " (default: the shipped one, of the simulated cameras)")
    add_judge(add, None, "; default: learned in simulation, if it was fitted to the policy, else statistics")
    add(
        "--vlm",
        metavar="SUBJECT",
        help="vision-language model, or none: no cognition score (default panel-vlm-fine)",
    )
    add("--vla", metavar="SUBJECT", help="vision-language-action model (default panel-vla-query)")
    add_cell_options(parser)
    add("--out", type=Path, metavar="DIR", help="new or empty folder (default runs/<date>)")
    add_node_options(parser)
    add_consent(parser)
    add("--attach", action="store_true", help="use a running graph (ros2 launch)")
    add("--namespace", default="", metavar="NAME", help="namespace of the graph, such as cell1")
    add("--json", action="store_true", help="print scores.json instead of a table")


def run(arguments: argparse.Namespace) -> int:
    """Run the session; return the exit code."""
    plan = check(arguments)
    from embodied_iqa.live.ros import environment

    environment.prepare_environment()
    environment.require_ros()
    started = datetime.now(UTC).astimezone()
    run_folder = make_run_folder(arguments.out or Path("runs") / new_run_id(started))
    for line in outlook(plan):
        print_progress(f"trial: {line}")
    if sys.stdin.isatty():
        print_progress(f"trial: {END_KEY} and Enter end a run, and stop a real arm on its way back")
    from embodied_iqa.pages.reports.trial.trial_report import report_of_folder

    info = SessionInfo(run_folder, started.isoformat(timespec="seconds"), tuple(sys.argv))
    info.write_config(plan)
    sessions = [(one, one.folders(run_folder)) for one in plan.parts]
    folders = [folder for _, own in sessions for folder in own]
    note = plan.graph.gate_node.judge_note
    seen: set[Stage] = set()
    try:
        remarks = [*([note] if note else []), *_run_with_progress(sessions, run_folder, seen)]
        scores = finish_session(info, folders, remarks)
        page = report_of_folder(run_folder)
    except BaseException as error:
        _leave(run_folder, [folder.recording for folder in folders], seen, error)
        raise
    if arguments.json:
        print_json(scores.tree())
        return 0
    print_scores(scores)
    print(f"report: {os.path.relpath(page)}")
    again = f"{os.path.relpath(run_folder)}-again"
    next_command("rescore", os.path.relpath(folders[0].recording), "--out", again)
    return 0


def _leave(run_folder: Path, recordings: list[Path], seen: set[Stage], error: BaseException) -> None:
    """Say what a trial that has failed leaves: a report, or nothing but its logs where no run has begun."""
    if seen <= _BEFORE_A_RUN:
        logs = drop_unbegun(run_folder, recordings, keep_logs=isinstance(error, Exception))
        if logs is not None:
            sys.stderr.write(f"no run began; the logs of this start: {logs}\n")
        return
    for folder in {recording.parent for recording in recordings} - {run_folder}:
        with suppress(OSError):  # it holds the recording of a task, or is not there
            folder.rmdir()
    if any(recording.is_file() for recording in recordings):
        how = f"{program()} report {os.path.relpath(run_folder)}"
        if isinstance(error, Exception):
            from embodied_iqa.pages.reports.trial.trial_report import report_of_folder

            with suppress(EmbodiedIqaError):  # a recording that was cut short is recovered first
                how = os.path.relpath(report_of_folder(run_folder))
        sys.stderr.write(f"what was recorded: {how}\n")


def check(arguments: argparse.Namespace) -> SessionPlan:
    """Return the session, checked as far as that is possible before anything starts.

    Raises:
        UserError: An argument or a file is wrong, or a subject cannot be used.
    """
    if arguments.no_distortion and arguments.distortion:
        raise UsageError("--no-distortion excludes --distortion")
    if arguments.no_distortion and arguments.schedule:
        raise UsageError("--no-distortion excludes --schedule")
    if arguments.tour and arguments.task:
        raise UsageError("--tour excludes --task")
    namespace = parse_namespace(arguments.namespace)
    words = () if arguments.no_distortion else tuple(arguments.distortion or DEFAULT_DISTORTIONS)
    overrides = _overrides(arguments)
    graph = check_graph(resolve(tuple(arguments.config), overrides, namespace=namespace))
    camera = graph.camera_node
    if arguments.camera_path is not None and camera.source.kind is CameraKind.WORLD:
        expected = f"--camera {CameraSource.of_kind(CameraKind.STORED, CameraKind.OWN)}"
        raise UsageError(
            "--camera-path is of no simulated camera", expected=expected, got=arguments.camera_path
        )
    if camera.source.kind is CameraKind.STORED:
        _check_images(camera)
    distortions = tuple(
        parse_distortion(word, seed=arguments.seed, schedule=schedule)
        for word in words
        for schedule in schedules_of(arguments)
    )
    for spec in distortions:
        spec.check_view(camera.views)
    return SessionPlan(
        tasks=check_tasks(_tasks(arguments, graph), graph),
        scene_seed=arguments.scene_seed,
        distortions=distortions,
        graph=graph,
        attach=arguments.attach,
        chosen=tuple(overrides),
        namespace=namespace,
        burst=DEFAULT_BURST if _shows_the_gate(arguments, graph) else None,
    )


def _check_images(camera: CameraParameters) -> None:
    """Refuse stored images that the camera cannot open, and name those of a folder that it leaves out."""
    path = Path(camera.path)
    if camera.source is CameraSource.FILES:
        from embodied_iqa.imaging.images.file_camera import images_of_view

        for note in dict.fromkeys(images_of_view(path, view).note for view in camera.views):
            print_note(note)
        return
    from embodied_iqa.data.frames.any_frames import is_played_by_messages, open_frames
    from embodied_iqa.data.frames.recording_frames import RecordingFrames

    RecordingFrames(path) if is_played_by_messages(path) else open_frames(path)


def _tasks(arguments: argparse.Namespace, graph: GraphParameters) -> tuple[str, ...]:
    """Return the tasks as they were typed; only the simulated cell, whose objects are known, has its own.

    Raises:
        UsageError: There is none, or a tour of the simulated cell is asked for elsewhere.
    """
    if arguments.task:
        return tuple(arguments.task)
    robot = graph.arm_node.robot
    if robot.is_simulated:
        return TOUR_TASKS if arguments.tour else (DEFAULT_TASK,)
    if arguments.tour:
        raise UsageError("--tour has the tasks of the simulated cell", expected="--task TEXT", got=robot)
    raise UsageError(f"no task for robot {robot}", expected="--task TEXT, any sentence")


def _shows_the_gate(arguments: argparse.Namespace, graph: GraphParameters) -> bool:
    """Return whether the session ends with a task under an obeyed gate: where the user chooses nothing."""
    chosen = (arguments.task, arguments.distortion, arguments.no_distortion, arguments.schedule)
    gate = graph.gate_node.judge.mode
    return (
        not any((*chosen, arguments.attach)) and graph.arm_node.robot.is_simulated and gate is GateMode.SHADOW
    )


def _overrides(arguments: argparse.Namespace) -> dict[str, Scalar]:
    named = {
        "gate_node.judge.mode": arguments.gate,
        "vlm_node.subject": arguments.vlm,
        "vla_node.subject": arguments.vla,
    }
    overrides: dict[str, Scalar] = {name: value for name, value in named.items() if value is not None}
    overrides |= gate_overrides(arguments) | cell_overrides(arguments)
    return with_settings(overrides, with_consent(arguments, "vlm_node", "vla_node"))


def _run_with_progress(
    sessions: Sequence[tuple[SessionPlan, tuple[TaskFolder, ...]]], run_folder: Path, seen: set[Stage]
) -> list[str]:
    """Run the sessions; return their remarks, and add the stages that they reach to `seen`."""
    total = sum(folder.runs for _, folders in sessions for folder in folders)
    from embodied_iqa.live.ros.trial_session import run_session

    remarks: list[str] = []
    start = CommandStart()
    with ProgressBars(transient=False) as bars:
        done = 0
        for plan, folders in sessions:
            bars.update(_BAR, done, total, note="starting the graph")
            attended = plan.graph.arm_node.robot.is_real
            person = person_at_terminal(bars, plan.namespace) if attended else None
            show = partial(_show, bars, done, folders, stages=stages_of(is_real=attended))

            def take(number: int, news: TrialProgress, show: _Show = show) -> None:
                seen.add(news.stage)
                show(number, news)

            remarks += run_session(plan, folders, run_folder, take, person, start=start, wants_end=end_key())
            done += sum(folder.runs for folder in folders)
        bars.update(_BAR, total, note="done")
    return remarks


def stages_of(*, is_real: bool) -> Mapping[Stage, str]:
    """Return the names of the stages; a real arm is set to its start by moving there."""
    return _STAGES | ({Stage.RESET: _RETURNING} if is_real else {})


def _show(
    bars: ProgressBars,
    done: int,
    folders: Sequence[TaskFolder],
    number: int,
    progress: TrialProgress,
    *,
    stages: Mapping[Stage, str],
) -> None:
    if progress.stage in _WAITING and progress.message:
        is_back = stages[progress.stage] == _RETURNING
        doing = f"{_RETURNING} (up, over, down)" if is_back else "waiting"
        with bars.paused():
            print_progress(f"trial: {doing}: {progress.message}")
    before = done + sum(folder.runs for folder in folders[:number])
    note = f"{folders[number].task}: {stages.get(progress.stage, '?')}"
    bars.update(_BAR, before + progress.run_index, note=note)
