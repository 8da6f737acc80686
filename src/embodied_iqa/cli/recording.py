"""`embodied-iqa recording`: shows what a recording or a LeRobot data set holds."""

from __future__ import annotations

import argparse
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.markup import escape

from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.cli.output import console, print_json, printable, table_of
from embodied_iqa.cli.parser import perform

if TYPE_CHECKING:
    from embodied_iqa.data.lerobot.dataset import LeRobotDataset
    from embodied_iqa.data.recording.reader import TrialReader
    from embodied_iqa.data.recording.survey import Times, TopicSurvey

_ACTIONS: Final = {"info": f"{__name__}:info"}
_STEP: Final = 1000
"""So many messages are read between two lines of progress."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    info_of = actions.add_parser("info", help="topics, types, rates, and faults of times and stamps")
    what = "an .mcap file, a folder of `ros2 bag`, also split or compressed, or a LeRobot data set"
    info_of.add_argument("recording", type=Path, metavar="FILE", help=what)
    info_of.add_argument("--json", action="store_true", help="print the result as JSON, times in ns")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; return the exit code."""
    return perform(_ACTIONS[arguments.action], arguments)


def info(arguments: argparse.Namespace) -> int:
    """Print what a recording holds; return the exit code."""
    from embodied_iqa.data.lerobot.dataset import LeRobotDataset, is_lerobot
    from embodied_iqa.data.recording.reader import TrialReader
    from embodied_iqa.data.recording.survey import survey

    if is_lerobot(arguments.recording):
        dataset = _dataset(LeRobotDataset(arguments.recording))
        print_json(dataset) if arguments.json else _print_dataset(dataset)
        return 0
    with TrialReader(arguments.recording) as reader, ProgressBars() as bars:

        def progress(done: int, total: int) -> None:
            if done % _STEP == 0 or done == total:
                bars.update(arguments.recording.name, done, total)

        topics = survey(reader, progress)
        tree = _tree(reader, topics)
    if arguments.json:
        print_json(tree)
    else:
        _print(arguments.recording, tree, topics)
    return 0


def _tree(reader: TrialReader, topics: list[TopicSurvey]) -> dict[str, Any]:
    return {
        "recording": str(reader.path),
        "compression": reader.compression() or None,
        "first_ns": reader.start_ns or None,
        "last_ns": reader.end_ns or None,
        "messages": sum(one.info.messages for one in topics),
        "topics": [
            {
                "topic": one.info.topic,
                "type": one.info.type_name,
                "messages": one.info.messages,
                "rate_hz": one.received.rate_hz,
                "received": _times(one.received),
                "stamps": None if one.stamps is None else _times(one.stamps),
                "damaged": one.damaged,
            }
            for one in topics
        ],
    }


def _dataset(dataset: LeRobotDataset) -> dict[str, Any]:
    info = dataset.info
    tasks: Counter[str] = Counter(task for episode in dataset.episodes for task in episode.tasks)
    return {
        "recording": str(dataset.path),
        "format": f"LeRobot {info.version}",
        "robot": info.robot or None,
        "rate_hz": info.fps,
        "episodes": len(dataset.episodes),
        "steps": sum(episode.steps for episode in dataset.episodes),
        "numbers": dict(info.sizes),
        "cameras": [
            {
                "topic": camera.key,
                "width_px": camera.width_px,
                "height_px": camera.height_px,
                "stored": "video" if camera.is_video else "images",
            }
            for camera in info.cameras
        ],
        "depth": list(info.depth),
        "tasks": [{"task": task, "episodes": count} for task, count in sorted(tasks.items())],
    }


def _print_dataset(tree: dict[str, Any]) -> None:
    robot = f" of {printable(tree['robot'])}" if tree["robot"] else ""
    print(f"{tree['recording']}: {tree['format']}{robot}, {tree['rate_hz']:g} Hz")
    numbers = "".join(f", {key} of {count}" for key, count in tree["numbers"].items())
    print(f"{tree['episodes']} episodes, {tree['steps']} steps{numbers}")
    table = table_of("camera", "size", "stored as")
    for one in tree["cameras"]:
        table.add_row(escape(one["topic"]), f"{one['width_px']}x{one['height_px']}", one["stored"])
    for key in tree["depth"]:
        table.add_row(escape(printable(key)), "-", "depth, not read")
    console().print(table)
    for one in tree["tasks"]:
        print(f"{one['episodes']} x {printable(one['task'])}")


def _times(times: Times) -> dict[str, int | None]:
    return {
        "first_ns": times.first_ns,
        "last_ns": times.last_ns,
        "longest_gap_ns": times.gap_ns if times.count > 1 else None,
        "equal": times.equal,
        "backwards": times.backwards,
        "zero": times.zero,
    }


def _print(recording: Path, tree: dict[str, Any], topics: list[TopicSurvey]) -> None:
    packed = f", {tree['compression']} compressed by ros2 bag" if tree["compression"] else ""
    print(f"{recording}: {tree['messages']} messages of {len(topics)} topics{packed}")
    if tree["first_ns"] is not None:
        duration_s = (tree["last_ns"] - tree["first_ns"]) / SECOND_NS
        print(f"from {_moment(tree['first_ns'])}, {duration_s:.3f} s long")
    table = table_of(
        *("topic", "type", "messages", "rate [Hz]", "longest gap [s]", "first stamp", "stamps"),
        right=("messages", "rate [Hz]", "longest gap [s]"),
    )
    for one in topics:
        rate_hz, stamps = one.received.rate_hz, one.stamps
        table.add_row(
            escape(printable(one.info.topic)),
            escape(printable(one.info.type_name)),
            str(one.info.messages),
            "-" if rate_hz is None else f"{rate_hz:.2f}",
            f"{one.received.gap_ns / SECOND_NS:.3f}" if one.received.count > 1 else "-",
            "-" if stamps is None or stamps.first_ns is None else _moment(stamps.first_ns),
            _faults(one),
        )
    console().print(table)


def _faults(one: TopicSurvey) -> str:
    """Return what is wrong with the stamps of a topic, in words."""
    if one.stamps is None:
        return "no header"
    if not one.info.messages:
        return "-"
    counts = {
        "zero": one.stamps.zero,
        "equal": one.stamps.equal,
        "backwards": one.stamps.backwards,
        "unreadable": one.damaged,
    }
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "rising"


def _moment(time_ns: int) -> str:
    """Return a time as UTC; times of a simulation are seconds since its start, near 1970."""
    seconds, rest_ns = divmod(time_ns, SECOND_NS)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}.{rest_ns // 10**6:03d} UTC"
