"""The columns of the database's tables."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import pyarrow as pa

__all__ = ["ANNOTATIONS", "PAIRS", "REFERENCES", "SCHEMA_VERSION", "SCORES", "TASKS", "Person", "SourceKind"]

SCHEMA_VERSION: Final = 1
"""Changes when a reader of the tables would have to."""


class SourceKind(StrEnum):
    """Where a reference comes from."""

    SIMULATION = "simulation"
    FOLDER = "folder"
    RECORDING = "recording"


class Person(StrEnum):
    """Whose eyes a view is: the robot's own (wrist) or an onlooker's (top, side)."""

    FIRST = "first"
    THIRD = "third"


def _table(**columns: Any) -> Any:
    """Make a schema; a column that ends in ``_or_null`` may be empty and is named without that."""
    return pa.schema(
        [
            pa.field(name.removesuffix("_or_null"), kind, nullable=name.endswith("_or_null"))
            for name, kind in columns.items()
        ]
    )


_TEXT: Final = pa.string()
_WHOLE: Final = pa.int64()
_LEVEL: Final = pa.int8()
_NUMBER: Final = pa.float64()
_YES_NO: Final = pa.bool_()
_NUMBERS: Final = pa.list_(pa.float64())

_CAMERA: Final = pa.struct(
    [
        pa.field("view", _TEXT, nullable=False),
        pa.field("picture", _TEXT, nullable=False),
        pa.field("sha256", _TEXT, nullable=False),
        pa.field("fx_px", _NUMBER, nullable=False),
        pa.field("fy_px", _NUMBER, nullable=False),
        pa.field("cx_px", _NUMBER, nullable=False),
        pa.field("cy_px", _NUMBER, nullable=False),
        pa.field("T_base_camera", _NUMBERS, nullable=False),
    ]
)
"""A picture of the reference's instant: file, hash of its pixels, pinhole model, pose as 16 numbers (m)."""

_ATTRIBUTES: Final = dict.fromkeys(
    ("luminance", "contrast", "chrominance", "sharpness", "spatial_information"), _NUMBER
)
"""Low-level attributes of a picture, see `database.attributes`."""

REFERENCES: Final = _table(
    reference_id=_TEXT,
    source=_TEXT,  # SourceKind
    origin=_TEXT,  # seed, file name, or topic and stamp
    real=_YES_NO,  # a photograph; false for simulation
    view=_TEXT,
    person=_TEXT,  # Person
    main_object_or_null=_TEXT,  # category of the main object
    main_kind_or_null=_TEXT,
    background_or_null=_TEXT,
    scene_seed_or_null=_WHOLE,
    instruction_or_null=_TEXT,  # the task that the scene was made for, in canonical words
    stamp_ns=_WHOLE,
    width_px=_WHOLE,
    height_px=_WHOLE,
    picture=_TEXT,  # of `view`, relative to the database
    sha256=_TEXT,  # of its pixels
    cameras=pa.list_(_CAMERA),  # all views of that instant, `view` among them
    T_base_tool=_NUMBERS,  # 16 numbers row by row (m)
    gripper=_NUMBER,  # 0 open to 1 closed
    **_ATTRIBUTES,
)
"""A row a reference picture."""

TASKS: Final = _table(
    reference_id=_TEXT,
    task_id=_TEXT,
    rank=_LEVEL,  # 1 (easiest) to 5
    text=_TEXT,
    ability=_TEXT,
    verb_or_null=_TEXT,
    instruction_or_null=_TEXT,
    plan=_TEXT,
    difficulty=_WHOLE,
    source=_TEXT,
)
"""A row a task: five a reference, columns of `subjects.task.task_row`."""

PAIRS: Final = _table(
    pair_id=_TEXT,
    reference_id=_TEXT,
    distortion_id=_TEXT,  # "01" to "30"
    distortion_name=_TEXT,
    distortion_class=_TEXT,
    level=_LEVEL,  # 1 (mild) to 5 (severe)
    seed=_WHOLE,  # of everything random in the distortion
    picture_or_null=_TEXT,  # null where it is made again from its seed
    sha256=_TEXT,  # of the distorted picture's pixels
    **_ATTRIBUTES,
)
"""A row a distorted picture of a reference's `view`."""

ANNOTATIONS: Final = _table(
    subject=_TEXT,
    subject_version=_TEXT,
    role=_TEXT,  # "vlm" or "vla"
    reference_id=_TEXT,
    pair_id_or_null=_TEXT,  # null: the subject's answer on the reference itself
    task_id=_TEXT,
    rank=_LEVEL,
    distortion_id=_TEXT,  # empty for the reference
    level=_LEVEL,  # 0 for the reference
    own_view=_YES_NO,  # the subject is made for the reference's view, or for any
    answer_or_null=_TEXT,  # of a VLM
    status_or_null=_TEXT,  # of a VLA: act, done, no_target
    increments_or_null=_NUMBERS,  # of a VLA: K x 7 row by row (m, rad, gripper)
    reason_or_null=_TEXT,  # what the VLA says about it
    error_or_null=_TEXT,  # why there is no answer
)
"""A row an answer; `annotations/<subject>/part-*.parquet`."""

SCORES: Final = _table(
    subject=_TEXT,
    role=_TEXT,
    reference_id=_TEXT,
    pair_id=_TEXT,
    task_id=_TEXT,
    rank=_LEVEL,
    distortion_id=_TEXT,
    level=_LEVEL,
    view=_TEXT,  # of the reference
    own_view=_YES_NO,
    precision_or_null=_NUMBER,  # VLM: BLEU, 0 to 1
    recall_or_null=_NUMBER,  # VLM: ROUGE-L, 0 to 1
    semantics_or_null=_NUMBER,  # VLM: CIDEr / 10, 0 to 1
    position_or_null=_NUMBER,  # VLA: 0 to 1
    rotation_or_null=_NUMBER,  # VLA: 0 to 1
    state_or_null=_NUMBER,  # VLA: 0 to 1
    score_or_null=_NUMBER,  # mean of the three, 0 to 1 (best); null where the subject failed
    position_error_mm_or_null=_NUMBER,  # VLA
)
"""A row an annotated pair and task; the five of a pair sum to at most 5."""
