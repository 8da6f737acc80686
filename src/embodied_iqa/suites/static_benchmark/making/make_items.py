"""Making of a benchmark: drafts, their state in physics, their images; resumable."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InternalError
from embodied_iqa.base.jobs.engine import BlockReport, Job, run_jobs
from embodied_iqa.base.jobs.folder import JobFolder
from embodied_iqa.base.jobs.plan import require_same_plan
from embodied_iqa.base.kinematics import chain_increments, increments_between
from embodied_iqa.suites.static_benchmark.benchmark import (
    BenchmarkRecord,
    check_new,
    write_benchmark,
)
from embodied_iqa.suites.static_benchmark.items import Item
from embodied_iqa.suites.static_benchmark.making.draft import Cut, Draft
from embodied_iqa.suites.static_benchmark.making.drafts import draw_draft, slots_of
from embodied_iqa.suites.static_benchmark.making.make_plan import MakePlan
from embodied_iqa.suites.static_benchmark.tsv import ItemTable, read_tsv, write_tsv
from embodied_iqa.suites.static_benchmark.tsv_images import encode_image
from embodied_iqa.world.scenes.scene import Scene
from embodied_iqa.world.scenes.snapshot import WorldSnapshot
from embodied_iqa.world.simulation.camera.simulated_cameras import taken
from embodied_iqa.world.simulation.expert import expert_chunk
from embodied_iqa.world.simulation.kept_renderers import batch_renderer
from embodied_iqa.world.simulation.renderer import check_image_size
from embodied_iqa.world.simulation.rollout import rollout
from embodied_iqa.world.simulation.success import task_success
from embodied_iqa.world.simulation.world import World, at_rest

_BLOCK: Final = 20
"""Items in a block: the work of one job, and the most that a kill loses."""
_ATTEMPTS: Final = 50
_WORK: Final = ".making"
_PARTS: Final = "items-*.tsv"


def make_items(folder: Path, plan: MakePlan, watch: Callable[[int, int], object]) -> BenchmarkRecord:
    """Make a benchmark, or continue one that was cut short: the same plan gives the same bytes.

    Args:
        folder: New, or with unfinished work of the same plan.
        plan: What is made.
        watch: Called with the number of finished blocks and of all.

    Raises:
        UsageError: A wrong size of the images, or unfinished work of another plan; nothing is written then.
        InputError: The folder holds a benchmark, or cannot be written.
    """
    check_image_size(plan.width_px, plan.height_px)
    with JobFolder(folder, "making of questions").locked():
        check_new(folder)
        work = folder / _WORK
        _begin(work, plan)
        blocks = range(0, plan.items, _BLOCK)
        missing = [start for start in blocks if not _part(work, start).exists()]
        jobs: list[Job] = [partial(_make_block, work, plan, start) for start in missing]
        for done, _ in enumerate(run_jobs(jobs, plan.engine), start=len(blocks) - len(missing) + 1):
            watch(done, len(blocks))
        tables = [read_tsv(_part(work, start)) for start in blocks]
        items = tuple(item for table in tables for item in table.items)
        images = {index: image for table in tables for index, image in table.images.items()}
        record = write_benchmark(folder, ItemTable(items, images), plan.description)
        rmtree(work)
        return record


def _begin(work: Path, plan: MakePlan) -> None:
    note = work / "plan.txt"
    if note.is_file() and any(work.glob(_PARTS)):  # a plan without a block binds nobody
        require_same_plan(work, {"plan": note.read_text(encoding="utf-8")}, {"plan": plan.description})
        return
    work.mkdir(parents=True, exist_ok=True)
    note.write_text(plan.description, encoding="utf-8")


def _part(work: Path, start: int) -> Path:
    return work / f"items-{start:06d}.tsv"


def _make_block(work: Path, plan: MakePlan, start: int) -> BlockReport:
    began = time.perf_counter()
    made = list(_items(plan, range(start, min(start + _BLOCK, plan.items))))
    items = [item for item, _ in made]
    write_tsv(_part(work, start), items, {item.index: image for item, image in made})
    return BlockReport(start // _BLOCK, len(items), busy_s=time.perf_counter() - began)


def _items(plan: MakePlan, indices: range) -> Iterator[tuple[Item, str]]:
    """Yield items with base64 of their images."""
    with batch_renderer(plan.width_px, plan.height_px) as renderer:
        for index in indices:
            draft, state = _staged(plan, index)
            frame = renderer.frames(draft.scene, [draft.view], state)[draft.view]
            shown = taken(frame, plan.camera_model, draft.scene.seed)
            yield draft.item(index), encode_image(shown.rgb)


def _staged(plan: MakePlan, index: int) -> tuple[Draft, WorldSnapshot | None]:
    """Return a draft and its state; another draft where the expert fails in physics."""
    slot = slots_of(plan.items, plan.seed)[index]
    for attempt in range(_ATTEMPTS):
        draft = draw_draft(slot, plan.seed, index, attempt)
        if draft.cut is None:
            return draft, at_rest(draft.scene)
        state = state_at_cut(draft.scene, draft.cut)
        if state is not None:
            return draft, state
    raise InternalError(f"the expert fails in every episode of item {index}, seed {plan.seed}")


Array = NDArray[np.float64]


def state_at_cut(scene: Scene, cut: Cut) -> WorldSnapshot | None:
    """Return the state of the world at a cut; None where the expert does not reach the task's end.

    Args:
        scene: What is on the table.
        cut: Where the episode is cut; the arm rests there.
    """
    world = World(scene)
    start, home = world.snapshot(), world.T_base_tool
    chunk = expert_chunk(scene, start, cut.instruction, home).increments
    poses, grippers = chain_increments(home, chunk), chunk[:, 6:]
    if rollout(world, chunk[: cut.waypoint]).stopped is not None:
        return None
    if (
        rollout(world, _through(world, cut.T_base_tool[None], grippers[cut.waypoint][None])).stopped
        is not None
    ):
        return None
    shown = world.snapshot()
    if rollout(world, _through(world, poses[cut.waypoint :], grippers[cut.waypoint :])).stopped is not None:
        return None
    return shown if task_success(scene, cut.instruction, start, world.snapshot()) else None


def _through(world: World, poses: Array, grippers: Array) -> Array:
    """Return the ``(K, 7)`` increments from the tool's present pose through others."""
    return np.concatenate(
        [increments_between(np.concatenate([world.T_base_tool[None], poses])), grippers], axis=1
    )
