"""Endurance of the whole graph, one trial after another: memory, descriptors, pictures and latencies.

python benchmarks/bench_soak.py --minutes 120 --json build/bench_soak.jsonl     # 720p15 in real time
python benchmarks/bench_soak.py --minutes 0 --json build/bench_soak.jsonl --page docs/results/reliability.md
python benchmarks/bench_soak.py --minutes 3 --lockstep --size 320 240 --every 1

All nodes run in processes of their own, and each trial is a session that attaches to them. What is measured
is written at once, so that an interrupted run keeps it. An observer compares the arrival of each snapshot of
the world with that of the verdicts on its pictures; the nodes count the pictures that they handle and those
that a newer one overtook (late); what no node accounts for is lost. The world stands still between two
trials, where these counts must agree.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from embodied_iqa_msgs.msg import GateLease, SimState
from hold_results import write_page
from rclpy.context import Context
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from soak_results import Counts, End, Process, Sample, Setup, Trial, append, chapter, plot, read

from embodied_iqa.cli.node_options import overrides_of
from embodied_iqa.distortions import parse_distortion
from embodied_iqa.errors import EmbodiedIqaError
from embodied_iqa.graph.node_table import nodes_of, resolve
from embodied_iqa.graph.parameters import GraphParameters
from embodied_iqa.graph.processes import ProcessGroup
from embodied_iqa.graph.session_plan import DEFAULT_TASKS, SessionPlan
from embodied_iqa.recording.reader import TrialReader
from embodied_iqa.ros.conversion import ns_of
from embodied_iqa.ros.environment import prepare_environment, use_sockets_only
from embodied_iqa.ros.graph_processes import running_nodes
from embodied_iqa.ros.late_count import LateCount
from embodied_iqa.ros.qos import EVENT, STATE
from embodied_iqa.ros.spinning import SpinThread
from embodied_iqa.ros.trial_session import run_session

_PLOT = "pictures/soak.svg"
_REMEMBERED = 500
_SETTLE_S = 2.5
"""Diagnostics arrive once a second."""
_MOST_FAILURES = 3
_SNAPSHOT, _EVENTS = "/sim/snapshot", "/trial/events"
_DROPPED = re.compile(r"(\d+) messages are not in the recording")
_SEGMENT = re.compile(r"fastrtps_[0-9a-f]{16}")
"""Data of one process; the others are ports, which the next process with their number uses again."""
_SHM = "/dev/shm/"  # noqa: S108 - where Fast DDS maps its segments


class Observer(Node):
    """Arrival times and counts, from small messages only."""

    def __init__(self, views: int, context: Context) -> None:
        super().__init__("bench_soak", context=context)
        self._views = views
        self._lock = threading.Lock()
        self._shown_s: dict[int, float] = {}
        self._latency_ms: list[float] = []
        self._snapshots, self._late = 0, LateCount()
        self._health: dict[str, dict[str, int]] = {}
        take = self._late.counting(self._take_snapshot)
        self.create_subscription(SimState, "/sim/snapshot", take, STATE)
        self.create_subscription(GateLease, "/gate/lease", self._take_lease, STATE)
        self.create_subscription(DiagnosticArray, "/diagnostics", self._take_health, EVENT)

    def take_latencies(self) -> tuple[float, ...]:
        """Return the latencies since the last call [ms]."""
        with self._lock:
            found, self._latency_ms = tuple(self._latency_ms), []
        return found

    def counts(self) -> Counts:
        """Return the counts until now."""
        with self._lock:
            camera, distortion, gate = (
                self._health.get(f"{name}_node", {}) for name in ("camera", "distortion", "gate")
            )
            return Counts(
                due=(self._snapshots + self._late.total) * self._views,
                drawn=_sum(camera, " pictures"),
                camera_late=camera.get("late", 0) * self._views,
                distorted=_sum(distortion, " pictures"),
                distortion_late=distortion.get("late", 0),
                judged=sum(gate.get(verdict, 0) for verdict in ("pass", "hold", "reject")),
                gate_late=gate.get("late", 0),
                refused=distortion.get("refused", 0) + gate.get("refused", 0),
            )

    def _take_snapshot(self, message: SimState) -> None:
        with self._lock:
            self._snapshots += 1
            self._shown_s[ns_of(message.header.stamp)] = time.monotonic()
            if len(self._shown_s) > _REMEMBERED:
                del self._shown_s[next(iter(self._shown_s))]

    def _take_lease(self, message: GateLease) -> None:
        now_s = time.monotonic()
        with self._lock:
            shown_s = self._shown_s.get(ns_of(message.header.stamp))
            if shown_s is not None:
                self._latency_ms.append(round(1e3 * (now_s - shown_s), 1))

    def _take_health(self, message: DiagnosticArray) -> None:
        with self._lock:
            for status in message.status:
                self._health[status.name] = {
                    value.key: int(value.value) for value in status.values if value.value.isdecimal()
                }


def _sum(health: dict[str, int], ending: str) -> int:
    return sum(value for name, value in health.items() if name.endswith(ending))


class Sampler:
    """Reads the processes of the graph from /proc, in a thread, until it is closed.

    Args:
        processes: The nodes.
        names: Their names.
        observer: Whose latencies belong to a sample.
        results: File of the samples, or None.
    """

    def __init__(
        self, processes: ProcessGroup, names: list[str], observer: Observer, results: Path | None
    ) -> None:
        self.began_s = time.monotonic()
        self.pids: dict[int, str] = {}
        self.segments: set[str] = set()
        self.processes, self.observer, self.results = processes, observer, results
        self._names = names
        self._reading, self._ending = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def at_s(self) -> float:
        """Time since the start [s]."""
        return time.monotonic() - self.began_s

    def start(self, every_s: float) -> None:
        """Take a sample every so often."""
        self._thread = threading.Thread(target=self._work, args=(every_s,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()

    def sample(self) -> Sample:
        """Write and return the state of the graph."""
        with self._reading:
            found = self._sample()
            append(self.results, found)
        return found

    def _sample(self) -> Sample:
        found = {pid: name for name in self._names for pid in self._family(name)}
        self.pids |= found
        named = [(name, Path(f"/proc/{pid}")) for pid, name in found.items()]
        mapped: set[str] = set()
        processes = []
        for name, folder in [*named, ("session and observer", Path("/proc/self"))]:
            try:
                processes.append(_process(name, folder))
                mapped |= _segments(folder)
            except (OSError, KeyError):  # it has ended, or is about to
                continue
        self.segments |= mapped
        return Sample(self.at_s, tuple(processes), len(mapped), self.observer.take_latencies())

    def _family(self, name: str) -> Iterator[int]:
        """Yield a node and the processes that it started, which have its name in the results."""
        pid = self.processes.pid(name)
        yield pid
        for file in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                yield from map(int, file.read_text(encoding="utf-8").split())
            except OSError:
                continue

    def _work(self, every_s: float) -> None:
        while not self._ending.wait(every_s):
            self.sample()


def _process(name: str, folder: Path) -> Process:
    fields = dict(
        line.split(":", 1)
        for line in (folder / "status").read_text(encoding="utf-8").splitlines()
        if ":" in line
    )
    words = (folder / "cmdline").read_bytes().split(b"\0")
    worker = next((word for word in words if word.endswith(b"_worker")), b"").decode().rpartition(".")[2]
    return Process(
        f"{name}: {worker}" if worker else name,
        round(int(fields["VmRSS"].split()[0]) / 1024.0, 2),
        len(list((folder / "fd").iterdir())),
        int(fields["Threads"]),
    )


def _segments(folder: Path) -> set[str]:
    lines = (folder / "maps").read_text(encoding="utf-8").splitlines()
    return {line.partition(_SHM)[2].removesuffix(" (deleted)") for line in lines if _SHM in line}


# --- the run ------------------------------------------------------------------------------------------------


@contextmanager
def observing(views: int) -> Iterator[Observer]:
    """Observe the graph, through sockets only: the observer must not block it."""
    context = Context()
    rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
    observer = Observer(views, context)
    spin = SpinThread(observer)
    try:
        yield observer
    finally:
        spin.close()
        observer.destroy_node()
        context.try_shutdown()


def soak(graph: GraphParameters, setup: Setup, every_s: float, results: Path | None) -> End:
    """Run trials until the time is over; return the end."""
    entries = nodes_of(graph)
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="soak-")))
        append(results, setup)
        with running_nodes(graph, entries, folder / "log", "parameters.yaml") as processes:
            held.callback(os.environ.update, dict(os.environ))
            use_sockets_only(os.environ)
            observer = held.enter_context(observing(len(setup.views)))
            sampler = Sampler(processes, [entry.name for entry in entries], observer, results)
            sampler.start(every_s)
            try:
                run_trials(sampler, graph, setup, folder)
            finally:
                sampler.close()
        end = End(sampler.at_s, *_left(sampler))
        append(results, end)
    return end


def run_trials(sampler: Sampler, graph: GraphParameters, setup: Setup, folder: Path) -> None:
    """Run at least two trials: the counters start with the first."""
    failures = 0
    for number in count():
        task = DEFAULT_TASKS[number % len(DEFAULT_TASKS)]
        plan = SessionPlan((task,), number, (parse_distortion(setup.distortion),), graph, attach=True)
        trial = run_trial(plan, folder, sampler)
        append(sampler.results, trial)
        failures = failures + 1 if trial.error else 0
        outcome = trial.error or f"{trial.recorded} pictures recorded"
        print(f"{trial.ended_s / 60:6.1f} min, {task}: {outcome}", flush=True)
        sampler.processes.check()
        if failures == _MOST_FAILURES or (number and trial.ended_s > 60.0 * setup.minutes):
            return


def run_trial(plan: SessionPlan, folder: Path, sampler: Sampler) -> Trial:
    """Run a trial, count its recording, and remove it."""
    began_s = sampler.at_s
    recorded = skipped = dropped = 0
    error = ""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        folders = plan.folders(Path(name))
        try:
            remarks = run_session(plan, folders, Path(name), lambda _number, _news: None)
            dropped = sum(int(count) for count in _DROPPED.findall(" ".join(remarks)))
            recorded, skipped = _recorded(folders[0].recording)
        except EmbodiedIqaError as failure:
            error = str(failure)
    time.sleep(_SETTLE_S)
    rest = sampler.sample()
    return Trial(
        task=plan.tasks[0],
        began_s=began_s,
        ended_s=rest.at_s,
        counts=sampler.observer.counts(),
        descriptors=sum(process.descriptors for process in rest.processes),
        segments=rest.segments,
        recorded=recorded,
        skipped=skipped,
        dropped=dropped,
        error=error,
    )


def _recorded(path: Path) -> tuple[int, int]:
    """Return the pictures of a recording, and those missing of the snapshots since the first run."""
    with TrialReader(path) as reader:
        pictures = sum(info.messages for topic, info in reader.topics.items() if topic.endswith("/image_raw"))
        infos = [topic for topic in reader.topics if topic.endswith("/camera_info")]
        stamps: dict[str, set[int]] = {topic: set() for topic in (_SNAPSHOT, _EVENTS, *infos)}
        for message in reader.messages(list(stamps)):
            stamps[message.topic].add(ns_of(reader.decode(message).header.stamp))
    began_ns = min(stamps[_EVENTS] - {0}, default=0)
    due = {stamp for stamp in stamps[_SNAPSHOT] if stamp >= began_ns}
    return pictures, sum(len(due - stamps[topic]) for topic in infos)


def _left(sampler: Sampler) -> tuple[tuple[str, ...], tuple[str, ...]]:
    processes = tuple(name for pid, name in sampler.pids.items() if Path(f"/proc/{pid}").exists())
    left = (name for name in sampler.segments if _SEGMENT.fullmatch(name) and Path(_SHM, name).exists())
    return processes, tuple(sorted(left))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--minutes", type=float, default=5.0, help="0: only the page is written")
    add(
        "--size",
        type=int,
        nargs=2,
        default=[1280, 720],
        metavar=("WIDTH", "HEIGHT"),
        help="of the pictures [px]",
    )
    add("--lockstep", action="store_true", help="the world waits for verdicts; no picture is late")
    add("--distortion", default="19:5", metavar="ID:LEVEL", help="of the second run of each trial")
    add("--set", action="append", default=[], metavar="NODE.PARAMETER=VALUE", help="another parameter")
    add("--every", type=float, default=10.0, metavar="S", help="time between two samples")
    add("--json", type=Path, help="lines of JSON, appended; the page shows the last run")
    add("--page", type=Path, help="page whose chapter is written anew, with its plot")
    arguments = parser.parse_args()
    if arguments.minutes:
        _measure(arguments)
    if arguments.json is not None:
        found = read(arguments.json)
        print(chapter(found, ""))
        if arguments.page is not None:
            (arguments.page.parent / _PLOT).write_text(plot(found), encoding="utf-8")
            write_page(arguments.page, chapter(found, _PLOT), "bench_soak")
    return 0


def _measure(arguments: argparse.Namespace) -> None:
    if arguments.json is not None:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
    width_px, height_px = arguments.size
    sizes = {"camera_node.width_px": width_px, "camera_node.height_px": height_px}
    overrides = sizes | {"sim_node.lockstep": arguments.lockstep} | overrides_of(arguments.set)
    prepare_environment()
    graph = resolve((), overrides)
    views = tuple(map(str, graph.camera_node.views))
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    words = (arguments.minutes, arguments.lockstep, arguments.distortion, width_px, height_px)
    print(soak(graph, Setup(*words, views, cores, load), arguments.every, arguments.json), flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
