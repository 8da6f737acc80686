"""Copy of a trained metric beside the gate's file: the threshold is for this very model."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from embodied_iqa.base.files import sha256_of, write_whole
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.fitted import NetworkFile
from embodied_iqa.quality.gate.predictors import judging_metric
from embodied_iqa.quality.metrics.learned.card import CARD_FILE, NETWORK_FILE
from embodied_iqa.quality.metrics.learned.trained import KIND, folder_of


def copy_model(metric: str, view: View, out: Path) -> NetworkFile | None:
    """Copy the model of a metric ``trained:DIR``; every model has a folder of its own.

    Args:
        metric: Name of a metric; empty for a judge that is none.
        view: The camera.
        out: The gate's file; the folder is beside it.

    Returns:
        The copy; None for other metrics.

    Raises:
        UserError: The model is missing or damaged, compares with a reference, or cannot be copied.
    """
    word, _, target = metric.partition(":")
    if word != KIND:
        return None
    judging_metric(metric)  # reports a missing or damaged file
    source = folder_of(target)
    digest = sha256_of(source / CARD_FILE)
    folder = out.with_suffix("") / f"{view}-metric-{digest[:8]}"
    for name in (NETWORK_FILE, CARD_FILE):
        write_whole(folder / name, partial(shutil.copyfile, source / name))
    return NetworkFile(folder.relative_to(out.parent).as_posix(), digest)
