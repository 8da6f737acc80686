"""Options of `embodied-iqa gate calibrate`; with --live, clean images of topics or cameras that run."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.base.termination import terminable
from embodied_iqa.cli.parser import yaml_file
from embodied_iqa.cli.plan_options import add_plan_options, at_least, read_plan, seed_number
from embodied_iqa.data.frames.cameras import DRIVERS
from embodied_iqa.imaging.images.frame import View, parse_view
from embodied_iqa.quality.gate.calibration import Margins
from embodied_iqa.quality.gate.live_collecting import LivePlan, LiveSource, OpenCvCameras, collect
from embodied_iqa.world.simulation.camera import DEFAULT_MODEL, CameraModel


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gate calibrate`."""
    add = parser.add_argument
    add("--out", type=yaml_file, required=True, metavar="FILE", help="YAML file to write")
    add("--keep", action="store_true", help="keep the other cameras and sizes in FILE")
    add("--simulated", action="store_true", help="render frames of the simulated cameras")
    models = [str(model) for model in CameraModel]
    add(
        "--camera-model",
        choices=models,
        default=str(DEFAULT_MODEL),
        help="of the simulated cameras (default d455)",
    )
    add("--scenes", type=at_least(1), default=40, metavar="N", help="scenes of --simulated (default 40)")
    add("--seed", type=seed_number, default=0, metavar="N", help="seed of the scenes (default 0)")
    add("--size", action="append", metavar="WxH", help="image size with --simulated; repeat for several")
    add_plan_options(parser, Margins, "soft", "hard", soft="SPREADS", hard="SPREADS")
    add(
        "--tolerate",
        action="append",
        metavar="TYPES:LEVEL",
        help="distortions that shall pass up to this level, such as 01,02,jpeg:2; repeatable",
    )
    _configure_live(parser)


def _configure_live(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    live = "collect images of running cameras: of --topic or --device; Ctrl-C ends sooner"
    add("--live", action="store_true", help=live)
    device = "with --live: number, device or URL of a camera that OpenCV opens; repeatable"
    add("--device", action="append", default=[], metavar="VIEW=DEVICE", help=device)
    add_plan_options(parser, LivePlan, "seconds", seconds="S")


@contextmanager
def live_folder(arguments: argparse.Namespace, topics: Mapping[View, str]) -> Iterator[Path]:
    """Collect images; give the folder with them in the block.

    Raises:
        UserError: No camera, or one gives no image.
    """
    plan = read_plan(LivePlan, arguments)
    place = tempfile.TemporaryDirectory(prefix="embodied-iqa-live-")
    with terminable(), place as name, ProgressBars() as bars:  # nothing else would remove it at SIGTERM
        folder = Path(name)

        def show(seconds: float, images: Mapping[View, int]) -> None:
            counts = ", ".join(f"{view} {count}" for view, count in images.items())
            bars.update("collecting [s]", min(seconds, plan.seconds), plan.seconds, note=counts)

        with _source(arguments, topics) as source:
            found = collect(source, folder, plan, show)
        if found.ended:
            print(f"gate calibrate: {found.ended}; calibrating from what there is", file=sys.stderr)
        yield folder


def _source(arguments: argparse.Namespace, topics: Mapping[View, str]) -> AbstractContextManager[LiveSource]:
    pairs = [_camera(text) for text in arguments.device]
    cameras = dict(pairs)
    if len(cameras) < len(pairs):
        raise UsageError("two --device have one view", got=[str(view) for view, _ in pairs])
    if bool(cameras) == bool(topics):
        raise UsageError(
            "--live is of topics or of cameras", expected="--topic VIEW=TOPIC or --device VIEW=DEVICE"
        )
    if cameras:
        return OpenCvCameras(cameras)
    if unnamed := [topic for topic in topics.values() if not topic or topic in DRIVERS]:
        raise UsageError("--live needs the name of a topic", expected="such as /color/image_raw", got=unnamed)
    from embodied_iqa.live.ros import environment

    environment.prepare_environment()
    environment.require_ros()
    from embodied_iqa.live.cell.image_topics import topic_images

    by_topic = {topic: view for view, topic in topics.items()}
    return topic_images(by_topic, lambda line: print(f"gate calibrate: {line}", file=sys.stderr))


def _camera(text: str) -> tuple[View, str]:
    view, separator, device = text.partition("=")
    if not separator or not device:
        raise UsageError("wrong --device", expected="VIEW=DEVICE, such as top=0", got=text)
    return parse_view(view), device
