"""What the gate in front of a policy server costs: two images on loopback, by openpi's own client.

One server, built with openpi's own package, computes nothing; the client asks it, and the proxy before it, in
turn. "added" is the proxy's time beyond the bare server's without judging, question by question.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np
from bench_serving import SERVER, milliseconds
from openpi_client.websocket_client_policy import WebsocketClientPolicy

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.calibration import calibrate
from embodied_iqa.quality.gate.calibration_file import save_calibrations
from embodied_iqa.quality.gate.image_statistics import measure

KEYS = {"observation/exterior_image_1_left": View.TOP, "observation/wrist_image_left": View.WRIST}
_CLEAN = 60


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
    cameras = [word for key, view in KEYS.items() for word in ("--camera", f"{key}={view}")]
    return [
        *(
            sys.executable,
            "-m",
            "embodied_iqa.cli.main",
            "gate",
            "proxy",
            "--json",
            "--listen",
            "127.0.0.1:0",
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
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True) as program:
        assert program.stdout is not None  # noqa: S101 - it is piped
        try:
            yield program.stdout.readline()
        finally:
            program.terminate()


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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=500, help="questions on each way (default 500)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table as JSON")
    arguments = parser.parse_args()
    table = measure_side(224, arguments.rounds)
    print(f"{'px':>4s} {'what':18s} {'median ms':>10s} {'p99 ms':>8s}")
    for row in table:
        print(f"{row['side_px']:4d} {row['what']:18s} {row['median_ms']:10.3f} {row['p99_ms']:8.3f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
