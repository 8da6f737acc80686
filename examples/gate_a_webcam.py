"""Show a webcam through the gate: the images that pass, and why the others do not.

python examples/gate_a_webcam.py --calibration mine.yaml --view top --camera 0
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import cv2

import embodied_iqa


def run(
    capture: cv2.VideoCapture,
    gate: embodied_iqa.Gate,
    view: str,
    act: Callable[[Any], object],
    hold: Callable[[str], object],
) -> None:
    """Call ``act(image)`` with each RGB image that passes, else ``hold(reason)``, until the camera ends."""
    while True:
        taken, image = capture.read()
        stamp_ns = time.time_ns()  # when it was taken, not when it is judged
        if not taken:
            return
        rgb = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        gate.judge(rgb, view, stamp_ns)
        permission = gate.permission(views=[view])  # now: judging took time, too
        if permission.reason:
            hold(permission.reason)
        else:
            act(rgb)


def main() -> None:
    parser = argparse.ArgumentParser(description="A webcam behind the gate.")
    parser.add_argument("--calibration", required=True, help="file of `embodied-iqa gate calibrate`")
    parser.add_argument("--view", default="top", help="name of the camera in it")
    parser.add_argument("--camera", default="0", help="number of a camera, a video or a URL")
    words = parser.parse_args()
    device = int(words.camera) if words.camera.isdecimal() else words.camera
    try:
        gate = embodied_iqa.Gate(words.calibration)
    except embodied_iqa.UserError as error:
        parser.exit(error.exit_code, f"{error}\n")
    capture = cv2.VideoCapture(device)
    if not capture.isOpened():
        parser.exit(1, f"no camera {words.camera}\n")
    run(capture, gate, words.view, lambda _image: print("PASS"), lambda reason: print("HOLD", reason))


if __name__ == "__main__":
    main()
