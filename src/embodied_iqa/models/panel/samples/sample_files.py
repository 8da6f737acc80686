"""Training samples on disk: scenes with images, objects and tasks, in parts that are written atomically.

Tasks of rank 2 to 5 are worded for one camera's image; a part has a file of them for each camera.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_whole
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.panel.image_formats import ImageFormat
from embodied_iqa.models.subjects.backends.panel.format import ABSENT, Framing, region_of
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS

MAX_THINGS: Final = 10
"""Largest number of labelled objects in a scene."""
_TEXTS: Final = "tasks.json"
_ARRAYS: Final = "labels.npz"


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """``n`` scenes with ``R`` tasks each; ``V`` views in the order of ``views``.

    Attributes:
        views: The views.
        images: For each view ``(n, H, W, 3)`` uint8, in one format.
        tasks: ``n`` tuples of ``R`` task texts.
        verb: ``(n, R)`` int64, index in `Verb`.
        target: ``(n, R)`` int64, index of the manipulated object among the things, or -1.
        goal: ``(n, R)`` int64, index of the destination among the things, or -1.
        wanted: ``(n, R, 8)`` int64: colour, kind, mark and size of the object and of the destination as the
            task names them, -1 for what it does not name.
        thing_kind: ``(n, T)`` int64, index in `Kind`, or -1 after the last thing.
        thing_colour: ``(n, T)`` int64, index in `Colour`.
        thing_print: ``(n, T)`` int64, index in `Mark` of what is printed on it, or -1.
        thing_size: ``(n, T)`` int64, index in `Size`, or -1 for the ordinary size.
        thing_place: ``(n, T, 3)`` float32, centre in the base frame (m) and yaw (rad).
        thing_mark: ``(n, T, V, 2)`` float32, image position (u, v) of its centre, in [0, 1] of the whole
            image.
        ranked: Number of a scene's tasks of rank 2 to 5, which are the last ones.
        framing: Part of the cameras' images that `images` show.
    """

    views: tuple[View, ...]
    images: tuple[NDArray[np.uint8], ...]
    tasks: tuple[tuple[str, ...], ...]
    verb: NDArray[np.int64]
    target: NDArray[np.int64]
    goal: NDArray[np.int64]
    wanted: NDArray[np.int64]
    thing_kind: NDArray[np.int64]
    thing_colour: NDArray[np.int64]
    thing_print: NDArray[np.int64]
    thing_size: NDArray[np.int64]
    thing_place: NDArray[np.float32]
    thing_mark: NDArray[np.float32]
    ranked: int = 0
    framing: Framing = Framing.WHOLE

    def framed_marks(self) -> NDArray[np.float32]:
        """Return `thing_mark` in [0, 1] in the part of the image that `images` show."""
        regions = np.array([region_of(view, self.framing) for view in self.views])
        inside = (self.thing_mark - regions[:, :2]) / (regions[:, 2:] - regions[:, :2])
        return np.where(self.thing_mark == ABSENT, ABSENT, inside).astype(np.float32)

    def __len__(self) -> int:
        return len(self.verb)


_LABELS: Final = tuple(item.name for item in fields(Samples))[3:-2]


@dataclass(frozen=True, slots=True, eq=False)
class TaskLabels:
    """Tasks of ``n`` scenes, ``Q`` each.

    Attributes:
        tasks: ``n`` tuples of ``Q`` task texts.
        verb: ``(n, Q)`` int64; this and the following as in `Samples`, for the first step.
        target: ``(n, Q)`` int64.
        goal: ``(n, Q)`` int64.
        wanted: ``(n, Q, 8)`` int64.
    """

    tasks: tuple[tuple[str, ...], ...]
    verb: NDArray[np.int64]
    target: NDArray[np.int64]
    goal: NDArray[np.int64]
    wanted: NDArray[np.int64]


_OF_TASKS: Final = tuple(item.name for item in fields(TaskLabels))[1:]


def ranked_file(part: Path, view: View) -> Path:
    """Return the file of the tasks of rank 2 to 5 for a camera's images of a part."""
    return part / f"ranked-{view}.npz"


