"""Where references come from: the simulator, a folder of photographs, a recording."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.database.schema import SourceKind
from embodied_iqa.errors import UsageError
from embodied_iqa.images.codecs import picture_files, read_picture
from embodied_iqa.images.frame import Frame, View
from embodied_iqa.kinematics import Kinematics
from embodied_iqa.scenes.dimensions import HOME_Q_RAD, T_flange_tool
from embodied_iqa.scenes.language.five_tasks import make_tasks
from embodied_iqa.scenes.language.rich_scenes import draw_task_scene
from embodied_iqa.scenes.scene import Scene
from embodied_iqa.scenes.snapshot import WorldSnapshot
from embodied_iqa.scenes.viewpoints import viewpoint_of
from embodied_iqa.simulation.renderer import intrinsics_of
from embodied_iqa.simulation.scene_batches import SceneBatchRenderer
from embodied_iqa.simulation.world import World
from embodied_iqa.tasks.instruction import CATEGORY_OF_KIND, Kind
from embodied_iqa.tasks.task import Task
from embodied_iqa.tasks.task_files import PictureTasks, load_task_file

__all__ = ["Candidate", "FolderSource", "ReferenceSource", "SimulationSource", "fingerprint_of", "home_tool"]

_SEED_TAG: Final = 0xDA7A


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A picture that may become a reference.

    Attributes:
        source: Where it comes from.
        origin: Which one of that source; with the view it names the reference.
        real: A photograph; False for simulation.
        view: Of the picture that is judged.
        frames: That picture and others of the same instant.
        T_base_tool: ``(4, 4)`` float64, the tool (m).
        gripper: 0 open to 1 closed.
        tasks: What subjects are asked about it.
        main_object: Category of the main object, or None where nobody said.
        main_kind: Its kind, likewise.
        background: Likewise.
        scene_seed: Of a simulated scene.
        instruction: What the scene was made for, or what the robot was doing.
    """

    source: SourceKind
    origin: str
    real: bool
    view: View
    frames: Mapping[View, Frame]
    T_base_tool: NDArray[np.float64]
    gripper: float
    tasks: tuple[Task, ...]
    main_object: str | None = None
    main_kind: str | None = None
    background: str | None = None
    scene_seed: int | None = None
    instruction: str | None = None

    @property
    def reference_id(self) -> str:
        """The same on every machine, and another for every other picture."""
        return "r" + hashlib.sha256(f"{self.origin}|{self.view}".encode()).hexdigest()[:12]


class ReferenceSource(Protocol):
    """A sequence of candidates that any process can read from."""

    @property
    def count(self) -> int | None:
        """How many there are; None for as many as are wanted."""
        ...

    @property
    def description(self) -> str:
        """One line for `dataset.json`; another one makes another database."""
        ...

    @property
    def fingerprint(self) -> str:
        """A hash of what people wrote about the pictures, which may be mended; empty where nobody did."""
        ...

    def read(self, index: int) -> Candidate:
        """Return a candidate; the same index gives the same one in every process.

        Raises:
            InputError: This one cannot be used; the others may.
        """
        ...


def fingerprint_of(items: Iterable[PictureTasks]) -> str:
    """Return a hash of what a task file says of these pictures; lines and their order do not matter."""
    texts = sorted(repr(replace(item, line=0)) for item in items)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:32]


@cache
def home_tool() -> NDArray[np.float64]:
    """Return ``(4, 4)``, where the tool is while the arm is at home (m)."""
    return np.array(Kinematics(np.asarray(T_flange_tool)).forward(np.array(HOME_Q_RAD)))


@dataclass(frozen=True, slots=True)
class SimulationSource:
    """Seeded scenes of the simulated cell, the arm at home; views take turns, verbs are drawn.

    Attributes:
        seed: Of everything.
        width_px: Of the pictures.
        height_px: Of the pictures.
        views: Which cameras references are from.
    """

    seed: int
    width_px: int = 480
    height_px: int = 360
    views: tuple[View, ...] = tuple(View)

    def __post_init__(self) -> None:
        if self.seed < 0 or not self.views:
            raise UsageError("wrong source of scenes", expected="a seed from 0 and a view", got=self.seed)

    @property
    def count(self) -> int | None:
        """Without end."""
        return None

    @property
    def description(self) -> str:
        """Seed, size and views."""
        size = f"{self.width_px}x{self.height_px}"
        return f"simulation, seed {self.seed}, {size}, views {','.join(self.views)}"

    @property
    def fingerprint(self) -> str:
        """Nobody writes about simulated scenes."""
        return ""

    def read(self, index: int) -> Candidate:
        """Draw a scene and its pictures from every camera."""
        rng = np.random.default_rng(np.random.SeedSequence([self.seed, index, _SEED_TAG]))
        view = self.views[index % len(self.views)]
        scene, main = draw_task_scene(int(rng.integers(2**31)), views=[view])
        frames = _renderer(self.width_px, self.height_px).frames(scene, View, _settled(scene))
        kind = scene.objects[0].kind
        return Candidate(
            source=SourceKind.SIMULATION,
            origin=f"simulation seed {self.seed} scene {index} {self.width_px}x{self.height_px}",
            real=False,
            view=view,
            frames=frames,
            T_base_tool=home_tool(),
            gripper=0.0,
            tasks=make_tasks(scene, view=view, main=main),
            main_object=str(CATEGORY_OF_KIND[kind]),
            main_kind=str(kind),
            background=str(scene.background),
            scene_seed=scene.seed,
            instruction=str(main),
        )


def _settled(scene: Scene) -> WorldSnapshot | None:
    """Beads have to be let fall before a picture; all other objects stand where they were drawn."""
    if any(item.kind is Kind.CUP for item in scene.objects):
        return World(scene).snapshot()
    return None


@cache
def _renderer(width_px: int, height_px: int) -> SceneBatchRenderer:
    """Compiled once a process: that takes longer than many scenes."""
    return SceneBatchRenderer(width_px, height_px)


@dataclass(frozen=True, slots=True)
class FolderSource:
    """Photographs in a folder, with a file of their tasks.

    Attributes:
        folder: Holds the pictures.
        tasks_file: See docs/tasks.md; a picture without tasks is left out.
        view: Of pictures for which the file does not say.
        pictures: In the order of their names.
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
        """How many pictures there are."""
        return len(self.pictures)

    @property
    def description(self) -> str:
        """The folder's name: pictures are told apart by their names and content."""
        return f"folder {self.folder.resolve().name}, {self.view} unless the tasks say otherwise"

    @property
    def fingerprint(self) -> str:
        """Of the tasks and labels, in whichever order they are listed."""
        return fingerprint_of(self.tasks.values())

    def read(self, index: int) -> Candidate:
        """Read a picture; the camera is taken for the simulated cell's of that view."""
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
