"""The public Python interface: what `import embodied_iqa` offers, and the types of a user's own parts.

Rooms, each of which imports only rooms above it and wings on lower floors:

- `gate`: the quality gate
- `interface`: functions: distort, measure, score, load, open

A public name is a row of `_PLACES` here and of the table in docs/python.md. Names are loaded on first use.
Everything else in the package may change between versions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from embodied_iqa.base.lazy import load

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
        open_lerobot,
        open_run,
        score_actions,
        score_answer,
        simulated_frame,
    )
    from embodied_iqa.arm.lease_options import LeaseOptions
    from embodied_iqa.base.errors import InputError, UsageError, UserError
    from embodied_iqa.imaging.distortions import DistortionClass
    from embodied_iqa.imaging.distortions import Entry as DistortionEntry
    from embodied_iqa.imaging.distortions import Source as DistortionSource
    from embodied_iqa.imaging.images.frame import Camera, Frame, Intrinsics, LensCalibration, View
    from embodied_iqa.imaging.images.live_camera import LiveCamera, RgbdFrame
    from embodied_iqa.models.vision.model import VisionModelInfo
    from embodied_iqa.models.vision.predictions import Instances, Prediction, VisionTask
    from embodied_iqa.models.vision.reference import load_vision_models
    from embodied_iqa.quality.gate.judge import GateOptions
    from embodied_iqa.quality.metrics import MetricContext, MetricInfo, Needs
    from embodied_iqa.quality.metrics.trainable import Trainable
    from embodied_iqa.world.protocols import (
        ActionChunk,
        ChunkStatus,
        SubjectInfo,
        Vla,
        VlaObservation,
        Vlm,
    )

_PLACES = {
    "ActionChunk": "embodied_iqa.world.protocols:ActionChunk",
    "Camera": "embodied_iqa.imaging.images.frame:Camera",
    "ChunkStatus": "embodied_iqa.world.protocols:ChunkStatus",
    "Database": "embodied_iqa.api.interface:Database",
    "DistortionClass": "embodied_iqa.imaging.distortions:DistortionClass",
    "DistortionEntry": "embodied_iqa.imaging.distortions:Entry",
    "DistortionSource": "embodied_iqa.imaging.distortions:Source",
    "Frame": "embodied_iqa.imaging.images.frame:Frame",
    "Gate": "embodied_iqa.api.gate:Gate",
    "GateOptions": "embodied_iqa.quality.gate.judge:GateOptions",
    "InputError": "embodied_iqa.base.errors:InputError",
    "Instances": "embodied_iqa.models.vision.predictions:Instances",
    "Intrinsics": "embodied_iqa.imaging.images.frame:Intrinsics",
    "LeaseOptions": "embodied_iqa.arm.lease_options:LeaseOptions",
    "LensCalibration": "embodied_iqa.imaging.images.frame:LensCalibration",
    "LiveCamera": "embodied_iqa.imaging.images.live_camera:LiveCamera",
    "MetricContext": "embodied_iqa.quality.metrics:MetricContext",
    "MetricInfo": "embodied_iqa.quality.metrics:MetricInfo",
    "Needs": "embodied_iqa.quality.metrics:Needs",
    "Prediction": "embodied_iqa.models.vision.predictions:Prediction",
    "RgbdFrame": "embodied_iqa.imaging.images.live_camera:RgbdFrame",
    "Run": "embodied_iqa.api.interface:Run",
    "SubjectInfo": "embodied_iqa.world.protocols:SubjectInfo",
    "Trainable": "embodied_iqa.quality.metrics.trainable:Trainable",
    "UsageError": "embodied_iqa.base.errors:UsageError",
    "UserError": "embodied_iqa.base.errors:UserError",
    "View": "embodied_iqa.imaging.images.frame:View",
    "VisionModelInfo": "embodied_iqa.models.vision.model:VisionModelInfo",
    "VisionTask": "embodied_iqa.models.vision.predictions:VisionTask",
    "Vla": "embodied_iqa.world.protocols:Vla",
    "VlaObservation": "embodied_iqa.world.protocols:VlaObservation",
    "Vlm": "embodied_iqa.world.protocols:Vlm",
    "distort": "embodied_iqa.api.interface:distort",
    "load_metric": "embodied_iqa.api.interface:load_metric",
    "load_vision_models": "embodied_iqa.models.vision.reference:load_vision_models",
    "load_vla": "embodied_iqa.api.interface:load_vla",
    "load_vlm": "embodied_iqa.api.interface:load_vlm",
    "measure": "embodied_iqa.api.interface:measure",
    "open_database": "embodied_iqa.api.interface:open_database",
    "open_lerobot": "embodied_iqa.api.interface:open_lerobot",
    "open_run": "embodied_iqa.api.interface:open_run",
    "score_actions": "embodied_iqa.api.interface:score_actions",
    "score_answer": "embodied_iqa.api.interface:score_answer",
    "simulated_frame": "embodied_iqa.api.interface:simulated_frame",
}
__all__ = [
    "ActionChunk", "Camera", "ChunkStatus", "Database", "DistortionClass", "DistortionEntry",
    "DistortionSource", "Frame", "Gate", "GateOptions", "InputError", "Instances", "Intrinsics",
    "LeaseOptions", "LensCalibration", "LiveCamera", "MetricContext", "MetricInfo", "Needs", "Prediction",
    "RgbdFrame", "Run", "SubjectInfo", "Trainable",
    "UsageError", "UserError", "View", "VisionModelInfo", "VisionTask", "Vla", "VlaObservation", "Vlm",
    "distort", "load_metric", "load_vision_models", "load_vla", "load_vlm", "measure", "open_database",
    "open_lerobot", "open_run", "score_actions", "score_answer", "simulated_frame",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return load(_PLACES[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
