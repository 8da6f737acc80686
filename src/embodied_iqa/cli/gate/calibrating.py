"""`embodied-iqa gate calibrate` and `gate check`: ordinary ranges of a camera, and verdicts on images."""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.lazy import has_module
from embodied_iqa.base.progress import track
from embodied_iqa.cli.gate.clean_report import CleanGroup, CleanReport, Named, remove_worst, reports
from embodied_iqa.cli.gate.live_source import live_folder
from embodied_iqa.cli.output import next_command, print_json, print_left_out, print_note, program
from embodied_iqa.cli.plan_options import read_plan
from embodied_iqa.data.database.clean_frames import open_clean
from embodied_iqa.data.frames.cameras import parse_topics
from embodied_iqa.imaging.images.frame import View, parse_view
from embodied_iqa.imaging.images.stored_images import Coding, UnreadableImage
from embodied_iqa.quality.gate.calibration import GateCalibration, Margins, calibrate
from embodied_iqa.quality.gate.calibration_file import (
    GateFile,
    load_gate_file,
    save_calibrations,
    stays_in,
)
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.image_statistics import measure
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import JudgeKind, parse_judge
from embodied_iqa.quality.gate.judges import advice_in_words, make_judge, unfitted, unfitted_in_words
from embodied_iqa.quality.gate.live_collecting import without_password
from embodied_iqa.quality.gate.stored_frames import CameraFrames
from embodied_iqa.quality.gate.tolerance import Tolerance, disturbed
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS, check_cell_views
from embodied_iqa.world.simulation.camera import CameraModel

_SIZE = re.compile(r"(\d+)x(\d+)")
_LISTED = 50
"""Of more images, those that pass are only counted: a recording of minutes has thousands."""
_LEAST_CONTRAST: Final = 1 / 255
"""Below one level of brightness, a lens is covered or a frame is empty."""


def calibrate_cameras(arguments: argparse.Namespace) -> int:
    """Calibrate; return the exit code."""
    if [arguments.simulated, arguments.live, arguments.source is not None].count(True) != 1:
        raise UsageError(
            "clean frames come from one source",
            expected="either a folder, .mcap or data set, or --simulated, or --live",
        )
    if arguments.device and not arguments.live:
        raise UsageError("--device is for --live")
    kept = stays_in(arguments.out, keep=arguments.keep)
    if not arguments.live:
        return _calibrate(arguments, kept)
    with live_folder(arguments, _topics(arguments)) as folder:
        stored = {"source": folder, "topic": None, "live_topics": arguments.topic}
        return _calibrate(argparse.Namespace(**vars(arguments) | stored), kept)


def _calibrate(arguments: argparse.Namespace, kept: GateFile) -> int:
    margins = read_plan(Margins, arguments)
    tolerances = tuple(one for text in arguments.tolerate or () for one in Tolerance.parse(text))
    lost: list[UnreadableImage] = []
    groups = _measured(_frames(arguments, lost), tolerances, lost)
    new, few = _calibrated(groups, _provenance(arguments), margins)
    lost += few
    if not new and lost:
        raise lost[-1].error
    made = {(one.view, one.width_px, one.height_px) for one, _ in new}
    stays = [one for one in kept.cameras if (one.view, one.width_px, one.height_px) not in made]
    cameras = [*stays, *(calibration for calibration, _ in new)]
    save_calibrations(cameras, arguments.out, kept.fitted)
    for calibration, group in new:
        print_note(group.repeated(f"{calibration.view} {calibration.width_px}x{calibration.height_px}"))
    again = None if arguments.simulated else _frames(arguments, None)
    worst = arguments.out.with_name(f"{arguments.out.stem}-worst")
    remove_worst(worst, stays)
    _report(arguments, reports(new, again, worst, margins), lost)
    return int(bool(lost))


def _calibrated(
    groups: Mapping[tuple[View, int, int], CleanGroup], provenance: str, margins: Margins
) -> tuple[list[tuple[GateCalibration, CleanGroup]], list[UnreadableImage]]:
    """Return the calibrations with their images, and which sizes have too few of them."""
    made: list[tuple[GateCalibration, CleanGroup]] = []
    few = []
    for (view, width_px, height_px), group in groups.items():
        try:
            made.append((calibrate(view, group.clean, provenance, margins, group.tolerated), group))
        except InputError as error:
            what = f"{width_px}x{height_px}, such as {group.names[0]}"
            few.append(UnreadableImage(what, InputError(f"{what}: {error}")))
    return made, few


