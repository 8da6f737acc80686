"""Draws the images of docs/studio.md: photographs the pages of a studio.

python benchmarks/draw_studio.py DATABASE RUN --out docs/images

Needs Chromium, a finished database, and the folder of a run with a distorted run.
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

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from chromium_pipe import Browser, chromium, executable  # noqa: E402 - of the tests

SIZE_PX: Final = (1280, 860)
TALL_PX: Final = (1280, 1180)
QUALITY: Final = 82
FIRST_PAIR: Final = "document.querySelector('.thumbs').pathname.split('/').pop()"
ALL_IMAGES: Final = """
new Promise(done => {
  for (const image of document.images) image.loading = 'eager';
  const shown = image => image.complete && image.naturalWidth && image.shown === image.wanted;
  const look = () => [...document.images].every(shown) ? done(1) : requestAnimationFrame(look);
  look();
})"""
"""Resolves when every image of a page is there; the player states which one it wants and shows."""
HEIGHT: Final = (
    "Math.ceil(document.querySelector('main').lastElementChild.getBoundingClientRect().bottom) + 20"
)


def photograph(browser: Browser, url: str, size_px: tuple[int, int], file: Path) -> None:
    """Write the top of a page as WebP, with all its images."""
    width, height = size_px
    browser.call(
        "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
    )
    browser.open(url)
    browser.value(ALL_IMAGES)
    area = {"x": 0, "y": 0, "width": width, "height": min(height, browser.value(HEIGHT)), "scale": 1}
    data = browser.call("Page.captureScreenshot", format="png", clip=area)["data"]
    pixels = cv2.imdecode(np.frombuffer(base64.b64decode(data), np.uint8), cv2.IMREAD_COLOR)
    cv2.imwrite(str(file), pixels, [cv2.IMWRITE_WEBP_QUALITY, QUALITY])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("database", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("--pair", default="", help="of the image of a pair (default: the first one)")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    arguments = parser.parse_args()
    if executable() is None:
        sys.stderr.write("draw_studio: Chromium is not installed\n")
        return 1
    command = [sys.executable, "-m", "embodied_iqa.cli.main", "studio", "--port", "0"]
    folders = [str(arguments.database), str(arguments.run)]
    with (
        TemporaryDirectory() as profile,
        subprocess.Popen([*command, *folders], stdout=subprocess.PIPE, text=True) as studio,
        chromium(Path(profile)) as browser,
    ):
        base = (studio.stdout.readline() if studio.stdout else "").split()[-1].rstrip("/")
        table, run = f"{base}/db/{arguments.database.name}", f"{base}/run/{arguments.run.name}"
        try:
            photograph(browser, f"{table}?level=4", SIZE_PX, arguments.out / "studio-table.webp")
            pair = arguments.pair or browser.value(FIRST_PAIR)
            photograph(browser, f"{table}/pair/{pair}", TALL_PX, arguments.out / "studio-pair.webp")
            photograph(browser, f"{table}/leaderboard", SIZE_PX, arguments.out / "studio-leaderboard.webp")
            photograph(browser, f"{run}/0/1#t=1.5", TALL_PX, arguments.out / "studio-watch.webp")
        finally:
            studio.terminate()
    return 0


if __name__ == "__main__":
    sys.exit(main())
