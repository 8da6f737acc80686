"""A recorder as a process of its own: it writes a trial step by step, as a test commands."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trial_recording import NOISE, Recorder, stamp_ns, start_ns


class RecorderProcess:
    """Writes into a file; every command returns when its bytes are in the file.

    Args:
        path: Of the recording.
    """

    def __init__(self, path: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def do(self, *words: object) -> None:
        """Execute one of: start RUN, frame RUN FRAME, end RUN FRAMES, close."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(*words, file=self._process.stdin, flush=True)
        assert self._process.stdout.readline() == "done\n"

    def frames(self, run: int, numbers: range) -> None:
        """Write frames of a run."""
        for number in numbers:
            self.do("frame", run, number)

    def kill(self) -> None:
        """End as a loss of power does."""
        self._process.kill()
        self._process.communicate()  # ends the pipes too


@contextmanager
def recorder_process(path: Path) -> Iterator[RecorderProcess]:
    """Start a recorder; it is gone at the end."""
    recorder = RecorderProcess(path)
    try:
        yield recorder
    finally:
        recorder.kill()


def execute(recorder: Recorder, words: list[str]) -> None:
    """Execute one command."""
    match words:
        case ["start", run]:
            recorder.event(1, int(run), start_ns(int(run)), NOISE if int(run) else None)
        case ["frame", run, number]:
            spec = NOISE if int(run) else None
            recorder.frame(int(run), int(number), spec, decides=int(number) % 2 == 0)
        case ["end", run, frames]:
            stamp = stamp_ns(int(run), int(frames) - 1)
            recorder.event(
                3, int(run), stamp, None, outcome=1, reason="done", frames_published=2 * int(frames)
            )
        case ["close"]:
            recorder.close()
            return
    recorder.writer.flush()


if __name__ == "__main__":
    written = Recorder(Path(sys.argv[1]))
    for line in sys.stdin:
        execute(written, line.split())
        sys.stdout.write("done\n")
        sys.stdout.flush()
