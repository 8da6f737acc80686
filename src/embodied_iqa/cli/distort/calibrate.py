"""`embodied-iqa distort calibrate`: finds parameters that make levels look equally degraded."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Final

from embodied_iqa.base.files import write_text_whole
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.imaging.distortions.catalogue import catalogue
from embodied_iqa.imaging.distortions.references import Reference, images_of_folder, scikit_photographs
from embodied_iqa.imaging.images.frame import parse_view
from embodied_iqa.quality.metrics.level_calibration import METRICS, Calibration, calibrate
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.simulation.camera import CameraModel
from embodied_iqa.world.simulation.camera.simulated_cameras import taken
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.world import World

DEFAULT_OUT: Final = Path("calibrated.json")
DEFAULT_POINTS: Final = 24
RENDERED: Final = ((101, "side"), (102, "top"), (103, "wrist"), (104, "side"), (105, "wrist"))
"""Seed of the scene and view of each rendered reference."""
WIDTH_PX, HEIGHT_PX = 640, 480


def run(arguments: argparse.Namespace) -> int:
    """Calibrate; write parameters and curves."""
    references = _references(getattr(arguments, "images", None), getattr(arguments, "camera_model", "ideal"))
    points = getattr(arguments, "curve_points", DEFAULT_POINTS)
    out = getattr(arguments, "out", DEFAULT_OUT)
    with ProgressBars() as bars:
        bars.update("calibrating", 0, len(catalogue()))
        outcome = calibrate(references, points, lambda _: bars.advance("calibrating"))
    write_text_whole(out, json.dumps(_record(outcome), indent=1) + "\n")
    if getattr(arguments, "json", False):
        print(json.dumps(_record(outcome)))
    else:
        _print_outcome(outcome, out)
    return 0


def _references(folder: Path | None, model: str) -> list[Reference]:
    if folder is not None:
        return images_of_folder(folder)
    return [*scikit_photographs(), *rendered_references(CameraModel(model))]


def rendered_references(model: CameraModel = CameraModel.IDEAL) -> list[Reference]:
    """Return images of the simulated cell, with shadows, through a camera model."""
    references = []
    for seed, view in RENDERED:
        scene = make_scene(seed)
        with SceneRenderer(scene, WIDTH_PX, HEIGHT_PX, fine=True) as renderer:
            frame = renderer.frame(parse_view(view), World(scene).snapshot())
        references.append(Reference(f"simulation/{seed}/{view}", taken(frame, model, seed).rgb))
    return references


def _rounded(values: tuple[float, ...]) -> list[float]:
    return [float(f"{value:.5g}") for value in values]


def _record(outcome: Calibration) -> dict[str, object]:
    return {
        "made_by": "embodied-iqa distort calibrate",
        "metrics": list(METRICS),
        "references": list(outcome.references),
        "targets": _rounded(outcome.targets),
        "levels": {curve.id: list(curve.levels) for curve in outcome.curves},
        "reached": {curve.id: _rounded(curve.reached) for curve in outcome.curves},
        "out_of_reach": {curve.id: list(curve.out_of_reach) for curve in outcome.curves},
        "curves": {
            curve.id: {"parameter": _rounded(curve.parameters), "drop": _rounded(curve.drops)}
            for curve in outcome.curves
        },
        "published": {name: _rounded(drops) for name, drops in outcome.published.items()},
    }


def _print_outcome(outcome: Calibration, path: Path) -> None:
    print("target     " + "  ".join(f"{value:8.4f}" for value in outcome.targets))
    for curve in outcome.curves:
        print(f"{curve.id} reached " + "  ".join(f"{value:8.4f}" for value in curve.reached))
        print("   level   " + "  ".join(f"{value:8g}" for value in curve.levels))
    print(f"wrote {path}; it ships as src/embodied_iqa/imaging/distortions/calibrated.json")
