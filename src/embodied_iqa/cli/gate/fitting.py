"""`embodied-iqa gate fit`: fits the learned judge, or the threshold of a metric, to a policy."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from embodied_iqa.base.errors import InputError, MissingDependencyError, UsageError
from embodied_iqa.base.files import require_writable
from embodied_iqa.base.jobs.engine import EngineOptions
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.base.records import unstructure
from embodied_iqa.cli.build.summary import BuildProgress
from embodied_iqa.cli.node_options import overrides_of
from embodied_iqa.cli.output import next_command, own_command, print_json, print_left_out
from embodied_iqa.cli.plan_options import read_plan
from embodied_iqa.cli.stored_options import (
    refuse_stored_options,
    refuse_unused,
    sampling_of,
)
from embodied_iqa.cli.training_checks import require_torch
from embodied_iqa.data.database.building.build_options import BuildOptions, BuildPlan
from embodied_iqa.data.database.building.builder import build
from embodied_iqa.data.database.database_folder import is_database
from embodied_iqa.data.database.schema import SourceKind
from embodied_iqa.data.database.sources.candidate import ReferenceSource
from embodied_iqa.data.database.sources.framed import FramesSource
from embodied_iqa.data.database.sources.recorded import Sampling
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.frames.any_frames import open_frames
from embodied_iqa.data.frames.image_folder import FolderFrames
from embodied_iqa.data.frames.video_frames import VideoFrames
from embodied_iqa.data.lerobot.dataset import LeRobotDataset
from embodied_iqa.data.lerobot.info import is_lerobot
from embodied_iqa.imaging.images.frame import parse_view
from embodied_iqa.imaging.images.image_files import IMAGE_SUFFIXES
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.models.subjects.registry import check_backend
from embodied_iqa.models.subjects.subject_options import Acts, VlaOptions
from embodied_iqa.quality.gate.calibration_file import GateFile, load_gate_file, stays_in
from embodied_iqa.quality.gate.fitted import FittedGate
from embodied_iqa.quality.gate.fitting.fit_plan import FitPlan
from embodied_iqa.quality.gate.fitting.recordings import RecordingsSource, recording_files
from embodied_iqa.quality.gate.fitting.source import acts_in
from embodied_iqa.quality.gate.fitting.split import split_scenes
from embodied_iqa.quality.gate.judgement import JudgeKind, parse_judge
from embodied_iqa.quality.gate.predictors import judging_metric
from embodied_iqa.quality.gate.risk_control import Promise
from embodied_iqa.quality.metrics.catalogue import close_metric
from embodied_iqa.runs.graph.node_table import resolve


def fit(arguments: argparse.Namespace) -> int:
    """Fit, print threshold, promise and check; return the exit code."""
    from embodied_iqa.quality.gate.fitting.fit import fit_gate

    asked = None if _is_database(arguments) else _options_of_policy(arguments)
    plan = _plan(arguments, asked)
    source = None if asked is None else _source(arguments)
    if plan.judge.kind is JudgeKind.LEARNED:
        require_torch()
    require_writable(arguments.out)
    known = _known(arguments, plan)
    database = arguments.sources[0] if source is None or asked is None else _built(arguments, source, asked)
    fitted = fit_gate(database, plan, known)
    if arguments.json:
        print_json({"output": str(arguments.out), **unstructure(fitted)})
        return 0
    _print(fitted)
    if fitted.advice:
        print(f"note: {fitted.advice}")
    print(arguments.out)
    next_command(*_next(arguments, DatabaseStore(database), plan))
    return 0


def _next(arguments: argparse.Namespace, store: DatabaseStore, plan: FitPlan) -> tuple[object, ...]:
    """Return the command that uses the fit: where the images come from, or on them if they are of others."""
    judge = str(plan.judge)
    file: tuple[object, ...] = ("--calibration", arguments.out)
    if plan.acts is not Acts.WHEN_SEEN:
        file += ("--set", f"vla_node.policy.acts={plan.acts}")
    origins = store.references(["source", "origin"]).to_pylist()
    suites = [row["origin"].partition(",")[0] for row in origins if row["source"] == SourceKind.LIBERO]
    if not suites:
        ours = {row["source"] for row in origins} <= {SourceKind.SIMULATION, SourceKind.RECORDING}
        if ours and not arguments.task and not arguments.tasks:
            return "trial", *file, "--judge", judge
        chosen = ("--view", arguments.view, "--judge", judge)
        return "gate", "check", store.path, *chosen, "--calibration", arguments.out
    world = ("experiment", "--world", suites[0], "--vla", arguments.vla)
    return *world, "--gate", f"off,{judge}", *file, "--out", "DIR"


def _is_database(arguments: argparse.Namespace) -> bool:
    """Return whether the policy has decided already; what is for recordings is refused then."""
    if len(arguments.sources) != 1 or not is_database(arguments.sources[0]):
        return False
    refuse_stored_options(arguments, "is for recordings")
    given = next((name for name in ("set", "config") if getattr(arguments, name)), None)
    if given is not None:
        raise UsageError(f"--{given} is for recordings: the policy has decided on a database already")
    return True


def _options_of_policy(arguments: argparse.Namespace) -> VlaOptions:
    """Return how the policy is asked about recordings."""
    return resolve(tuple(arguments.config), overrides_of(arguments.set), only_reads=True).vla_node.options


def _plan(arguments: argparse.Namespace, asked: VlaOptions | None) -> FitPlan:
    judge = parse_judge(arguments.judge)
    if judge.kind is JudgeKind.STATISTICS:
        raise UsageError(
            "statistics are calibrated by `embodied-iqa gate calibrate`", expected="another --judge"
        )
    if judge.kind is JudgeKind.METRIC:
        close_metric(judging_metric(judge.metric))  # a wrong name ends before the work
    return read_plan(
        FitPlan,
        arguments,
        view=parse_view(arguments.view),
        policy=arguments.vla,
        promise=read_plan(Promise, arguments),
        judge=judge,
        acts=acts_in(DatabaseStore(arguments.sources[0]), arguments.vla)
        if asked is None
        else asked.acts_of(parse_vla(arguments.vla)),
        command=own_command(),
    )


def _known(arguments: argparse.Namespace, plan: FitPlan) -> GateFile:
    """Return the file to write with what stays in it."""
    made = (plan.judge, plan.view, plan.policy_name)
    kept = stays_in(
        arguments.out, keep=arguments.keep, replaces=lambda one: (one.choice, one.view, one.policy) == made
    )
    if arguments.statistics is None:
        return kept
    cameras = load_gate_file(arguments.statistics).cameras
    new = [(one.view, one.width_px, one.height_px) for one in cameras]
    stays = [one for one in kept.cameras if (one.view, one.width_px, one.height_px) not in new]
    return replace(kept, cameras=(*stays, *cameras))


def _source(arguments: argparse.Namespace) -> ReferenceSource:
    """Return the frames of a LeRobot data set or of recordings; others are refused."""
    sources: list[Path] = arguments.sources
    return _episodes(arguments) if len(sources) == 1 and is_lerobot(sources[0]) else _recordings(arguments)


def _built(arguments: argparse.Namespace, source: ReferenceSource, asked: VlaOptions) -> Path:
    """Return a database of recordings to learn from; one that was begun is continued."""
    reference = parse_vla(arguments.vla)
    check_backend(reference)
    options = BuildOptions((reference,), engine=EngineOptions(workers=arguments.workers), vla=asked)
    database: Path = arguments.out.with_suffix("") / "database"
    with ProgressBars() as bars:
        plan = BuildPlan(source.count or 1, source, arguments.seed, fewer_do=True)
        build(database, plan, options, BuildProgress(bars))
    return database


def _recordings(arguments: argparse.Namespace) -> ReferenceSource:
    """Return the frames of recordings, each of them a scene."""
    if any(map(is_lerobot, arguments.sources)) or any(map(is_database, arguments.sources)):
        raise UsageError("several sources are recordings", expected="one database or data set alone")
    files = _files(arguments)
    sampling = sampling_of(arguments, files[0])
    refuse_unused(arguments, sampling)
    if arguments.tasks is not None or sampling.task:
        _require_states(arguments, sampling)
    source = RecordingsSource(files, parse_view(arguments.view), arguments.tasks, sampling)
    print_left_out(source.left_out)
    _refuse_few(arguments, (str(recording.path) for recording in source.recordings))
    return source


def _files(arguments: argparse.Namespace) -> tuple[Path, ...]:
    try:
        return recording_files(arguments.sources)
    except UsageError:
        for path in arguments.sources:
            _refuse_images(path, arguments.vla)
        raise


def _refuse_images(path: Path, vla: str) -> None:
    """Refuse images of which nothing says where the robot was."""
    try:
        frames = open_frames(path)
    except (InputError, MissingDependencyError):
        return
    is_image = path.is_dir() or path.suffix.lower() in IMAGE_SUFFIXES
    if isinstance(frames, VideoFrames) or (isinstance(frames, FolderFrames) and is_image):
        raise UsageError(
            f"{vla} needs the pose of the tool and the gripper with each image, which {path} does not have",
            expected="recordings (.mcap, .db3) or folders of them, a LeRobot data set, or a database",
            got=f"{frames.kind} {path.name}",
        )


def _episodes(arguments: argparse.Namespace) -> ReferenceSource:
    """Return the images of a data set, of which each episode is a scene."""
    (path,), view = arguments.sources, parse_view(arguments.view)
    if arguments.tasks is not None:
        raise UsageError("--tasks is of recordings", expected="--task, or the tasks of the data set")
    dataset, sampling = LeRobotDataset(path), sampling_of(arguments, path)
    named = sampling.topics or dataset.views()
    if view not in named:
        raise InputError(f"{path} has no camera {view}", expected="--topic", available=dataset.keys)
    _refuse_few(arguments, (str(episode.index) for episode in dataset.episodes))
    _require_states(arguments, sampling)
    return FramesSource(path, replace(sampling, topics={view: named[view]}))


def _require_states(arguments: argparse.Namespace, sampling: Sampling) -> None:
    """Refuse a policy where no decision of a trial says where the tool was."""
    if not sampling.states.has_pose:
        raise UsageError(
            f"{arguments.vla} needs the pose of the tool and the gripper, which are not known",
            expected="--state tool=TOPIC and --state gripper=TOPIC; a recording of `gate proxy` has neither",
        )


def _refuse_few(arguments: argparse.Namespace, scenes: Iterable[str]) -> None:
    """Refuse too few scenes before the work."""
    split_scenes(scenes, read_plan(Promise, arguments), arguments.seed)


def _print(fitted: FittedGate) -> None:
    calibration, check = fitted.calibration, fitted.check
    print(
        f"{fitted.judge} judge of the {fitted.view} camera at {fitted.width_px}x{fitted.height_px}: "
        f"threshold {fitted.threshold:.4f}"
    )
    print(fitted.promise)
    print(
        f"calibration: {calibration['scenes']:.0f} scenes, risk {calibration['seen_risk']:.4f}, "
        f"{calibration['passed']:.1%} of the frames pass"
    )
    print("check on held-out scenes:")
    _print_numbers(check)
    print(fitted.unseen_in_words)
    second = fitted.second
    if fitted.networks is None:
        return
    if second is None:
        reason = "does not report whether it sees its target, or no threshold keeps the risk"
        print(f"no second stage: {fitted.policy} {reason}")
        return
    print(f"second stage, after inference: threshold {second.threshold:.4f}, screen {second.screen:.4f}")
    print(second.promise)
    print("check on held-out scenes:")
    _print_numbers(second.check)


def _print_numbers(numbers: dict[str, float | None]) -> None:
    for name, value in numbers.items():
        print(f"  {name.replace('_', ' '):22s} {'-' if value is None else f'{value:g}'}")
