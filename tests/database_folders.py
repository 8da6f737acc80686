"""Databases on disk with made-up scores, and experiments to join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from database_grids import DISTORTIONS
from embodied_iqa.base.tables import rows_of, table_of, write_table
from embodied_iqa.data.database.database_images import image_hash
from embodied_iqa.data.database.record import DatabaseRecord, RecordedSubject
from embodied_iqa.data.database.run_rows import COLUMNS
from embodied_iqa.data.database.schema import PAIRS, REFERENCES, SCORES, TASKS, Camera, Reference
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.imaging.distortions import entry
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.world.protocols import SubjectInfo

RANKS = (1, 2, 3, 4, 5)
VIEWS = ("wrist", "top", "side")
OBJECTS = ("cube", "cup", "drawer", "button", "bottle")
BACKGROUNDS = ("plain", "wood", "checked", "cloth", "tiles")
ATTRIBUTES = ("luminance", "contrast", "chrominance", "sharpness", "spatial_information")


def write_database(
    path: Path,
    references: int = 6,
    subjects: int = 3,
    seed: int = 0,
    *,
    images: bool = False,
    homes: dict[str, str] | None = None,
    distortions: Sequence[str] = DISTORTIONS,
) -> DatabaseStore:
    """A finished database; `homes`: the view that a subject is made for, all else."""
    rng = np.random.default_rng(seed)
    store = DatabaseStore(path)
    path.mkdir(parents=True, exist_ok=True)
    made = [_reference(number, rng) for number in range(references)]
    pairs = [_pair(reference, number, rng, images) for reference in made for number in distortions]
    tasks = [_task(reference["reference_id"], rank) for reference in made for rank in RANKS]
    for file, rows, schema in (
        (store.references_file, made, REFERENCES),
        (store.pairs_file, pairs, PAIRS),
        (store.tasks_file, tasks, TASKS),
    ):
        write_table(file, pa.Table.from_pylist(rows, schema=schema), schema)
    write_table(store.scores_file, _at_home(_scores(pairs, made, subjects, rng), homes or {}), SCORES)
    names = [(f"{role}-{n}", role) for role in (Role.VLM, Role.VLA) for n in range(subjects)]
    infos = [(name, role, SubjectInfo(name, "1", "drawn", ())) for name, role in names]
    recorded = tuple(RecordedSubject.of(*info) for info in infos)
    store.write_record(DatabaseRecord({"seed": seed}, recorded))
    if images:
        for row in (*made, *pairs):
            file = path / row["image"]
            file.parent.mkdir(parents=True, exist_ok=True)
            cv2.imwrite(str(file), rng.integers(0, 256, (24, 32, 3), dtype=np.uint8))
    return store


def add_cameras(store: DatabaseStore, count: int) -> None:
    """Give the first references images, with a camera 1 m above the base that looks down."""
    rows = rows_of(Reference, store.references())
    T_base_camera = np.array([[1, 0, 0, 0], [0, -1, 0, 0], [0, 0, -1, 1], [0, 0, 0, 1]], float)
    for number, row in enumerate(rows[:count]):
        file = store.path / row.image
        file.parent.mkdir(parents=True, exist_ok=True)
        rgb = np.random.default_rng(number).integers(0, 256, (96, 128, 3), dtype=np.uint8)
        write_image(file, rgb)
        camera = Camera(row.view, row.image, image_hash(rgb), 100, 100, 64, 48, tuple(T_base_camera.ravel()))
        rows[number] = replace(row, cameras=(camera,), sha256=camera.sha256, width_px=128, height_px=96)
    write_table(store.references_file, table_of(Reference, rows), REFERENCES)


def _reference(number: int, rng: np.random.Generator) -> dict[str, Any]:
    real = number % 3 == 0
    row = {
        "reference_id": f"r{number:05d}", "source": "folder" if real else "simulation", "origin": str(number),
        "real": real, "view": VIEWS[number % 3], "person": "first" if number % 3 == 0 else "third",
        "main_object": None if real else OBJECTS[number % 5], "main_kind": None,
        "background": None if real else BACKGROUNDS[number // 2 % 5], "scene_seed": None if real else number,
        "instruction": None, "stamp_ns": 0, "width_px": 32, "height_px": 24,
        "image": f"images/references/r{number:05d}.png", "sha256": "0" * 64, "cameras": [],
        "T_base_tool": np.eye(4).ravel().tolist(), "gripper": 0.0,
    }  # fmt: skip
    return row | dict(zip(ATTRIBUTES, rng.random(5).tolist(), strict=True))


def _pair(reference: dict[str, Any], number: str, rng: np.random.Generator, images: bool) -> dict[str, Any]:
    line, name = entry(number), f"{reference['reference_id']}-{number}"
    row = {
        "pair_id": name, "reference_id": reference["reference_id"], "distortion_id": number,
        "distortion_name": line.name, "distortion_class": str(line.distortion_class),
        "level": int(reference["reference_id"][1:]) % 5 + 1, "seed": 1,
        "image": f"images/pairs/{name}.png" if images else None, "sha256": "0" * 64,
    }  # fmt: skip
    return row | {key: float(reference[key] - 0.1 * rng.random()) for key in ATTRIBUTES}


def _task(reference_id: str, rank: int) -> dict[str, Any]:
    return {
        "reference_id": reference_id, "task_id": f"{reference_id}/{rank}", "rank": rank,
        "text": "pick the cube",
        "ability": "pick", "verb": "Pick", "instruction": None, "plan": "", "difficulty": 1,
        "source": "scene",
    }  # fmt: skip


def _scores(
    pairs: list[dict[str, Any]], references: list[dict[str, Any]], subjects: int, rng: np.random.Generator
) -> pa.Table:
    """Columns at once: a row a pair, task and subject."""
    views = {row["reference_id"]: row["view"] for row in references}
    keys = [
        (role, s, p, rank)
        for role in ("vlm", "vla")
        for s in range(subjects)
        for p in pairs
        for rank in RANKS
    ]
    loss = np.array([0.14 * p["level"] + 0.004 * int(p["distortion_id"]) for _, _, p, _ in keys])
    # what a subject makes of a pair holds for all its tasks
    own = np.repeat(
        rng.normal(0, 0.15, (2, subjects, len(pairs))).ravel()
        + np.tile(rng.normal(0, 0.1, len(pairs)), 2 * subjects),
        len(RANKS),
    )
    parts = np.clip(1.1 + own[:, None] - loss[:, None] + rng.normal(0, 0.2, (len(keys), 3)), 0, 1)
    is_vlm = np.array([role == "vlm" for role, *_ in keys])
    columns: dict[str, Any] = {
        "subject": [f"{role}-{s}" for role, s, _, _ in keys],
        "role": [role for role, *_ in keys],
        "task_id": [f"{p['reference_id']}/{rank}" for _, _, p, rank in keys],
        "rank": [rank for *_, rank in keys],
        "view": [views[p["reference_id"]] for _, _, p, _ in keys],
        "own_view": [True] * len(keys),
        "score": parts.mean(axis=1),
        "position_error_mm": pa.array(100 * (1 - parts[:, 0]), mask=is_vlm),
        "refused": pa.array(parts[:, 0] < parts[:, 1], mask=is_vlm),
    }
    for name in ("reference_id", "pair_id", "distortion_id", "level"):
        columns[name] = [p[name] for _, _, p, _ in keys]
    for index, (vlm, vla) in enumerate(
        (("precision", "position"), ("recall", "rotation"), ("semantics", "state"))
    ):
        columns[vlm] = pa.array(parts[:, index], mask=~is_vlm)
        columns[vla] = pa.array(parts[:, index], mask=is_vlm)
    return pa.table(columns).select(SCORES.names).cast(SCORES)


def _at_home(table: pa.Table, homes: dict[str, str]) -> pa.Table:
    names, views = table["subject"].to_pylist(), table["view"].to_pylist()
    own = [homes.get(name, view) == view for name, view in zip(names, views, strict=True)]
    return table.set_column(
        table.schema.get_field_index("own_view"), SCORES.field("own_view"), pa.array(own, pa.bool_())
    )


def write_experiment(folder: Path, seed: int = 0, distortions: tuple[str, ...] = DISTORTIONS) -> Path:
    """The results of an experiment: one reference run and 6 runs a distortion."""
    rng = np.random.default_rng(seed)
    runs = [("", 0, n) for n in range(6)] + [(number, 5, n) for number in distortions for n in range(6)]
    rows = []
    for number, level, n in runs:
        decision = float(rng.random())
        row = dict.fromkeys(COLUMNS, 0.0) | {
            "subject": "vla-0", "subject_version": "1", "task": "pick the cube", "scene_seed": n,
            "distortion_id": number, "distortion_name": "", "level": level, "distortion_seed": seed,
            "gate_mode": "off", "outcome": "failure" if level else "success", "reason": "", "schedule": "",
            "arm": "off",
            "decisions": 3, "refusals": 1,
            "frames_pass": 0, "frames_hold": 0, "frames_reject": 0, "decision_score": decision,
            "cognition_score": None, "reference_outcome": "failure" if n == 5 else "success",
            "execution_score": 60 * decision + 30 * float(rng.random()),
        }  # fmt: skip
        rows.append(row)
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist(rows).select(list(COLUMNS))
    pq.write_table(table, folder / "runs.parquet")
    return folder
