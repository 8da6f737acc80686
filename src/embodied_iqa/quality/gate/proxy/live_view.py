"""What a gate shows of itself: the newest image of each camera, and the verdicts of the last minute."""

from __future__ import annotations

import base64
import math
import struct
import threading
import zlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.proxy.gated_policy import Answered

LIVE_PATH: Final = "/gate/live"
SHOWN_S: Final = 60.0
_MOST_MOMENTS: Final = 3000
"""Verdicts that are kept: a minute at 50 Hz."""
_LARGEST_PX: Final = 320


@dataclass(frozen=True, slots=True)
class _Moment:
    """Verdict and predicted value of each view; no reasons: a client chooses their length."""

    at_ns: int
    views: Mapping[str, tuple[str, float | None]]


class GateLive:
    """Looks at observations of all clients, and shows them; threads may share it.

    Args:
        clock: Of the last minute.
        image_s: Images of a camera of which nothing was judged for so long are not shown; by default they
            stay.
    """

    def __init__(self, clock: Clock = MONOTONIC, image_s: float = math.inf) -> None:
        self._clock = clock
        self._image_s = image_s
        self._lock = threading.Lock()
        self._moments: deque[_Moment] = deque(maxlen=_MOST_MOMENTS)
        self._images: dict[View, NDArray[np.uint8]] = {}
        self._judged_ns: dict[str, int] = {}
        self._count = 0
        self._newest: Mapping[str, Any] | None = None

    def look(self, answered: Answered) -> None:
        """Keep an observation, as a `Witness`."""
        seen = {name: (one["verdict"], one["value"]) for name, one in answered.report["views"].items()}
        images = {one.view: one.image for one in answered.judged if one.view is not None}
        self.add(answered.report, seen, {view: one for view, one in images.items() if one is not None})

    def add(
        self,
        report: Mapping[str, Any],
        seen: Mapping[str, tuple[str, float | None]],
        images: Mapping[View, NDArray[np.uint8]],
    ) -> None:
        """Keep a report, verdict and predicted value of the views that were judged now, and images."""
        with self._lock:
            self._newest = report
            if seen:
                self._count += 1
                now_ns = self._clock.now_ns()
                self._moments.append(_Moment(now_ns, seen))
                self._judged_ns |= dict.fromkeys(seen, now_ns)
            self._images |= images

    def snapshot(self, images: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002 - that of `GateSetting`
        """Return plain values: ``answered``, ``gate`` (the newest report), ``age_s`` and ``cameras``.

        A camera has ``image``, a PNG as data URL, ``age_s``, since its newest judgement, and ``points``: age
        [s], verdict and predicted value of each judgement of the last minute, the oldest first; null where
        nothing is predicted. Without images, ``image`` is null, too. A camera stays where it is silent.
        """
        with self._lock:
            now_ns, count, shown = self._clock.now_ns(), self._count, dict(self._images)
            moments = [one for one in self._moments if now_ns - one.at_ns <= SHOWN_S * SECOND_NS]
            newest, newest_ns = self._newest, self._moments[-1].at_ns if self._moments else None
            ages_s = {name: (now_ns - at_ns) / SECOND_NS for name, at_ns in self._judged_ns.items()}

        def image(name: str) -> str | None:
            is_shown = images and View(name) in shown and ages_s.get(name, math.inf) <= self._image_s
            return png_url(shown[View(name)]) if is_shown else None

        return {
            "answered": count,
            "gate": newest,
            "age_s": None if newest_ns is None else (now_ns - newest_ns) / SECOND_NS,
            "cameras": {
                name: {
                    "image": image(name),
                    "age_s": ages_s.get(name),
                    "points": [
                        [(now_ns - one.at_ns) / SECOND_NS, *one.views[name]]
                        for one in moments
                        if name in one.views
                    ],
                }
                for name in dict.fromkeys([*map(str, shown), *ages_s])
            },
        }


def shows_images(query: str) -> bool:
    """Return whether the images are wanted: the query of the address is not ``images=0``."""
    return parse_qs(query).get("images") != ["0"]


def png_url(rgb: NDArray[np.uint8]) -> str:
    """Return an ``(H, W, 3)`` image, made smaller by leaving out pixels, as a data URL; needs no OpenCV."""
    step = -(-max(rgb.shape[:2]) // _LARGEST_PX)
    small = np.ascontiguousarray(rgb[::step, ::step])
    height, width, _ = small.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), small.reshape(height, -1)], axis=1)
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows.tobytes(), 1)),
        (b"IEND", b""),
    )
    chunks = [
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    ]
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(chunks)).decode()
