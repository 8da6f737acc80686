"""Imports what later processes import, once, so that they read its bytecode instead of compiling it again.

uv installs sources only, and a container image often sets PYTHONDONTWRITEBYTECODE: without this, each process
of a trial compiles some 1,700 modules. The environment's Python runs this file as a module: --models for the
model libraries.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator, Sequence

__all__ = ["MODELS", "TRIAL", "faults", "main"]

TRIAL = (
    "embodied_iqa.live.nodes",
    "embodied_iqa.runs.trial",
    "embodied_iqa.pages.reports.trial",
    "embodied_iqa.world.simulation",
    "embodied_iqa.models.subjects.backends.panel",
    "embodied_iqa.cli.trial",
    "onnxruntime",
)
"""What the processes of a trial import; of the project's packages every module."""

MODELS = (
    "torch",
    "torchvision",
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.processing_auto",
    "transformers.generation.utils",
    "embodied_iqa.models.subjects.backends.transformers",
    "embodied_iqa.models.vision.backends",
)
"""What a process with a VLM, a policy or a vision model imports."""

_PROJECT = "embodied_iqa."


def faults(names: Sequence[str]) -> Iterator[str]:
    """Import modules, and what lies below those of the project.

    Yields:
        A line for each module that cannot be imported: its name and the error.
    """
    for name in names:
        try:
            module = importlib.import_module(name)
        except Exception as error:  # noqa: BLE001 - of any library
            yield f"{name}: {type(error).__name__}: {error}"
            continue
        if name.startswith(_PROJECT):
            below = pkgutil.iter_modules(getattr(module, "__path__", ()), f"{name}.")
            yield from faults([item.name for item in below])


def main(words: Sequence[str]) -> int:
    """Import everything, and print what failed; 1 if something did."""
    failed = list(faults(MODELS if "--models" in words else TRIAL))
    print(*failed, sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
