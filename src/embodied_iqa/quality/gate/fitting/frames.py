"""Images of one camera with what a policy loses on them, from an annotated database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.jobs.plan import digest_of
from embodied_iqa.data.database.database_images import read_frames
from embodied_iqa.data.database.schema import Pair, Reference, SourceKind
from embodied_iqa.data.database.sources.framed import scene_of_name
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.quality.gate.fitted import LossKind
from embodied_iqa.quality.metrics.benchmark.benchmark_images import DatabaseImages, tables_of
from embodied_iqa.quality.metrics.image_set import PairImages
from embodied_iqa.quality.metrics.metric import MetricContext

WRONG_FROM: Final = 0.2
"""A motion is wrong where the policy acts and its decision score lacks more than this of 1."""

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class GateFrames:
    """Clean and distorted images with labels; those of one scene are neighbours.

    Attributes:
        ids: ``(N,)`` pair, or reference of a clean image.
        scenes: ``(N,)`` the exchangeable unit: a simulated scene, a recording or a photograph.
        kinds: ``(N,)`` distortion and level, as ``12:3``; that of a clean image is empty.
        clean: ``(N,)`` whether an image is a reference, on which the policy loses nothing by definition.
        decision: ``(N,)`` mean over the tasks of what the decision score lacks of 1.
        wrong_motion_loss: ``(N,)`` the same with 0 where the policy refuses.
        wrong_motion: ``(N,)`` share of tasks with a wrong motion, see `WRONG_FROM`.
    """

    ids: NDArray[np.str_]
    scenes: NDArray[np.str_]
    kinds: NDArray[np.str_]
    clean: Mask
    decision: Array
    wrong_motion_loss: Array
    wrong_motion: Array

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def types(self) -> NDArray[np.str_]:
        """``(N,)`` distortions without their levels; that of a clean image is empty."""
        return np.array([kind.rpartition(":")[0] for kind in self.kinds.tolist()], dtype=np.str_)

    def loss(self, kind: LossKind) -> Array:
        """Return ``(N,)`` losses in [0, 1]."""
        return self.decision if kind is LossKind.DECISION else self.wrong_motion_loss

    def part(self, rows: Mask) -> GateFrames:
        """Return some of the rows."""
        return GateFrames(*(getattr(self, field.name)[rows] for field in fields(self)))

    def of_scenes(self, scenes: Sequence[str]) -> Mask:
        """Return ``(N,)``, whether an image belongs to one of these scenes."""
        return np.isin(self.scenes, list(scenes))


@dataclass(frozen=True, slots=True)
class FrameImages:
    """Images of a database by pair; a reference's id gives its clean image.

    Attributes:
        base: The distorted images.
    """

    base: DatabaseImages

    @property
    def name(self) -> str:
        """Name of the database."""
        return self.base.name

    def read(self, pair_ids: Sequence[str]) -> Iterator[PairImages]:
        """See `ImageSet`."""
        _, references = tables_of(self.base.path)
        for is_clean, group in groupby(pair_ids, references.__contains__):
            if not is_clean:
                yield from self.base.read(list(group))
                continue
            for name in group:
                row = references[name]
                rgb = read_frames(self.base.path, row, [row.view])[row.view].rgb
                yield PairImages(name, rgb, rgb, MetricContext(row.view, row.instruction))

    def digest(self, pair_ids: Sequence[str]) -> str:
        """See `ImageSet`."""
        _, references = tables_of(self.base.path)
        clean = [name for name in pair_ids if name in references]
        pairs = [name for name in pair_ids if name not in references]
        return digest_of(
            "frames", self.base.digest(pairs), [(name, references[name].sha256) for name in clean]
        )


def gate_frames(store: DatabaseStore, policy: str, view: View) -> GateFrames:
    """Return the images of a camera that a policy was asked about.

    Args:
        store: With scores.
        policy: Name of the VLA in the database.
        view: The camera.

    Raises:
        InputError: No such policy, or it has no scores for this camera.
    """
    known, references = tables_of(store.path)
    pairs = _scored_pairs(store, policy, view)
    owners = pairs["reference_id"].to_pylist()
    clean = sorted(set(owners))
    ids = np.array([*clean, *pairs["pair_id"].to_pylist()])
    scenes = np.array([scene_of(references[name]) for name in (*clean, *owners)])
    kinds = np.array([kind_of(known.get(name)) for name in ids.tolist()])
    zeros, order = np.zeros(len(clean)), np.lexsort((ids, scenes))
    numbers = (
        np.concatenate([zeros, pairs[f"{name}_mean"].to_numpy()])[order]
        for name in ("loss", "acted", "wrong")
    )
    is_clean = np.arange(len(ids)) < len(clean)
    return GateFrames(ids[order], scenes[order], kinds[order], is_clean[order], *numbers)


def kind_of(pair: Pair | None) -> str:
    """Return distortion and level of a pair, or nothing for a reference."""
    return "" if pair is None else f"{pair.distortion_id}:{pair.level}"


def _scored_pairs(store: DatabaseStore, policy: str, view: View) -> Any:
    """Return the means over the tasks of each pair whose tasks were all scored."""
    rows = store.scores(["subject", "role", "pair_id", "reference_id", "view", "score", "refused"])
    rows = rows.filter(pc.equal(rows["role"], str(Role.VLA)))
    policies = sorted(set(rows["subject"].to_pylist()))
    if policy not in policies:
        raise InputError(f"{store.path} has no scores of this policy", got=policy, available=policies)
    rows = rows.filter(pc.equal(rows["subject"], policy))
    views = sorted(set(rows["view"].to_pylist()))
    rows = rows.filter(pc.equal(rows["view"], str(view)))
    score = rows["score"].to_numpy(zero_copy_only=False)  # a missing score is NaN, and so is the pair's mean
    loss, refused = 1.0 - score, pc.fill_null(rows["refused"], fill_value=False).to_numpy()
    acted = np.where(refused, 0.0, loss)
    for name, values in (("loss", loss), ("acted", acted), ("wrong", (acted > WRONG_FROM) * 1.0)):
        rows = rows.append_column(name, pa.array(values))
    means = [(name, "mean") for name in ("loss", "acted", "wrong")]
    pairs = rows.group_by(["reference_id", "pair_id"]).aggregate(means)
    pairs = pairs.filter(pc.is_finite(pairs["loss_mean"]))
    if not pairs.num_rows:
        raise InputError(f"{policy} has no scores for images of the {view} camera", available=views)
    return pairs


def image_size(store: DatabaseStore, view: View) -> tuple[int, int]:
    """Return width and height of a camera's images.

    Raises:
        InputError: They differ.
    """
    rows = [row for row in tables_of(store.path)[1].values() if row.view == view]
    sizes = sorted({(row.width_px, row.height_px) for row in rows})
    if len(sizes) != 1:
        shown = ", ".join(f"{width}x{height}" for width, height in sizes)
        raise InputError(f"images of the {view} camera differ in size", expected="one size", got=shown)
    return sizes[0]


def scene_of(reference: Reference) -> str:
    """Return the scene of a reference; references of one recording belong to one scene."""
    if reference.scene_seed is not None:
        return f"scene {reference.scene_seed}"
    if reference.source is SourceKind.RECORDING:
        return reference.origin.rsplit(" ", 2)[0]  # without stamp and hash
    if reference.source in {SourceKind.DATASET, SourceKind.VIDEO}:
        source, name, _ = reference.origin.rsplit(" ", 2)
        return f"{source} {scene_of_name(name)}"
    return reference.origin
