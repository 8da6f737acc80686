"""The report of an embedded vision panel: its cards, and the time of a prediction measured here."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.vision.backends.panel import load_vision_panel
from embodied_iqa.models.vision.backends.panel_card import VisionCard, load_card
from embodied_iqa.models.vision.model import VisionModel
from embodied_iqa.models.vision.predictions import VisionTask
from embodied_iqa.models.vision.samples.rendered import rendered_sample
from embodied_iqa.pages.reports.kit.chapters import ChapterPage, tables_folder
from embodied_iqa.pages.reports.kit.page import Chapter, Part
from embodied_iqa.pages.reports.kit.table import Column, Row, Table
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

_SEED: Final = 1_500_040
"""One of the held-out scenes."""
_TIMED: Final = 30
_TITLES: Final = {
    VisionTask.CLASSIFICATION: "Classifiers",
    VisionTask.DETECTION: "Detectors",
    VisionTask.SEGMENTATION: "Instance segmenters",
}
_MEASURES: Final = {
    VisionTask.CLASSIFICATION: {"main": "Accuracy"},
    VisionTask.DETECTION: {"main": "AP", "ap50": "AP50"},
    VisionTask.SEGMENTATION: {"main": "AP", "ap50": "AP50", "box_ap": "Box AP"},
}
_PREFIXES: Final = ("cls", "det", "ins")
_AIM: Final = (0.65, 0.95)
"""Performance on clean images: right at times, and not always."""
_LEAD: Final = (
    "Low and High are an interval at 95 % by the jackknife over 20 groups of images. Time is processor "
    f"time of a prediction on an image of 640x480, the median of {_TIMED}, on one thread, with the reduction "
    "of the image and the enlargement of masks. Minutes are the time that passed in the epochs of the "
    "training, with one thread."
)


def is_vision_panel(folder: Path) -> bool:
    """Whether a folder holds the networks and cards of `embodied-iqa train vision-panel`."""
    return any(
        file.with_suffix(".onnx").is_file() for word in _PREFIXES for file in folder.glob(f"{word}-*.json")
    )


def page_of(folder: Path, out: Path) -> ChapterPage:
    """Return the page of a panel, to be written to ``out``.

    Raises:
        InputError: A card or a network is missing or damaged.
    """
    rgb = rendered_sample(_SEED, View.TOP).rgb
    models = load_vision_panel(folder)
    files = {model.info.name: folder / f"{model.info.name}.json" for model in models}
    cards = {name: load_card(file) for name, file in files.items()}
    minutes = sum(float(card.training["minutes"]) for card in cards.values())
    # its own files: a report that was written here does not count
    sizes = [file.with_suffix(end).stat().st_size for file in files.values() for end in (".json", ".onnx")]
    size_mb = sum(sizes) / 1e6
    tables = []
    for task, title in _TITLES.items():
        of_task = [model for model in models if model.info.task is task]
        rows = [_row(cards[model.info.name], _time_ms(model, rgb)) for model in of_task]
        if rows:
            tables.append(Table(str(task), title, _columns(task), rows))
    return ChapterPage(
        name=folder.resolve().name,
        headline=f"{len(cards)} vision models: {minutes:.0f} minutes of epochs, {size_mb:.1f} MB.",
        tiles=(),
        remarks=(_within_aim(list(cards.values())),),
        lead=_LEAD,
        chapters=(Chapter("members", "Members", "", "", (Part("", tuple(tables)),)),),
        record_text="\n".join(file.read_text(encoding="utf-8") for file in files.values()),
        tables_folder=tables_folder(out),
        command="\n".join(sorted({str(card.training["command"]) for card in cards.values()})),
    )


def _within_aim(cards: Sequence[VisionCard]) -> str:
    """Return how many members are neither too good nor too bad for labels."""
    counts = []
    for task, measures in _MEASURES.items():
        for name in ("main", "ap50"):
            values = [card.performance[name] for card in cards if card.task is task and name in measures]
            within = sum(_AIM[0] <= value <= _AIM[1] for value in values)
            if values:
                measure = measures[name].replace("Acc", "acc")
                counts.append(f"{within} of {len(values)} {_TITLES[task].lower()} by {measure}")
    return f"Members from {_AIM[0]} to {_AIM[1]}, the aim on clean images: {', '.join(counts)}."


def _columns(task: VisionTask) -> tuple[Column, ...]:
    words = ("Member", "Architecture", "Input", "Parameters", "Augmentation", "Images")
    main, *others = _MEASURES[task].values()
    shares = (main, "Low", "High", *(str(view).title() for view in CELL_VIEWS), *others)
    return (
        *map(Column, words),
        *(Column(name, 3) for name in shares),
        Column("Time [ms]"),
        Column("Minutes", 1),
    )


def _row(card: VisionCard, taken_ms: float) -> Row:
    main, *others = _MEASURES[card.task]
    names = [main, "low", "high", *(f"main_{view}" for view in CELL_VIEWS), *others]
    width, height = card.input_px
    return (
        card.name,
        card.network["architecture"],
        f"{width}x{height}",
        card.network["parameters"],
        str(card.training["augmentation"]),
        int(card.training["images"]),
        *(card.performance[name] for name in names),
        taken_ms,
        float(card.training["minutes"]),
    )


def _time_ms(model: VisionModel, rgb: NDArray[np.uint8]) -> float:
    """Return the median processor time of a prediction."""
    taken_s = []
    for _ in range(_TIMED):
        began_s = time.process_time()
        model.predict([rgb])
        taken_s.append(time.process_time() - began_s)
    return 1e3 * float(np.median(taken_s))
