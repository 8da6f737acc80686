"""Write the results page of the embedded vision panel from its cards, with times measured here and an image.

python scripts/write_vision_panel_page.py --out docs/results/vision-panel.md
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.vision.backends.panel import MODELS, load_vision_panel
from embodied_iqa.models.vision.backends.panel_card import VisionCard, load_card
from embodied_iqa.models.vision.model import VisionModel
from embodied_iqa.models.vision.predictions import Classification, Instances, VisionTask
from embodied_iqa.models.vision.samples.rendered import rendered_sample
from embodied_iqa.pages.reports.kit.markdown import prose, titled_table
from embodied_iqa.pages.reports.kit.table import Column, Row, Table
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

IMAGE: Final = "vision-panel.png"
_SEED: Final = 1_500_040
"""One of the held-out scenes."""
_TIMED: Final = 30
_SHOWN_MEMBERS: Final = ("det-plain-160", "ins-plain-256")
_SHOWN_SCORE: Final = 0.3
_TITLES: Final = {
    VisionTask.CLASSIFICATION: "Classifiers",
    VisionTask.DETECTION: "Detectors",
    VisionTask.SEGMENTATION: "Instance segmenters",
}
_AIM = (0.65, 0.95)
"""Performance on clean images: right at times, and not always."""
_LEAD = (
    "Twenty small vision models that ship with the package, trained from scratch on rendered scenes of the "
    "cell by `embodied-iqa train vision-panel` and run in ONNX Runtime on one core. They differ in "
    "architecture, input size, seed, augmentation and amount of training, and are meant to differ in "
    "performance: where all models are always right, labels of machine-vision quality say nothing "
    "([vision-models.md](../vision-models.md)). They know the simulated cell only."
)
_MEASURED = (
    "Performance on 300 held-out images of 640x480, a third from each camera, undistorted: top-1 accuracy "
    "of 78 classes (kind and colour of the object of the task, from its crop), AP of boxes or masks of 13 "
    "kinds over IoU 0.50:0.05:0.95. Low and High are an interval at 95 % by the jackknife over 20 groups of "
    "images. Time is processor time of a prediction on an image of 640x480, the median of 30, on one "
    "thread, with the reduction of the image and the enlargement of masks. Minutes are the time that "
    "passed in the epochs of the training, with one thread, on machines of different speed and load."
)


def main() -> None:
    """Measure, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=Path, default=MODELS, help="default: those of the package")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    images = arguments.out.parent / "images"
    images.mkdir(parents=True, exist_ok=True)
    rgb = rendered_sample(_SEED, View.TOP).rgb
    load_vision_panel(arguments.models)  # the first one also imports ONNX Runtime
    began_s = time.process_time()
    models = load_vision_panel(arguments.models)
    loading_s = time.process_time() - began_s
    drawn = np.hstack([_drawn(model, rgb) for model in models if model.info.name in _SHOWN_MEMBERS])
    cv2.imwrite(str(images / IMAGE), drawn[..., ::-1], [cv2.IMWRITE_PNG_COMPRESSION, 9])
    parts = _page(arguments.models, models, rgb, loading_s)
    write_text_whole(arguments.out, "\n\n".join(parts) + "\n")


