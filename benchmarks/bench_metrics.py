"""Built-in metrics: milliseconds of a 720p picture on one core, beside piq, brisque and pypiqe in one run.

The peers are those of requirements/bench-peers.txt, installed by bench_distortions_peers.py; piq needs torch.

python benchmarks/bench_metrics.py --json build/bench_metrics.json
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import cv2
import numpy as np
from bench_distortions_peers import FOLDER, install_peers
from rich.console import Console
from rich.table import Table
from skimage import data

from embodied_iqa.distortions import FrameDistorter, parse_distortion
from embodied_iqa.metrics import BUILT_IN

PIQ = {
    "ssim": "ssim",
    "ms-ssim": "multi_scale_ssim",
    "gmsd": "gmsd",
    "fsim": "fsim",
    "vsi": "vsi",
    "vif": "vif_p",
}
ROUNDS = 5


def median_ms(run: Callable[[], object]) -> float:
    run()
    taken_ms = []
    for _ in range(ROUNDS):
        started_s = time.perf_counter()
        run()
        taken_ms.append(1e3 * (time.perf_counter() - started_s))
    return statistics.median(taken_ms)


def peers(reference: Any, distorted: Any) -> dict[str, Callable[[], object]]:
    """Return the run of each peer by the name of our metric."""
    install_peers()
    sys.path.insert(0, str(FOLDER))
    torch, piq = import_module("torch"), import_module("piq")
    torch.set_num_threads(1)
    sys.modules["scipy.ndimage.filters"] = import_module("scipy.ndimage")
    x, y = (
        torch.from_numpy(one.transpose(2, 0, 1)[None].astype(np.float32)) for one in (distorted, reference)
    )
    extra = {"ssim": {"downsample": False}}
    runs: dict[str, Callable[[], object]] = {
        ours: lambda name=name, ours=ours: getattr(piq, name)(x, y, data_range=255.0, **extra.get(ours, {}))
        for ours, name in PIQ.items()
    }
    runs["psnr"] = lambda: piq.psnr(x, y, data_range=255.0)
    runs["piqe"] = lambda: import_module("pypiqe").piqe(distorted[..., ::-1].copy())
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    reference = cv2.resize(data.astronaut(), (1280, 720), interpolation=cv2.INTER_AREA)
    distorted = FrameDistorter(parse_distortion("12:2", seed=1)).apply(reference, "top", 0)
    others = peers(reference, distorted)
    table = Table("metric", "ours (ms)", "peer (ms)", "ratio", box=None)
    rows = []
    for name, metric in BUILT_IN.items():
        ours_ms = median_ms(lambda metric=metric: metric.measure(distorted, reference))
        peer_ms = median_ms(others[name]) if name in others else None
        ratio = None if peer_ms is None else peer_ms / ours_ms
        rows.append({"metric": name, "ours_ms": ours_ms, "peer_ms": peer_ms, "ratio": ratio})
        shown = ("-", "-") if peer_ms is None else (f"{peer_ms:.1f}", f"{ratio:.1f}")
        table.add_row(name, f"{ours_ms:.1f}", *shown)
    Console().print(table)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
