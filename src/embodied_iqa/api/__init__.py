"""The public Python interface: what `import embodied_iqa` offers, and the types of a user's own parts.

The names are documented in docs/python.md and loaded on first use. Everything else in the package may change
between versions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from embodied_iqa.lazy import load

if TYPE_CHECKING:
    from embodied_iqa.api.gate import Gate
    from embodied_iqa.api.interface import (
        Database,
        Run,
        distort,
        load_metric,
        load_vla,
        load_vlm,
        measure,
        open_database,
        open_run,
        score_actions,
        score_answer,
        simulated_frame,
    )
    from embodied_iqa.distortions import DistortionClass
    from embodied_iqa.distortions import Entry as DistortionEntry
    from embodied_iqa.distortions import Source as DistortionSource
    from embodied_iqa.errors import InputError, UsageError, UserError
    from embodied_iqa.gate.judge import GateOptions
    from embodied_iqa.images.frame import Camera, Frame, Intrinsics, View
    from embodied_iqa.metrics import MetricContext, MetricInfo, Needs
    from embodied_iqa.metrics.trainable import Trainable
    from embodied_iqa.subjects.protocols import (
        ActionChunk,
        ChunkStatus,
        SubjectInfo,
        Vla,
        VlaObservation,
        Vlm,
    )
    from embodied_iqa.vision.model import VisionModelInfo
    from embodied_iqa.vision.predictions import Instances, Prediction, VisionTask
    from embodied_iqa.vision.reference import load_vision_models

_PLACES = {
    "ActionChunk": "embodied_iqa.subjects.protocols:ActionChunk",
    "Camera": "embodied_iqa.images.frame:Camera",
    "ChunkStatus": "embodied_iqa.subjects.protocols:ChunkStatus",
    "Database": "embodied_iqa.api.interface:Database",
    "DistortionClass": "embodied_iqa.distortions:DistortionClass",
    "DistortionEntry": "embodied_iqa.distortions:Entry",
    "DistortionSource": "embodied_iqa.distortions:Source",
    "Frame": "embodied_iqa.images.frame:Frame",
    "Gate": "embodied_iqa.api.gate:Gate",
    "GateOptions": "embodied_iqa.gate.judge:GateOptions",
    "InputError": "embodied_iqa.errors:InputError",
    "Instances": "embodied_iqa.vision.predictions:Instances",
    "Intrinsics": "embodied_iqa.images.frame:Intrinsics",
    "MetricContext": "embodied_iqa.metrics:MetricContext",
    "MetricInfo": "embodied_iqa.metrics:MetricInfo",
    "Needs": "embodied_iqa.metrics:Needs",
    "Prediction": "embodied_iqa.vision.predictions:Prediction",
    "Run": "embodied_iqa.api.interface:Run",
    "SubjectInfo": "embodied_iqa.subjects.protocols:SubjectInfo",
    "Trainable": "embodied_iqa.metrics.trainable:Trainable",
    "UsageError": "embodied_iqa.errors:UsageError",
    "UserError": "embodied_iqa.errors:UserError",
    "View": "embodied_iqa.images.frame:View",
    "VisionModelInfo": "embodied_iqa.vision.model:VisionModelInfo",
    "VisionTask": "embodied_iqa.vision.predictions:VisionTask",
    "Vla": "embodied_iqa.subjects.protocols:Vla",
    "VlaObservation": "embodied_iqa.subjects.protocols:VlaObservation",
    "Vlm": "embodied_iqa.subjects.protocols:Vlm",
    "distort": "embodied_iqa.api.interface:distort",
    "load_metric": "embodied_iqa.api.interface:load_metric",
    "load_vision_models": "embodied_iqa.vision.reference:load_vision_models",
    "load_vla": "embodied_iqa.api.interface:load_vla",
    "load_vlm": "embodied_iqa.api.interface:load_vlm",
    "measure": "embodied_iqa.api.interface:measure",
    "open_database": "embodied_iqa.api.interface:open_database",
    "open_run": "embodied_iqa.api.interface:open_run",
    "score_actions": "embodied_iqa.api.interface:score_actions",
    "score_answer": "embodied_iqa.api.interface:score_answer",
    "simulated_frame": "embodied_iqa.api.interface:simulated_frame",
}
__all__ = [
    "ActionChunk", "Camera", "ChunkStatus", "Database", "DistortionClass", "DistortionEntry",
    "DistortionSource", "Frame", "Gate", "GateOptions", "InputError", "Instances", "Intrinsics",
    "MetricContext", "MetricInfo", "Needs", "Prediction", "Run", "SubjectInfo", "Trainable", "UsageError",
    "UserError", "View", "VisionModelInfo", "VisionTask", "Vla", "VlaObservation", "Vlm", "distort",
    "load_metric", "load_vision_models", "load_vla", "load_vlm", "measure", "open_database", "open_run",
    "score_actions", "score_answer", "simulated_frame",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return load(_PLACES[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
