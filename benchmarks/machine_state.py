"""What a measurement of time depends on besides the program: the machine, and what else it does."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path


def machine_state() -> dict[str, object]:
    """Return processor, number of cores that this process may use, load of one and five minutes, and time."""
    one, five, _ = os.getloadavg()
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "load 1 min": round(one, 1),
        "load 5 min": round(five, 1),
        "python": platform.python_version(),
        "utc": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
