"""The suites of LIBERO, and the numbers of the published evaluations."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View

AGENTVIEW: Final = View("agentview")
CAMERAS: Final = MappingProxyType({AGENTVIEW: "agentview", View.WRIST: "robot0_eye_in_hand"})
"""Our views to LIBERO's cameras, in the order in which its policies take their images."""
SIDE_PX: Final = 256
"""Side of the rendered images."""
RATE_HZ: Final = 20.0
REPLAN_STEPS: Final = 5
"""Steps of a chunk that are executed before the policy is asked again, as in openpi's evaluation."""
SEED: Final = 7
"""Of everything random in an episode, as in openpi's evaluation."""
HORIZONS: Final = MappingProxyType(
    {
        "libero_spatial": 220,
        "libero_object": 280,
        "libero_goal": 300,
        "libero_10": 520,
        "libero_90": 400,
    }
)
"""Suite to the steps of an episode in the evaluations of OpenVLA and openpi, after objects have settled."""

TASK_COUNTS: Final = MappingProxyType(dict.fromkeys(HORIZONS, 10) | {"libero_90": 90})
"""Suite to its number of tasks."""


def check_suite(name: str, *beside: str) -> str:
    """Return the name of a suite.

    Args:
        name: The name.
        beside: Worlds that the user could name too.

    Raises:
        UsageError: There is none of this name.
    """
    if name not in HORIZONS:
        raise UsageError("unknown world", got=name, available=(*beside, *HORIZONS))
    return name
