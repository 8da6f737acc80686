"""Ctrl-C at random moments of a session: time to the end, processes left over, tracebacks, recordings.

python benchmarks/bench_interrupts.py --json build/bench_interrupts.json
python benchmarks/bench_interrupts.py --count 5 --seed 3 --kind group

`trial` interrupts `embodied-iqa trial`, whose nodes do not receive Ctrl-C themselves. `group` interrupts all
nodes and the session on them at once, as the terminal does under `ros2 launch`. The moments are drawn
uniformly from the duration of an uninterrupted session.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from embodied_iqa.base.errors import EmbodiedIqaError
from embodied_iqa.base.files import write_text_whole
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.live.ros.domain import own_domain
from embodied_iqa.live.ros.environment import process_environment
from embodied_iqa.runs.graph.graph_nodes import UNINTERRUPTED
from embodied_iqa.runs.graph.node_table import nodes_of, resolve, write_parameters

KINDS = ("trial", "group")
LIMIT_S = 3.0
LONGEST_S = 180.0
MARK = "EMBODIED_IQA_INTERRUPTED"
"""Environment variable by which every process of a session is found, whoever started it."""
WORDS = ("trial", "--task", "pick the red cube", "--no-distortion", "--set", "trial_node.run_limit_s=4.0")
BAD = ("Traceback", "never retrieved", "is invalid", "Destroyable", "Fatal Python error")
EXECUTABLES = Path(__file__).parent.parent / "resource" / "executables"
POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Interrupt:
    """One interrupted session.

    Attributes:
        kind: Of `KINDS`.
        at_s: Moment of the interrupt after the start of the session.
        ended_s: Time until the last process was gone; at the limit the rest was killed.
        left: Command lines of processes that were killed.
        exit_code: Of the session.
        bad: Lines of output and logs that no user should see.
        recording: `none`, `intact`, or why it cannot be read.
    """

    kind: str
    at_s: float
    ended_s: float
    left: tuple[str, ...]
    exit_code: int | None
    bad: tuple[str, ...]
    recording: str

    @property
    def is_clean(self) -> bool:
        """Whether the session ended as it should."""
        return not self.left and not self.bad and self.recording in {"none", "intact"}


def of_session(mark: str) -> list[int]:
    """Return the process ids of a session, without those that have ended."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def start_trial(folder: Path, environment: dict[str, str]) -> list[subprocess.Popen[bytes]]:
    """Start `embodied-iqa trial`; the last process is the session."""
    command = [sys.executable, "-m", "embodied_iqa.cli.main", *WORDS, "--out", str(folder / "run")]
    with (folder / "session.log").open("wb") as log:
        return [subprocess.Popen(command, stdout=log, stderr=log, env=environment, process_group=0)]


def start_group(folder: Path, environment: dict[str, str]) -> list[subprocess.Popen[bytes]]:
    """Start all nodes and a session on them in one process group."""
    (folder / "run" / "log").mkdir(parents=True)
    parameters = folder / "run" / "log" / "parameters.yaml"
    graph = resolve((), {"trial_node.run_limit_s": 4.0})
    write_parameters(graph, parameters)
    words = ["--ros-args", "--params-file", str(parameters)]
    commands = [(entry.name, [str(EXECUTABLES / entry.name), *words]) for entry in nodes_of(graph)]
    session = [*UNINTERRUPTED, sys.executable, "-m", "embodied_iqa.cli.main", *WORDS, "--attach"]
    commands.append(("session", [*session, "--out", str(folder / "run")]))
    python = Path(sys.executable).parent
    environment = environment | {"PATH": f"{python}{os.pathsep}{environment['PATH']}"}
    started: list[subprocess.Popen[bytes]] = []
    for name, command in commands:
        with (folder / "run" / "log" / f"{name}.log").open("wb") as log:
            leader = started[0].pid if started else 0
            started.append(
                subprocess.Popen(command, stdout=log, stderr=log, env=environment, process_group=leader)
            )
    return started


STARTS: dict[str, Callable[[Path, dict[str, str]], list[subprocess.Popen[bytes]]]] = {
    "trial": start_trial,
    "group": start_group,
}


def environment_of(domain: int, mark: str) -> dict[str, str]:
    """Return the environment of a session."""
    environment = dict(os.environ)
    process_environment(environment)
    return environment | {"ROS_DOMAIN_ID": str(domain), MARK: mark}


def wait_for(is_true: Callable[[], bool], limit_s: float) -> float:
    """Wait; return the waited time [s], `limit_s` or more where it did not become true."""
    began_s = time.monotonic()
    while not is_true() and time.monotonic() - began_s < limit_s:
        time.sleep(POLL_S)
    return time.monotonic() - began_s


