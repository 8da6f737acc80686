"""Distort an image of the simulated cell in three ways and save a strip of the results as PNG."""

import sys
from pathlib import Path

import cv2
import numpy as np

import embodied_iqa

out = Path(sys.argv[1] if len(sys.argv) > 1 else "distorted.png")
image = embodied_iqa.simulated_frame(seed=7, view="top").rgb
strip = [image]
strip += [embodied_iqa.distort(image, word, seed=1) for word in ("lens-blur:4", "jpeg:5", "miqd:fog:4")]
cv2.imwrite(str(out), cv2.cvtColor(np.hstack(strip), cv2.COLOR_RGB2BGR))
print(f"{out}: the image, lens blur, JPEG and fog")
