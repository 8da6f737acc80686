"""Make items without images: as many of each dimension, all with one grey image.

python scripts/make_grey_items.py --each 1500 --seed 11 --out BENCH
embodied-iqa evaluate static BENCH --vlm A,B --out RESULTS

The text is that of `embodied-iqa static make`; the scores show what it gives away. Physics is left out: the
expert of a stage item may fail.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from embodied_iqa.suites.static_benchmark.benchmark import ITEMS_VERSION, write_benchmark
from embodied_iqa.suites.static_benchmark.conditions import GREY_ITEMS, GREY_LEVEL
from embodied_iqa.suites.static_benchmark.items import Dimension, Item
from embodied_iqa.suites.static_benchmark.making.drafts import draw_draft, draw_slot
from embodied_iqa.suites.static_benchmark.tsv import ItemTable
from embodied_iqa.suites.static_benchmark.tsv_images import encode_image
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

_SIZE = (360, 480)


def main() -> int:
    """Draw, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--each", type=int, default=1500, metavar="N", help="items of each dimension")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of everything random (default 0)")
    parser.add_argument("--out", type=Path, required=True, metavar="BENCH", help="new folder")
    arguments = parser.parse_args()
    items = tuple(_items(arguments.each, arguments.seed))
    grey = encode_image(np.full((*_SIZE, 3), GREY_LEVEL, np.uint8))
    source = (
        f"{GREY_ITEMS} version {ITEMS_VERSION}, {arguments.each} of each dimension, seed {arguments.seed}"
    )
    record = write_benchmark(arguments.out, ItemTable(items, {items[0].index: grey}), source)
    print(f"{arguments.out}: {record.items} items, md5 {record.md5}")
    return 0


def _items(each: int, seed: int) -> Iterator[Item]:
    """Yield the items; cameras take turns, and all refer to the image of the first."""
    rng = np.random.default_rng(seed)
    views = CELL_VIEWS
    for index in range(each * len(Dimension)):
        slot = draw_slot(rng, tuple(Dimension)[index // each], views[index % len(views)])
        yield replace(draw_draft(slot, seed, index).item(index), image=0)


if __name__ == "__main__":
    main()
