"""The gate, the proxy or the policy killed with SIGKILL at random moments: does the consumer stop in time?

python benchmarks/bench_gate_kills.py --kills 200 --json build/bench_gate_kills.json
python benchmarks/bench_gate_kills.py --kills 0 --json FILE --page docs/results/details/reliability.md

`gate`: `gate run` beside a camera, commands at 50 Hz and `examples/ros/lease_follower.py`, which has to stop
when the last lease has ended. `proxy` and `policy`: a policy server, `gate proxy`, openpi's client at 20 Hz
and a robot that moves for 0.2 s after each action. With --json a run is resumed.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep

from bench_gate_proxy import proxy_words
from beside_graph import spinning
from gate_kill_parts import ANSWER_S, SIDE_PX, WATCHDOG_S, Asking, Policy, Stack, Started, gate_words
from gate_kill_results import GateKill, Kind, read, table, write
from hold_results import write_page
from kill_results import options_of

from embodied_iqa.live.ros.domain import own_domain
from embodied_iqa.live.ros.environment import prepare_environment, use_sockets_only

_FOLLOWER = Path(__file__).resolve().parents[1] / "examples" / "ros" / "lease_follower.py"
_LONGEST_S, _SETTLED_S, _WAIT_S, _LOOK_S = 1.0, 0.5, 60.0, 0.002
_LEASE_S = 0.12
"""`judge.lease.ttl_s`: from the image to the end of its lease."""
_SLACK_S = 0.05
"""For the 10 ms in which the watchdog looks, and the way of the stop to who measures it."""

Kills = Iterator[GateKill]


@contextmanager
def gates(folder: Path, draw: random.Random) -> Iterator[Kills]:
    """Give kills of `gate run`; camera, commands and follower go on."""
    with ExitStack() as opened:
        os.environ["ROS_DOMAIN_ID"] = str(opened.enter_context(own_domain()))
        words = ["--ros-args", "-p", "views:=[top]", "-r", "commands:=/policy/twist"]
        sockets = dict(os.environ)
        use_sockets_only(sockets)  # as the guide says: a killed process can block shared memory for a second
        command = [sys.executable, str(_FOLLOWER), *words]
        opened.enter_context(Started(command, is_told=False, environment=sockets))
        stack = opened.enter_context(spinning(Stack))
        gate = opened.enter_context(Started(gate_words(folder), is_told=False))
        yield _killed_gates(stack, gate, draw)


def _killed_gates(stack: Stack, gate: Started, draw: random.Random) -> Kills:
    while True:
        _wait(stack.moved_after(stack.moved_s), "a command that passes")
        at_s = draw.uniform(0.0, _LONGEST_S)
        sleep(at_s)
        moved = stack.moves and monotonic() - stack.moved_s < _LEASE_S
        killed_s = gate.kill()
        is_stopped = _within(_WAIT_S if moved else 0.0, stack.stopped_after(killed_s))
        sleep(_SETTLED_S)
        stopped_s = stack.stopped_s - killed_s if is_stopped else 0.0
        problem = "" if is_stopped or not moved else f"no stop within {_WAIT_S:g} s, {stack.since(killed_s)}"
        if is_stopped and stack.moved_s > stack.stopped_s:
            problem = "a command passed after the stop"
        yield GateKill(Kind.GATE, at_s, moved, stopped_s, _LEASE_S + _SLACK_S, problem)
        gate.restart()


@contextmanager
def servers(kind: Kind, folder: Path, draw: random.Random) -> Iterator[Kills]:
    """Give kills of the proxy, or of the policy behind it."""
    with ExitStack() as opened:
        policy = opened.enter_context(Policy())
        proxy = opened.enter_context(Started(proxy_words(folder, policy.port, SIDE_PX)))
        yield _killed_servers(kind, policy, proxy, draw)


def _killed_servers(kind: Kind, policy: Policy, proxy: Started, draw: random.Random) -> Kills:
    victim = proxy if kind is Kind.PROXY else policy
    while True:
        robot = Asking(int(proxy.first["port"]))
        robot.start()
        _wait(robot.has_answer, "the first answer")
        at_s = draw.uniform(0.0, _LONGEST_S)
        sleep(at_s)
        moved = robot.moves()
        killed_s = victim.kill()
        _within(_WAIT_S, robot.stands)
        stopped_s = monotonic() - max(killed_s, robot.answered_s) if moved else 0.0
        sleep(_SETTLED_S)
        problem = robot.wrong
        if robot.moves() or robot.arrived_s > killed_s + ANSWER_S:
            problem = f"an action {robot.arrived_s - killed_s:.2f} s after the kill"
        if victim is policy and proxy.has_ended:
            problem = "the proxy ended with the policy"
        yield GateKill(kind, at_s, moved, stopped_s, WATCHDOG_S + _SLACK_S, problem)
        robot.leave()
        victim.restart()


def _wait(is_so: Callable[[], bool], what: str) -> None:
    if not _within(_WAIT_S, is_so):
        raise SystemExit(f"not within {_WAIT_S:g} s: {what}")


def _within(seconds: float, is_so: Callable[[], bool]) -> bool:
    until_s = monotonic() + seconds
    while not is_so():
        if monotonic() >= until_s:
            return False
        sleep(_LOOK_S)
    return True


def measure(kinds: list[Kind], wanted: int, done: list[GateKill], json: Path | None) -> None:
    """Do what is missing, the kinds in turn; what is done is stored after each kill."""
    left = {
        kind: len(range(number, wanted, len(kinds))) - sum(one.kind is kind for one in done)
        for number, kind in enumerate(kinds)
    }
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="gate-kills-")))
        sources: dict[Kind, Kills] = {}
        while any(count > 0 for count in left.values()):
            for kind in [kind for kind, count in left.items() if count > 0]:
                if kind not in sources:
                    draw = random.Random(f"{kind} {len(done)}")
                    made = gates(folder, draw) if kind is Kind.GATE else servers(kind, folder, draw)
                    sources[kind] = opened.enter_context(made)
                done.append(next(sources[kind]))
                left[kind] -= 1
                if json is not None:
                    write(json, done)
                print(f"{len(done)} kills; {kind}: {done[-1].words}", flush=True)


def main() -> int:
    """Kill processes; return 1 if a consumer did not stop within its watchdog."""
    arguments = options_of(__doc__, Kind, 6, "of all kinds together")
    done = read(arguments.json)
    prepare_environment()
    measure(arguments.kinds, arguments.kills, done, arguments.json)
    print(table(done))
    if arguments.page is not None:
        write_page(arguments.page, table(done), "bench_gate_kills")
    return int(not all(one.is_in_time for one in done))


if __name__ == "__main__":
    raise SystemExit(main())
