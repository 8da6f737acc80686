"""Builds and continues databases."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.build import DEFAULT_SIZE, EMBEDDED
from embodied_iqa.cli.build.summary import (
    BuildProgress,
    next_report,
    print_against,
    print_summary,
    summary_tree,
)
from embodied_iqa.cli.node_options import overrides_of
from embodied_iqa.cli.output import own_command, print_json, print_note, printable
from embodied_iqa.cli.parser import note_former
from embodied_iqa.cli.plan_options import RANDOM_LEVEL, engine_of, read_plan
from embodied_iqa.cli.stored_options import (
    refuse_half_a_state,
    refuse_stored_options,
    refuse_unused,
    sampling_of,
)
from embodied_iqa.data.database.building.build_options import BuildOptions, BuildPlan
from embodied_iqa.data.database.building.builder import build
from embodied_iqa.data.database.building.own_views import UnscoredViews
from embodied_iqa.data.database.database_folder import is_database
from embodied_iqa.data.database.sources.candidate import ReferenceSource
from embodied_iqa.data.database.sources.framed import FramesSource
from embodied_iqa.data.database.sources.libero import LiberoSource
from embodied_iqa.data.database.sources.photographs import FolderSource
from embodied_iqa.data.database.sources.recorded import RecordingSource
from embodied_iqa.data.database.sources.simulated import SimulationSource
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.data.frames.any_frames import open_frames
from embodied_iqa.data.frames.depth_beside import depth_topics_of
from embodied_iqa.data.frames.video_frames import is_video
from embodied_iqa.data.lerobot.info import is_lerobot
from embodied_iqa.imaging.distortions import parse_levels
from embodied_iqa.imaging.images.frame import View, parse_view
from embodied_iqa.models.subjects.catalogue import Backend, Role, names_of
from embodied_iqa.models.subjects.reference import SubjectReference, parse_reference
from embodied_iqa.models.subjects.registry import check_backend, single_policy
from embodied_iqa.runs.graph.node_table import resolve
from embodied_iqa.runs.offline.database_actions import (
    ACTIONS_FILE,
    as_csv,
    means_of,
    score_against_actions,
)
from embodied_iqa.runs.offline.recorded_actions import RecordedActions, actions_of
from embodied_iqa.world.libero.suites import CAMERAS
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.simulation.camera import DEFAULT_MODEL, CameraModel
from embodied_iqa.world.tasks.sentence import check_sentence

_FORMER_RANDOM: Final = "one"
"""Former value of `--levels` for a random one."""


def run(arguments: argparse.Namespace) -> int:
    """Build what is missing; return the exit code."""
    plan, options = _plan(arguments), _options(arguments)
    actions, path = _actions(arguments), arguments.from_bag
    left_out = () if path is None else depth_topics_of(open_frames(path))
    notes = plan.source.notes() if isinstance(plan.source, FolderSource | RecordingSource) else ()
    with ProgressBars(transient=False) as bars:
        summary = build(arguments.out, plan, options, BuildProgress(bars), _views_printer(bars, plan.source))
    against = None if actions is None else _against_actions(arguments.out, actions)
    if arguments.json:
        tree = summary_tree(arguments.out, summary) | {"left_out": left_out, "notes": notes}
        print_json(tree if against is None else tree | {"recorded_action": against})
    else:
        print_summary(arguments.out, summary)
        for topic in left_out:
            print(printable(f"left out: {topic} holds depth, a database keeps colour alone"))
        for note in notes:
            print(printable(f"note: {note}"))
        print_against(against or {})
        next_report(DatabaseStore(arguments.out))
    return 0


def _views_printer(bars: ProgressBars, source: ReferenceSource) -> Callable[[UnscoredViews], None]:
    """Return what prints which scores references will lack, and the option that changes it."""

    def show(lacking: UnscoredViews) -> None:
        chosen = isinstance(source, SimulationSource | LiberoSource) and lacking.left
        remedy = f"--views {','.join(lacking.left)} makes only those it scores" if chosen else ""
        with bars.paused():
            print_note(f"{lacking}; {remedy or 'reports count answers there with --all-views'}")

    return show


def panel_of(text: str) -> tuple[SubjectReference, ...]:
    """Return the subjects of a panel, each once.

    Raises:
        UsageError: One of them cannot be resolved, or there is none.
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    embedded = [name for role in (Role.VLM, Role.VLA) for name in names_of(role, Backend.EMBEDDED)]
    names = [name for word in words for name in (embedded if word == EMBEDDED else (word,))]
    found = dict.fromkeys(single_policy(parse_reference(name)) for name in names)
    for reference in found:
        check_backend(reference)
    if not found:
        raise UsageError("an empty panel", expected=f"subjects by commas, or {EMBEDDED}", got=text)
    return tuple(found)


def _panel(arguments: argparse.Namespace) -> tuple[SubjectReference, ...]:
    """Return the subjects of `--panel`, else those of a database that has some, else what needs no server."""
    if arguments.panel is not None:
        return panel_of(arguments.panel)
    own = DatabaseStore(arguments.out).record().subjects if is_database(arguments.out) else ()
    try:
        return panel_of(",".join(subject.name for subject in own) or EMBEDDED)
    except UsageError as error:
        raise UsageError(f"--panel NAMES is needed: one of {arguments.out} is not there: {error}") from error


