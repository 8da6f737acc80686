"""References from a folder of photographs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from embodied_iqa.base.errors import UsageError
from embodied_iqa.data.database.schema import SourceKind
from embodied_iqa.data.database.sources.candidate import Candidate, fingerprint_of, home_tool, short_id
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.imaging.images.frame import Frame, View, image_frame
from embodied_iqa.imaging.images.image_files import find_images
from embodied_iqa.world.scenes.viewpoints import viewpoint_of
from embodied_iqa.world.simulation.renderer import intrinsics_of
from embodied_iqa.world.tasks.task import Task, TaskSource
from embodied_iqa.world.tasks.task_files import ImageTasks, load_image_tasks


@dataclass(frozen=True, slots=True)
class FolderSource:
    """Photographs in a folder, with a file of their tasks or one task of all.

    Attributes:
        folder: Contains the images, also in folders of its own.
        tasks_file: See docs/tasks.md; an image without tasks is skipped. None for `task`.
        view: View of the images for which the file has none.
        cell_cameras: The images show the simulated cell as its cameras do; otherwise nothing is known of
            their cameras.
        task: The task of all images, where there is no file.
        images: Sorted by name.
        unread: Which images of the folder are left out, in words; empty for none.
        tasks: By image.
    """

    folder: Path
    tasks_file: Path | None
    view: View = View.TOP
    cell_cameras: bool = False
    task: str = ""
    images: tuple[Path, ...] = field(init=False)
    unread: str = field(init=False)
    tasks: Mapping[Path, ImageTasks] = field(init=False)

    def __post_init__(self) -> None:
        found, file = find_images(self.folder, recursive=True), self.tasks_file
        images = tuple(found.files)
        if file is None:
            tasks = {path.resolve(): _with_task(self._name(path), self.task) for path in images}
        else:
            tasks = load_image_tasks(file)
        object.__setattr__(self, "tasks", tasks)
        object.__setattr__(self, "images", images)
        object.__setattr__(self, "unread", found.note)

    @property
    def count(self) -> int | None:
        """Number of images."""
        return len(self.images)

    def notes(self) -> tuple[str, ...]:
        """Return what is not read although it is there."""
        return (self.unread,) if self.unread else ()

    @property
    def description(self) -> str:
        """The folder's name; names and content identify the images."""
        text = f"folder {self.folder.resolve().name}, {self.view} unless the tasks say otherwise"
        return text if self.cell_cameras else f"{text}, cameras not known"

    @property
    def fingerprint(self) -> str:
        """Of the tasks and labels, in any order."""
        return fingerprint_of(self.tasks.values())

    def name_of(self, index: int) -> str:
        """Return what lists call a candidate: the name of its file."""
        return self._name(self.images[index])

    def read(self, index: int) -> Candidate:
        """Read an image."""
        path = self.images[index]
        item = self.tasks.get(path.resolve())
        if item is None:
            raise UsageError(f"no tasks: {self.tasks_file} does not list {self._name(path)}")
        view = item.view or self.view
        rgb = read_image(path)
        frame = image_frame(rgb, view)
        if self.cell_cameras:
            frame = Frame(view, 0, rgb, intrinsics_of(*frame.size_px), viewpoint_of(view).T_base_camera)
        digest = hashlib.sha256(rgb.tobytes()).hexdigest()[:16]
        return Candidate(
            source=SourceKind.FOLDER,
            origin=f"{self._name(path)} {digest}",
            real=item.labels.real is not False,
            view=view,
            frames={view: frame},
            T_base_tool=home_tool() if self.cell_cameras else None,
            gripper=0.0 if self.cell_cameras else None,
            tasks=item.tasks,
            main_object=item.labels.main_object,
            main_kind=item.labels.main_kind,
            background=item.labels.background,
            is_timed=False,
        )

    def _name(self, image: Path) -> str:
        return image.relative_to(self.folder).as_posix()


def _with_task(name: str, text: str) -> ImageTasks:
    task = Task(short_id(f"{text}:{name}"), 1, text, source=TaskSource.FILE)
    return ImageTasks(PurePosixPath(name), None, None, (task,), 0)
