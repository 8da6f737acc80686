"""`embodied-iqa distort train-denoiser`: trains the network of distortion 17."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from embodied_iqa.base.lazy import importing
from embodied_iqa.base.progress import ProgressBars
from embodied_iqa.imaging.distortions.references import images_of_folder, scikit_photographs
from embodied_iqa.models.subjects.repositories import INSTALL_MODELS

DEFAULT_OUT: Final = Path("denoiser.onnx")
_SMOOTHING: Final = 0.02


def run(arguments: argparse.Namespace) -> int:
    """Train on photographs of scikit-image, or on a folder, and write the network."""
    with importing("the training", INSTALL_MODELS):
        from embodied_iqa.imaging.distortions import denoiser_training as training
    options = {"training_steps": "steps", "seed": "seed"}
    given = {field: getattr(arguments, name) for name, field in options.items() if hasattr(arguments, name)}
    recipe = training.TrainingRecipe(**given)
    folder = getattr(arguments, "images", None)
    references = scikit_photographs() if folder is None else images_of_folder(folder)
    out = getattr(arguments, "out", DEFAULT_OUT)
    smooth = 0.0
    with ProgressBars() as bars:

        def show(step: int, error: float) -> None:
            nonlocal smooth
            smooth = error if step == 1 else smooth + _SMOOTHING * (error - smooth)
            bars.update("training", step, recipe.steps, note=f"mean squared error {smooth:.5f}")

        network = training.train_denoiser([reference.image for reference in references], recipe, show)
    training.save_denoiser(network, out)
    images = ", ".join(reference.name for reference in references)
    print(f"{recipe.steps} steps on {images}: mean squared error {smooth:.5f}; wrote {out}")
    return 0
