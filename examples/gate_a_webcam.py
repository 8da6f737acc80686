"""Show a webcam through the gate: the images that pass, and why the others do not.

python examples/gate_a_webcam.py --calibration mine.yaml --view top --camera 0

It needs OpenCV to read the camera: `pip install opencv-python-headless` where only `[gate]` is installed.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import embodied_iqa


def run(
    capture: Any,
    gate: embodied_iqa.Gate,
    view: str,
    act: Callable[[Any], object],
    hold: Callable[[str], object],
) -> None:
    """Call ``act(image)`` with each RGB image that passes, else ``hold(reason)``, until the camera ends.

    Args:
        capture: A `cv2.VideoCapture`, whose images are BGR.
        gate: Judges them.
        view: Name of the camera in the calibration.
        act: See above.
        hold: See above.
    """
    while True:
        taken, image = capture.read()
        stamp_ns = time.time_ns()  # when it was taken, not when it is judged
        if not taken:
            return
        rgb = np.ascontiguousarray(image[..., ::-1])
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
    try:
        import cv2  # noqa: PLC0415 - the loop itself needs no OpenCV
    except ImportError as error:
        parser.exit(1, f"{error}: pip install opencv-python-headless\n")
    capture = cv2.VideoCapture(device)
    if not capture.isOpened():
        parser.exit(1, f"no camera {words.camera}\n")
    try:
        run(capture, gate, words.view, lambda _image: print("PASS"), lambda reason: print("HOLD", reason))
    except KeyboardInterrupt:
        parser.exit(130)


if __name__ == "__main__":
    main()
