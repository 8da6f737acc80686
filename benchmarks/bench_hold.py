r"""From fault to hold through the real graph: processes freeze or die, or traffic stops, while the arm moves.

python benchmarks/bench_hold.py --json build/bench_hold.json
python benchmarks/bench_hold.py --injections 167 --busy 0 2 --json build/bench_hold.json   # 2,000 and more
python benchmarks/bench_hold.py --thaw --busy 2 --json build/bench_hold.json               # each process
python benchmarks/bench_hold.py --injections 0 --json build/bench_hold.json \
    --page docs/results/details/reliability.md

The nodes are the real ones; the arm is driven through the UR driver and the emulated controller in real
time, without lockstep: the world waits for nobody. Three moments of each injection are kept, in ROS time
and on this machine's clock: when arm_node decided to hold or stop (the stamp of its status), when the
robot's controller was commanded to stand (read at its own protocol), and when the status arrived here. With
--json a run is resumed: what the file holds is not done again. The graph runs in a network of its own
(`unshare`), which is where its DDS traffic can be blocked.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import numpy as np
from beside_graph import children
from embodied_iqa_msgs.msg import ArmStatus
from hold_cell import MissedError, Watch, cell, moves
from hold_results import FAULTS, THAWED, Injection, Kind, read, table, thaw_table, write, write_page

from embodied_iqa.base.units import MILLISECOND_NS, SECOND_NS
from embodied_iqa.live.ros.conversion import ns_of
from embodied_iqa.live.ros.environment import prepare_environment
from embodied_iqa.runs.graph.processes import ProcessGroup

_ISOLATED = "BENCH_HOLD_ISOLATED"
_NETWORK = 'ip link set lo up && ip rule add pref 10 lookup local && ip rule del pref 0 && exec "$@"'
_BLOCK, _UNBLOCK = (
    ("ip", "rule", "add", "pref", "1", "ipproto", "udp", "blackhole"),
    ("ip", "rule", "del", "pref", "1"),
)
_MOST_FAILURES = 5
_FROZEN_S, _LATE_S, _LIMIT_S = 2.0, 0.2, 10.0


def inject(
    watch: Watch, processes: ProcessGroup, kind: Kind, busy: int, rng: np.random.Generator
) -> Injection:
    """Cause a fault while the arm moves, and repair it."""
    watch.keep_moving()
    time.sleep(float(rng.uniform(0.0, 0.1)))
    watch.wait(watch.is_moving, "motion")
    began_s, before = time.monotonic(), watch.robot.last
    done = Injection(kind, busy, time.time_ns(), round(before.ros_s * SECOND_NS))
    with _fault(processes, kind):
        found = _stood(watch, done, began_s) if kind.holds and kind is not Kind.GATE_LATE else {}
        ends_s = began_s + (_LATE_S if kind is Kind.GATE_LATE else _FROZEN_S)
        if kind not in {Kind.GATE_KILLED, Kind.ARM_KILLED}:
            time.sleep(max(ends_s - time.monotonic(), 0.0))
    over_s = time.monotonic()
    if kind in {Kind.GATE_KILLED, Kind.ARM_KILLED}:
        processes.restart(kind.victim)
        watch.bring_up(kind.victim)
    found |= (_reported(watch, done, began_s) if kind.holds else {}) | found
    if kind.resumes and not found.get("missed"):
        found |= _resumed(watch, over_s)
    return Injection(**(asdict(done) | found))


def _stood(watch: Watch, done: Injection, began_s: float) -> dict[str, float | str]:
    """Wait for the standstill at the robot."""
    try:
        still = watch.wait(lambda: watch.robot.standstill(began_s), "standstill at the robot", _LIMIT_S)
    except MissedError as error:
        return {"missed": str(error)}
    return {
        "still_ms": 1e3 * (still.wall_s - began_s),
        "still_ros_ms": 1e3 * still.ros_s - done.ros_ns / MILLISECOND_NS,
    }


def _reported(watch: Watch, done: Injection, began_s: float) -> dict[str, float | str]:
    """Return when the first status of a hold or stop was made and when it arrived."""

    def is_news(status: ArmStatus) -> bool:
        return status.state in {ArmStatus.STATE_HOLDING, ArmStatus.STATE_STOPPED}

    if done.kind is Kind.ARM_KILLED:
        return {}  # it reports nothing any more
    try:
        arrived_s, status = watch.wait(lambda: watch.status_since(began_s, is_news), "hold", _LIMIT_S)
    except MissedError as error:
        return {"missed": str(error)}
    return {
        "arrived_ms": 1e3 * (arrived_s - began_s),
        "decided_ros_ms": (ns_of(status.header.stamp) - done.ros_ns) / MILLISECOND_NS,
        "cause": f"{status.stop_cause or 'hold'}: {status.reason}",
    }


def _resumed(watch: Watch, over_s: float) -> dict[str, float | str]:
    try:
        moved_s, _ = watch.wait(lambda: watch.status_since(over_s, moves), "motion after the fault", _LIMIT_S)
    except MissedError as error:
        return {"missed": str(error)}
    return {"resumed_ms": 1e3 * (moved_s - over_s)}


@contextmanager
def _fault(processes: ProcessGroup, kind: Kind) -> Iterator[None]:
    if kind is Kind.TRAFFIC_BLOCKED:
        subprocess.run(_BLOCK, check=True)
        try:
            yield
        finally:
            subprocess.run(_UNBLOCK, check=True)
        return
    pid = processes.pid(kind.victim)
    if kind is Kind.WORKER_FROZEN:
        (pid,) = children(pid)
    if kind in {Kind.GATE_KILLED, Kind.ARM_KILLED}:
        os.kill(pid, signal.SIGKILL)
        yield
        return
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Keep processors busy."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def measure(
    kinds: list[Kind], loads: list[int], injections: int, done: list[Injection], keep: Callable[[], None]
) -> None:
    """Do what is missing of each kind under each load, in turns; ``keep`` is called after each.

    A graph in which something was missed is replaced: it explains nothing further.
    """
    rng, failures = np.random.default_rng(len(done)), 0
    for busy in loads:
        while plan := [
            kind
            for number in range(injections)
            for kind in kinds
            if sum((one.kind, one.busy) == (kind, busy) for one in done) <= number
        ]:
            try:
                with (
                    busy_processes(busy),
                    tempfile.TemporaryDirectory() as folder,
                    cell(Path(folder), whole=any(kind not in FAULTS for kind in kinds)) as graph,
                ):
                    for kind in plan:
                        done.append(inject(*graph, kind, busy, rng))
                        keep()
                        print(f"{kind}, {busy} busy: {_row(done[-1])}", flush=True)
                        failures = 0
                        if done[-1].missed:
                            break
            except MissedError as error:  # between two injections
                failures += 1
                print(f"a new graph, {failures} in a row: {error}", flush=True)
                if failures == _MOST_FAILURES:
                    raise SystemExit(f"{failures} graphs in a row do not move: {error}") from None


def _row(done: Injection) -> str:
    values = f"decided {done.decided_ros_ms:.0f}, still {done.still_ms:.0f} ({done.still_ros_ms:.0f} ROS), "
    return f"{values}arrived {done.arrived_ms:.0f}, resumed {done.resumed_ms:.0f} ms; {done.explanation}"


def _isolate() -> None:
    """Go on in a network of its own, with loopback only."""
    if os.environ.get(_ISOLATED):
        return
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        raise SystemExit("needs `unshare` (util-linux) and `ip` (iproute2), on Linux with user namespaces")
    os.environ[_ISOLATED] = "1"
    words = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", _NETWORK, "sh", sys.executable]
    os.execvp(words[0], [*words, *sys.argv])  # noqa: S606 - the same program again


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--injections", type=int, default=10, help="of each kind under each load")
    parser.add_argument("--kinds", nargs="+", type=Kind, default=list(FAULTS), metavar="KIND")
    parser.add_argument("--thaw", action="store_true", help="freeze each process of the whole graph instead")
    parser.add_argument("--busy", nargs="+", type=int, default=[0, 2], metavar="COUNT", help="busy processes")
    parser.add_argument("--json", type=Path, help="results; an existing file is continued")
    parser.add_argument("--page", type=Path, help="page whose table is written anew")
    arguments = parser.parse_args()
    done = read(arguments.json)

    def keep() -> None:
        if arguments.json is not None:
            write(arguments.json, done)

    if arguments.injections:
        _isolate()
        prepare_environment()
        kinds = list(THAWED) if arguments.thaw else arguments.kinds
        measure(kinds, arguments.busy, arguments.injections, done, keep)
    print(table(done), thaw_table(done), sep="\n\n")
    if arguments.page is not None:
        write_page(arguments.page, table(done))
        write_page(arguments.page, thaw_table(done), "bench_thaw")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