def _measured(
    frames: Iterable[Named], tolerances: tuple[Tolerance, ...], lost: list[UnreadableImage]
) -> dict[tuple[View, int, int], CleanGroup]:
    """Return the statistics of clean images by camera and size, and those with tolerated disturbances.

    Images that cannot be measured, such as too small ones, and those of one colour are added to ``lost``.
    """
    groups: dict[tuple[View, int, int], CleanGroup] = {}
    flat: list[str] = []
    for view, name, rgb, coding in frames:
        try:
            clean = measure(rgb)
        except InputError as error:
            lost.append(UnreadableImage(name, InputError(f"{name}: {error}"), name))
            continue
        if clean.contrast < _LEAST_CONTRAST:
            flat.append(name)
            continue
        height_px, width_px, _ = rgb.shape
        group = groups.setdefault((view, width_px, height_px), CleanGroup())
        for disturbance, image in disturbed(rgb, len(group.clean), tolerances):
            group.tolerated.setdefault(disturbance, []).append(measure(image))
        group.add(name, clean, rgb, coding)
    if flat:
        what = f"{len(flat)} images of one colour, such as {flat[0]}"
        empty = InputError(f"{what}: nothing is seen in them", expected="clean, typical images")
        lost.append(UnreadableImage(what, empty))
    return groups


def _frames(arguments: argparse.Namespace, lost: list[UnreadableImage] | None) -> Iterator[Named]:
    """Iterate over clean images; say what is not read, and add what cannot be to ``lost`` at the end."""
    views = _views(arguments)
    if arguments.simulated:
        from embodied_iqa.quality.gate import simulated_frames as simulated

        check_cell_views(views)
        views, sizes = views or CELL_VIEWS, _sizes(arguments)
        total = arguments.scenes * simulated.frames_a_scene() * len(views) * len(sizes)
        model = CameraModel(arguments.camera_model)
        taken = simulated.simulated_frames(views, sizes, arguments.scenes, arguments.seed, model)
        with closing(taken) as frames:
            for number, (view, rgb) in enumerate(track(frames, "simulated frames", total)):
                yield view, f"simulated {number}", rgb, Coding.LOSSLESS
        return

    stored = CameraFrames(arguments.source, views, _topics(arguments))
    if lost is not None:
        print_note(stored.note)
        print_note(_refused(stored))
    for frame in track(stored, arguments.source.name):
        yield frame.view, frame.name, frame.rgb, frame.coding
    if lost is not None:
        lost += stored.unreadable


def _refused(stored: CameraFrames) -> str:
    """Return how many images did not pass when `gate proxy` recorded them, in words; empty for none."""
    if stored.recording is None:
        return ""
    from embodied_iqa.quality.gate.proxy.recording import refused_images

    found = refused_images(stored.recording, stored.views)
    named = ", ".join(f"{view} {count}" for view, count in sorted(found.items()))
    what = f"images that did not pass when they were recorded: {named}"
    return f"{what}; a calibration on them lets their like pass" if named else ""


def _provenance(arguments: argparse.Namespace) -> str:
    if arguments.simulated:
        ideal = arguments.camera_model == CameraModel.IDEAL
        taken = "" if ideal else f"camera model {arguments.camera_model}, "
        scenes = f"{arguments.scenes} scenes, seed {arguments.seed}"
        return f"simulated: {taken}{scenes}, experts at work and random poses"
    if arguments.live:
        cameras = map(without_password, arguments.device)
        return f"live, {', '.join([*(arguments.live_topics or ()), *cameras])}"
    return f"{open_clean(arguments.source).kind} {arguments.source.resolve().name}"


def _report(
    arguments: argparse.Namespace, reviewed: list[CleanReport], lost: Sequence[UnreadableImage]
) -> None:
    print_left_out(str(one.error) for one in lost)
    if arguments.json:
        tree = {"output": str(arguments.out), "cameras": [one.values() for one in reviewed]}
        print_json(tree | {"left_out": [str(one.error) for one in lost]})
        return
    print(arguments.out)
    for one in reviewed:
        print("\n".join(one.lines()))
    given, named = arguments.view or (), arguments.topic or ()
    if arguments.live:  # its topics are not those of other images; a folder for each of several cameras is
        given, named = (), ()
    views = {one.review.calibration.view for one in reviewed}
    if not given and not named and len(views) == 1:
        given = tuple(views)
    words = [*(part for one in given for part in ("--view", one))]
    words += [*(part for one in named for part in ("--topic", one))]
    next_command("gate", "check", "OTHER_IMAGES", *words, "--calibration", arguments.out)


@dataclass(frozen=True, slots=True)
class _Checked:
    """A judged image."""

    view: View
    name: str
    verdict: str
    reason: str