def save_ranked(scenes: Sequence[TaskLabels], file: Path) -> None:
    """Write the tasks of rank 2 to 5 of a part's scenes atomically."""
    labels: dict[str, Any] = {
        name: np.concatenate([getattr(scene, name) for scene in scenes]) for name in _OF_TASKS
    }
    texts = np.array([row for scene in scenes for row in scene.tasks])

    def write(fresh: Path) -> None:
        with fresh.open("wb") as stream:
            np.savez(stream, tasks=texts, **labels)

    write_whole(file, write)


def _load_ranked(file: Path) -> TaskLabels:
    with np.load(file, allow_pickle=False) as stored:
        texts = tuple(tuple(map(str, row)) for row in stored["tasks"])
        return TaskLabels(texts, *(stored[name] for name in _OF_TASKS))


def save_samples(
    samples: Samples,
    images: Mapping[tuple[View, ImageFormat], NDArray[np.uint8]],
    folder: Path,
) -> None:
    """Write a part atomically.

    Args:
        samples: Its labels, with positions in whole images of all views.
        images: ``(n, H, W, 3)`` by view and format.
        folder: New folder of the part.
    """
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for (view, image_format), shots in images.items():
        np.save(partial / image_format.file(view), shots)
    np.savez(partial / _ARRAYS, **{name: getattr(samples, name) for name in _LABELS})
    (partial / _TEXTS).write_text(json.dumps(samples.tasks), encoding="utf-8")
    partial.rename(folder)


def parts_of(folder: Path) -> list[Path]:
    """Return the finished parts in a folder, in order."""
    return sorted(path for path in folder.glob("part-*") if path.is_dir())


def load_samples(
    folder: Path,
    views: Sequence[View],
    image_format: ImageFormat,
    limit: int | None = None,
    *,
    worded_for: View | None = None,
) -> Samples:
    """Read the parts in a folder, with the images of some views.

    Args:
        folder: Folder of the parts, ``part-*``.
        views: Views of the images.
        image_format: Of the images.
        limit: Largest number of scenes.
        worded_for: Append the tasks of rank 2 to 5 for this camera's images.

    Raises:
        InputError: The folder has no part, or one is broken.
    """
    parts = parts_of(folder)
    if not parts:
        raise InputError(f"no training samples in {folder}", expected="folders part-*")
    try:
        loaded = [_load_part(part, views, image_format, worded_for) for part in parts]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"broken training samples in {folder}: {error}") from error
    return join_samples(loaded, limit)


def _load_part(
    folder: Path, views: Sequence[View], image_format: ImageFormat, worded_for: View | None
) -> Samples:
    with np.load(folder / _ARRAYS, allow_pickle=False) as stored:
        labels: dict[str, Any] = {name: stored[name] for name in _LABELS}
    order = [CELL_VIEWS.index(view) for view in views]
    labels["thing_mark"] = labels["thing_mark"][:, :, order]
    labels["framing"] = image_format.framing
    files = [folder / image_format.file(view) for view in views]
    images = tuple(np.load(file, mmap_mode="r", allow_pickle=False) for file in files)
    texts = tuple(map(tuple, json.loads((folder / _TEXTS).read_text(encoding="utf-8"))))
    if worded_for is not None:
        ranked = _load_ranked(ranked_file(folder, worded_for))
        texts = tuple(row + more for row, more in zip(texts, ranked.tasks, strict=True))
        labels |= {name: np.concatenate([labels[name], getattr(ranked, name)], axis=1) for name in _OF_TASKS}
        labels["ranked"] = ranked.verb.shape[1]
    return Samples(tuple(views), images, texts, **labels)


def join_samples(parts: Sequence[Samples], limit: int | None = None) -> Samples:
    """Concatenate samples of the same views, at most ``limit`` scenes."""
    labels: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])[:limit] for name in _LABELS
    }
    images = tuple(
        np.concatenate([part.images[view] for part in parts])[:limit] for view in range(len(parts[0].images))
    )
    texts = tuple(row for part in parts for row in part.tasks)[:limit]
    return Samples(parts[0].views, images, texts, **labels, ranked=parts[0].ranked, framing=parts[0].framing)
