"""`embodied-iqa recording export`: recorded trials as a LeRobot data set."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.base.records import unstructure
from embodied_iqa.cli.output import next_command, print_json, print_left_out
from embodied_iqa.cli.plan_options import add_plan_options, read_plan
from embodied_iqa.data.lerobot.trials import TrialsPlan, export_trials
from embodied_iqa.quality.gate.fitting.recordings import recording_files

_MOST_FPS = 1000.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("sources", type=Path, nargs="+", metavar="RUN|BAG", help="recordings of trials, or folders of them")
    out = "new or empty folder for a LeRobot data set, version 3.0"
    add("--out", type=Path, required=True, metavar="DIR", help=out)
    add_plan_options(parser, TrialsPlan, "fps", "codec as video", "successful", fps="HZ")
    add("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Write the data set; return the exit code: 1 if a recording or run that is wanted was left out."""
    plan = read_plan(TrialsPlan, arguments)
    if plan.fps is not None and not (math.isfinite(plan.fps) and 0 < plan.fps <= _MOST_FPS):
        raise UsageError("--fps", expected=f"above 0 Hz, up to {_MOST_FPS:g} Hz", got=plan.fps)
    files, out = recording_files(arguments.sources), arguments.out
    with ProgressBars() as bars:
        report = export_trials(files, out, plan, lambda done: bars.update("exporting", done, len(files)))
    if arguments.json:
        print_json({"out": str(out), **unstructure(report)})
    else:
        print(f"{out}: LeRobot v3.0, {report.episodes} episodes, {report.steps} steps, {report.fps:g} Hz")
        print(f"state: {', '.join(report.state) or 'none is recorded'}; action: the state of the next step")
        if "gripper" not in report.state:
            print("note: the gripper is not recorded, and is not part of state and action")
        next_command("recording", "info", out)
    print_left_out((*report.left_out, *report.unsuccessful))
    return int(bool(report.left_out))
