"""`embodied-iqa recording export`: recorded trials as a LeRobot data set."""

from __future__ import annotations

import argparse
import math
import sys

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.base.records import unstructure
from embodied_iqa.cli.output import next_command, print_json, printable
from embodied_iqa.data.lerobot.trials import TrialsPlan, export_trials
from embodied_iqa.data.lerobot.video_output import VideoCodec
from embodied_iqa.quality.gate.fitting.recordings import recording_files

_MOST_FPS = 1000.0


def export(arguments: argparse.Namespace) -> int:
    """Write the data set; return the exit code: 1 if a recording or run that is wanted was left out."""
    fps = arguments.fps
    if fps is not None and not (math.isfinite(fps) and 0 < fps <= _MOST_FPS):
        raise UsageError("--fps", expected=f"above 0 Hz, up to {_MOST_FPS:g} Hz", got=fps)
    codec = None if arguments.video is None else VideoCodec(arguments.video)
    files, out = recording_files(arguments.sources), arguments.lerobot
    with ProgressBars() as bars:
        plan = TrialsPlan(fps, codec, arguments.successful)
        report = export_trials(files, out, plan, lambda done: bars.update("exporting", done, len(files)))
    if arguments.json:
        print_json({"out": str(out), **unstructure(report)})
    else:
        print(f"{out}: LeRobot v3.0, {report.episodes} episodes, {report.steps} steps, {report.fps:g} Hz")
        print(f"state: {', '.join(report.state) or 'none is recorded'}; action: the state of the next step")
        if "gripper" not in report.state:
            print("note: the gripper is not recorded, and is no part of state and action")
        next_command("recording", "info", out)
    for reason in (*report.left_out, *report.unsuccessful):
        print(f"embodied-iqa: left out: {printable(reason)}", file=sys.stderr)
    return int(bool(report.left_out))
