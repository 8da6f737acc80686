"""Image quality for embodied agents: cognition, decision and execution under distorted images.

The public names: each is a row of `_PLACES` here and of a table in docs/python.md. They are loaded on first
use: `import embodied_iqa` takes milliseconds. Everything else in the package may change between versions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from embodied_iqa.api.distortions import distort, distort_region, list_distortions
    from embodied_iqa.api.gate import Gate
    from embodied_iqa.api.interface import (
        Database,
        Run,
        load_vla,
        load_vlm,
        open_database,
        open_lerobot,
        open_run,
        score_actions,
        score_answer,
        simulated_frame,
    )
    from embodied_iqa.api.metrics import ImageMetric, list_metrics, measure, metric
    from embodied_iqa.arm.lease_options import LeaseOptions
    from embodied_iqa.arm.robot.leases import Permission
    from embodied_iqa.arm.verdict import GateLease, GateMode, Verdict
    from embodied_iqa.base.errors import InputError, UsageError, UserError
    from embodied_iqa.data.lerobot.dataset import LeRobotDataset
    from embodied_iqa.data.recording.recorded import RecordedImage
    from embodied_iqa.imaging.distortions import (
        DistortionClass,
        DistortionSpec,
        FrameDistorter,
        parse_distortion,
    )
    from embodied_iqa.imaging.distortions import Entry as DistortionEntry
    from embodied_iqa.imaging.distortions import Source as DistortionSource
    from embodied_iqa.imaging.distortions.catalogue import entry as distortion
    from embodied_iqa.imaging.images.frame import Camera, Frame, Intrinsics, LensCalibration, View
    from embodied_iqa.imaging.images.live_camera import LiveCamera, RgbdFrame
    from embodied_iqa.models.scoring.cognition import CognitionScore
    from embodied_iqa.models.scoring.decision import DecisionScore
    from embodied_iqa.models.subjects.subject_options import Device, LoadingOptions, Precision
    from embodied_iqa.models.vision.model import VisionModel, VisionModelInfo
    from embodied_iqa.models.vision.predictions import Classification, Instances, Prediction, VisionTask
    from embodied_iqa.models.vision.reference import load_vision_models
    from embodied_iqa.pages.reports.trial.trial_report import report_of_folder as write_run_report
    from embodied_iqa.quality.gate.image_statistics import ImageStatistics
    from embodied_iqa.quality.gate.judge import GateOptions, ImageQuality
    from embodied_iqa.quality.gate.judgement import JudgeChoice, JudgeKind, Judgement
    from embodied_iqa.quality.gate.repair import RepairOptions
    from embodied_iqa.quality.gate.repairs import Repair
    from embodied_iqa.quality.gate.second_stage import Prediction as MotionPrediction
    from embodied_iqa.quality.metrics import Metric, MetricContext, MetricInfo, Needs
    from embodied_iqa.quality.metrics.image_set import ImageSet, PairImages
    from embodied_iqa.quality.metrics.trainable import Trainable, TrainingSet
    from embodied_iqa.runs.trial.scores import RunScores
    from embodied_iqa.suites.cell_manipulation.actions import GridAction
    from embodied_iqa.suites.cell_manipulation.environment import Environment as ManipulationEnvironment
    from embodied_iqa.suites.cell_manipulation.environment import EnvironmentOptions as ManipulationOptions
    from embodied_iqa.suites.cell_manipulation.environment import Observation as ManipulationObservation
    from embodied_iqa.suites.cell_manipulation.environment import StepResult as ManipulationStep
    from embodied_iqa.suites.cell_manipulation.episodes import Episode as ManipulationEpisode
    from embodied_iqa.suites.cell_manipulation.episodes import Subset as ManipulationSubset
    from embodied_iqa.suites.cell_manipulation.making import make_episodes as make_manipulation_episodes
    from embodied_iqa.world.libero.expert import LiberoExpert
    from embodied_iqa.world.protocols import ActionChunk, ChunkStatus, SubjectInfo, Vla, VlaObservation, Vlm
    from embodied_iqa.world.scenes.language.five_tasks import draw_task_scene, make_tasks
    from embodied_iqa.world.scenes.language.resolver import resolve_plan
    from embodied_iqa.world.scenes.scene import Scene
    from embodied_iqa.world.simulation.rollout import RolloutOptions as MotionOptions
    from embodied_iqa.world.tasks.instruction import Instruction
    from embodied_iqa.world.tasks.task import Task, task_row
    from embodied_iqa.world.tasks.vocabulary import Verb
    from embodied_iqa.world.worlds import World, WorldObservation, WorldTask

__version__ = "0.1.0"
_PLACES = {
    "ActionChunk": "world.protocols",
    "Camera": "imaging.images.frame",
    "ChunkStatus": "world.protocols",
    "Classification": "models.vision.predictions",
    "CognitionScore": "models.scoring.cognition",
    "Database": "api.interface",
    "DecisionScore": "models.scoring.decision",
    "Device": "models.subjects.subject_options",
    "DistortionClass": "imaging.distortions",
    "DistortionEntry": "imaging.distortions:Entry",
    "DistortionSource": "imaging.distortions:Source",
    "DistortionSpec": "imaging.distortions",
    "Frame": "imaging.images.frame",
    "FrameDistorter": "imaging.distortions",
    "Gate": "api.gate",
    "GateLease": "arm.verdict",
    "GateMode": "arm.verdict",
    "GateOptions": "quality.gate.judge",
    "GridAction": "suites.cell_manipulation.actions",
    "ImageMetric": "api.metrics",
    "ImageQuality": "quality.gate.judge",
    "ImageSet": "quality.metrics.image_set",
    "ImageStatistics": "quality.gate.image_statistics",
    "InputError": "base.errors",
    "Instances": "models.vision.predictions",
    "Instruction": "world.tasks.instruction",
    "Intrinsics": "imaging.images.frame",
    "JudgeChoice": "quality.gate.judgement",
    "JudgeKind": "quality.gate.judgement",
    "Judgement": "quality.gate.judgement",
    "LeRobotDataset": "data.lerobot.dataset",
    "LiberoExpert": "world.libero.expert",
    "LeaseOptions": "arm.lease_options",
    "LensCalibration": "imaging.images.frame",
    "LiveCamera": "imaging.images.live_camera",
    "LoadingOptions": "models.subjects.subject_options",
    "ManipulationEnvironment": "suites.cell_manipulation.environment:Environment",
    "ManipulationEpisode": "suites.cell_manipulation.episodes:Episode",
    "ManipulationObservation": "suites.cell_manipulation.environment:Observation",
    "ManipulationOptions": "suites.cell_manipulation.environment:EnvironmentOptions",
    "ManipulationStep": "suites.cell_manipulation.environment:StepResult",
    "ManipulationSubset": "suites.cell_manipulation.episodes:Subset",
    "Metric": "quality.metrics",
    "MetricContext": "quality.metrics",
    "MetricInfo": "quality.metrics",
    "MotionOptions": "world.simulation.rollout:RolloutOptions",
    "MotionPrediction": "quality.gate.second_stage:Prediction",
    "Needs": "quality.metrics",
    "PairImages": "quality.metrics.image_set",
    "Permission": "arm.robot.leases",
    "Precision": "models.subjects.subject_options",
    "Prediction": "models.vision.predictions",
    "RecordedImage": "data.recording.recorded",
    "Repair": "quality.gate.repairs",
    "RepairOptions": "quality.gate.repair",
    "RgbdFrame": "imaging.images.live_camera",
    "Run": "api.interface",
    "RunScores": "runs.trial.scores",
    "Scene": "world.scenes.scene",
    "SubjectInfo": "world.protocols",
    "Task": "world.tasks.task",
    "Trainable": "quality.metrics.trainable",
    "TrainingSet": "quality.metrics.trainable",
    "UsageError": "base.errors",
    "UserError": "base.errors",
    "Verb": "world.tasks.vocabulary",
    "Verdict": "arm.verdict",
    "View": "imaging.images.frame",
    "VisionModel": "models.vision.model",
    "VisionModelInfo": "models.vision.model",
    "VisionTask": "models.vision.predictions",
    "Vla": "world.protocols",
    "VlaObservation": "world.protocols",
    "Vlm": "world.protocols",
    "World": "world.worlds",
    "WorldObservation": "world.worlds",
    "WorldTask": "world.worlds",
    "distort": "api.distortions",
    "distort_region": "api.distortions",
    "distortion": "imaging.distortions.catalogue:entry",
    "draw_task_scene": "world.scenes.language.five_tasks",
    "list_distortions": "api.distortions",
    "list_metrics": "api.metrics",
    "load_vision_models": "models.vision.reference",
    "load_vla": "api.interface",
    "load_vlm": "api.interface",
    "make_manipulation_episodes": "suites.cell_manipulation.making:make_episodes",
    "make_tasks": "world.scenes.language.five_tasks",
    "measure": "api.metrics",
    "metric": "api.metrics",
    "open_database": "api.interface",
    "open_lerobot": "api.interface",
    "open_run": "api.interface",
    "parse_distortion": "imaging.distortions",
    "resolve_plan": "world.scenes.language.resolver",
    "score_actions": "api.interface",
    "score_answer": "api.interface",
    "simulated_frame": "api.interface",
    "task_row": "world.tasks.task",
    "write_run_report": "pages.reports.trial.trial_report:report_of_folder",
}
"""Where a public name is defined: module below the package, and the name there where it is another."""
__all__ = [
    "ActionChunk",
    "Camera",
    "ChunkStatus",
    "Classification",
    "CognitionScore",
    "Database",
    "DecisionScore",
    "Device",
    "DistortionClass",
    "DistortionEntry",
    "DistortionSource",
    "DistortionSpec",
    "Frame",
    "FrameDistorter",
    "Gate",
    "GateLease",
    "GateMode",
    "GateOptions",
    "GridAction",
    "ImageMetric",
    "ImageQuality",
    "ImageSet",
    "ImageStatistics",
    "InputError",
    "Instances",
    "Instruction",
    "Intrinsics",
    "JudgeChoice",
    "JudgeKind",
    "Judgement",
    "LeRobotDataset",
    "LeaseOptions",
    "LensCalibration",
    "LiberoExpert",
    "LiveCamera",
    "LoadingOptions",
    "ManipulationEnvironment",
    "ManipulationEpisode",
    "ManipulationObservation",
    "ManipulationOptions",
    "ManipulationStep",
    "ManipulationSubset",
    "Metric",
    "MetricContext",
    "MetricInfo",
    "MotionOptions",
    "MotionPrediction",
    "Needs",
    "PairImages",
    "Permission",
    "Precision",
    "Prediction",
    "RecordedImage",
    "Repair",
    "RepairOptions",
    "RgbdFrame",
    "Run",
    "RunScores",
    "Scene",
    "SubjectInfo",
    "Task",
    "Trainable",
    "TrainingSet",
    "UsageError",
    "UserError",
    "Verb",
    "Verdict",
    "View",
    "VisionModel",
    "VisionModelInfo",
    "VisionTask",
    "Vla",
    "VlaObservation",
    "Vlm",
    "World",
    "WorldObservation",
    "WorldTask",
    "__version__",
    "distort",
    "distort_region",
    "distortion",
    "draw_task_scene",
    "list_distortions",
    "list_metrics",
    "load_vision_models",
    "load_vla",
    "load_vlm",
    "make_manipulation_episodes",
    "make_tasks",
    "measure",
    "metric",
    "open_database",
    "open_lerobot",
    "open_run",
    "parse_distortion",
    "resolve_plan",
    "score_actions",
    "score_answer",
    "simulated_frame",
    "task_row",
    "write_run_report",
]  # fmt: skip


if not TYPE_CHECKING:  # for type checkers every name would exist

    def __getattr__(name: str) -> Any:
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from embodied_iqa.base.lazy import load  # noqa: PLC0415 - on first use

        module, _, own = _PLACES[name].partition(":")
        return load(f"{__name__}.{module}:{own or name}")


def __dir__() -> list[str]:
    return __all__
