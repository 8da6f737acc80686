"""What a gate is fitted to: labelled pictures of one camera, of a database or of another benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol

from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.quality.gate.fitting.check import Array, Mask
from embodied_iqa.quality.gate.fitting.frames import FramePictures, GateFrames, gate_frames, picture_size
from embodied_iqa.quality.gate.fitting.plan import FitPlan
from embodied_iqa.quality.gate.fitting.second import JudgedMotions, motions_of
from embodied_iqa.quality.metrics.benchmark.database_pictures import DatabasePictures
from embodied_iqa.quality.metrics.picture_set import PictureSet


class FitSource(Protocol):
    """Labelled pictures of the camera of a plan."""

    @property
    def pictures(self) -> PictureSet:
        """The pictures, clean ones included."""
        ...

    @property
    def frames(self) -> GateFrames:
        """The pictures by name, with what is lost on each."""
        ...

    @property
    def size_px(self) -> tuple[int, int]:
        """Width and height of all pictures."""
        ...

    @property
    def conditions(self) -> str:
        """Scenes and mix of distortions in words, for the promise."""
        ...

    @property
    def record(self) -> Mapping[str, Any]:
        """What the pictures were made of, for the provenance."""
        ...

    def motions(self, predicted: tuple[Array, Array], rejected: Mask) -> JudgedMotions | None:
        """Return the motions that were decided on these pictures, see `second.motions_of`."""
        ...


class DatabaseSource:
    """The pictures of a database that a policy was asked about.

    Args:
        store: With scores of the policy.
        plan: Camera and policy.

    Raises:
        InputError: No such policy or no scores for this camera, or its pictures differ in size.
    """

    def __init__(self, store: DatabaseStore, plan: FitPlan) -> None:
        self._store, self._plan = store, plan
        self.pictures = FramePictures(DatabasePictures(store.path))
        self.frames = gate_frames(store, plan.policy, plan.view)
        self.size_px = picture_size(store, plan.view)

    @cached_property
    def record(self) -> Mapping[str, Any]:
        """See `FitSource`: the plan of the build."""
        return self._store.record().plan

    @property
    def conditions(self) -> str:
        """See `FitSource`."""
        levels = "all five levels" if self.record.get("levels") == "all" else "one random level each"
        types = len(set(self._store.pairs(["distortion_id"])["distortion_id"].to_pylist()))
        return (
            f"scenes: {self.record.get('source', 'unknown')}; mix: {types} distortions, {levels}, in equal "
            "shares, without clean frames"
        )

    def motions(self, predicted: tuple[Array, Array], rejected: Mask) -> JudgedMotions | None:
        """See `FitSource`."""
        return motions_of(self._store, self._plan.policy, self.frames, predicted, rejected)
