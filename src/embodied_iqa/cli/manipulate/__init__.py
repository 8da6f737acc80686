"""`embodied-iqa manipulate`: episodes of the benchmark of planners, and what belongs to it."""

from __future__ import annotations

from embodied_iqa.cli.parser import command_of

_ACTIONS = {
    "make": (f"{__name__}.making", "make the episodes of cell-manipulation from a seed"),
    "ceiling": (f"{__name__}.ceiling", "what the expert achieves on the grid of the actions"),
    "detect": (f"{__name__}.detecting", "error of a detector's object list, by kind of object"),
    "errors": (f"{__name__}.failing", "why a planner's episodes failed"),
    "fit": (f"{__name__}.gating", "fit the learned gate to the front camera and a detector"),
    "import": (f"{__name__}.importing", "counts of a public trajectory file of EB-Manipulation"),
    "replay": (f"{__name__}.replaying", "execute the actions of a run again and compare every outcome"),
}
configure, run = command_of("action", _ACTIONS)
