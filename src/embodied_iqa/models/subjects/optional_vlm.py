"""The VLM of a trial, which may have none, and the camera whose images it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.catalogue import Backend, Role
from embodied_iqa.models.subjects.reference import SubjectReference, parse_vlm
from embodied_iqa.world.protocols import SubjectInfo

NONE: Final = "none"


def parse_optional_vlm(text: str) -> SubjectReference:
    """Return the reference of a VLM, or of none.

    Raises:
        UserError: See `parse_reference`.
    """
    if text.strip() == NONE:
        return SubjectReference(NONE, Role.VLM, Backend.EMBEDDED)
    return parse_vlm(text)


def shown_view(vlm: SubjectReference, cameras: Sequence[str]) -> View | None:
    """Return the camera whose images a VLM is shown in a trial, see `SubjectInfo.shown_view`.

    Returns:
        None where only the loaded model knows it.
    """
    entry = vlm.entry
    if entry is None:
        return None
    return SubjectInfo(vlm.text, "", "", entry.views, any_view=entry.any_view).shown_view(cameras)
