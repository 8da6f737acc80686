"""A gate that holds the darker half of a database's images."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from embodied_iqa.base.tables import rows_of
from embodied_iqa.data.database.schema import Pair, Reference
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.quality.gate.bounds import Bounds
from embodied_iqa.quality.gate.calibration import GateCalibration
from embodied_iqa.quality.gate.calibration_file import save_calibrations
from embodied_iqa.quality.gate.image_statistics import Statistic, measure

_SIZE_PX = (32, 24)


def write_exposure_gate(store: DatabaseStore) -> Path:
    """Write a gate of every camera that holds images of less than median exposure; return the file."""
    level = float(np.median(list(exposures_of(store).values())))
    anything = dict.fromkeys(Statistic, Bounds(-np.inf, -np.inf, np.inf, np.inf))
    bounds = anything | {Statistic.EXPOSURE: Bounds(-np.inf, level, np.inf, np.inf)}
    views = {row.view for row in rows_of(Reference, store.references())}
    cameras = [GateCalibration(view, *_SIZE_PX, bounds, 100, "made up") for view in sorted(views)]
    save_calibrations(cameras, store.path / "gate.yaml")
    return store.path / "gate.yaml"


def exposures_of(store: DatabaseStore) -> dict[str, float]:
    """Return the exposure of each distorted image by the id of its pair."""
    pairs = rows_of(Pair, store.pairs())
    return {row.pair_id: measure(read_image(store.path / str(row.image))).exposure for row in pairs}
