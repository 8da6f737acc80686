"""Image quality for embodied agents: cognition, decision and execution under distorted images.

The public names below are documented in docs/python.md. They are loaded on first use: `import embodied_iqa`
takes milliseconds.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from embodied_iqa.api import (
        Database,
        Gate,
        GateOptions,
        LeaseOptions,
        Run,
        distort,
        load_metric,
        load_vision_models,
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

__version__ = "0.1.0"
__all__ = [
    "Database",
    "Gate",
    "GateOptions",
    "LeaseOptions",
    "Run",
    "__version__",
    "distort",
    "load_metric",
    "load_vision_models",
    "load_vla",
    "load_vlm",
    "measure",
    "open_database",
    "open_lerobot",
    "open_run",
    "score_actions",
    "score_answer",
    "simulated_frame",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(importlib.import_module("embodied_iqa.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