def interrupt(kind: str, at_s: float, folder: Path, limit_s: float = LIMIT_S) -> Interrupt:
    """Start a session, interrupt it after `at_s`, and observe its end."""
    mark = uuid.uuid4().hex
    with own_domain() as domain:
        processes = STARTS[kind](folder, environment_of(domain, mark))
        session, group = processes[-1], processes[0].pid
        waited_s = wait_for(lambda: session.poll() is not None, at_s)
        signal_group(group)
        if waited_s < at_s:  # the session is over, and ros2 launch ends the nodes; Ctrl-C during that
            time.sleep(at_s - waited_s)
            signal_group(group)

        def is_over() -> bool:
            codes = [process.poll() for process in processes]
            return None not in codes and not of_session(mark)

        ended_s = wait_for(is_over, limit_s)
        left = kill(of_session(mark))
        exit_code = session.wait(5.0)
    return Interrupt(kind, at_s, ended_s, left, exit_code, bad_lines(folder), recording_in(folder))


def signal_group(group: int) -> None:
    """Send Ctrl-C to what is left of a process group."""
    try:
        os.killpg(group, signal.SIGINT)
    except ProcessLookupError:
        return


def kill(pids: list[int]) -> tuple[str, ...]:
    """Kill processes of a session; return their command lines."""
    lines = []
    for pid in pids:
        try:
            words = (Path("/proc") / str(pid) / "cmdline").read_bytes().split(b"\0")
            os.kill(pid, signal.SIGKILL)
        except OSError:
            continue
        lines.append(" ".join(word.decode("utf-8", "replace") for word in words[:4]))
    return tuple(lines)


def bad_lines(folder: Path) -> tuple[str, ...]:
    """Return suspicious lines of all logs."""
    return tuple(
        f"{log.name}: {line}"
        for log in sorted(folder.rglob("*.log"))
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines()
        if any(word in line for word in BAD)
    )


def recording_in(folder: Path) -> str:
    """Read the recording from its start to its end."""
    path = folder / "run" / "trial.mcap"
    if not path.exists():
        return "none"
    try:
        with TrialReader(path) as reader:
            for _message in reader.messages(list(reader.topics)):
                pass
    except EmbodiedIqaError as error:
        return str(error)
    return "intact"


def duration_s(kind: str, folder: Path) -> float:
    """Return how long a session takes that is not interrupted."""
    mark = uuid.uuid4().hex
    with own_domain() as domain:
        processes = STARTS[kind](folder, environment_of(domain, mark))
        taken_s = wait_for(lambda: processes[-1].poll() is not None, LONGEST_S)
        signal_group(processes[0].pid)
        wait_for(lambda: not of_session(mark), LIMIT_S)
        kill(of_session(mark))
    if processes[-1].returncode != 0:
        raise SystemExit(f"a session that is not interrupted fails, see {folder}")
    return taken_s


def main() -> int:
    """Interrupt sessions; return 1 if one does not end as it should."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=25, help="sessions of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=KINDS, action="append", help="default: both")
    parser.add_argument("--duration", type=float, metavar="S", help="of a session, if known")
    parser.add_argument("--limit", type=float, default=LIMIT_S, metavar="S", help="longest end of a session")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep recordings and logs here")
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    console, moments = Console(), random.Random(arguments.seed)
    found: list[Interrupt] = []
    with folder_for(arguments.keep) as name:
        for kind in arguments.kind or KINDS:
            (whole := Path(name) / kind).mkdir()
            longest_s = arguments.duration or duration_s(kind, whole) + 0.5
            for number in track(range(arguments.count), description=kind, console=console):
                (folder := Path(name) / f"{kind}-{number}").mkdir()
                at_s = moments.uniform(0.0, longest_s)
                found.append(interrupt(kind, at_s, folder, arguments.limit))
    show(console, found)
    if arguments.json:
        tree = {"limit_s": arguments.limit, "seed": arguments.seed, "interrupts": list(map(asdict, found))}
        text = json.dumps(tree, indent=2)
        write_text_whole(arguments.json, text)
    return 0 if all(one.is_clean for one in found) else 1


def folder_for(keep: Path | None) -> AbstractContextManager[str]:
    """Return a folder to keep, or a temporary one."""
    if keep is None:
        return tempfile.TemporaryDirectory(prefix="interrupts-", ignore_cleanup_errors=True)
    keep.mkdir(parents=True)
    return nullcontext(str(keep.resolve()))


def show(console: Console, found: list[Interrupt]) -> None:
    """Print a table of each kind, then what went wrong."""
    table = Table("kind", "sessions", "longest [s]", "left over", "bad lines", "recordings", "not intact")
    for kind in KINDS:
        of_kind = [one for one in found if one.kind == kind]
        if not of_kind:
            continue
        table.add_row(
            kind,
            str(len(of_kind)),
            f"{max(one.ended_s for one in of_kind):.2f}",
            str(sum(len(one.left) for one in of_kind)),
            str(sum(len(one.bad) for one in of_kind)),
            str(sum(one.recording != "none" for one in of_kind)),
            str(sum(one.recording not in {"none", "intact"} for one in of_kind)),
        )
    console.print(table)
    for one in found:
        if not one.is_clean:
            words = f"{one.kind} at {one.at_s:.2f} s: {one.left} {one.bad} {one.recording}"
            console.print(words, markup=False)


if __name__ == "__main__":
    sys.exit(main())
