"""`embodied-iqa rescore` of images that are no trial: any recording, data set, video or folder of images."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.distortion_options import schedules_of
from embodied_iqa.cli.node_options import overrides_of
from embodied_iqa.cli.output import next_command, print_json, print_note
from embodied_iqa.cli.report import FRAMES_FILE
from embodied_iqa.cli.rescore import given_frame_options
from embodied_iqa.cli.results import print_scores
from embodied_iqa.cli.stored_options import sampling_of
from embodied_iqa.data.frames.any_frames import open_frames
from embodied_iqa.data.frames.cameras import cameras_of, parse_topics, topics_not_read
from embodied_iqa.data.frames.dataset_frames import DatasetFrames
from embodied_iqa.data.frames.dataset_states import DatasetStates
from embodied_iqa.data.frames.depth_beside import depths_of
from embodied_iqa.data.frames.image_folder import FolderFrames, NumberedFrames
from embodied_iqa.data.frames.recording_frames import RecordingFrames
from embodied_iqa.data.recording.camera_models import recorded_intrinsics, recorded_poses
from embodied_iqa.data.recording.opening import recording_files
from embodied_iqa.data.recording.robot_states import RobotStates, states_of_trial
from embodied_iqa.data.recording.trial_record import TrialRecord
from embodied_iqa.imaging.distortions import parse_distortion
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.stored_images import Frames
from embodied_iqa.models.subjects.constants_files import constants_of
from embodied_iqa.models.subjects.known_tasks import check_parses
from embodied_iqa.models.subjects.reference import parse_vla, parse_vlm
from embodied_iqa.models.subjects.registry import make_vla, make_vlm
from embodied_iqa.quality.gate.judges import shared_judge
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.graph.parameters import GraphParameters
from embodied_iqa.runs.graph.recorded_graph import judged_with, refuse_unread
from embodied_iqa.runs.graph.session_results import SessionScores, joined_scores, score_session
from embodied_iqa.runs.offline.recorded_actions import RecordedActions, actions_of, described
from embodied_iqa.runs.offline.rescored_frames import FrameRescorer, RescoredRun
from embodied_iqa.runs.offline.rescoring_plan import Panel, RescoringPlan
from embodied_iqa.runs.trial.run_folder import make_run_folder
from embodied_iqa.runs.trial.scores import score_trial
from embodied_iqa.world.protocols import Vla, Vlm, closing_subject
from embodied_iqa.world.tasks.task_files import load_image_tasks, load_task_file

_COLUMNS: Final = (
    *("task", "stamp_ns", "image", "view", "distortion", "level", "verdict", "predicted"),
    *("cognition", "decision", "decision_status", "answer", "reference_answer"),
    *("against_recorded_action", "reference_against_recorded_action"),
)
_OPTIONS: Final = {
    "vlm_node.subject": "--vlm SUBJECT",
    "vla_node.subject": "--vla SUBJECT",
    "gate_node.calibration": "--calibration FILE",
}
"""Options in place of parameters."""


def rescore_frames(arguments: argparse.Namespace) -> int:
    """Rescore; write recordings, scores.json and frames.csv; return the exit code."""
    if arguments.out is None:
        raise UsageError("rescoring images writes a recording", expected="--out DIR")
    frames = _frames(arguments)
    plan = _plan(arguments, frames)
    print_note(frames.note)
    with ExitStack() as opened:
        return _rescore(arguments, frames, plan, _panel(arguments, frames, plan, opened))


def _rescore(arguments: argparse.Namespace, frames: Frames, plan: RescoringPlan, panel: Panel) -> int:
    folder = arguments.out.resolve()
    metadata = {"run": folder.name, "source": f"{frames.kind} {frames.path.resolve().name}"}
    rescorer = FrameRescorer(frames, plan, panel, folder, metadata)
    make_run_folder(folder)
    try:
        with ProgressBars(transient=False) as bars:
            total = frames.count(tuple(plan.cameras))
            runs = rescorer.runs(lambda done: bars.update("rescoring images", done, total))
    except BaseException:
        with suppress(OSError):  # the recordings are discarded; what else is in it stays
            folder.rmdir()
        raise
    remarks = [*plan.faults, *rescorer.remarks]
    if panel.actions is not None:
        remarks.append(_stated(panel.actions, panel.vla))
    if panel.judge is None:
        remarks.append("the gate judged nothing: no --calibration of these cameras")
    if isinstance(frames, NumberedFrames):
        remarks.append("files have no times: the stamp of an image is its number, in s")
    scores = [score_session(folder.name, run.record, remarks) for run in runs]
    for run, one in zip(runs, scores, strict=True):
        one.write(run.recording.parent)
    whole = joined_scores(folder.name, scores)
    whole.write(folder)
    names = frames.names(tuple(plan.cameras)) if isinstance(frames, NumberedFrames) else {}
    write_text_whole(folder / FRAMES_FILE, _table(runs, names))
    _report(arguments, whole, folder)
    return int(rescorer.is_incomplete)


def _stated(actions: RecordedActions, vla: Vla | None) -> str:
    """Return what the recorded actions are taken for."""
    rate = f"{actions.source.rate_hz:g}"
    if vla is not None and vla.info.rate_hz is not None:
        rate += f" of {vla.info.rate_hz:g}"
    name = actions.convention.name
    return (
        f"recorded actions are {name}: {described(actions.convention)}; "
        f"a recorded step ({rate} Hz) is a step of the policy"
    )


def _report(arguments: argparse.Namespace, scores: SessionScores, folder: Path) -> None:
    if arguments.json:
        print_json(scores.tree())
        return
    print_scores(scores)
    print(f"the scores are those of the first scored image of each run; each image: {folder / FRAMES_FILE}")
    next_command("report", folder)


def _frames(arguments: argparse.Namespace) -> Frames:
    """Open the images, with the instructions of an annotation topic."""
    given = [name for name in ("task", "tasks", "task_topic") if getattr(arguments, name)]
    if len(given) > 1:
        words = " and ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UsageError("tasks come from one place", expected="one of these options", got=words)
    frames = open_frames(arguments.recording)
    if isinstance(frames, RecordingFrames):
        if frames.is_of_trial and not (given and arguments.distortion):
            option = given_frame_options(arguments)[0].replace("_", "-")
            what = f"--{option} takes the recording of a trial as images"
            raise UsageError(what, expected="--task TEXT and --distortion, such as 19:5, too")
        return RecordingFrames(arguments.recording, arguments.task_topic or "")
    if isinstance(frames, FolderFrames):
        timed = next((name for name in ("every", "schedule") if getattr(arguments, name)), None)
        if timed is not None:
            raise UsageError(f"--{timed} is for images with times", got=f"{frames.kind} {frames.path}")
        tasks = _tasks_of_files(arguments.tasks, frames) if arguments.tasks else {}
        return NumberedFrames(frames.path, tasks)
    wrong = next((name for name in given if name != "task"), None)
    if wrong is not None:
        raise InputError(f"--{wrong.replace('_', '-')} is of a recording", got=f"{frames.kind} {frames.path}")
    return frames


def _plan(arguments: argparse.Namespace, frames: Frames) -> RescoringPlan:
    sampling = sampling_of(arguments, frames.path)
    if not arguments.distortion:
        raise UsageError("nothing to compare with", expected="--distortion, such as 19:5")
    cameras = _cameras(sampling.topics, frames)
    if isinstance(frames, NumberedFrames) and len(cameras) > 1:
        expected = "one --topic VIEW=FOLDER: files have no times that say which belong together"
        raise UsageError("images of several cameras", expected=expected, got=", ".join(cameras))
    known = isinstance(frames, RecordingFrames)
    unread = "" if sampling.topics else topics_not_read(frames, cameras)
    intrinsics, unknown = recorded_intrinsics(frames.path, cameras) if known else ({}, ())
    poses, faults = recorded_poses(frames.path, cameras) if known else ({}, ())
    return RescoringPlan(
        cameras,
        sampling.task,
        tuple(  # one may have been given by its number and by its name
            dict.fromkeys(
                parse_distortion(word, seed=arguments.seed, schedule=schedule)
                for word in arguments.distortion
                for schedule in schedules_of(arguments)
            )
        ),
        sampling.every_s,
        intrinsics,
        poses,
        _tasks(arguments.tasks, frames.path, tuple(cameras.values())) if arguments.tasks and known else (),
        (*filter(None, [unread]), *unknown, *faults),
        depths_of(frames, cameras, parse_topics(arguments.depth or (), "--depth")),
    )


def _cameras(topics: Mapping[View, str], frames: Frames) -> dict[str, View]:
    """Return the topics with their cameras; the only topic of a source is taken as the top camera."""
    if not topics and len(frames.topics) == 1 and not frames.views():
        return {next(iter(frames.topics)): View.TOP}
    return cameras_of(frames, topics=topics)


def _tasks(file: Path, recording: Path, views: Sequence[View]) -> tuple[tuple[int, str], ...]:
    """Return the easiest task of each entry of a file for these cameras, by stamp.

    Raises:
        InputError: The file is wrong, or has no entry for the recording.
    """
    names = {one.resolve() for one in (recording, *recording_files(recording))}
    found = {
        item.stamp_ns: item.tasks[0].text
        for item in load_task_file(file)
        if item.stamp_ns is not None and item.view in views and (file.parent / item.path).resolve() in names
    }
    if not found:
        expected = f"entries with bag, stamp_ns and view {' or '.join(views)}"
        raise InputError(f"{file} has no task for {recording}", expected=expected)
    return tuple(sorted(found.items()))


def _tasks_of_files(file: Path, frames: FolderFrames) -> dict[Path, str]:
    """Return the easiest task of each image that a file lists.

    Raises:
        InputError: The file is wrong, or lists none of the images.
    """
    found = {image: item.tasks[0].text for image, item in load_image_tasks(file).items()}
    if not any(image.resolve() in found for image in frames.files):
        raise InputError(f"{file} has no task for images in {frames.path}", expected="entries with image")
    return found


def _panel(arguments: argparse.Namespace, frames: Frames, plan: RescoringPlan, opened: ExitStack) -> Panel:
    if not (arguments.vlm or arguments.vla or arguments.calibration):
        raise UsageError("nobody judges", expected="--vlm, --vla or --calibration")
    if arguments.state and arguments.vla is None:
        raise UsageError("--state is for a policy", expected="--vla")
    overrides = overrides_of(arguments.set)
    refuse_unread(overrides, _OPTIONS)
    graph = resolve(tuple(arguments.config), overrides, only_reads=True)
    states = _states(arguments, frames)
    judge = None
    if arguments.calibration is not None:
        gate, _ = judged_with(graph.gate_node, arguments.calibration)
        judge = shared_judge(gate.judge.kind, gate.calibration, gate.policy)
    actions = _actions(arguments, frames)
    subjects = _subjects(arguments, graph, _tasks_asked(frames, plan), opened)
    return Panel(*subjects, states, judge, graph.gate_node.judge, actions)


def _actions(arguments: argparse.Namespace, frames: Frames) -> RecordedActions | None:
    """Return what was done in a data set or recording, where decisions are compared with it."""
    if arguments.action is None:
        return None
    if not isinstance(frames, DatasetFrames | RecordingFrames):
        raise UsageError("--action is of a data set or recording", got=f"{frames.kind} {frames.path}")
    if arguments.vla is None:
        raise UsageError("--action is compared with the decisions of a policy", expected="--vla")
    return actions_of(arguments.action, frames.path)


def _states(arguments: argparse.Namespace, frames: Frames) -> RobotStates | DatasetStates | None:
    topics = sampling_of(arguments, frames.path).states
    own = isinstance(frames, RecordingFrames) and frames.is_of_trial and arguments.vla is not None
    if own and not topics.by_kind():
        topics = states_of_trial(frames.path)
    if not topics.by_kind():
        return None
    if isinstance(frames, DatasetFrames):
        return DatasetStates(frames.dataset, topics)
    return RobotStates(frames.path, topics)


def _tasks_asked(frames: Frames, plan: RescoringPlan) -> Sequence[str]:
    """Return the instructions that the subjects will get: of the options, or of the source."""
    if plan.task or plan.tasks:
        return tuple(dict.fromkeys([plan.task] if plan.task else (task for _, task in plan.tasks)))
    if isinstance(frames, DatasetFrames | FolderFrames | RecordingFrames):
        return frames.tasks(tuple(plan.cameras))
    return ()  # a video has none


def _subjects(
    arguments: argparse.Namespace, graph: GraphParameters, tasks: Sequence[str], opened: ExitStack
) -> tuple[Vlm | None, Vla | None]:
    """Make the subjects; one that cannot parse a task is refused, as in a trial."""
    hold, vlm, vla = opened.enter_context, None, None
    answers = None if arguments.vlm is None else parse_vlm(arguments.vlm)
    decides = None if arguments.vla is None else parse_vla(arguments.vla)
    for task in tasks:
        for subject in filter(None, (answers, decides)):
            check_parses(subject, task)
    if answers is not None:
        vlm = hold(closing_subject(make_vlm(answers, graph.vlm_node.options)))
    if decides is not None:
        vla = hold(closing_subject(make_vla(decides, graph.vla_node.options)))
    return vlm, vla


def _table(runs: Sequence[RescoredRun], names: Mapping[int, str]) -> str:
    """Return every image of every camera under every distortion as CSV; what is not known is empty."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, _COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for run in runs:
        for stamp_ns, view in run.images:
            image = {"image": names[stamp_ns]} if stamp_ns in names else {}
            writer.writerow(_row(run.record, stamp_ns, view) | image)
    return stream.getvalue()


