"""`embodied-iqa distort train-denoiser`: trains the network of distortion 17."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from embodied_iqa.cli.distort_progress import progress_bar
from embodied_iqa.distortions.references import pictures_of_folder, scikit_photographs
from embodied_iqa.errors import MissingDependencyError

__all__ = ["run"]

DEFAULT_OUT: Final = Path("denoiser.onnx")
_SMOOTHING: Final = 0.02


def run(arguments: argparse.Namespace) -> int:
    """Train on the recipe's photographs, or on a folder, and write the weights."""
    if find_spec("torch") is None or find_spec("onnx") is None:
        raise MissingDependencyError(
            "training needs torch and onnx", expected="pip install -r requirements/models.txt"
        )
    from embodied_iqa.distortions.denoiser_training import (  # noqa: PLC0415 - needs torch
        TrainingRecipe,
        save_denoiser,
        train_denoiser,
    )

    given = {name: getattr(arguments, name) for name in ("steps", "seed") if hasattr(arguments, name)}
    recipe = TrainingRecipe(**given)
    folder = getattr(arguments, "references", None)
    references = scikit_photographs() if folder is None else pictures_of_folder(folder)
    out = getattr(arguments, "out", DEFAULT_OUT)
    smooth: list[float] = []
    with progress_bar() as bar:
        task = bar.add_task("training", total=recipe.steps)

        def show(step: int, error: float) -> None:
            smooth[:] = [error if not smooth else smooth[0] + _SMOOTHING * (error - smooth[0])]
            bar.update(task, completed=step, description=f"mean squared error {smooth[0]:.5f}")

        network = train_denoiser([reference.image for reference in references], recipe, show)
    save_denoiser(network, out)
    pictures = ", ".join(reference.name for reference in references)
    print(f"{recipe.steps} steps on {pictures}: mean squared error {smooth[0]:.5f}; wrote {out}")
    return 0
