"""What asking a policy over the wire costs beside openpi's own client: two 224 px images on loopback.

One server, built with openpi's own package, answers both clients in turn and computes nothing. Ours is taken
bare, and as the whole subject: observation formed, asked, answer checked and turned into increments.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from openpi_client.websocket_client_policy import WebsocketClientPolicy

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View
from embodied_iqa.models.subjects.actions.observation import observation_for
from embodied_iqa.models.subjects.actions.table import convention_of
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.models.subjects.registry import make_vla
from embodied_iqa.models.subjects.subject_options import PolicyOptions, VlaOptions
from embodied_iqa.models.subjects.wire.policy_client import PolicyClient, WireLimits
from embodied_iqa.models.subjects.wire.sockets import Address
from embodied_iqa.world.protocols import VlaObservation

SERVER = """
import asyncio
import numpy as np
from openpi_client import msgpack_numpy
from websockets.asyncio.server import serve

async def converse(connection):
    await connection.send(msgpack_numpy.packb({}))
    async for message in connection:
        msgpack_numpy.unpackb(message)
        await connection.send(msgpack_numpy.packb({"actions": np.zeros((50, WIDTH))}))

async def main():
    async with serve(converse, "127.0.0.1", 0, compression=None, max_size=None) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.Future()

asyncio.run(main())
"""
CONVENTIONS = ("pi0-libero", "pi0-droid", "pi0-aloha")
VIEWS = (View.TOP, View.WRIST)


def observation(side_px: int) -> VlaObservation:
    """What the robot sees: two images, tool pointing down in front of it."""
    random = np.random.default_rng(0)
    T = np.array([[0.0, 1, 0, -0.4], [1, 0, 0, 0], [0, 0, -1, 0.25], [0, 0, 0, 1]])
    frames = {
        view: Frame(
            view,
            1,
            random.integers(0, 255, (side_px, side_px, 3), dtype=np.uint8),
            Intrinsics(side_px, side_px, 200.0, 200.0, side_px / 2, side_px / 2),
            np.eye(4),
        )
        for view in VIEWS
    }
    return VlaObservation(frames, "pick the red cube", T, 0.0, 0)


def milliseconds(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, np.ndarray]:
    """How long each call takes; they take turns, so that all see the same machine."""
    spent = {name: np.empty(rounds) for name in calls}
    for index in range(-10, rounds):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            if index >= 0:
                spent[name][index] = time.perf_counter() - began
    return {name: 1e3 * values for name, values in spent.items()}


def measure(convention: str, rounds: int) -> list[dict[str, object]]:
    """Measure one convention."""
    seen = observation(224)
    width = convention_of(convention).numbers
    words = [sys.executable, "-c", SERVER.replace("WIDTH", str(width))]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None  # noqa: S101 - it is piped
            port = int(server.stdout.readline())
            peer = WebsocketClientPolicy("127.0.0.1", port)
            ours = PolicyClient(Address("127.0.0.1", port), WireLimits())
            ours.connect()
            policy = PolicyOptions(convention=convention, views="top,wrist")
            vla = make_vla(parse_vla(f"openpi://127.0.0.1:{port}"), VlaOptions(policy=policy))
            joints = np.zeros(convention_of(convention).joints) if convention_of(convention).joints else None
            message = observation_for(convention_of(convention), seen, VIEWS, joints)
            calls: dict[str, Callable[[], object]] = {
                "openpi-client": lambda: peer.infer(message),
                "our client": lambda: ours.infer(message),
                "our subject": lambda: vla.act(seen),
            }
            spent = milliseconds(calls, rounds)
        finally:
            server.terminate()
    return rows(convention, spent)


def rows(convention: str, spent: dict[str, np.ndarray]) -> list[dict[str, object]]:
    """Summarise: the median, the 99th percentile and the ratio to the peer."""
    peer = float(np.median(spent["openpi-client"]))
    return [
        {
            "convention": convention,
            "who": name,
            "median_ms": round(float(np.median(values)), 3),
            "p99_ms": round(float(np.quantile(values, 0.99)), 3),
            "to_peer": round(float(np.median(values)) / peer, 2),
        }
        for name, values in spent.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=500, help="questions of each client (default 500)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table as JSON")
    arguments = parser.parse_args()
    table = [row for convention in CONVENTIONS for row in measure(convention, arguments.rounds)]
    print(f"{'convention':12s} {'who':14s} {'median ms':>10s} {'p99 ms':>8s} {'to peer':>8s}")
    for row in table:
        print(
            f"{row['convention']:12s} {row['who']:14s} {row['median_ms']:10.3f} {row['p99_ms']:8.3f} "
            f"{row['to_peer']:8.2f}"
        )
    if arguments.json:
        write_text_whole(arguments.json, json.dumps(table, indent=2) + "\n")


if __name__ == "__main__":
    main()
