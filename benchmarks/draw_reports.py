"""Draws the images of reports in README.md and docs/report.md: runs two trials and photographs their pages.

python benchmarks/draw_reports.py --out docs/images

Needs Chromium; takes three to seven minutes.
"""

from __future__ import annotations

import argparse
import base64
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from chromium_pipe import Browser, chromium, executable  # noqa: E402 - of the tests

RUN_PX: Final = (1024, 1224)
REPORT_PX: Final = (1240, 1760)
NARROW_PX: Final = 360
JPEG_QUALITY: Final = 88


def trial(folder: Path, *words: str) -> Path:
    """Run a trial; return its page."""
    command = [sys.executable, "-m", "embodied_iqa.cli.main", "trial", "--out", str(folder), *words]
    subprocess.run(command, check=True)
    return folder / "report.html"


def photograph(browser: Browser, page: Path, size_px: tuple[int, int], scheme: str) -> NDArray[np.uint8]:
    """Return the top of a page, ``(H, W, 3)`` uint8 BGR."""
    browser.show(page, size_px[0], scheme)
    clip = {"x": 0, "y": 0, "width": size_px[0], "height": size_px[1], "scale": 1}
    data = browser.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"]
    pixels = np.frombuffer(base64.b64decode(data), np.uint8)
    return np.asarray(cv2.imdecode(pixels, cv2.IMREAD_COLOR), np.uint8)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    arguments = parser.parse_args()
    if executable() is None:
        sys.stderr.write("draw_reports: Chromium is not installed\n")
        return 1
    with TemporaryDirectory() as folder, chromium(Path(folder, "profile")) as browser:
        three, one = trial(Path(folder, "three"), "--tour"), trial(Path(folder, "one"))
        wide_px = (REPORT_PX[0] - NARROW_PX, REPORT_PX[1])
        parts = [
            photograph(browser, one, wide_px, "light"),
            photograph(browser, one, (NARROW_PX, REPORT_PX[1]), "dark"),
        ]
        images = {"run": photograph(browser, three, RUN_PX, "light"), "report": np.hstack(parts)}
    for name, image in images.items():
        cv2.imwrite(str(arguments.out / f"{name}.jpg"), image, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    return 0


if __name__ == "__main__":
    sys.exit(main())
