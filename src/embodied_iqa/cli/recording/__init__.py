"""`embodied-iqa recording`: shows what a recording, a data set, a video or a folder holds; exports trials."""

from __future__ import annotations

from embodied_iqa.cli.parser import command_of

_ACTIONS = {
    "info": (f"{__name__}.showing", "topics, types, rates, and faults of times and stamps"),
    "export": (f"{__name__}.exporting", "trials as a LeRobot data set, to train a policy with"),
}
configure, run = command_of("action", _ACTIONS)
