"""Messages that cannot be read are left out and counted; the others are images."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import image_to_cdr
from embodied_iqa.live.cell.image_topics import TopicImages


def test_a_damaged_message_does_not_end_the_calibration() -> None:
    takers: list[Callable[[bytes], None]] = []
    node = SimpleNamespace(create_subscription=lambda *words, **_named: takers.append(words[2]))
    good = image_to_cdr(np.full((16, 16, 3), 7, np.uint8), 1, "lens")
    waiting = [good[:40], good, b"", good]
    executor = SimpleNamespace(spin_once=lambda **_named: takers[0](waiting.pop(0)))
    said: list[str] = []
    images = TopicImages(cast("Any", node), cast("Any", executor), {"/eye": View.TOP}, said.append)
    found = [images.next(0.0) for _ in range(4)]
    images.close()
    assert [one is not None and one.rgb[0, 0, 0] == 7 for one in found] == [False, True, False, True]
    assert said[0].startswith("/eye: a message is left out: ")
    assert said[1:] == ["/eye: 2 messages were left out"]
