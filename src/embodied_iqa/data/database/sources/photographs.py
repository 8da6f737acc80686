"""References from a folder of photographs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from embodied_iqa.base.errors import UsageError
from embodied_iqa.data.database.schema import SourceKind
from embodied_iqa.data.database.sources.candidate import Candidate, fingerprint_of, home_tool
from embodied_iqa.imaging.images.codecs import picture_files, read_picture
from embodied_iqa.imaging.images.frame import Frame, View, picture_frame
from embodied_iqa.world.scenes.viewpoints import viewpoint_of
from embodied_iqa.world.simulation.renderer import intrinsics_of
from embodied_iqa.world.tasks.task_files import PictureTasks, load_task_file


@dataclass(frozen=True, slots=True)
class FolderSource:
    """Photographs in a folder, with a file of their tasks.

    Attributes:
        folder: Contains the pictures.
        tasks_file: See docs/tasks.md; a picture without tasks is skipped.
        view: View of the pictures for which the file has none.
        cell_cameras: The pictures show the simulated cell as its cameras do; otherwise nothing is known of
            their cameras.
        pictures: Sorted by name.
        tasks: By picture.
    """

    folder: Path
    tasks_file: Path
    view: View = View.TOP
    cell_cameras: bool = False
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
        text = f"folder {self.folder.resolve().name}, {self.view} unless the tasks say otherwise"
        return text if self.cell_cameras else f"{text}, cameras not known"

    @property
    def fingerprint(self) -> str:
        """Of the tasks and labels, in any order."""
        return fingerprint_of(self.tasks.values())

    def read(self, index: int) -> Candidate:
        """Read a picture."""
        path = self.pictures[index]
        item = self.tasks.get(path.resolve())
        if item is None:
            raise UsageError(f"no tasks: {self.tasks_file.name} does not list {path.name}")
        view = item.view or self.view
        rgb = read_picture(path)
        frame = picture_frame(rgb, view)
        if self.cell_cameras:
            frame = Frame(view, 0, rgb, intrinsics_of(*frame.size_px), viewpoint_of(view).T_base_camera)
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
