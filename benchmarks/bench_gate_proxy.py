"""What the gate in front of a policy server costs: two images on loopback, by openpi's own client.

One server, built with openpi's own package, computes nothing; the client asks it, and the proxy before it, in
turn. "added" is the proxy's time beyond the bare server's without judging, question by question.
With --clients, so many ask the proxy at once, and a few too many: how long they wait, and its memory.

python benchmarks/bench_gate_proxy.py --rounds 2000 --clients 100 --json build/bench_gate_proxy.json
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import websockets.exceptions
from bench_serving import SERVER, milliseconds
from machine_state import machine_state
from openpi_client import msgpack_numpy
from openpi_client.websocket_client_policy import WebsocketClientPolicy
from websockets.asyncio.client import connect

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.calibration import calibrate
from embodied_iqa.quality.gate.calibration_file import save_calibrations
from embodied_iqa.quality.gate.image_statistics import measure

KEYS = {"observation/exterior_image_1_left": View.TOP, "observation/wrist_image_left": View.WRIST}
_CLEAN = 60
_TOO_MANY, _QUESTIONS, _ANSWER_S = 8, 20, 120.0


def textured(seed: int, side_px: int) -> np.ndarray:
    """``(H, W, 3)`` uint8: coarse random texture."""
    blocks = np.random.default_rng(seed).integers(40, 216, (16, 16, 3), dtype=np.uint8)
    image: np.ndarray = cv2.resize(blocks, (side_px, side_px), interpolation=cv2.INTER_CUBIC)
    return image


def calibrated(folder: Path, side_px: int) -> Path:
    """Return the file of a calibration on textured images of both cameras."""
    clean, file = [measure(textured(seed, side_px)) for seed in range(_CLEAN)], folder / "gate.yaml"
    save_calibrations([calibrate(view, clean, "texture") for view in KEYS.values()], file)
    return file


def proxy_words(folder: Path, policy_port: int, side_px: int, *more: str) -> list[str]:
    """Calibrate; return the command of the proxy."""
    cameras = [word for key, view in KEYS.items() for word in ("--view", f"{key}={view}")]
    return [
        *(
            sys.executable,
            "-m",
            "embodied_iqa.cli.main",
            "gate",
            "proxy",
            "--json",
            "--port",
            "0",
        ),
        *("--policy", f"openpi://127.0.0.1:{policy_port}", "--calibration"),
        str(calibrated(folder, side_px)),
        *cameras,
        *more,
    ]


def asked(bare: WebsocketClientPolicy, gated: WebsocketClientPolicy, side_px: int, rounds: int) -> np.ndarray:
    """Return ``(rounds, 3)``: bare, gated and judging, in ms."""
    state = {"observation/joint_position": np.zeros(7), "prompt": "pick the red cube"}
    images = {key: textured(_CLEAN + number, side_px) for number, key in enumerate(KEYS)}
    judging = []

    def through() -> None:
        told = gated.infer({**images, **state})["gate"]
        if told["verdict"] != "PASS":
            raise SystemExit(f"a clean image is held: {told['reason']}")
        judging.append(told["judging_ms"])

    spent = milliseconds({"bare": lambda: bare.infer({**images, **state}), "gated": through}, rounds)
    return np.column_stack([spent["bare"], spent["gated"], judging[-rounds:]])


@contextmanager
def started(command: list[str], stderr: int | None = None) -> Iterator[str]:
    """Run a program inside of the block; gives the first line that it prints."""
    with running(command, stderr) as (line, _):
        yield line


@contextmanager
def running(command: list[str], stderr: int | None = None) -> Iterator[tuple[str, int]]:
    """Run a program inside of the block; gives the first line that it prints, and its number."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True) as program:
        assert program.stdout is not None  # noqa: S101 - it is piped
        try:
            yield program.stdout.readline(), program.pid
        finally:
            program.terminate()


