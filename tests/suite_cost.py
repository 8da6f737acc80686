"""What a run of the tests cost: processor seconds of pytest and of every process that it waited for."""

from __future__ import annotations

import resource
import time
from typing import Any


def processor_seconds() -> float:
    """Processor time, user and system, of this process and of its children that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(item.ru_utime + item.ru_stime for item in used)


class Cost:
    """The plugin: prints processor and wall-clock seconds before pytest's closing line."""

    def __init__(self) -> None:
        self._begun = time.monotonic()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """When the workers have ended, so that all they did is counted."""
        wall_s = max(time.monotonic() - self._begun, 1e-3)
        cpu_s = processor_seconds()
        terminalreporter.write_line(
            f"cost: {cpu_s:.0f} CPU seconds in {wall_s:.0f} s, {cpu_s / wall_s:.1f} processors busy"
        )
