"""`embodied-iqa recover`: repairs a recording that was cut short."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.cli.output import next_command

if TYPE_CHECKING:
    from embodied_iqa.data.recording.repair.recover import RecoveryReport

_EVENTS: Final = "/trial/events"
"""Recordings of trials alone have it, and can be rescored without more options."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("recording", type=Path, metavar="IN", help="the .mcap file to repair; it is not changed")
    target = "the file to write (default: IN's stem + .recovered.mcap beside IN)"
    add("--out", type=Path, metavar="OUT", help=target)
    add("--json", action="store_true", help="print what was kept and lost as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Repair the recording and print what was kept and lost."""
    from embodied_iqa.data.recording.repair.recover import recover

    name = arguments.recording.name
    with ProgressBars(in_bytes=True) as bars:
        report = recover(
            arguments.recording, arguments.out, lambda done, total: bars.update(name, done, total)
        )
    print(json.dumps(_tree(report), indent=2) if arguments.json else _text(report))
    if not arguments.json:
        following = ("rescore",) if _EVENTS in report.messages else ("recording", "info")
        next_command(*following, report.output or report.source)
    return 0


def _tree(report: RecoveryReport) -> dict[str, object]:
    return {
        "source": str(report.source),
        "output": None if report.output is None else str(report.output),
        "cut_short": report.cut_short,
        "kept_messages": report.kept_messages,
        "lost_messages": report.lost_messages,
        "damaged_chunks": report.damaged_chunks,
        "skipped_bytes": report.skipped_bytes,
        "metadata": report.metadata,
        "attachments": report.attachments,
        "compression": report.compression or None,
        "messages": dict(report.messages),
    }


def _text(report: RecoveryReport) -> str:
    if report.output is None:
        packed = f"; {report.compression} compressed by ros2 bag" if report.compression else ""
        return f"{report.source}: undamaged, nothing to repair ({report.kept_messages} messages{packed})"
    found = ["cut short"] if report.cut_short else []
    if report.damaged_chunks:
        found.append(f"{report.damaged_chunks} damaged chunks")
    if report.skipped_bytes:
        found.append(f"{report.skipped_bytes} bytes outside of whole records")
    kept = f"{report.kept_messages} messages kept, {report.lost_messages} known to be lost"
    others = f"{report.metadata} metadata records, {report.attachments} attachments"
    lines = [
        f"{report.source}: {', '.join(found) or 'without an index'}",
        f"{report.output}: {kept}, {others}",
    ]
    lines += [f"  {count:8d}  {topic}" for topic, count in report.messages.items()]
    return "\n".join(lines)
