"""`embodied-iqa cell`: the parameter file of a real cell, and whether the cell is as it says."""

from __future__ import annotations

from embodied_iqa.cli.parser import command_of

_ACTIONS = {
    "init": (f"{__name__}.init_options", "ask, read robot and cameras, and write a parameter file"),
    "check": (f"{__name__}.check_options", "compare robot and cameras with a parameter file, without motion"),
}
configure, run = command_of("action", _ACTIONS)
