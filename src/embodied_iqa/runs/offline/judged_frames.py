"""The record of a frame that a gate judged without ROS."""

from __future__ import annotations

import math

from embodied_iqa.data.recording.trial_record import VerdictRecord
from embodied_iqa.quality.gate.judge import ImageQuality


def verdict_record(quality: ImageQuality) -> VerdictRecord:
    """Return the record of a judged frame, without the time that it took."""
    found = quality.prediction
    numbers = (None, None) if found is None else (found.value, found.threshold)
    return VerdictRecord(quality.stamp_ns, quality.view, quality.verdict, quality.reason, math.nan, *numbers)
