"""References from a folder of photographs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from embodied_iqa.database.schema import SourceKind
from embodied_iqa.database.sources.candidate import Candidate, fingerprint_of, home_tool
from embodied_iqa.errors import UsageError
from embodied_iqa.images.codecs import picture_files, read_picture
from embodied_iqa.images.frame import Frame, View
from embodied_iqa.scenes.viewpoints import viewpoint_of
from embodied_iqa.simulation.renderer import intrinsics_of
from embodied_iqa.tasks.task_files import PictureTasks, load_task_file


@dataclass(frozen=True, slots=True)
class FolderSource:
    """Photographs in a folder, with a file of their tasks.

    Attributes:
        folder: Contains the pictures.
        tasks_file: See docs/tasks.md; a picture without tasks is skipped.
        view: View of the pictures for which the file has none.
        pictures: Sorted by name.
        tasks: By picture.
    """

    folder: Path
    tasks_file: Path
    view: View = View.TOP
    pictures: tuple[Path, ...] = field(init=False)
    tasks: Mapping[Path, PictureTasks] = field(init=False)

    def __post_init__(self) -> None:
        base = self.tasks_file.parent
        listed = {
            (base / item.path).resolve(): item
            for item in load_task_file(self.tasks_file)
            if item.stamp_ns is None
        }
        object.__setattr__(self, "tasks", listed)
        object.__setattr__(self, "pictures", tuple(picture_files(self.folder)))

    @property
    def count(self) -> int | None:
        """Number of pictures."""
        return len(self.pictures)

    @property
    def description(self) -> str:
        """The folder's name; names and content identify the pictures."""
        return f"folder {self.folder.resolve().name}, {self.view} unless the tasks say otherwise"

    @property
    def fingerprint(self) -> str:
        """Of the tasks and labels, in any order."""
        return fingerprint_of(self.tasks.values())

    def read(self, index: int) -> Candidate:
        """Read a picture; its camera is assumed to be the simulated cell's of that view."""
        path = self.pictures[index]
        item = self.tasks.get(path.resolve())
        if item is None:
            raise UsageError(f"no tasks: {self.tasks_file.name} does not list {path.name}")
        view = item.view or self.view
        rgb = read_picture(path)
        height_px, width_px = rgb.shape[:2]
        frame = Frame(view, 0, rgb, intrinsics_of(width_px, height_px), viewpoint_of(view).T_base_camera)
        digest = hashlib.sha256(rgb.tobytes()).hexdigest()[:16]
        return Candidate(
            source=SourceKind.FOLDER,
            origin=f"{path.name} {digest}",
            real=item.labels.real is not False,
            view=view,
            frames={view: frame},
            T_base_tool=home_tool(),
            gripper=0.0,
            tasks=item.tasks,
            main_object=item.labels.main_object,
            main_kind=item.labels.main_kind,
            background=item.labels.background,
        )
