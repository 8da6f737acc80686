"""The studio as a process, for tests in a browser."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def running_studio(folder: Path) -> Iterator[str]:
    """Serve a folder; yield the address without a slash at its end. It ends cleanly on SIGTERM."""
    command = [sys.executable, "-m", "embodied_iqa.cli.main", "studio", "--port", "0", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1].rstrip("/")
        process.terminate()
        assert process.wait(60) == 0
