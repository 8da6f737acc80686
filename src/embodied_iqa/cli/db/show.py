"""`embodied-iqa db show`: a sample of a database, printed and drawn."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.cli.output import console, next_command, print_json, table_of
from embodied_iqa.data.database.sample import SampledPair, answer_text, draw_pairs, side_by_side
from embodied_iqa.data.database.store import open_database
from embodied_iqa.data.database.unanswered import unseen_targets
from embodied_iqa.imaging.images.codecs import write_image

_STRIP_PX: Final = 26
_WIDTH_PX: Final = 960


def run(arguments: argparse.Namespace) -> int:
    """Print a sample; with ``--out`` also draw the pairs below each other, reference on the left."""
    store = open_database(arguments.database)
    sample = draw_pairs(store, arguments.pairs, arguments.seed)
    unseen = unseen_targets(store)
    if arguments.json:
        counts = asdict(unseen)["counts"]
        print_json({"unseen_targets": counts, "pairs": [item.tree() for item in sample]})
    else:
        _print(sample)
        for remark in unseen.remarks:
            print(f"note: {remark}")
        next_command("db", "sql", arguments.database, "SELECT * FROM opinions LIMIT 5")
    if arguments.out is not None:
        rows = [_labelled(side_by_side(store, item), _title(item)) for item in sample]
        write_image(arguments.out, np.vstack(rows))
        if not arguments.json:
            print(f"images: {arguments.out}")
    return 0


def _print(sample: Sequence[SampledPair]) -> None:
    """Print a table for each pair: each subject's answers on both images, and its score."""
    for item in sample:
        headings = ("subject", "on the reference", "on the distorted image", "score")
        table = table_of(*headings, title=f"{_title(item)}\n{item.task.text}", right=("score",))
        for name, answers in item.answers.items():
            score = item.scores.get(name)
            shown = "-" if score is None else f"{score:.3f}" + "*" * (name not in item.own_view)
            table.add_row(name, *map(answer_text, answers), shown)
        console().print(table)
    scored = [(item, name) for item in sample for name, score in item.scores.items() if score is not None]
    if any(name not in item.own_view for item, name in scored):
        print("* not made for this view: does not count")


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
