r"""Processes killed at random moments with SIGKILL, the documented way on, and what was lost.

python benchmarks/bench_kills.py --kills 100 --json build/bench_kills.json
python benchmarks/bench_kills.py --kinds recorder build
python benchmarks/bench_kills.py --kills 0 --json build/bench_kills.json \
    --page docs/results/details/reliability.md

`recorder`: recorder_node while it records; then `recover`. `build` and `experiment`: the command, which is
run again until it ends; then its files are compared with those of an undisturbed one. `trial`: the session;
then `report`. With --json a run is resumed: what the file holds is not done again.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from bench_interrupts import (
    MARK,
    bad_lines,
    environment_of,
    kill,
    of_session,
    recording_in,
    start_trial,
    wait_for,
)
from bench_interrupts import duration_s as session_duration_s
from beside_graph import spinning
from embodied_iqa_msgs.srv import RecordTrial
from hold_results import write_page
from kill_results import Kill, Kind, options_of, read, table, write
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from sensor_msgs.msg import Image

from embodied_iqa.base.errors import EmbodiedIqaError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.repair.recover import recover
from embodied_iqa.imaging.images.image_cdr import image_to_cdr
from embodied_iqa.live.ros.calls import call
from embodied_iqa.live.ros.domain import own_domain
from embodied_iqa.live.ros.environment import prepare_environment
from embodied_iqa.live.ros.graph_processes import running_nodes
from embodied_iqa.live.ros.qos import IMAGE
from embodied_iqa.runs.graph.graph_nodes import GRAPH
from embodied_iqa.runs.graph.node_table import resolve

_COMMAND = (sys.executable, "-m", "embodied_iqa.cli.main")
_BUILD = ("build", "--references", "5", "--size", "160x120", "--panel", "classical-vlm,classical-vla")
_EXPERIMENT = (
    *("experiment", "--vla", "classical-vla", "--task", "pick the red cube", "--distortions", "02,19"),
    *("--levels", "5", "--set", "camera_node.width_px=320", "--set", "camera_node.height_px=240"),
)
_TABLES = {
    Kind.BUILD: ("*.parquet", "*.json", "annotations/**/*", "constants/**/*", "images/**/*"),
    Kind.EXPERIMENT: ("runs.parquet", "scores.csv", "experiment.json"),
}
_TOPIC = "/camera/top/image_raw"
_RATE_HZ = 50.0
_LONGEST_S = 4.0
_WAIT_S, _ORPHAN_S = 60.0, 30.0
"""A node whose session was killed ends once it has started, which takes long on a busy machine."""

Batches = Iterator[list[Kill]]
"""Kills whose consequences have been checked."""


# --- commands that are run again ----------------------------------------------------------------------------


def killed_commands(kind: Kind, words: tuple[str, ...], folder: Path, draw: random.Random) -> Batches:
    """Kill a command, and run it again until it ends; then compare its files with those of a whole one."""
    whole = folder / "whole"
    began_s = time.monotonic()
    subprocess.run([*_COMMAND, *words, "--out", str(whole)], check=True, capture_output=True)
    whole_s = time.monotonic() - began_s
    expected = contents(whole, kind)
    while True:
        with tempfile.TemporaryDirectory(dir=folder) as name:
            out, kills = Path(name) / "out", []
            command = [*_COMMAND, *words, "--out", str(out)]
            while killed := kill_once(kind, command, draw.uniform(0.1, 1.0) * whole_s):
                kills.append(killed)
            if kills and contents(out, kind) != expected:
                kills[-1] = Kill(kind, kills[-1].at_s, problem="the files differ from those of a whole one")
            yield kills


def kill_once(kind: Kind, command: list[str], at_s: float) -> Kill | None:
    """Run a command and kill it; None where it ended before.

    Raises:
        SystemExit: It failed by itself.
    """
    mark = uuid.uuid4().hex
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | {MARK: mark})
        try:
            code = process.wait(at_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            return Kill(kind, at_s, problem=orphans(mark))
        log.seek(0)
        said = log.read().decode("utf-8", "replace")
    if code:
        raise SystemExit(f"failed by itself after a kill: {' '.join(command)}\n{said}")
    return None


def orphans(mark: str) -> str:
    """Wait until no process of a session runs any more; kill and return those that remain."""
    wait_for(lambda: not of_session(mark), _ORPHAN_S)
    words = " ".join(kill(of_session(mark))).split()
    left = [word.rpartition(".")[2] for word in words if word.startswith("embodied_iqa.")]
    return f"left running: {', '.join(left) or 'a worker'}" if words else ""


def contents(folder: Path, kind: Kind) -> dict[str, bytes]:
    """Return the results of a command by file."""
    found = (path for pattern in _TABLES[kind] for path in sorted(folder.glob(pattern)))
    return {str(path.relative_to(folder)): path.read_bytes() for path in found if path.is_file()}


# --- the recorder -------------------------------------------------------------------------------------------


def killed_recorders(folder: Path, draw: random.Random) -> Batches:
    """Kill recorder_node while images come in; compare the recovered recording with what was published."""
    entries = tuple(entry for entry in GRAPH if entry.name == "recorder_node")
    graph = resolve((), {"recorder_node.views": ["top"], "camera_node.views": ["top"]})
    with (
        running_nodes(graph, entries, folder / "log", "parameters.yaml") as processes,
        spinning(lambda context: Node("bench_kills", context=context)) as node,
    ):
        images = node.create_publisher(Image, _TOPIC, IMAGE)
        record = node.create_client(RecordTrial, "/recorder/record", callback_group=ReentrantCallbackGroup())
        while True:
            with tempfile.TemporaryDirectory(dir=folder) as name:
                path, at_s = Path(name) / "trial.mcap", draw.uniform(0.0, _LONGEST_S)
                if wait_for(lambda: images.get_subscription_count() > 0, _WAIT_S) >= _WAIT_S:
                    raise SystemExit(f"no recorder: {processes.tail('recorder_node')}")
                call(record, RecordTrial.Request(start=True, path=str(path)), _WAIT_S, again_s=2.0)
                sent_s = publish(images.publish, at_s)
                os.kill(processes.pid("recorder_node"), signal.SIGKILL)
                killed_s = time.monotonic()
                processes.restart("recorder_node")
                yield [recovered(path, at_s, sent_s, killed_s)]


def publish(send: Callable[[bytes], None], seconds: float) -> list[float]:
    """Publish numbered images; return when."""
    pixels = np.random.default_rng(0).integers(0, 255, (8, 8, 3)).astype(np.uint8)
    sent_s, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        sent_s.append(time.monotonic())
        send(image_to_cdr(pixels, len(sent_s) * SECOND_NS, "top"))
        time.sleep(1.0 / _RATE_HZ)
    return sent_s


def recovered(path: Path, at_s: float, sent_s: list[float], killed_s: float) -> Kill:
    """Recover a recording and return what it lacks at its end, and whether it lacks more."""
    try:
        output = recover(path).output or path
        with TrialReader(output) as reader:
            numbers = [one.image.stamp_ns // SECOND_NS for one in reader.images([_TOPIC])]
    except EmbodiedIqaError as error:
        return Kill(Kind.RECORDER, at_s, problem=str(error))
    if numbers != list(range(1, len(numbers) + 1)):
        return Kill(Kind.RECORDER, at_s, problem=f"images are missing before the last one: {numbers}")
    lost_s = killed_s - sent_s[len(numbers)] if len(numbers) < len(sent_s) else 0.0
    late = lost_s > Kind.RECORDER.most_lost_s
    return Kill(Kind.RECORDER, at_s, lost_s, problem=f"lost {lost_s:.2f} s" if late else "")


# --- sessions -----------------------------------------------------------------------------------------------


def killed_trials(folder: Path, draw: random.Random) -> Batches:
    """Kill `embodied-iqa trial`; then its nodes end, its recording can be read and reported."""
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as name:
        duration_s = session_duration_s("trial", Path(name))
    while True:
        with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as name:
            killed = kill_trial(Path(name), draw.uniform(0.0, duration_s))
        yield [killed] if killed else []


def kill_trial(folder: Path, at_s: float) -> Kill | None:
    """Start a session and kill it; None where it ended before."""
    mark = uuid.uuid4().hex
    with own_domain() as domain:
        (session,) = start_trial(folder, environment_of(domain, mark))
        if wait_for(lambda: session.poll() is not None, at_s) < at_s:
            return None
        session.send_signal(signal.SIGKILL)
        session.wait()
        return Kill(Kind.TRIAL, at_s, problem=orphans(mark) or after_trial(folder))


def after_trial(folder: Path) -> str:
    """Return what is wrong with what a killed session left; empty for nothing."""
    recording = recording_in(folder)
    if recording not in {"none", "intact"}:
        return recording
    if lines := bad_lines(folder):
        return lines[0]
    if recording == "none" or not has_run(folder / "run" / "trial.mcap"):
        return ""
    done = subprocess.run(
        [*_COMMAND, "report", str(folder / "run")], capture_output=True, text=True, check=False
    )
    return f"report: {done.stderr.strip()[-300:]}" if done.returncode else ""


def has_run(recording: Path) -> bool:
    """Return whether a run had begun: only then there is something to report."""
    with TrialReader(recording) as reader:
        kinds = {reader.decode(message).kind for message in reader.messages(["/trial/events"])}
    return 1 in kinds


BATCHES: dict[Kind, Callable[[Path, random.Random], Batches]] = {
    Kind.RECORDER: killed_recorders,
    Kind.BUILD: partial(killed_commands, Kind.BUILD, _BUILD),
    Kind.EXPERIMENT: partial(killed_commands, Kind.EXPERIMENT, _EXPERIMENT),
    Kind.TRIAL: killed_trials,
}


def measure(kinds: list[Kind], wanted: int, done: list[Kill], keep: Callable[[], None]) -> None:
    """Do what is missing of each kind; ``keep`` is called after each batch."""
    for kind in kinds:
        count = sum(one.kind is kind for one in done)
        if count >= wanted:
            continue
        with tempfile.TemporaryDirectory(prefix=f"kills-{kind}-", ignore_cleanup_errors=True) as name:
            batches = BATCHES[kind](Path(name), random.Random(f"{kind} {count}"))
            while count < wanted:
                batch = next(batches)
                done += batch
                count += len(batch)
                keep()
                words = [one.problem for one in batch if one.problem]
                print(f"{kind}: {count} of {wanted} kills; {'; '.join(words) or 'as promised'}", flush=True)
            batches.close()  # type: ignore[attr-defined]  # a generator: stops what it started


def main() -> int:
    """Kill processes; return 1 if more was lost than is promised."""
    arguments = options_of(__doc__, Kind, 5, "of each kind")
    done = read(arguments.json)

    def keep() -> None:
        if arguments.json is not None:
            write(arguments.json, done)

    prepare_environment()
    measure(arguments.kinds, arguments.kills, done, keep)
    print(table(done))
    if arguments.page is not None:
        write_page(arguments.page, table(done), "bench_kills")
    return int(any(one.problem for one in done))


if __name__ == "__main__":
    raise SystemExit(main())
