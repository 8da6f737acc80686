"""Writes the learned parameters that ship with the metrics BRISQUE and NIQE.

pip install --no-deps --target FOLDER image-quality==1.2.7
python scripts/write_metric_parameters.py brisque FOLDER  # its machine, Apache 2.0
python scripts/write_metric_parameters.py niqe            # simulated frames, photographs
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from pickletools import genops

import numpy as np
from numpy.typing import NDArray

from embodied_iqa import simulated_frame
from embodied_iqa.base.progress import track
from embodied_iqa.imaging.distortions.references import scikit_photographs
from embodied_iqa.quality.metrics.niqe import fit

TARGET = Path(__file__).resolve().parents[1] / "src" / "embodied_iqa" / "quality" / "metrics"
SCENES = 24


def main() -> None:
    """Write one file of parameters."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("metric", choices=["brisque", "niqe"])
    parser.add_argument("folder", type=Path, nargs="?", help="where image-quality is installed")
    arguments = parser.parse_args()
    arrays = niqe() if arguments.metric == "niqe" else brisque(arguments.folder / "imquality" / "models")
    np.savez_compressed(TARGET / f"{arguments.metric}.npz", **arrays)
    print({name: array.shape for name, array in arrays.items()})


def niqe() -> dict[str, NDArray[np.float64]]:
    """Return mean and covariance of the features of sharp blocks of clean images."""
    model = fit(clean_images())
    return {"mean": model.mean, "covariance": model.covariance}


def clean_images() -> Iterator[NDArray[np.uint8]]:
    """Yield frames of every camera in simulated scenes, and photographs."""
    for seed in track(range(SCENES), "scenes"):
        for view in ("top", "side", "wrist"):
            yield simulated_frame(seed, view, model=("ideal", "d455")[seed % 2]).rgb
    for photograph in scikit_photographs():
        if min(photograph.image.shape[:2]) >= 192:
            yield photograph.image


def brisque(models: Path) -> dict[str, NDArray[np.float64]]:
    """Return the machine that LIBSVM stored as text, and the ranges of the features."""
    head, _, rows = (models / "brisque_svm.txt").read_text().partition("SV\n")
    values = dict(line.split(maxsplit=1) for line in head.splitlines())
    vectors = np.zeros((int(values["total_sv"]), 36), np.float32)
    weights = np.zeros(len(vectors))
    for index, row in enumerate(rows.splitlines()):
        weight, *entries = row.split()
        weights[index] = float(weight)
        for place, value in (entry.split(":") for entry in entries):
            vectors[index, int(place) - 1] = float(value)
    # The numbers stand in the pickle as two lists, lowest then highest: they are read without unpickling.
    pickled = (models / "normalize.pickle").read_bytes()
    ranges = [value for code, value, _ in genops(pickled) if code.name == "BINFLOAT"]
    low, high = np.array(ranges).reshape(2, 36)
    return {
        "low": low,
        "high": high,
        "vectors": vectors,
        "weights": weights,
        "gamma_offset": np.array([float(values["gamma"]), float(values["rho"])]),
    }


if __name__ == "__main__":
    main()
