"""Writes peer_values.json: values of other implementations on the images of `peer_images`.

In an environment with piq 0.8.0, brisque 0.2.0 (with libsvm-official 3.37.0), pypiqe 1.2 and pyiqa 0.1.16,
beside this package:

    python tests/unit/quality/metrics/write_peer_values.py [METRIC ...]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from peer_images import Image, pairs

from embodied_iqa.quality.metrics.parameters import shipped

FILE = Path(__file__).with_name("peer_values.json")


def tensor(image: Image) -> Any:
    values = image.transpose(2, 0, 1).astype(np.float64)
    return import_module("torch").from_numpy(values)[None]


def of_piq(name: str) -> Callable[[Image, Image], float]:
    def value(reference: Image, distorted: Image) -> float:
        measure = getattr(import_module("piq"), name)
        return float(measure(tensor(distorted), tensor(reference), data_range=255))

    return value


def brisque(_: Image, distorted: Image) -> float:
    sys.modules["scipy.ndimage.filters"] = import_module("scipy.ndimage")  # gone from SciPy, and not used
    base = import_module("brisque").BRISQUE

    class Brisque(base):
        def asymmetric_generalized_gaussian_fit(self, x: Any) -> tuple[float, ...]:
            return tuple(float(np.squeeze(v)) for v in super().asymmetric_generalized_gaussian_fit(x))

    return float(Brisque(url=False).score(distorted))


def piqe(_: Image, distorted: Image) -> float:
    return float(import_module("pypiqe").piqe(cv2.cvtColor(distorted, cv2.COLOR_RGB2BGR))[0])


def niqe(_: Image, distorted: Image) -> float:
    """pyiqa's NIQE with the parameters of this package."""
    torch, peer = import_module("torch"), import_module("pyiqa.archs.niqe_arch").niqe
    luma = np.rint(distorted @ np.array([0.299, 0.587, 0.114]))
    model = shipped("niqe")
    mean, covariance = (torch.from_numpy(model[name])[None] for name in ("mean", "covariance"))
    return float(peer(torch.from_numpy(luma)[None, None], mean, covariance))


PEERS = {
    "ms-ssim": of_piq("multi_scale_ssim"),
    "gmsd": of_piq("gmsd"),
    "vif": of_piq("vif_p"),
    "fsim": of_piq("fsim"),
    "vsi": of_piq("vsi"),
    "brisque": brisque,
    "piqe": piqe,
    "niqe": niqe,
}


def main() -> None:
    values = json.loads(FILE.read_text()) if FILE.exists() else {}
    for name in sys.argv[1:] or PEERS:
        values[name] = {word: PEERS[name](*pair) for word, pair in pairs().items()}
    FILE.write_text(json.dumps(values, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