def _page(
    folder: Path, models: Sequence[VisionModel], rgb: NDArray[np.uint8], loading_s: float
) -> Iterator[str]:
    """Yield the paragraphs and tables of the page."""
    cards = {model.info.name: load_card(folder / f"{model.info.name}.json") for model in models}
    commands = sorted({str(card.training["command"]) for card in cards.values()})
    minutes = sum(float(card.training["minutes"]) for card in cards.values())
    size_mb = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
    yield "# The embedded vision panel"
    yield prose(_LEAD)
    yield prose(_MEASURED)
    yield prose(
        f"Trained by {', '.join(f'`{command}`' for command in commands)}: {minutes:.0f} minutes of epochs "
        f"in total. The files take {size_mb:.1f} MB; loading all takes {1e3 * loading_s:.0f} ms of processor "
        "time. `scripts/write_vision_panel_page.py --out PAGE` writes this page."
    )
    yield prose(_within_aim(list(cards.values())))
    for task, title in _TITLES.items():
        of_task = [model for model in models if model.info.task is task]
        rows = [_row(cards[model.info.name], _time_ms(model, rgb)) for model in of_task]
        yield titled_table(Table(str(task), title, _columns(task), rows))
    yield "## Predictions"
    yield prose(
        f"A held-out image with the predictions of {' and '.join(_SHOWN_MEMBERS)} with a score from "
        f"{_SHOWN_SCORE}:"
    )
    yield f"![Boxes and masks that two members predict](images/{IMAGE})"


def _within_aim(cards: Sequence[VisionCard]) -> str:
    """Return the paragraph of how many members are neither too good nor too bad for labels."""
    counts = []
    for task, title in _TITLES.items():
        of_task = [card.performance for card in cards if card.task is task]
        for name, word in (
            ("main", "accuracy" if task is VisionTask.CLASSIFICATION else "AP"),
            ("ap50", "AP50"),
        ):
            values = [found[name] for found in of_task if name in found]
            within = sum(_AIM[0] <= value <= _AIM[1] for value in values)
            if values:
                counts.append(f"{within} of {len(values)} {title.lower()} by {word}")
    return f"Members from {_AIM[0]} to {_AIM[1]}, the aim on clean images: {', '.join(counts)}."


def _columns(task: VisionTask) -> tuple[Column, ...]:
    measure = "Accuracy" if task is VisionTask.CLASSIFICATION else "AP"
    of_task = {VisionTask.CLASSIFICATION: (), VisionTask.DETECTION: ("AP50",)}.get(task, ("AP50", "Box AP"))
    return (
        *(
            Column(name)
            for name in ("Member", "Architecture", "Input", "Parameters", "Augmentation", "Images")
        ),
        *(
            Column(name, 3)
            for name in (measure, "Low", "High", *(str(view).title() for view in CELL_VIEWS), *of_task)
        ),
        Column("Time [ms]", 2),
        Column("Minutes", 1),
    )


def _row(card: VisionCard, taken_ms: float) -> Row:
    names = ["main", "low", "high", *(f"main_{view}" for view in CELL_VIEWS), "ap50", "box_ap"]
    width, height = card.input_px
    return (
        card.name,
        card.network["architecture"],
        f"{width}x{height}",
        card.network["parameters"],
        str(card.training["augmentation"]),
        int(card.training["pictures"]),
        *(card.performance[name] for name in names if name in card.performance),
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


def _drawn(model: VisionModel, rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Draw the predictions into a copy of the image."""
    (made,) = model.predict([rgb])
    shown = rgb.copy()
    if isinstance(made, Classification):
        return shown
    for index in np.flatnonzero(made.scores >= _SHOWN_SCORE):
        _draw_instance(shown, made, int(index))
    cv2.putText(shown, model.info.name, (8, 470), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (0, 0, 0), 2, cv2.LINE_AA)
    return shown


def _draw_instance(shown: NDArray[np.uint8], made: Instances, index: int) -> None:
    left, top, right, bottom = np.round(made.boxes_px[index]).astype(int).tolist()
    if made.masks is not None:
        mask = made.masks[index]
        shown[mask] = shown[mask] // 2 + np.array([127, 0, 127], np.uint8)
    cv2.rectangle(shown, (left, top), (right, bottom), (255, 0, 255), 1)
    text = f"{made.labels[index]} {made.scores[index]:.2f}"
    cv2.putText(shown, text, (left, top - 3), cv2.FONT_HERSHEY_SIMPLEX, 0.4, (0, 0, 0), 1, cv2.LINE_AA)


if __name__ == "__main__":
    main()
