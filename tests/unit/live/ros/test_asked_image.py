"""The image of a request to judge one, and the camera that it is of."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from embodied_iqa_msgs.srv import JudgeImage
from sensor_msgs.msg import CompressedImage, Image

from embodied_iqa.base.errors import UserError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.live.ros.asked_image import asked_image, asked_view
from embodied_iqa.live.ros.conversion import header_of

BGR = np.random.default_rng(1).integers(0, 256, (12, 16, 3), dtype=np.uint8)
RAW = Image(header=header_of(5, "lens"), width=16, height=12, encoding="bgr8", step=48, data=BGR.tobytes())


def test_an_image_is_red_first_whatever_its_message() -> None:
    header, rgb = asked_image(JudgeImage.Request(image=RAW))
    assert header == RAW.header
    assert np.array_equal(rgb, BGR[:, :, ::-1])
    file = CompressedImage(header=header_of(6), format="png", data=cv2.imencode(".png", BGR)[1].tobytes())
    header, rgb = asked_image(JudgeImage.Request(compressed=file))
    assert header == file.header
    assert np.array_equal(rgb, BGR[:, :, ::-1])


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (JudgeImage.Request(), "not one image; expected either image or compressed"),
        (JudgeImage.Request(image=RAW, compressed=CompressedImage(data=b"1")), "not one image"),
        (JudgeImage.Request(image=Image(encoding="bgr8", data=b"123")), "empty image"),
        (JudgeImage.Request(compressed=CompressedImage(format="png", data=b"123")), "is not an image"),
    ],
)
def test_a_request_without_an_image_is_refused(request_: JudgeImage.Request, said: str) -> None:
    with pytest.raises(UserError, match=said):
        asked_image(request_)


def test_the_only_camera_needs_no_name() -> None:
    assert asked_view("", [View.TOP]) == View.TOP
    assert asked_view("side", [View.TOP, View.SIDE]) == View.SIDE
    for name, said in (("", "names no camera; available: side, top"), ("wrist", "wrist")):
        with pytest.raises(UserError, match=said):
            asked_view(name, [View.TOP, View.SIDE])
