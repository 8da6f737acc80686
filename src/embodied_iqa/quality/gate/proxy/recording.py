"""Records what the proxy judged in MCAP, for `gate check`, `gate calibrate` and metrics."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.units import MILLISECOND_NS
from embodied_iqa.base.user_files.json_files import parse_json
from embodied_iqa.data.recording.messages import TypeStore
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.recording_queue import QueueStatus, RecordingQueue
from embodied_iqa.data.recording.writer import TrialWriter
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE, image_to_cdr
from embodied_iqa.quality.gate.proxy.gated_policy import Answered, ProxyOptions

VERDICT_TOPIC: Final = "/gate/verdict"
"""The gate's part of each answer, as JSON, with ``took_ms``, the time from the observation to its answer."""
_TEXT_TYPE: Final = "std_msgs/msg/String"
_TEXT_BYTES: Final = 2048
"""What the text of a verdict counts in the queue, besides its reason."""


class ProxyRecorder:
    """Records observations of all clients. A disk that is too slow loses messages, which are counted.

    Args:
        path: The file; it must not exist.
        options: Names the cameras.
        capacity_bytes: Most bytes of images that wait for the disk.
        now_ns: Stamps the observations, in Unix time [ns].

    Raises:
        RecordingWriteError: The file exists or cannot be created.
    """

    def __init__(
        self,
        path: Path,
        options: ProxyOptions,
        capacity_bytes: int = 256 << 20,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.path = path
        self._now_ns = now_ns
        self._types = TypeStore()
        writer = TrialWriter(path, types=self._types)
        for camera in options.cameras:
            writer.add_channel(_topic(camera.view), IMAGE_TYPE)
        writer.add_channel(VERDICT_TOPIC, _TEXT_TYPE)
        writer.add_metadata("gate proxy", {str(one.view): one.key for one in options.cameras})
        self._queue = RecordingQueue(writer, capacity_bytes=capacity_bytes)
        self._lock = threading.Lock()
        self._newest_ns = 0

    @property
    def status(self) -> QueueStatus:
        """What was written, and what was not."""
        return self._queue.status

    def record(self, answered: Answered) -> None:
        """Queue an observation: its images as they were judged, its verdict, reasons and times."""
        stamp_ns = self._stamp_ns(answered)
        for one in answered.judged:
            if one.view is not None and one.image is not None:
                topic = _topic(one.view)
                made = partial(image_to_cdr, one.image, stamp_ns, str(one.view))
                self._queue.put_later(topic, made, one.image.nbytes, stamp_ns)
        report = {**answered.report, "took_ms": answered.took_ms}
        size = _TEXT_BYTES + 2 * len(report["reason"])  # a client chooses the length of its keys
        self._queue.put_later(VERDICT_TOPIC, partial(self._text, report), size, stamp_ns)

    def close(self) -> QueueStatus:
        """Write what is queued and finish the file; return what is in it.

        Raises:
            RecordingWriteError: It could not be finished in time; it can be recovered.
        """
        return self._queue.close()

    def _text(self, report: dict[str, Any]) -> bytes:
        return self._types.serialise(self._types.new(_TEXT_TYPE, data=json.dumps(report)))

    def _stamp_ns(self, answered: Answered) -> int:
        """Return when the observation came; no two have one stamp."""
        with self._lock:
            came_ns = self._now_ns() - round(answered.took_ms * MILLISECOND_NS)
            self._newest_ns = max(came_ns, self._newest_ns + 1)
            return self._newest_ns


def refused_images(path: Path, views: Collection[View]) -> dict[str, int]:
    """Return how many images of each camera did not pass when they were recorded; only those with some.

    Args:
        path: Any recording; one of another program has no verdicts.
        views: The cameras.

    Raises:
        InputError: It cannot be read.
    """
    refused: Counter[str] = Counter()
    with TrialReader(path) as reader:
        found = reader.topics.get(VERDICT_TOPIC)
        if found is None or found.type_name != _TEXT_TYPE:
            return {}
        for message in reader.messages([VERDICT_TOPIC]):
            with suppress(InputError, LookupError, TypeError):  # of another program
                report = parse_json(reader.decode(message).data, VERDICT_TOPIC)["views"]
                refused.update(view for view in views if report[view]["verdict"] != Verdict.PASS.name)
    return dict(refused)


def _topic(view: View) -> str:
    """Return the topic from which `gate calibrate` takes a camera by default."""
    return f"/camera/{view}/image_raw"
