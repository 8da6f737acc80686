"""Observer and sampler of the graph, for `bench_soak.py`."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from beside_graph import children
from diagnostic_msgs.msg import DiagnosticArray
from embodied_iqa_msgs.msg import GateLease, SimState
from rclpy.context import Context
from rclpy.node import Node
from soak_results import Counts, Process, Sample, append

from embodied_iqa.live.ros.conversion import ns_of
from embodied_iqa.live.ros.late_count import LateCount
from embodied_iqa.live.ros.qos import EVENT, STATE
from embodied_iqa.runs.graph.processes import ProcessGroup

OBSERVER = "session and observer"
"""Name of this process among those of the graph."""
_REMEMBERED = 500
_LOCK = re.compile(r"(fastrtps_[0-9a-f]{16})_el")
"""Of the data of one process; ports are used again by the next process with their number."""
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
                drawn=_sum(camera, " images"),
                camera_late=camera.get("late", 0) * self._views,
                distorted=_sum(distortion, " images"),
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
        self.owners: dict[str, str] = {}
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
        for name, folder in [*named, (OBSERVER, Path("/proc/self"))]:
            try:
                processes.append(_process(name, folder))
                mapped |= _segments(folder)
                self.owners |= dict.fromkeys(_owned(folder), name)
            except (OSError, KeyError):  # it has ended, or is about to
                continue
        return Sample(self.at_s, tuple(processes), len(mapped), self.observer.take_latencies())

    def _family(self, name: str) -> Iterator[int]:
        """Yield a node and the processes that it started, which have its name in the results."""
        pid = self.processes.pid(name)
        yield pid
        yield from children(pid)

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


def _owned(folder: Path) -> set[str]:
    """Return the segments that a process has created: it keeps their lock files open."""
    names = (file.readlink().name for file in (folder / "fd").iterdir())
    return {found[1] for name in names if (found := _LOCK.fullmatch(name))}


def _segments(folder: Path) -> set[str]:
    lines = (folder / "maps").read_text(encoding="utf-8").splitlines()
    return {line.partition(_SHM)[2].removesuffix(" (deleted)") for line in lines if _SHM in line}


def left_over(sampler: Sampler) -> tuple[tuple[str, ...], tuple[str, ...]]:
    processes = tuple(name for pid, name in sampler.pids.items() if Path(f"/proc/{pid}").exists())
    left = (f"{owner}: {name}" for name, owner in sampler.owners.items() if Path(_SHM, name).exists())
    return processes, tuple(sorted(left))
