"""Image quality for embodied agents: cognition, decision and execution under distorted pictures.

The public names below are documented in docs/python.md. They are loaded on first use: `import embodied_iqa`
takes milliseconds.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from embodied_iqa.api import (
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
    from embodied_iqa.api_gate import Gate
    from embodied_iqa.gate.judge import GateOptions
    from embodied_iqa.vision.reference import load_vision_models

__version__ = "0.1.0"
__all__ = [
    "Database",
    "Gate",
    "GateOptions",
    "Run",
    "__version__",
    "distort",
    "load_metric",
    "load_vision_models",
    "load_vla",
    "load_vlm",
    "measure",
    "open_database",
    "open_run",
    "score_actions",
    "score_answer",
    "simulated_frame",
]

_ELSEWHERE = {
    "Gate": "embodied_iqa.api_gate",
    "GateOptions": "embodied_iqa.gate.judge",
    "load_vision_models": "embodied_iqa.vision.reference",
}
"""Module of the names that are not in `embodied_iqa.api`."""


def __getattr__(name: str) -> Any:
    if name in __all__:
        module = _ELSEWHERE.get(name, "embodied_iqa.api")
        return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
