"""What a gate is fitted to: labelled images of one camera, of a database or of another benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol

from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.models.subjects.subject_options import Acts
from embodied_iqa.quality.gate.fitting.check import Array, Mask
from embodied_iqa.quality.gate.fitting.fit_plan import FitPlan
from embodied_iqa.quality.gate.fitting.frames import FrameImages, GateFrames, gate_frames, image_size
from embodied_iqa.quality.gate.fitting.second import JudgedMotions, motions_of
from embodied_iqa.quality.metrics.benchmark.benchmark_images import DatabaseImages
from embodied_iqa.quality.metrics.image_set import ImageSet


class FitSource(Protocol):
    """Labelled images of the camera of a plan."""

    @property
    def images(self) -> ImageSet:
        """The images, clean ones included."""
        ...

    @property
    def frames(self) -> GateFrames:
        """The images by name, with what is lost on each."""
        ...

    @property
    def size_px(self) -> tuple[int, int]:
        """Width and height of all images."""
        ...

    @property
    def conditions(self) -> str:
        """Scenes and mix of distortions in words, for the promise."""
        ...

    @property
    def record(self) -> Mapping[str, Any]:
        """What the images were made of, for the provenance."""
        ...

    def motions(self, predicted: tuple[Array, Array], rejected: Mask) -> JudgedMotions | None:
        """Return the motions that were decided on these images, see `second.motions_of`."""
        ...


def acts_in(store: DatabaseStore, policy: str) -> Acts:
    """Return when a policy of a database acts, by its version there."""
    versions = {subject.name: subject.version for subject in store.record().subjects}
    return Acts.of_version(versions.get(policy, ""))


class DatabaseSource:
    """The images of a database that a policy was asked about.

    Args:
        store: With scores of the policy.
        plan: Camera and policy.

    Raises:
        InputError: No such policy or no scores for this camera, or its images differ in size.
    """

    def __init__(self, store: DatabaseStore, plan: FitPlan) -> None:
        self._store, self._plan = store, plan
        self.images = FrameImages(DatabaseImages(store.path))
        self.frames = gate_frames(store, plan.policy, plan.view)
        self.size_px = image_size(store, plan.view)

    @cached_property
    def record(self) -> Mapping[str, Any]:
        """See `FitSource`: the plan of the build."""
        return self._store.record().plan

    @property
    def conditions(self) -> str:
        """See `FitSource`."""
        kept = str(self.record.get("levels", "one at random"))
        words = {"all": "all five levels", "one at random": "one random level each"}
        levels = words.get(kept, f"levels {kept}")
        types = len(set(self._store.pairs(["distortion_id"])["distortion_id"].to_pylist()))
        return (
            f"scenes: {self.record.get('source', 'unknown')}; mix: {types} distortions, {levels}, in equal "
            "shares, without clean frames"
        )

    def motions(self, predicted: tuple[Array, Array], rejected: Mask) -> JudgedMotions | None:
        """See `FitSource`."""
        return motions_of(self._store, self._plan.policy, self.frames, predicted, rejected)
