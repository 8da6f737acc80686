"""`embodied-iqa rescore`: rescore a recorded trial from its raw frames, or your own images, without ROS."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError, UsageError, UserError
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.distortion_options import add_distortion_options
from embodied_iqa.cli.gate_options import add_calibration
from embodied_iqa.cli.node_options import add_node_options, overrides_of
from embodied_iqa.cli.output import next_command, print_json, print_note
from embodied_iqa.cli.parser import perform
from embodied_iqa.cli.results import print_scores
from embodied_iqa.cli.stored_options import add_stored_options
from embodied_iqa.data.frames.video_frames import is_video
from embodied_iqa.data.lerobot.info import is_lerobot
from embodied_iqa.data.recording.opening import recording_file
from embodied_iqa.data.recording.recording_names import is_image_folder
from embodied_iqa.data.recording.trial_reading import NoRunError, read_trial
from embodied_iqa.data.recording.trial_record import TrialRecord
from embodied_iqa.models.subjects.reference import parse_vla, parse_vlm
from embodied_iqa.models.subjects.registry import make_vla, make_vlm
from embodied_iqa.quality.gate.judges import shared_judge
from embodied_iqa.runs.graph.namespaces import parse_namespace
from embodied_iqa.runs.graph.recorded_graph import RecordedGraph, graph_of_recording, refuse_unread
from embodied_iqa.runs.graph.session_results import ScoredSubjects, SubjectScore, score_session
from embodied_iqa.runs.offline.rescoring import Rescorer, Subjects
from embodied_iqa.runs.trial.run_folder import make_run_folder
from embodied_iqa.world.protocols import Vla, Vlm, closing_subject

FRAME_OPTIONS: Final = (
    *("task", "tasks", "task_topic", "topic", "depth", "state", "arm", "action"),
    *("vlm", "vla", "distortion", "every", "schedule", "seed"),
)
"""Options for images that are not a trial."""
EXIT_CODE: Final = (
    "Exit code: 0 if everything was scored; 1 if an image, an episode, an answer or a decision that was "
    "asked for could not be scored: it is named in a note, and the rest is scored and written."
)
_ASKS: Final = {SubjectScore.COGNITION: "--vlm", SubjectScore.DECISION: "--vla"}
"""Option without which images have no such score."""
_OTHER_SUBJECT: Final = {
    f"{role}_node.subject": f"--{role} SUBJECT with --task TEXT and --distortion, such as 19:5, which takes "
    "the recording of a trial as images"
    for role in ("vlm", "vla")
}
"""What queries another subject than that of the trial, by the parameter that does not."""

_PLAYBACK: Final = "playback_node"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.epilog = EXIT_CODE
    what = "recording of a trial, or with --task your own images: recording, data set, video, folder"
    parser.add_argument("recording", type=Path, metavar="RECORDING", help=what)
    add_frame_options(parser)
    parser.add_argument("--out", type=Path, metavar="DIR", help="new or empty folder for scores.json")
    add_node_options(parser)
    add_calibration(parser.add_argument, " (default: that of the trial)")
    parser.add_argument(
        "--playback", action="store_true", help="play the recording through the ROS nodes (needs --out)"
    )
    parser.add_argument(
        "--attach", action="store_true", help="with --playback: use nodes that already run (ros2 launch)"
    )
    parser.add_argument(
        "--namespace",
        default="",
        metavar="NAME",
        help="with --playback: namespace of the nodes",
    )
    without = "do not ask the VLM (cognition) or the VLA (decision) of a trial again; repeatable"
    parser.add_argument(
        "--without", action="append", choices=[str(one) for one in SubjectScore], default=[], help=without
    )
    parser.add_argument("--json", action="store_true", help="print scores.json instead of a table")


def add_frame_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for images that are not a trial."""
    add = parser.add_argument_group("your own images").add_argument
    add_stored_options(add)
    depth = "topic of depth in the pixels of a camera (default: that of its driver); repeatable"
    add("--depth", action="append", metavar="VIEW=TOPIC", help=depth)
    action = (
        "compare decisions with recorded actions, too; what these mean, and of a recording where they are"
    )
    add("--action", metavar="CONVENTION[=TOPIC]", help=action)
    add("--tasks", type=Path, metavar="FILE", help="task file: each task holds from its stamp to the next")
    add("--task-topic", metavar="TOPIC", help="topic of std_msgs/String with the instruction")
    add("--vlm", metavar="SUBJECT", help="the VLM that answers")
    add("--vla", metavar="SUBJECT", help="the VLA that decides")
    add("--distortion", action="append", metavar="ID:LEVEL", help="such as 19:5; repeatable")
    add_distortion_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Rescore; return the exit code."""
    if names_frames(arguments):
        return perform("embodied_iqa.cli.rescoring_frames:rescore_frames", arguments)
    namespace = parse_namespace(arguments.namespace)
    files, overrides = tuple(arguments.config), overrides_of(arguments.set)
    if arguments.playback:
        _check_attached(arguments, overrides)
    elif arguments.attach:
        raise UsageError("--attach needs --playback")
    else:
        refuse_unread(overrides, _OTHER_SUBJECT)
    graph = graph_of_recording(
        arguments.recording, files, overrides, calibration=arguments.calibration, namespace=namespace
    )
    if arguments.playback and arguments.without:
        raise UsageError("--playback asks all subjects", expected="no --without")
    if arguments.playback:
        return _play_back(arguments, graph)
    with ExitStack() as opened:
        return _rescore(arguments, graph, opened)


def _check_attached(arguments: argparse.Namespace, overrides: Mapping[str, object]) -> None:
    """Refuse a parameter of a node that runs already: it has its own."""
    other = next((name for name in overrides if not name.startswith(f"{_PLAYBACK}.")), "")
    if arguments.attach and other:
        raise UsageError(
            f"--attach starts {_PLAYBACK} alone, {other} is of another node",
            expected="ros2 param set, or the launch file",
        )


def _rescore(arguments: argparse.Namespace, recorded: RecordedGraph, opened: ExitStack) -> int:
    graph, gate = recorded.graph, recorded.graph.gate_node
    judge = None
    if recorded.can_judge:
        judge = shared_judge(gate.judge.kind, gate.calibration, gate.policy)
    hold, without = opened.enter_context, arguments.without

    def vlm(name: str) -> Vlm:
        with _needed_for(SubjectScore.COGNITION):
            return hold(closing_subject(make_vlm(parse_vlm(name), graph.vlm_node.options)))

    def vla(name: str) -> Vla:
        with _needed_for(SubjectScore.DECISION):
            return hold(closing_subject(make_vla(parse_vla(name), graph.vla_node.options)))

    subjects = Subjects(
        vlm=None if SubjectScore.COGNITION in without else cache(vlm),
        vla=None if SubjectScore.DECISION in without else cache(vla),
        judge=judge,
        gate=gate.judge,
    )
    try:
        rescorer = Rescorer(arguments.recording, subjects)
    except NoRunError as error:
        raise InputError(f"{error}; for your own images: --task, --distortion, --vlm or --vla") from None
    total = sum(run.frames_published for run in rescorer.live.runs) or None
    with ProgressBars(transient=False) as bars:
        record = rescorer.record(lambda done: bars.update("rescoring images", done, total))
    if arguments.out is not None:
        make_run_folder(arguments.out)
        _link(recording_file(arguments.recording), arguments.out / "trial.mcap")
    others = ScoredSubjects.of([record]).instead_of(ScoredSubjects.of([rescorer.live]))
    _report(arguments, record, (*recorded.remarks, *others, *rescorer.news, *rescorer.failures))
    return int(rescorer.is_incomplete)


@contextmanager
def _needed_for(part: SubjectScore) -> Iterator[None]:
    """Say what is scored all the same, if a subject cannot be made or reached."""
    try:
        yield
    except UserError:
        print_note(f"--without {part} scores the rest")
        raise


def names_frames(arguments: argparse.Namespace) -> bool:
    """Return whether images that are no trial are rescored: by an option of them, a data set or a video.

    Raises:
        UsageError: Options of trials were given beside those of images.
    """
    given = given_frame_options(arguments)
    path: Path = arguments.recording
    frames = bool(given) or is_lerobot(path) or is_video(path) or is_image_folder(path)
    wrong = [name for name in ("playback", "attach", "namespace", "without") if getattr(arguments, name)]
    if frames and wrong:
        only = f"--{wrong[0]} is for recordings of trials"
        if wrong[0] == "without":
            only += "; of images leave out " + " and ".join(
                _ASKS[part] for part in dict.fromkeys(arguments.without)
            )
        raise UsageError(only, got=(given and f"--{given[0]}") or None)
    return frames


def given_frame_options(arguments: argparse.Namespace) -> list[str]:
    """Return the options for images that are not a trial that were given."""
    values = {name: getattr(arguments, name) for name in FRAME_OPTIONS}
    return [name for name, value in values.items() if value or (name, value) == ("every", 0)]


def check(arguments: argparse.Namespace) -> None:
    """Check a playback before anything starts.

    Raises:
        UserError: The folder for the new recording is missing, or the old recording cannot be read.
    """
    if arguments.out is None:
        raise UsageError("--playback writes a new recording", expected="--out DIR")
    parse_namespace(arguments.namespace)
    read_trial(arguments.recording)


def _play_back(arguments: argparse.Namespace, recorded: RecordedGraph) -> int:
    """Score what the nodes make of the recording."""
    check(arguments)
    graph = recorded.for_playback()
    from embodied_iqa.live.ros import environment

    environment.prepare_environment()
    environment.require_ros()
    folder = make_run_folder(arguments.out)
    from embodied_iqa.live.ros.playback_session import play_back

    namespace = parse_namespace(arguments.namespace)
    recording = play_back(graph, arguments.recording, folder, attach=arguments.attach, namespace=namespace)
    _report(arguments, read_trial(recording), recorded.remarks)
    return 0


def _report(arguments: argparse.Namespace, record: TrialRecord, remarks: Sequence[str]) -> None:
    name = record.metadata.get("run", arguments.recording.parent.name)
    without = tuple(map(SubjectScore, dict.fromkeys(arguments.without)))
    scores = score_session(name, record, remarks, without)
    if arguments.out is not None:
        scores.write(arguments.out)
    if arguments.json:
        print_json(scores.tree())
    else:
        print_scores(scores)
        if arguments.out is not None:
            next_command("report", arguments.out)
        else:  # nothing was written: the report beside the recording stays that of its trial
            print_note("the scores are only printed: --out DIR keeps them, for `report DIR`")


def _link(recording: Path, place: Path) -> None:
    """Put a link to the recording beside its scores, for the report."""
    try:
        place.symlink_to(os.path.relpath(recording.resolve(), place.parent.resolve()))
    except OSError as error:
        raise InputError(f"cannot link {recording} from {place}: {error.strerror}") from error
