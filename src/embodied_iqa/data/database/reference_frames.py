"""The clean images of an annotated database, camera by camera, as stored images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.tables import rows_of
from embodied_iqa.data.database.database_images import inside
from embodied_iqa.data.database.schema import Reference
from embodied_iqa.data.database.store import open_database
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.stored_images import (
    StoredImage,
    UnreadableImage,
    chosen_topics,
)


class ReferenceFrames:
    """Images of the references, of all cameras, without a distorted one; their topic is the camera.

    Args:
        path: The database.

    Raises:
        InputError: It is none, of another version, or without references.
    """

    kind = "references of"
    note = ""

    def __init__(self, path: Path) -> None:
        self.path = path
        rows = rows_of(Reference, open_database(path).references())
        self._files = [(row, view, file) for row in rows for view, file in _images(row).items()]
        if not self._files:
            raise InputError(f"{path} has no references")
        self.topics: Mapping[str, int] = Counter(str(view) for _, view, _ in self._files)

    def views(self) -> dict[View, str]:
        """Return the cameras."""
        return {View(topic): topic for topic in self.topics}

    def view_of(self, topic: str) -> View | None:
        """Return the camera of this name; None where there is none."""
        return View(topic) if topic in self.topics else None

    def count(self, topics: Sequence[str] = ()) -> int:
        """Return the number of images of some cameras, by default all."""
        return sum(self.topics[topic] for topic in chosen_topics(self.path, topics, self.topics))

    def images(self, topics: Sequence[str] = ()) -> Iterator[StoredImage | UnreadableImage]:
        """Iterate over the images in the order of the references; a file is read when its pixels are."""
        chosen = set(chosen_topics(self.path, topics, self.topics))
        for row, view, name in self._files:
            if view not in chosen:
                continue
            try:
                file = inside(self.path, name)
            except InputError as error:
                yield UnreadableImage(name, error)
                continue
            yield StoredImage(name, Path(name).name, str(view), row.stamp_ns, file, row.instruction)


def _images(row: Reference) -> dict[View, str]:
    return {row.view: row.image} | {camera.view: camera.image for camera in row.cameras}