def _plan(arguments: argparse.Namespace) -> BuildPlan:
    source = _source(arguments)
    wanted, takes_all = arguments.references, arguments.references is None and source.count is not None
    if wanted is None:
        wanted = 12 if source.count is None else source.count
    given = {"references": wanted, "levels": _levels(arguments.levels), "fewer_do": takes_all}
    return read_plan(BuildPlan, arguments, source=source, **given)


def _levels(text: str) -> tuple[int, ...]:
    """Return the levels of each distortion; none for one at random."""
    if text == _FORMER_RANDOM:
        note_former(f"--levels {text}", f"--levels {RANDOM_LEVEL}")
        return ()
    return () if text == RANDOM_LEVEL else parse_levels(text)


def _source(arguments: argparse.Namespace) -> ReferenceSource:
    views = tuple(parse_view(word) for word in arguments.views.split(",") if word)
    if arguments.cell_cameras and arguments.from_folder is None:
        raise UsageError("--cell-cameras needs --from-folder")
    _refuse_simulated_options(arguments)
    if arguments.from_bag is not None:
        if views:
            raise UsageError(
                "--views is not of recordings", expected="--topic VIEW=TOPIC", got=arguments.views
            )
        return _stored(arguments)
    refuse_stored_options(
        arguments, "needs --from-bag", besides=("task",) * (arguments.from_folder is not None)
    )
    if arguments.world is not None:
        if arguments.tasks is not None:
            raise UsageError("--tasks needs --from-folder or --from-bag")
        return LiberoSource(tuple(arguments.world.split(",")), views or tuple(CAMERAS))
    if arguments.from_folder is not None:
        if not arguments.from_folder.is_dir():
            raise InputError(f"{arguments.from_folder} is not a folder", expected="a folder of images")
        if (arguments.tasks is None) == (not arguments.task) or len(views) > 1:
            expected = "--tasks FILE or --task TEXT, at most one view"
            raise UsageError(f"the images in {arguments.from_folder} need their tasks", expected=expected)
        view, task = views[0] if views else View.TOP, check_sentence(arguments.task) if arguments.task else ""
        return FolderSource(arguments.from_folder, arguments.tasks, view, arguments.cell_cameras, task)
    if arguments.tasks is not None:
        raise UsageError("--tasks needs --from-folder or --from-bag")
    return _simulated(arguments, views)


def _refuse_simulated_options(arguments: argparse.Namespace) -> None:
    """Refuse options of simulated images where others are taken."""
    others = (arguments.from_bag, arguments.from_folder, arguments.world)
    for option in ("size", "camera_model"):
        if getattr(arguments, option) is not None and any(one is not None for one in others):
            raise UsageError(f"--{option.replace('_', '-')} is of simulated images")


def _actions(arguments: argparse.Namespace) -> RecordedActions | None:
    """Return what was done in a data set or recording, where decisions are compared with it.

    Raises:
        UsageError: The images are of something else, or it is not known where the tool was.
    """
    if arguments.action is None:
        return None
    path = arguments.from_bag
    if path is None or is_video(path):
        expected = "--from-bag DATASET or RECORDING"
        raise UsageError("--action is of a data set or recording", expected=expected, got=path)
    if not sampling_of(arguments, path).states.has_pose:
        raise UsageError("--action needs the state", expected="--state tool=PLACE --state gripper=PLACE")
    return actions_of(arguments.action, path)


def _against_actions(database: Path, actions: RecordedActions) -> dict[str, dict[str, float | int | None]]:
    """Write `recorded_actions.csv` of a database; return the means by subject."""
    rows = list(score_against_actions(DatabaseStore(database), actions))
    write_text_whole(database / ACTIONS_FILE, as_csv(rows))
    return means_of(rows)


def _simulated(arguments: argparse.Namespace, views: tuple[View, ...]) -> SimulationSource:
    size = arguments.size or DEFAULT_SIZE
    width, times, height = size.partition("x")
    if not (times and width.isdecimal() and height.isdecimal()):
        raise UsageError("wrong --size", expected="such as 480x360", got=size)
    model = CameraModel(arguments.camera_model or DEFAULT_MODEL)
    if model is CameraModel.D455 and (int(width) % 2 or int(height) % 2):
        raise UsageError(f"wrong --size for camera model {model}", expected="even width and height", got=size)
    return SimulationSource(arguments.seed, int(width), int(height), views or CELL_VIEWS, model)


def _stored(arguments: argparse.Namespace) -> ReferenceSource:
    """Return the images of a recording, data set or video."""
    path = arguments.from_bag
    sampling = sampling_of(arguments, path)
    refuse_half_a_state(sampling)
    if is_lerobot(path) or is_video(path):
        if arguments.tasks is not None:
            raise UsageError("--tasks is of recordings and images", expected="--task", got=str(path))
        return FramesSource(path, sampling)
    refuse_unused(arguments, sampling)
    return RecordingSource(path, arguments.tasks, sampling)


def _options(arguments: argparse.Namespace) -> BuildOptions:
    graph = resolve(tuple(arguments.config), overrides_of(arguments.set), only_reads=True)
    options = {"vlm": graph.vlm_node.options, "vla": graph.vla_node.options}
    subjects, engine = _panel(arguments), engine_of(arguments)
    command = own_command()
    given = {"subjects": subjects, "engine": engine, "chosen": arguments.panel is not None, **options}
    return read_plan(BuildOptions, arguments, command=command, **given)
