"""Distortion node: distorts every view, or the one of the schedule; passes other images through."""

from __future__ import annotations

from functools import partial
from time import perf_counter

import cv2
from embodied_iqa_msgs.msg import DistortionState
from embodied_iqa_msgs.srv import SetDistortion
from sensor_msgs.msg import CompressedImage
from sensor_msgs.msg import Image as ImageMessage

from embodied_iqa.base.errors import UserError
from embodied_iqa.imaging.distortions import DistortionSpec, FrameDistorter
from embodied_iqa.imaging.distortions.image import Image
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import image_from_cdr, image_to_cdr, stamp_from_cdr
from embodied_iqa.live.ros.conversion import header_of, ns_of, optical_frame, spec_of, state_to_msg
from embodied_iqa.live.ros.late_count import LateCount
from embodied_iqa.live.ros.node import BaseNode, Health, leave, main_of
from embodied_iqa.live.ros.qos import CHANGES, EVENT, IMAGE, adjustable, image_input
from embodied_iqa.runs.graph.parameters import DistortionParameters
from embodied_iqa.runs.trial.distortion_changes import DistortionChanges

_PREVIEW_QUALITY = 80


class DistortionNode(BaseNode[DistortionParameters]):
    """/camera/<view>/image_raw -> /distorted/<view>/image_raw; /distortion/set changes it at run time."""

    changeable = frozenset({"preview_every"})

    def __init__(self) -> None:
        super().__init__("distortion_node", DistortionParameters)
        config = self.config
        self._changes = DistortionChanges()
        self._counts = dict.fromkeys(self.config.views, 0)
        self._refused = 0
        self._late = LateCount()
        self._latency_ms = 0.0
        self._state_publisher = self.create_publisher(DistortionState, "distortion/state", CHANGES)
        topic = "distorted/{view}/image_raw"
        self._outputs = self.create_publishers(ImageMessage, topic, config.views, IMAGE)
        topic = "distorted/{view}/preview/compressed"
        self._previews = self.create_publishers(CompressedImage, topic, config.views, EVENT)
        if config.id:
            spec = DistortionSpec(config.id, config.level, config.seed, config.frozen, config.schedule)
            spec.check_view(config.views)
            self._changes.set(spec, None)
        self._publish_state(self._changes.newest, 0)
        for view in config.views:
            topic, take = f"camera/{view}/image_raw", self._late.counting(partial(self._image, view))
            qos = image_input(newest_only=config.newest_only)
            self.create_subscription(ImageMessage, topic, take, raw=True, **adjustable(qos))
        self.create_service(SetDistortion, "distortion/set", self._set)

    def health(self) -> Health:
        """Return the current distortion."""
        values: dict[str, object] = {f"{view} images": count for view, count in self._counts.items()}
        values |= {
            "level_now": self._stated_level,
            "latency_ms": round(self._latency_ms, 2),
            "refused": self._refused,
            "late": self._late.total,
        }
        return Health(message=str(self._changes.newest.spec or "pass-through"), values=values)

    def _set(
        self, request: SetDistortion.Request, response: SetDistortion.Response
    ) -> SetDistortion.Response:
        from_ns = ns_of(request.from_stamp)
        try:
            spec, or_later = spec_of(request.distortion), request.or_later
            if spec is not None:
                spec.check_view(self.config.views)
            effective_ns = self._changes.set(spec, from_ns or None, or_later=or_later)
        except UserError as error:
            response.message = str(error)
            return response
        response.success = True
        response.state = self._publish_state(self._changes.newest, effective_ns)
        return response

    def _publish_state(self, distorter: FrameDistorter, stamp_ns: int) -> DistortionState:
        state = state_to_msg(distorter.spec, distorter.origin_ns, stamp_ns)
        self._stated, self._stated_level, self._stated_ns = distorter, state.level_now, stamp_ns
        self._state_publisher.publish(state)
        return state

    def _update_state(self, distorter: FrameDistorter, stamp_ns: int, level: int) -> None:
        """Publish the state where an image, of a later stamp than the last state, has another level."""
        has_changed = level != self._stated_level or distorter is not self._stated
        if stamp_ns > self._stated_ns and has_changed:
            self._publish_state(distorter, stamp_ns)

    def _image(self, view: View, cdr: bytes) -> None:
        began = perf_counter()
        try:
            stamp_ns = stamp_from_cdr(cdr)
            distorter = self._changes.at(stamp_ns)
            self._counts[view] += 1
            self._update_state(distorter, stamp_ns, distorter.level_at(stamp_ns))
            if distorter.level_at(stamp_ns, view) == 0:
                self._outputs[view].publish(cdr)
                self._preview(view, None, cdr)
            else:
                image = image_from_cdr(cdr)
                rgb = distorter.apply(image.rgb, view, stamp_ns)
                self._outputs[view].publish(image_to_cdr(rgb, stamp_ns, image.frame_id))
                self._preview(view, rgb, cdr)
        except UserError as error:
            self._refused += 1
            self.get_logger().error(f"{view}: {error}", throttle_duration_sec=1.0)
        self._latency_ms = (perf_counter() - began) * 1e3

    def _preview(self, view: View, rgb: Image | None, cdr: bytes) -> None:
        every = self.config.preview_every
        if every == 0 or self._counts[view] % every:
            return
        image = image_from_cdr(cdr)
        shown = image.rgb if rgb is None else rgb
        done, data = cv2.imencode(".jpg", shown[:, :, ::-1], (cv2.IMWRITE_JPEG_QUALITY, _PREVIEW_QUALITY))
        if done:
            header = header_of(image.stamp_ns, optical_frame(view))
            self._previews[view].publish(CompressedImage(header=header, format="jpeg", data=data.tobytes()))


def main() -> int:
    """Run the node."""
    return main_of(DistortionNode)


if __name__ == "__main__":
    leave(main())
