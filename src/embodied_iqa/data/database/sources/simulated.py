"""References from the simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from embodied_iqa.base.errors import UsageError
from embodied_iqa.data.database.schema import SourceKind
from embodied_iqa.data.database.sources.candidate import Candidate, home_tool
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS, check_cell_views
from embodied_iqa.world.scenes.language.five_tasks import draw_task_scene, make_tasks
from embodied_iqa.world.scenes.scene import WORLD_VERSION
from embodied_iqa.world.simulation.camera import DEFAULT_MODEL, CameraModel
from embodied_iqa.world.simulation.camera.simulated_cameras import taken
from embodied_iqa.world.simulation.kept_renderers import batch_renderer
from embodied_iqa.world.simulation.world import at_rest
from embodied_iqa.world.tasks.vocabulary import CATEGORY_OF_KIND

_SEED_TAG: Final = 0xDA7A


@dataclass(frozen=True, slots=True)
class SimulationSource:
    """Seeded scenes of the simulated cell, the arm at home; views alternate, verbs are drawn.

    Attributes:
        seed: Of scenes and tasks.
        width_px: Of the images.
        height_px: Of the images.
        views: The cameras of the references.
        camera_model: What the cameras make of a rendered image.
    """

    count: ClassVar[int | None] = None
    fingerprint: ClassVar[str] = ""

    seed: int
    width_px: int = 480
    height_px: int = 360
    views: tuple[View, ...] = CELL_VIEWS
    camera_model: CameraModel = DEFAULT_MODEL

    def __post_init__(self) -> None:
        if self.seed < 0 or not self.views:
            raise UsageError("wrong source of scenes", expected="a seed from 0 and a view", got=self.seed)
        check_cell_views(self.views)

    @property
    def description(self) -> str:
        """Version of the world, seed, size, views and camera model."""
        size, views = f"{self.width_px}x{self.height_px}", ",".join(self.views)
        start = f"simulation, world {WORLD_VERSION}, seed {self.seed}"
        return f"{start}, {size}, views {views}, camera model {self.camera_model}"

    def name_of(self, index: int) -> str:
        """Return what lists call a candidate."""
        return f"scene {index}"

    def read(self, index: int) -> Candidate:
        """Draw a scene and render its images from every camera."""
        rng = np.random.default_rng(np.random.SeedSequence([self.seed, index, _SEED_TAG]))
        view = self.views[index % len(self.views)]
        scene, main = draw_task_scene(int(rng.integers(2**31)), views=[view])
        with batch_renderer(self.width_px, self.height_px) as renderer:
            rendered = renderer.frames(scene, CELL_VIEWS, at_rest(scene))
        frames = {view: taken(frame, self.camera_model, scene.seed) for view, frame in rendered.items()}
        model = "" if self.camera_model is CameraModel.IDEAL else f" camera {self.camera_model}"
        kind = scene.objects[0].kind
        return Candidate(
            source=SourceKind.SIMULATION,
            origin=f"simulation seed {self.seed} scene {index} {self.width_px}x{self.height_px}{model}",
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