def _row(record: TrialRecord, stamp_ns: int, view: View) -> dict[str, object]:
    """Return what was found on an image; a decision is that on the image of the policy's first camera."""
    (run,) = record.runs
    of_image = stamp_ns, view
    moment = replace(
        run,
        answers=tuple(item for item in run.answers if (item.stamp_ns, item.view) == of_image),
        chunks=tuple(item for item in run.chunks if (item.stamp_ns, item.view) == of_image),
        verdicts=tuple(item for item in run.verdicts if (item.stamp_ns, item.view) == of_image),
        recorded=tuple(item for item in run.recorded or () if item.stamp_ns == stamp_ns),
    )
    (scores,) = score_trial(replace(record, runs=(moment,)), constants_of)
    verdict = moment.verdicts[0] if moment.verdicts else None
    distorted, raw = moment.answer(Source.DISTORTED), moment.answer(Source.RAW)
    own = Source.RAW if run.distortion is None else Source.DISTORTED
    found: dict[str, object] = {
        "task": record.task,
        "stamp_ns": stamp_ns,
        "view": view,
        "distortion": None if run.distortion is None else run.distortion.id,
        "level": run.level_at(stamp_ns, view),
        "verdict": None if verdict is None else verdict.verdict.name.lower(),
        "predicted": None if verdict is None else verdict.predicted,
        "cognition": None if scores.cognition is None else scores.cognition.score,
        "decision": None if scores.decision is None else scores.decision.score,
        "decision_status": next((one.status for one in moment.chunks if one.source is own), None),
        "answer": None if distorted is None else distorted.answer,
        "reference_answer": None if raw is None else raw.answer,
    }
    if scores.recorded_action is not None:
        found["against_recorded_action"] = scores.recorded_action.score
        found["reference_against_recorded_action"] = scores.recorded_action.reference_score
    return {name: value for name, value in found.items() if value is not None}
