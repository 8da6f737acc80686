"""Options of a run: what a planner is shown, and by which rules its plans are executed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from embodied_iqa.base.config import check_ranges, ranged
from embodied_iqa.base.errors import UsageError
from embodied_iqa.suites.cell_manipulation.episodes import MAX_STEPS

MOST_SHOTS: Final = 8
CLASSICAL: Final = "classical"
"""Name of the detector that is the classical perception."""


class Coordinates(StrEnum):
    """Where the object list of the prompt comes from."""

    TRUTH = "truth"
    """The simulation, as in the published protocol: distorted images never reach the list."""
    DETECTOR = "detector"
    """Detections in the image that the planner gets, and the known height of the table."""
    NONE = "none"
    """No list."""


class OnInvalid(StrEnum):
    """What happens after an invalid action."""

    REPLAN = "replan"
    """The rest of the plan is dropped, and the planner is asked again."""
    CONTINUE = "continue"
    """The rest of the plan is executed, as the published code does."""


class GateArm(StrEnum):
    """What happens to an image that the gate rejects."""

    OFF = "off"
    HOLD = "hold"
    """Nothing moves, and the turn costs a step."""
    REPAIR = "repair"
    """The planner gets the repaired image, if the gate passes it; else as with `HOLD`."""
    RETAKE = "ask-again"
    """The image is taken again, up to three times; if none passes, as with `HOLD`."""


@dataclass(frozen=True, slots=True)
class PromptOptions:
    """What a planner is shown; the defaults are those of the published protocol.

    Attributes:
        shots: Number of text examples of the episode's task in the prompt.
        boxes: Draw numbered boxes around the listed objects into the image.
        multiview: Add the wrist camera's image.
        multistep: Add the two images before the present one, once there are three.
        visual_examples: Give two examples with their images, instead of text examples.
        history: Repeat the texts of the conversation so far.
        language_only: Show no image.
        coordinates: Where the object list comes from.
        detector: Detector of the object list: classical, or panel:NAME and other vision models.
    """

    shots: int = ranged(4, 0, MOST_SHOTS)
    boxes: bool = True
    multiview: bool = False
    multistep: bool = False
    visual_examples: bool = False
    history: bool = False
    language_only: bool = False
    coordinates: Coordinates = Coordinates.TRUTH
    detector: str = CLASSICAL

    def __post_init__(self) -> None:
        names = ("multiview", "multistep", "visual_examples", "history")
        chosen = [name.replace("_", "-") for name in names if getattr(self, name)]
        if len(chosen) > 1:
            raise UsageError("options that exclude each other", expected="at most one of them", got=chosen)
        shown = [name for name in chosen if name != "history"]
        if self.language_only and shown:
            raise UsageError("language-only shows no image", expected=f"not together with {shown[0]}")
        if self.detector != CLASSICAL and self.coordinates is not Coordinates.DETECTOR:
            raise UsageError("a detector makes no list here", expected="--coordinates detector")
        check_ranges(self)


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """How an episode is run.

    Attributes:
        prompt: What the planner is shown.
        on_invalid: What happens after an invalid action.
        as_published: Count an empty plan as the published code does: minus one error, left out of the sum.
        max_steps: Steps in an episode; an answer that cannot be read costs one, too.
    """

    prompt: PromptOptions = PromptOptions()
    on_invalid: OnInvalid = OnInvalid.REPLAN
    as_published: bool = False
    max_steps: int = MAX_STEPS
