"""A VLM in the user's own code, which nodes load by name; it raises while a file exists."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from embodied_iqa.imaging.images.frame import Frame
from trial_recording import PixelVlm

NAME: Final = "python:fragile_vlm:FragileVlm"
BROKEN: Final = "FRAGILE_VLM_BROKEN"
"""Environment variable: path of the file."""


class FragileVlm(PixelVlm):
    def answer(self, frame: Frame, task: str) -> str:
        if Path(os.environ[BROKEN]).exists():
            raise RuntimeError("no weights")
        return super().answer(frame, task)
