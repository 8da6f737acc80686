"""Built-in metrics: milliseconds of a 720p image on one core, beside each peer in one run.

The peers are scikit-image, and piq, brisque and pypiqe of requirements/bench-peers.txt, installed by
bench_distortions_peers.py; piq needs torch. All rounds have one reference, as rows of a benchmark do: our
full-reference metrics compute its maps before the first round, the peers in every round.

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
from functools import partial
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
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.imaging.distortions import FrameDistorter, parse_distortion
from embodied_iqa.quality.metrics import BUILT_IN

PIQ = {
    "ssim": "ssim",
    "ms-ssim": "multi_scale_ssim",
    "gmsd": "gmsd",
    "fsim": "fsim",
    "vsi": "vsi",
    "vif": "vif_p",
    "psnr": "psnr",
}
ROUNDS = 5
Row = dict[str, Any]


def median_ms(run: Callable[[], object]) -> float:
    run()
    taken_ms = []
    for _ in range(ROUNDS):
        started_s = time.perf_counter()
        run()
        taken_ms.append(1e3 * (time.perf_counter() - started_s))
    return statistics.median(taken_ms)


def peers(reference: Any, distorted: Any) -> dict[tuple[str, str], Callable[[], object]]:
    """Return the run of each peer by our metric and the peer."""
    install_peers()
    sys.path.insert(0, str(FOLDER))
    torch, piq = import_module("torch"), import_module("piq")
    torch.set_num_threads(1)
    sys.modules["scipy.ndimage.filters"] = import_module("scipy.ndimage")
    x, y = (
        torch.from_numpy(one.transpose(2, 0, 1)[None].astype(np.float32)) for one in (distorted, reference)
    )
    extra = {"ssim": {"downsample": False}}
    runs: dict[tuple[str, str], Callable[[], object]] = {
        (ours, "piq"): partial(getattr(piq, name), x, y, data_range=255.0, **extra.get(ours, {}))
        for ours, name in PIQ.items()
    }
    brisque = current_brisque()
    runs["psnr", "scikit-image"] = lambda: peak_signal_noise_ratio(reference, distorted)
    runs["ssim", "scikit-image"] = lambda: structural_similarity(
        reference, distorted, channel_axis=2, gaussian_weights=True, use_sample_covariance=False
    )
    runs["brisque", "brisque"] = lambda: brisque.score(distorted)
    runs["piqe", "pypiqe"] = lambda: import_module("pypiqe").piqe(distorted[..., ::-1].copy())
    return runs


def current_brisque() -> Any:
    """Return brisque's model; its fit returns arrays where the installed NumPy wants numbers."""
    model = import_module("brisque").BRISQUE(url=False)
    fit = model.asymmetric_generalized_gaussian_fit
    model.asymmetric_generalized_gaussian_fit = lambda x: tuple(float(np.squeeze(v)) for v in fit(x))
    return model


def compared(name: str, others: dict[tuple[str, str], Callable[[], object]], ours: float) -> list[Row]:
    """Return a row for each peer of a metric; one without a peer, or if it fails here, with the reason."""
    found: list[Row] = []
    for peer in (peer for ours_name, peer in others if ours_name == name):
        row: Row = {"metric": name, "ours_ms": ours, "peer": peer, "peer_ms": None, "ratio": None}
        try:
            peer_ms = median_ms(others[name, peer])
            row |= {"peer_ms": peer_ms, "ratio": peer_ms / ours}
        except Exception as error:  # noqa: BLE001 - code of others, which may not fit the installed NumPy
            row["peer"] = f"{peer} fails: {error}"
        found.append(row)
    return found or [{"metric": name, "ours_ms": ours, "peer": None, "peer_ms": None, "ratio": None}]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    reference = cv2.resize(data.astronaut(), (1280, 720), interpolation=cv2.INTER_AREA)
    distorted = FrameDistorter(parse_distortion("12:2", seed=1)).apply(reference, "top", 0)
    others = peers(reference, distorted)
    table = Table("metric", "ours (ms)", "peer", "peer (ms)", "ratio", box=None)
    rows: list[Row] = []
    for name, metric in BUILT_IN.items():
        ours_ms = median_ms(partial(metric.measure, distorted, reference))
        rows += compared(name, others, ours_ms)
    for row in rows:
        shown = ("-", "-") if row["peer_ms"] is None else (f"{row['peer_ms']:.1f}", f"{row['ratio']:.1f}")
        table.add_row(row["metric"], f"{row['ours_ms']:.1f}", row["peer"] or "-", *shown)
    Console().print(table)
    if arguments.json:
        write_text_whole(arguments.json, json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
