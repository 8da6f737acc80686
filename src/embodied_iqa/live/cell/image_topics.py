"""Images of other people's topics, for who only looks at them: no graph of ours runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import CompressedImage, Image

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import StampedImage, compressed_from_cdr, image_from_cdr
from embodied_iqa.live.cell.clean_recording import cell_node
from embodied_iqa.live.ros.image_topics import why_no_images
from embodied_iqa.live.ros.qos import NEWEST_SENSOR
from embodied_iqa.quality.gate.live_collecting import LiveImage


class TopicImages:
    """Images of topics, the newest of each, as a `LiveSource`.

    Args:
        node: Subscribes.
        executor: Spins the node.
        topics: Topic to camera; one that ends in ``/compressed`` is of compressed images.
        report: Called with why a message is left out: at the first one of a topic, and at the end with their
            number.
    """

    def __init__(
        self,
        node: Node,
        executor: SingleThreadedExecutor,
        topics: Mapping[str, View],
        report: Callable[[str], None],
    ) -> None:
        self._node, self._executor, self._report = node, executor, report
        self._topics = {view: topic for topic, view in topics.items()}
        self.views = tuple(topics.values())
        self._came: deque[LiveImage] = deque()
        self._damaged = dict.fromkeys(topics, 0)
        for topic, view in topics.items():
            is_compressed = _is_compressed(topic)
            kind = CompressedImage if is_compressed else Image
            take = self._taker(topic, view, compressed_from_cdr if is_compressed else image_from_cdr)
            node.create_subscription(kind, topic, take, NEWEST_SENSOR, raw=True)

    def next(self, wait_s: float) -> LiveImage | None:
        """Return the next image; None where none came in this time. A message that cannot be read is none."""
        if not self._came:
            self._executor.spin_once(timeout_sec=wait_s)
        return self._came.popleft() if self._came else None

    def why_silent(self, view: View) -> str:
        """Return why no image of a camera comes, as the graph shows it; empty where one can."""
        topic = self._topics[view]
        return why_no_images(self._node, topic, compressed=_is_compressed(topic))

    def _taker(
        self, topic: str, view: View, read: Callable[[bytes], StampedImage]
    ) -> Callable[[bytes], None]:
        def take(cdr: bytes) -> None:
            try:
                self._came.append(LiveImage(view, read(cdr).rgb))
            except InputError as error:
                self._damaged[topic] += 1
                if self._damaged[topic] == 1:
                    self._report(f"{topic}: a message is left out: {error}")

        return take

    def close(self) -> None:
        """Report how many messages were left out."""
        for topic, count in self._damaged.items():
            if count > 1:
                self._report(f"{topic}: {count} messages were left out")


def _is_compressed(topic: str) -> bool:
    return topic.endswith("/compressed")


@contextmanager
def topic_images(topics: Mapping[str, View], report: Callable[[str], None]) -> Iterator[TopicImages]:
    """Give the images of topics in a block, see `TopicImages`; Ctrl-C is left to Python."""
    with cell_node("gate_calibration", "") as node:
        executor = SingleThreadedExecutor(context=node.context)
        try:
            executor.add_node(node)
            images = TopicImages(node, executor, topics, report)
            yield images
            images.close()
        finally:
            executor.shutdown(0.0)
