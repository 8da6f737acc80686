"""The camera whose images a VLM is shown in a trial."""

from __future__ import annotations

import pytest

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.protocols import SubjectInfo

FRONT = View("front")


@pytest.mark.parametrize(
    ("views", "any_view", "cameras", "shown"),
    [
        ((View.TOP,), True, ["front", "top"], View.TOP),
        ((View.TOP,), True, ["front", "wrist"], FRONT),
        ((View.TOP,), True, [], View.TOP),
        ((View.TOP,), False, ["front"], View.TOP),
        ((), True, ["front"], FRONT),
    ],
)
def test_the_first_of_its_views_or_the_first_camera(
    views: tuple[View, ...], any_view: bool, cameras: list[str], shown: View
) -> None:
    assert SubjectInfo("m", "1", "", views, any_view=any_view).shown_view(cameras) == shown


@pytest.mark.parametrize(("any_view", "cameras"), [(False, ["front"]), (True, [])])
def test_one_without_views_and_cameras_is_refused(any_view: bool, cameras: list[str]) -> None:
    with pytest.raises(UsageError, match="m lists no view"):
        SubjectInfo("m", "1", "", (), any_view=any_view).shown_view(cameras)
