"""Repair and judge again: an image that the judge holds is repaired, and used only if it then passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.config import check_fields, ranged
from embodied_iqa.base.errors import first_line
from embodied_iqa.base.units import MILLISECOND_NS
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.judgement import ImageJudge, Judgement
from embodied_iqa.quality.gate.repairs import Repair, apply_repair, next_repair

Clock = Callable[[], int]
RepairName = Literal["exposure", "white_balance", "denoise", "deblock", "sharpen"]
_REPAIRED: Final = "repaired ("
_ORDER: Final = tuple(Repair)


@dataclass(frozen=True, slots=True)
class RepairOptions:
    """Repairs of images that the judge does not pass; only in mode on.

    Attributes:
        enabled: Repair, and judge again. Off unless set.
        allowed: Repairs that may be tried: exposure, white_balance, denoise, deblock, sharpen. By default not
            white_balance and deblock, which hide wrong hues and moved blocks from the statistics.
        max_steps: Most repairs of one image, each followed by a judgement.
        time_limit_ms: A repair that takes longer is not used [ms, real time].

    Raises:
        UsageError: A field is of another type or out of its range.
    """

    enabled: bool = False
    allowed: tuple[Repair, ...] = (Repair.EXPOSURE, Repair.DENOISE, Repair.SHARPEN)
    max_steps: int = ranged(2, 1, 5)
    time_limit_ms: float = ranged(50.0, 1.0, 1000.0)

    if TYPE_CHECKING:  # what `check_fields` takes, too: names of repairs

        def __init__(
            self,
            enabled: bool = False,  # noqa: FBT001, FBT002 - a field
            allowed: tuple[Repair | RepairName, ...] = (Repair.EXPOSURE, Repair.DENOISE, Repair.SHARPEN),
            max_steps: int = 2,
            time_limit_ms: float = 50.0,
        ) -> None: ...

    def __post_init__(self) -> None:
        check_fields(self)


def judge_repaired(
    judge: ImageJudge,
    view: View,
    rgb: NDArray[np.uint8],
    received: Judgement,
    options: RepairOptions,
    *,
    clock: Clock | None = None,
) -> Judgement:
    """Repair an image that was not passed until the judge passes it.

    Args:
        judge: Judges after each repair.
        view: The camera.
        rgb: ``(H, W, 3)`` uint8, red first; never changed.
        received: Its judgement.
        options: Which repairs, and how many.
        clock: Real time in ns, for the time limit; None where time does not count, as in rescoring.

    Returns:
        A PASS with the repaired image and the names of the repairs; else the judgement as received, whose
        reason says what was tried. Never a worse verdict, and a PASS is returned as it is. A repaired image
        does not pass for ordinary statistics alone: these are what a repair brings back.
    """
    if received.verdict is Verdict.PASS or not options.enabled:
        return received
    began_ns = 0 if clock is None else clock()
    image, found = rgb, received
    done: tuple[Repair, ...] = ()
    try:
        while len(done) < options.max_steps:
            allowed = [repair for repair in _ORDER[_place(done) :] if repair in options.allowed]
            repair = next_repair(found.faults, allowed)
            if repair is None:
                break
            image, done = apply_repair(repair, image, found.faults), (*done, repair)
            found = judge.judge(view, image)
            late_ms = 0.0 if clock is None else (clock() - began_ns) / MILLISECOND_NS
            if late_ms > options.time_limit_ms:
                return _tried(received, done, f"took {late_ms:.0f} ms of {options.time_limit_ms:.0f} ms")
            if found.verdict is Verdict.PASS and not found.by_limit:
                return _passed(received, found, done, image)
    except Exception as error:  # noqa: BLE001 - whatever fails in a repair must not let an image pass
        return _tried(received, done, f"failed: {first_line(error)}")
    return _tried(received, done, "did not help") if done else received


def _place(done: tuple[Repair, ...]) -> int:
    """Return where the next repair may be in the order: none twice, and none that undoes one before it."""
    return _ORDER.index(done[-1]) + 1 if done else 0


def says_repaired(reason: str) -> bool:
    """Return whether the reason of a passed frame says that its image was repaired."""
    return reason.startswith(_REPAIRED)


def _passed(
    received: Judgement, judgement: Judgement, done: tuple[Repair, ...], image: NDArray[np.uint8]
) -> Judgement:
    reason = f"{_REPAIRED}{', '.join(done)}): {received.reason}"
    return replace(judgement, reason=reason, repairs=done, repaired=image, received=received)


def _tried(received: Judgement, done: tuple[Repair, ...], words: str) -> Judgement:
    return replace(received, reason=f"{received.reason}; repair ({', '.join(done)}) {words}")
