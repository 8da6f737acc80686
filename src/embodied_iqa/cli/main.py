"""`embodied-iqa`: runs a sub-command; reports errors in one line with an exit code."""

from __future__ import annotations

# isort: off
from embodied_iqa.cli.interrupts import EXIT_CODE, INTERRUPTED, keep_interrupts, raise_interrupts  # first

# isort: on
import argparse
import importlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from embodied_iqa import __version__
from embodied_iqa.base.deadline import end_within
from embodied_iqa.base.errors import (
    EmbodiedIqaError,
    InternalError,
    MissingDependencyError,
    UsageError,
    first_line,
)
from embodied_iqa.base.files import require_writable
from embodied_iqa.base.lazy import install_of
from embodied_iqa.cli.parser import Parser, with_present_names

COMMANDS: dict[str, tuple[str, str]] = {
    "doctor": ("embodied_iqa.cli.doctor", "check this machine and report what to install"),
    "trial": ("embodied_iqa.cli.trial", "run tasks through the ROS graph, record and score them"),
    "attend": ("embodied_iqa.cli.attend", "answer the questions of a trial on a real arm from elsewhere"),
    "experiment": ("embodied_iqa.cli.experiment", "execution scores of subjects on distorted images"),
    "build": ("embodied_iqa.cli.build", "an annotated database: references, distortions, answers, scores"),
    "annotate": ("embodied_iqa.cli.annotate", "query further subjects on a database and score them"),
    "db": ("embodied_iqa.cli.db", "check, show, merge and query annotated databases"),
    "benchmark": ("embodied_iqa.cli.benchmark", "quality metrics against the scores of a database"),
    "serve": ("embodied_iqa.cli.serve", "serve a subject to other machines with openpi's protocol"),
    "cell": ("embodied_iqa.cli.cell", "write and check the parameter file of a real cell"),
    "record": ("embodied_iqa.cli.record", "record clean images of the cell's cameras, without a trial"),
    "rescore": ("embodied_iqa.cli.rescore", "rescore a recorded trial from its raw frames"),
    "report": ("embodied_iqa.cli.report", "write the report of a run or a database"),
    "studio": ("embodied_iqa.cli.studio", "look at databases and runs in the browser"),
    "export": ("embodied_iqa.cli.export", "write a database for pyiqa, Hugging Face or as CSV"),
    "push": ("embodied_iqa.cli.push", "upload an export to the Hugging Face Hub, after consent"),
    "emulator": ("embodied_iqa.cli.emulator", "a UR arm with a gripper for `ur_rtde`, without the robot"),
    "recover": ("embodied_iqa.cli.recover", "repair a recording that was cut short"),
    "recording": ("embodied_iqa.cli.recording", "show what a recording holds: topics, rates, stamps"),
    "distort": ("embodied_iqa.cli.distort", "distort images; list, calibrate and draw the distortions"),
    "gate": ("embodied_iqa.cli.gate", "calibrate, fit and run the quality gate"),
    "tasks": ("embodied_iqa.cli.tasks", "check, export and import tasks; show those of simulated scenes"),
    "metrics": ("embodied_iqa.cli.metrics", "list, score with and train image-quality metrics"),
    "train": ("embodied_iqa.cli.train", "train a panel of subjects or vision models from scratch"),
    "evaluate": (
        "embodied_iqa.cli.evaluate",
        "evaluate a panel, or subjects and metrics on a benchmark",
    ),
    "static": ("embodied_iqa.cli.static", "make, import and rotate static benchmarks (StaticEmbodiedBench)"),
    "manipulate": (
        "embodied_iqa.cli.manipulate",
        "episodes of the benchmark of VLMs as planners",
    ),
    "miqa": ("embodied_iqa.cli.miqa", "machine-vision quality: label images, train metrics, score"),
    "subjects": ("embodied_iqa.cli.subjects", "list, check and calibrate subjects"),
    "plugins": ("embodied_iqa.cli.plugins", "list the parts that other installed packages offer"),
    "completion": ("embodied_iqa.cli.completion", "print the script for completion in a shell"),
}
"""Sub-command to (module, one-line help); a module is imported when its command runs."""

_LAST_S = 30.0


class Command(Protocol):
    """Interface of a sub-command's module."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the sub-command's arguments."""
        ...

    def run(self, arguments: argparse.Namespace) -> int:
        """Run the command; return the exit code: 0 done, 1 failed, 2 usage."""
        ...


class _OverviewHelp(argparse.HelpFormatter):
    """Help with one line per command."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        # argparse ignores the indent of sub-commands when it measures names
        self._action_max_length = max(map(len, COMMANDS)) + 2 * self._indent_increment


def _overview() -> argparse.ArgumentParser:
    parser = Parser(
        prog="embodied-iqa",
        description="Image quality for embodied agents: measure it, record it, gate a policy with it.",
        formatter_class=_OverviewHelp,
    )
    parser.add_argument("--version", action="version", version=f"embodied-iqa {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    for name, (_, summary) in COMMANDS.items():
        commands.add_parser(name, help=summary, add_help=False)
    return parser


def _dispatch(arguments: Sequence[str]) -> int:
    if not arguments:
        _overview().print_help(sys.stderr)
        return UsageError.exit_code
    if arguments[0].startswith("-"):
        _overview().parse_args(arguments)
        return 0
    try:
        command, parsed = parse(arguments)
        raise_interrupts()
        return command.run(parsed)
    except ModuleNotFoundError as error:  # a light install, or what a command imports where it runs
        module = (error.name or "").partition(".")[0]
        if module in {"", __name__.partition(".")[0]}:
            raise
        raise MissingDependencyError(f"{error.name} is not installed", expected=install_of(module)) from error


def parse(arguments: Sequence[str]) -> tuple[Command, argparse.Namespace]:
    """Return the command of a command line and its parsed arguments.

    Raises:
        UsageError: The command is unknown, or an argument is wrong.
        InputError: The output cannot be written.
    """
    name = arguments[0]
    if name not in COMMANDS:
        raise UsageError("unknown command", got=name, available=COMMANDS)
    module, summary = COMMANDS[name]
    command: Command = importlib.import_module(module)
    parser = Parser(prog=f"embodied-iqa {name}", description=summary[0].upper() + summary[1:] + ".")
    command.configure(parser)
    if not arguments[1:] and parser.needs_action:
        parser.print_help(sys.stderr)
        raise SystemExit(UsageError.exit_code)
    parsed = parser.parse_args(with_present_names(arguments)[1:])
    if isinstance(path := getattr(parsed, "out", None), Path):  # before long work whose result would be lost
        require_writable(path)
    return command, parsed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    is_process = arguments is None
    if is_process:
        keep_interrupts()
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # blocked by a launch file
        return _dispatch(list(sys.argv[1:] if arguments is None else arguments))
    except InternalError:
        raise
    except EmbodiedIqaError as error:
        print(f"embodied-iqa: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        return 1
    except OSError as error:  # a read-only place, a full disk
        where = "" if error.filename is None else f"{error.filename}: "
        print(f"embodied-iqa: {where}{error.strerror or first_line(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as interrupt:
        print("; ".join(filter(None, (INTERRUPTED, str(interrupt)))), file=sys.stderr)
        return EXIT_CODE
    finally:
        if is_process:  # a second Ctrl-C would interrupt the end of the interpreter
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            if "rclpy" in sys.modules:
                end_within(_LAST_S)


if __name__ == "__main__":
    sys.exit(main())