def crowd(side_px: int, clients: int) -> dict[str, object]:
    """Ask the proxy from many clients at once, and from some more than it takes."""
    server = [sys.executable, "-c", SERVER.replace("WIDTH", "8")]
    with (
        tempfile.TemporaryDirectory() as folder,
        started(server, subprocess.DEVNULL) as port,
        running(proxy_words(Path(folder), int(port), side_px, "--most-clients", str(clients))) as (told, pid),
    ):
        before_mb, began = peak_mb(pid), time.perf_counter()
        waits_ms, refused = asyncio.run(_crowd(json.loads(told)["port"], side_px, clients))
        took_s = time.perf_counter() - began
        return {
            "clients": clients,
            "answers": len(waits_ms),
            "answers a second": round(len(waits_ms) / took_s, 1),
            "refused beyond them": f"{refused} of {_TOO_MANY}",
            "median_ms": round(float(np.median(waits_ms)), 1),
            "p99_ms": round(float(np.quantile(waits_ms, 0.99)), 1),
            "peak of the proxy's memory [MB], before and after": [round(before_mb), round(peak_mb(pid))],
        }


async def _crowd(port: int, side_px: int, clients: int) -> tuple[list[float], int]:
    """Return how long each answer took [ms], and how many of the clients too many were refused."""
    images = {key: textured(_CLEAN + number, side_px) for number, key in enumerate(KEYS)}
    question = msgpack_numpy.packb({**images, "prompt": "pick the red cube"})
    waits_ms: list[float] = []
    joined, refused = asyncio.Barrier(clients + 1), 0
    join = partial(connect, f"ws://127.0.0.1:{port}", compression=None, max_size=None, open_timeout=_ANSWER_S)

    async def ask() -> None:
        async with join() as link:
            await link.recv()
            await joined.wait()
            for _ in range(_QUESTIONS):
                began = time.perf_counter()
                await link.send(question)
                answer = await asyncio.wait_for(link.recv(), _ANSWER_S)
                if isinstance(answer, str):
                    raise SystemExit(f"no answer: {answer[:200]}")
                waits_ms.append(1e3 * (time.perf_counter() - began))

    asking = [asyncio.create_task(ask()) for _ in range(clients)]
    await joined.wait()
    for _ in range(_TOO_MANY):
        try:
            async with join():
                pass
        except websockets.exceptions.InvalidStatus:
            refused += 1
    await asyncio.gather(*asking)
    return waits_ms, refused


def peak_mb(pid: int) -> float:
    """Return the most memory that a process has had [MB]."""
    text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return next(float(line.split()[1]) / 1e3 for line in text.splitlines() if line.startswith("VmHWM"))


def measure_side(side_px: int, rounds: int) -> list[dict[str, object]]:
    """Measure one size of image."""
    server = [sys.executable, "-c", SERVER.replace("WIDTH", "8")]
    with (
        tempfile.TemporaryDirectory() as folder,
        started(server, subprocess.DEVNULL) as port,  # it complains of clients that leave
        started(proxy_words(Path(folder), int(port), side_px)) as told,
    ):
        bare, gated = (
            WebsocketClientPolicy("127.0.0.1", number) for number in (int(port), json.loads(told)["port"])
        )
        spent = asked(bare, gated, side_px, rounds)
    alone, through, judging = spent.T
    what = {"bare server": alone, "through the proxy": through, "judging": judging}
    what["added"] = through - alone - judging
    return [
        {
            "side_px": side_px,
            "what": name,
            "median_ms": round(float(np.median(values)), 3),
            "p99_ms": round(float(np.quantile(values, 0.99)), 3),
        }
        for name, values in what.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=500, help="questions on each way (default 500)")
    parser.add_argument("--clients", type=int, default=0, metavar="N", help="also N clients at once")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")
    arguments = parser.parse_args()
    results: dict[str, object] = {"machine": machine_state()}
    table = measure_side(224, arguments.rounds)
    print(f"{'px':>4s} {'what':18s} {'median ms':>10s} {'p99 ms':>8s}")
    for row in table:
        print(f"{row['side_px']:4d} {row['what']:18s} {row['median_ms']:10.3f} {row['p99_ms']:8.3f}")
    results["one client"] = table
    if arguments.clients:
        results["many clients"] = crowd(224, arguments.clients)
    print(json.dumps(results, indent=2))
    if arguments.json:
        write_text_whole(arguments.json, json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