def check(arguments: argparse.Namespace) -> int:
    """Judge stored images; return the exit code: 1 if all are rejected, or one cannot be read."""
    choice = parse_judge(arguments.judge)
    file = load_gate_file(arguments.calibration)
    gatekeeper = Gatekeeper(make_judge(choice, file), GateOptions())
    known = {(one.view, one.width_px, one.height_px) for one in file.cameras}
    stored = CameraFrames(arguments.source, _calibrated_views(arguments, file), _topics(arguments))
    print_note(stored.note)
    results: list[_Checked] = []
    sizes: set[tuple[View, int, int]] = set()
    for frame in track(stored, arguments.source.name):
        height_px, width_px, _ = frame.rgb.shape
        sizes.add((frame.view, width_px, height_px))
        judged = gatekeeper.judge_alone(frame.view, frame.rgb)
        results.append(_Checked(frame.view, frame.name, judged.verdict.name.lower(), judged.reason))
    is_known = sizes <= known
    views = tuple(dict.fromkeys(result.view for result in results))
    by_statistics = unfitted(choice, file, views)
    print_note(unfitted_in_words(choice, by_statistics))
    print_note(advice_in_words(choice, file, views, sizes))
    words = [verdict.name.lower() for verdict in Verdict]
    counts = {word: sum(result.verdict == word for result in results) for word in words}
    if arguments.json:
        images = [dataclasses.asdict(result) for result in results]
        left_out = [str(one.error) for one in stored.unreadable]
        tree = {"counts": counts, "by_statistics": by_statistics, "images": images, "left_out": left_out}
        print_json(tree)
    else:
        passing = Verdict.PASS.name.lower()
        listed = results if len(results) <= _LISTED else [one for one in results if one.verdict != passing]
        for result in listed[:_LISTED]:
            print(f"{result.view:5s} {result.verdict:6s} {result.name}  {result.reason}".rstrip())
        if len(listed) > _LISTED:
            print(f"... and {len(listed) - _LISTED} more that do not pass: --json names each")
        print(", ".join(f"{count} {word}" for word, count in counts.items()))
        if counts[passing]:
            _say_next(arguments, file, stored, views)
        elif not is_known:  # more clean images help no image that is blurred or dark
            named = [word for view in arguments.view or () for word in ("--view", view)]
            next_command("gate", "calibrate", "CLEAN_IMAGES", *named, "--out", "FILE")
    print_left_out(str(one.error) for one in stored.unreadable)
    return 1 if stored.unreadable or counts[Verdict.REJECT.name.lower()] == len(results) else 0


def _say_next(
    arguments: argparse.Namespace, gate: GateFile, stored: CameraFrames, checked: Sequence[View]
) -> None:
    """Print what uses the calibration; without ROS, that is Python or a policy server."""
    words = _next(arguments, gate, stored, checked)
    if has_module("rclpy"):
        next_command(*words)
        return
    gate_made = f"embodied_iqa.Gate({str(arguments.calibration)!r})"
    print(f"next: {gate_made} in Python; before a policy server: {program()} gate proxy", file=sys.stderr)


def _next(
    arguments: argparse.Namespace, gate: GateFile, stored: CameraFrames, checked: Sequence[View]
) -> tuple[object, ...]:
    """Return the command that uses the calibration: of images of others, the gate beside their stack."""
    file, judge = arguments.calibration, str(parse_judge(arguments.judge))
    is_default = judge == JudgeKind.STATISTICS
    kind = () if is_default else ("--judge", judge)
    if not arguments.topic and stored.are_of_a_cell:
        cell = ("--config", "CELL.yaml") if stored.are_real else ()
        return "trial", *cell, "--calibration", file, *kind
    known = {one.view for one in gate.cameras}
    seen = [view for view in checked if view in known]
    names = {view: f"TOPIC_OF_{view.upper()}" if len(seen) > 1 else "TOPIC" for view in seen}
    topics = [word for view, name in names.items() for word in ("--topic", f"{view}={name}")]
    return "gate", "run", *topics, "--calibration", file, *kind


def _calibrated_views(arguments: argparse.Namespace, file: GateFile) -> tuple[View, ...]:
    """Return the cameras that are named.

    Raises:
        UsageError: The calibration has no camera of a name.
    """
    views, known = _views(arguments), list(dict.fromkeys(one.view for one in file.cameras))
    for view in (*views, *_topics(arguments)):
        if view not in known:
            raise UsageError(f"{file.path} has no such camera", got=str(view), available=known)
    return views


def _views(arguments: argparse.Namespace) -> tuple[View, ...]:
    return tuple(parse_view(word) for word in arguments.view or ())


def _topics(arguments: argparse.Namespace) -> dict[View, str]:
    return parse_topics(arguments.topic or ())


def _sizes(arguments: argparse.Namespace) -> tuple[tuple[int, int], ...]:
    sizes = []
    for word in arguments.size or ["640x480"]:
        match = _SIZE.fullmatch(word)
        if match is None:
            raise UsageError("wrong --size", expected="such as 640x480", got=word)
        sizes.append((int(match[1]), int(match[2])))
    return tuple(sizes)
