"""The image of a request to judge one image, and the camera that it is of."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from embodied_iqa_msgs.srv import JudgeImage
from numpy.typing import NDArray
from std_msgs.msg import Header

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.imaging.images.compressed_image import rgb_of_file
from embodied_iqa.imaging.images.encodings import RawImage, rgb_of
from embodied_iqa.imaging.images.frame import View, parse_view


def asked_view(name: str, views: Collection[View]) -> View:
    """Return the camera of a request; an empty name is the only camera.

    Raises:
        UsageError: The gate has no such camera, or several and the name is empty.
    """
    if name:
        return parse_view(name, views)
    if len(views) != 1:
        raise UsageError("the request names no camera", available=sorted(views))
    return next(iter(views))


def asked_image(request: JudgeImage.Request) -> tuple[Header, NDArray[np.uint8]]:
    """Return header and image of a request; ``(H, W, 3)`` uint8, red first.

    Raises:
        InputError: There is none, there are two, or it is damaged.
    """
    image, compressed = request.image, request.compressed
    if bool(len(image.data)) == bool(len(compressed.data)):
        raise InputError("not one image", expected="either image or compressed")
    if len(compressed.data):
        return compressed.header, rgb_of_file(compressed.format, bytes(compressed.data))
    data = memoryview(image.data)
    raw = RawImage(
        image.width, image.height, image.encoding, bool(image.is_bigendian), image.step, data, len(data)
    )
    return image.header, rgb_of(raw)
