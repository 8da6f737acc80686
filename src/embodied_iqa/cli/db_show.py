"""What `embodied-iqa db show` prints and draws."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from embodied_iqa.cli.output import console
from embodied_iqa.database.sample import SampledPair, answer_text, side_by_side
from embodied_iqa.database.store import DatabaseStore
from embodied_iqa.images.codecs import write_picture

__all__ = ["draw_sample", "print_sample"]

_STRIP_PX: Final = 26
_WIDTH_PX: Final = 960


def print_sample(sample: Sequence[SampledPair]) -> None:
    """Print a table a pair: what each subject answered before and after, and its score."""
    for item in sample:
        title = f"{_title(item)}\n{item.task.text}"
        table = Table(title=title, title_justify="left", header_style="bold")
        for name in ("subject", "on the reference", "on the distorted picture"):
            table.add_column(name)
        table.add_column("score", justify="right")
        for name, (first, second) in item.answers.items():
            score = item.scores.get(name)
            table.add_row(
                name, answer_text(first), answer_text(second), "-" if score is None else f"{score:.3f}"
            )
        console().print(table)


def draw_sample(store: DatabaseStore, sample: Sequence[SampledPair], file: Path) -> None:
    """Write the pairs below each other, reference on the left."""
    rows = [_labelled(side_by_side(store, item), _title(item)) for item in sample]
    write_picture(file, np.vstack(rows))


def _title(item: SampledPair) -> str:
    pair = item.pair
    shown = f"{pair.distortion_id} {pair.distortion_name} level {pair.level}"
    return f"{pair.pair_id}: {shown}, {item.reference.view} view"


def _labelled(rgb: NDArray[np.uint8], text: str) -> NDArray[np.uint8]:
    height = round(rgb.shape[0] * _WIDTH_PX / rgb.shape[1])
    scaled = cv2.resize(rgb, (_WIDTH_PX, height), interpolation=cv2.INTER_AREA)
    strip = np.full((_STRIP_PX, _WIDTH_PX, 3), 255, np.uint8)
    cv2.putText(strip, text, (6, 18), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (20, 20, 20), 1, cv2.LINE_AA)
    return np.vstack([strip, np.asarray(scaled, np.uint8)])
