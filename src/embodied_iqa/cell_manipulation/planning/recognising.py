"""A planner without a model that recognises the objects of a goal in the picture, not from the truth."""

from __future__ import annotations

from collections.abc import Sequence

from embodied_iqa.cell_manipulation.actions import GridAction, position_bins
from embodied_iqa.cell_manipulation.planning.offline import OfflinePlanner, moved, nearest
from embodied_iqa.cell_manipulation.planning.prompt import Bins, listed_objects
from embodied_iqa.cell_manipulation.planning.soiled import soiled_areas
from embodied_iqa.errors import UsageError
from embodied_iqa.images.frame import Frame
from embodied_iqa.subjects.backends.classical.perception import Sight, look
from embodied_iqa.subjects.backends.classical.shapes import KNOWN_KINDS
from embodied_iqa.subjects.options import VlmRequest
from embodied_iqa.subjects.protocols import Message
from embodied_iqa.tasks.instruction import Thing
from embodied_iqa.tasks.vocabulary import Colour, Kind

Place = tuple[float, float]


class RecognisingPlanner(OfflinePlanner):
    """The expert's plan for the objects that the classical perception recognises in the delivered picture.

    An object of a goal is sought by its colour and kind. The prompt's list gives its position, as the entry
    that is nearest to where it is seen. The plan is empty where an object is not recognised.
    """

    def actions(self, messages: Sequence[Message]) -> list[GridAction]:
        """Return the plan.

        Raises:
            UsageError: The run takes no pictures.
        """
        inside, found = self.inside, listed_objects(messages)
        if inside.front is None:
            raise UsageError(f"{self.info.name} needs pictures", expected="a run without language-only")
        steps = inside.environment.expert_steps()
        seen = {name: place_of(name, inside.front) for name in dict.fromkeys(step.about for step in steps)}
        read = {name: _listed(place, found) for name, place in seen.items() if place is not None and found}
        if len(read) < len(seen):
            return []
        truth = {item.name: item.bins for item in inside.observation.objects}
        return [moved(step.action, truth[step.about], read[step.about]) for step in steps]


def make_recogniser(request: VlmRequest) -> OfflinePlanner:
    """Make the planner."""
    return RecognisingPlanner(
        request.reference.text, "the expert's plan for objects that the classical perception recognises"
    )


def place_of(name: str, frame: Frame) -> Place | None:
    """Return where a picture shows an object or an area; None where it is not recognised.

    Args:
        name: Colour and kind, or the name of an area.
        frame: The picture, with its camera.

    Returns:
        x and y in the base frame, m.
    """
    sight = look(frame)
    areas = {area.name: (area.x_m, area.y_m) for area in soiled_areas(frame, sight.blobs)}
    words = name.split()
    if words[0] not in set(map(str, Colour)):
        return areas.get(name)
    return _place_of_thing(Thing(Colour(words[0]), Kind(words[1])), sight)


def _place_of_thing(thing: Thing, sight: Sight) -> Place | None:
    """Return the best fit; for a kind without a known outline, the largest object of this colour."""
    if thing.kind in KNOWN_KINDS:
        fits = [fit for _, fit in sight.named(thing)]
        best = max(fits, key=lambda fit: fit.score, default=None)
    else:
        alike = [item for item in sight.objects if item.colour is thing.colour]
        best = max(alike, key=lambda item: item.area_px).fits[0] if alike else None
    return None if best is None else (best.x_m, best.y_m)


def _listed(place: Place, found: Sequence[Bins]) -> Bins:
    return found[nearest(position_bins((*place, 0.0)), found)]
