"""Distorts every view the same way; passes pictures through untouched where no distortion is set."""

from __future__ import annotations

import sys
from functools import partial
from time import perf_counter

import cv2
from embodied_iqa_msgs.msg import DistortionState
from embodied_iqa_msgs.srv import SetDistortion
from rclpy.publisher import Publisher
from sensor_msgs.msg import CompressedImage

from embodied_iqa.distortions import entry
from embodied_iqa.distortions.image import Image
from embodied_iqa.errors import UserError
from embodied_iqa.graph.parameters import DistortionParameters
from embodied_iqa.images.frame import View
from embodied_iqa.images.image_cdr import image_from_cdr, image_to_cdr, stamp_from_cdr
from embodied_iqa.ros.conversion import ns_of, optical_frame, spec_of, time_of
from embodied_iqa.ros.node import BaseNode, Health, main_of
from embodied_iqa.ros.pictures import publish_picture_topic, subscribe_pictures
from embodied_iqa.ros.qos import EVENT, LATCHED
from embodied_iqa.trial.distortion_schedule import DistortionSchedule

_PREVIEW_QUALITY = 80


class DistortionNode(BaseNode[DistortionParameters]):
    """/camera/<view>/image_raw -> /distorted/<view>/image_raw; /distortion/set changes it at run time."""

    def __init__(self) -> None:
        super().__init__("distortion_node", DistortionParameters)
        self._schedule = DistortionSchedule()
        self._counts = dict.fromkeys(self.config.views, 0)
        self._refused = 0
        self._latency_ms = 0.0
        self._state_publisher = self.create_publisher(DistortionState, "/distortion/state", LATCHED)
        self._outputs = {
            view: publish_picture_topic(self, f"/distorted/{view}/image_raw") for view in self.config.views
        }
        self._previews: dict[View, Publisher[CompressedImage]] = {
            view: self.create_publisher(CompressedImage, f"/distorted/{view}/preview/compressed", EVENT)
            for view in self.config.views
        }
        if self.config.id:
            first = DistortionState(
                id=self.config.id, level=self.config.level, seed=self.config.seed, frozen=self.config.frozen
            )
            self._schedule.set(spec_of(first), 0)
        self._publish_state(0)
        for view in self.config.views:
            subscribe_pictures(self, f"/camera/{view}/image_raw", partial(self._picture, view))
        self.create_service(SetDistortion, "/distortion/set", self._set)

    def health(self) -> Health:
        """Say what is done to the pictures."""
        values: dict[str, object] = {f"{view} pictures": count for view, count in self._counts.items()}
        values |= {"latency_ms": round(self._latency_ms, 2), "refused": self._refused}
        return Health(message=str(self._schedule.newest or "pass-through"), values=values)

    def _set(
        self, request: SetDistortion.Request, response: SetDistortion.Response
    ) -> SetDistortion.Response:
        from_ns = ns_of(request.from_stamp)
        try:
            effective_ns = self._schedule.set(spec_of(request.distortion), from_ns or None)
        except UserError as error:
            response.message = str(error)
            return response
        response.success = True
        response.state = self._publish_state(effective_ns)
        return response

    def _publish_state(self, from_ns: int) -> DistortionState:
        spec = self._schedule.newest
        state = DistortionState()
        state.header.stamp = time_of(from_ns)
        if spec is not None:
            state.id, state.name = spec.id, entry(spec.id).name
            state.level, state.seed, state.frozen = spec.level, spec.seed, spec.frozen
        self._state_publisher.publish(state)
        return state

    def _picture(self, view: View, cdr: bytes) -> None:
        began = perf_counter()
        try:
            stamp_ns = stamp_from_cdr(cdr)
            distorter = self._schedule.at(stamp_ns)
            self._counts[view] += 1
            if distorter.spec is None:
                self._outputs[view].publish(cdr)
                self._preview(view, None, cdr)
            else:
                picture = image_from_cdr(cdr)
                rgb = distorter.apply(picture.rgb, view, stamp_ns)
                self._outputs[view].publish(image_to_cdr(rgb, stamp_ns, picture.frame_id))
                self._preview(view, rgb, cdr)
        except UserError as error:
            self._refused += 1
            self.get_logger().error(f"{view}: {error}", throttle_duration_sec=1.0)
        self._latency_ms = (perf_counter() - began) * 1e3

    def _preview(self, view: View, rgb: Image | None, cdr: bytes) -> None:
        every = self.config.preview_every
        if every == 0 or self._counts[view] % every:
            return
        picture = image_from_cdr(cdr)
        shown = picture.rgb if rgb is None else rgb
        done, data = cv2.imencode(".jpg", shown[:, :, ::-1], (cv2.IMWRITE_JPEG_QUALITY, _PREVIEW_QUALITY))
        if done:
            message = CompressedImage(format="jpeg")
            message.header.stamp = time_of(picture.stamp_ns)
            message.header.frame_id = optical_frame(view)
            message.data.frombytes(data.tobytes())
            self._previews[view].publish(message)


def main() -> int:
    """Run the node."""
    return main_of(DistortionNode)


if __name__ == "__main__":
    sys.exit(main())
