"""`embodied-iqa static`: makes, reads and changes benchmarks of the form of StaticEmbodiedBench."""

from __future__ import annotations

from embodied_iqa.cli.parser import command_of

_ACTIONS = {
    "make": (f"{__name__}.make", "draw items or expert trajectories from the simulated cell"),
    "import": (f"{__name__}.importing", "read the published TSV file, plain or circular"),
    "circular": (f"{__name__}.circular", "write every rotation of the options of a TSV file"),
    "s2d": (f"{__name__}.s2d", "static scores of VLAs against execution of the same tasks"),
}
configure, run = command_of("action", _ACTIONS)
