"""Planners without a model that recognise the objects of a goal in the image, not from the truth."""

from __future__ import annotations

from collections.abc import Sequence

from embodied_iqa.base.errors import UsageError
from embodied_iqa.models.subjects.subject_options import VlmRequest
from embodied_iqa.suites.cell_manipulation.actions import GridAction, position_bins
from embodied_iqa.suites.cell_manipulation.planning.detecting import (
    Detections,
    Detector,
    Place,
    detect_classically,
)
from embodied_iqa.suites.cell_manipulation.planning.offline import OfflinePlanner, moved, nearest
from embodied_iqa.suites.cell_manipulation.planning.prompt import Bins, listed_objects
from embodied_iqa.world.protocols import Message


class RecognisingPlanner(OfflinePlanner):
    """The expert's plan for the objects that a detector recognises in the delivered image.

    An object of a goal is sought by its colour and kind. The prompt's list gives its position, as the entry
    that is nearest to where it is seen. The plan is empty where an object is not recognised.

    Args:
        name: Name of the catalogue.
        description: One sentence.
        detector: Recognises; None for what made the object list.
    """

    def __init__(self, name: str, description: str, detector: Detector | None = None) -> None:
        super().__init__(name, description)
        self._detector = detector

    def actions(self, messages: Sequence[Message]) -> list[GridAction]:
        """Return the plan.

        Raises:
            UsageError: The run takes no images, or makes its list without a detector that is needed.
        """
        inside, found = self.inside, listed_objects(messages)
        detections = self._detections()
        steps = inside.environment.expert_steps()
        seen = {name: detections.place_of(name) for name in dict.fromkeys(step.about for step in steps)}
        read = {name: _listed(place, found) for name, place in seen.items() if place is not None and found}
        if len(read) < len(seen):
            return []
        truth = {item.name: item.bins for item in inside.observation.objects}
        return [moved(step.action, truth[step.about], read[step.about]) for step in steps]

    def _detections(self) -> Detections:
        name, inside = self.info.name, self.inside
        if self._detector is None:
            if inside.detections is None:
                raise UsageError(f"{name} uses the detector of the list", expected="--coordinates detector")
            return inside.detections
        if inside.front is None:
            raise UsageError(f"{name} needs images", expected="a run without language-only")
        return self._detector(inside.front)


def make_recogniser(request: VlmRequest) -> OfflinePlanner:
    """Make the planner that recognises by the classical perception, whatever makes the list."""
    text = "the expert's plan for objects that the classical perception recognises"
    return RecognisingPlanner(request.reference.text, text, detect_classically)


def make_detecting(request: VlmRequest) -> OfflinePlanner:
    """Make the planner that recognises by the detector of the list."""
    text = "the expert's plan for objects that the list's detector recognises"
    return RecognisingPlanner(request.reference.text, text)


def _listed(place: Place, bins: Sequence[Bins]) -> Bins:
    return bins[nearest(position_bins((*place, 0.0)), bins)]
