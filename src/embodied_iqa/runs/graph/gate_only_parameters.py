"""Parameters and launch arguments of the gate that runs by itself, beside nodes of others."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from embodied_iqa.base.config import Scalar, build, ranged
from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.calibration_file import GateFile, load_gate_file
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import JudgeKind
from embodied_iqa.runs.graph.launch_arguments import GATE_ARGUMENTS, files_of
from embodied_iqa.runs.graph.namespaces import parse_namespace
from embodied_iqa.runs.graph.parameter_files import read_sections
from embodied_iqa.runs.graph.topic_parameters import CameraPreset, Transport, image_topics

_ALONE: Final = (View("view"),)
"""Name of the camera where neither the user nor a calibration names one."""
_NODE: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, slots=True)
class GateTopicParameters:
    """Images of other people's nodes.

    Attributes:
        preset: Driver whose topics are used where image is empty: realsense-ros, usb_cam or camera_ros.
        image: Topic of the images: one name in which {view} stands for the view, or one name for each view in
            the order of views, separated by commas.
        transport: raw for sensor_msgs/Image; compressed for CompressedImage, JPEG or PNG, on the topic of the
            images followed by /compressed.
        ahead_s: How far in the future the stamp of an image may be; later ones are refused [s].
        stale_s: Oldest image that is accepted, by its stamp [s].
        give_up_s: Time without an image after which a camera is reported as lost [s].
    """

    preset: CameraPreset = CameraPreset.REALSENSE
    image: str = ""
    transport: Transport = Transport.RAW
    ahead_s: float = ranged(0.02, 0.0, 1.0)
    stale_s: float = ranged(2.0, 0.05, 3600.0)
    give_up_s: float = ranged(30.0, 0.1, 3600.0)


@dataclass(frozen=True, slots=True)
class GateOnlyParameters:
    """The gate by itself.

    Attributes:
        topic: Images that it judges.
        views: Names of the cameras, in the order of the topics; empty: those of the calibration, whose only
            one or {view} is in topic.image.
        calibration: File of gate calibrate or gate fit, absolute or relative to the working folder; empty:
            none, and every image is rejected.
        judge: Rules of the verdicts. judge.mode can be set while the gate runs.
        autostart: Configure and activate by itself; false for a lifecycle manager.
    """

    topic: GateTopicParameters = field(default_factory=GateTopicParameters)
    views: tuple[View, ...] = ()
    calibration: str = ""
    judge: GateOptions = field(default_factory=GateOptions)
    autostart: bool = True

    def file(self) -> GateFile:
        """Return the calibration; one without cameras where there is none.

        Raises:
            InputError: It cannot be read.
        """
        if not self.calibration:
            return GateFile(Path(), ())
        return load_gate_file(Path(self.calibration).absolute())

    def topics(self, file: GateFile) -> dict[View, str]:
        """Return the topic of the images of each camera.

        Raises:
            UsageError: There is another number of topics than of cameras, a name is not a topic name, several
                topics have no views, or the calibration has no such camera.
        """
        known = tuple(dict.fromkeys(one.view for one in file.cameras))
        views = self.views or known or _ALONE
        names = tuple(str(view) for view in views)
        if known and not set(views) <= set(known):
            raise UsageError(f"{file.path} has no such camera", got=", ".join(names), available=known)
        wanted = self.topic.image or self.topic.preset.image
        if not self.views and "," in wanted:
            expected = "views in the order of the topics"
            raise UsageError("which topic is of which camera is not said", expected=expected, available=known)
        if not self.views and len(known) > 1 and "{view}" not in wanted:
            raise UsageError(
                f"topic.image names one topic, and the calibration has {len(known)} cameras",
                expected="views (--views), the camera of the topic, or a topic with {view}",
                got=wanted,
                available=known,
            )
        return dict(zip(views, image_topics(wanted, self.topic.transport, names), strict=True))


def passed_topics(views: Collection[View], transport: Transport) -> dict[View, str]:
    """Return the topic of the images that passed of each camera, below the name of the node."""
    end = "/compressed" if transport is Transport.COMPRESSED else ""
    return {view: f"passed/{f'{view}/' if len(views) > 1 else ''}image_raw{end}" for view in views}


def gate_parameters_of(values: Mapping[str, str]) -> dict[str, Scalar]:
    """Return the parameters that arguments set, checked before anything starts.

    Args:
        values: Of `GATE_ARGUMENTS`, by name.

    Raises:
        UserError: A value is wrong, a file cannot be read, or topics and cameras do not fit. Where
            a parameter file may set the rest, only single values are checked.
    """
    if _NODE.fullmatch(values["name"]) is None:
        raise UsageError(
            "no name of a node", expected="letters, digits and _, such as gate", got=values["name"]
        )
    parse_namespace(values["namespace"])
    found: dict[str, Scalar] = {
        argument.parameter: values[argument.name]
        for argument in GATE_ARGUMENTS
        if argument.parameter and values[argument.name]
    }
    if "views" in found:
        found["views"] = [word.strip() for word in str(found["views"]).split(",")]
    if "calibration" in found:
        found["calibration"] = str(Path(str(found["calibration"])).absolute())
    for path in files_of(values):  # of one that is missing launch_ros only warns: the gate would run without
        read_sections(path)  # which of them are for the node it says itself: a launch may push a namespace
    config = build(GateOnlyParameters, found, "the arguments of the gate")
    if not (config.calibration or values["config"]) and config.judge.kind.kind is not JudgeKind.STATISTICS:
        raise UsageError(f"no calibration for the judge {config.judge.kind}", expected="--calibration FILE")
    file = config.file()
    if not values["config"]:
        config.topics(file)
    return found
