"""A process that records and is killed outright (SIGKILL): what the file holds afterwards."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from recording_samples import read_with_mcap, read_with_rosbags

from embodied_iqa.data.recording.repair.recover import recover
from live_process import COMPLETION_S, running_program

WRITER = """
import itertools, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from recording_samples import EVENT_TOPIC, EVENT_TYPE, IMAGE_TOPIC, samples, type_store
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE
from embodied_iqa.data.recording.writer import TrialWriter

writer = TrialWriter(Path(sys.argv[1]), types=type_store())
writer.add_channel(EVENT_TOPIC, EVENT_TYPE)
event = samples(1)[1].cdr
for index in itertools.count():
    now_ns = index * 10_000_000
    writer.write(EVENT_TOPIC, event, now_ns, sequence=index)
    writer.step(now_ns)
    print(now_ns, flush=True)
"""

QUEUE = """
import itertools, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from recording_samples import EVENT_TOPIC, EVENT_TYPE, samples, type_store
from embodied_iqa.data.recording.recording_queue import RecordingQueue
from embodied_iqa.data.recording.writer import TrialWriter, WriterOptions

options = WriterOptions(flush_period_ns=1_000_000)
queue = RecordingQueue(TrialWriter(Path(sys.argv[1]), types=type_store(), options=options))
queue.add_channel(EVENT_TOPIC, EVENT_TYPE)
event = samples(1)[1].cdr
for index in itertools.count():
    queue.put(EVENT_TOPIC, event, index, sequence=index, deadline_s=60.0)
    print(queue.status.written, flush=True)
"""


def _run_until(script: str, path: Path, reached: int) -> int:
    """Run the script, kill it once it has printed at least `reached`; return the last number it printed."""
    command = [sys.executable, "-c", script, str(path), str(Path(__file__).parent)]
    with running_program(command, path.parent / "logs", stdout=subprocess.PIPE, text=True) as child:
        last, killed = 0, False
        for line in child.process.stdout:  # after the kill too: what was printed before is still in the pipe
            last = int(line) if line.endswith("\n") else last
            if last >= reached and not killed:
                child.process.kill()
                killed = True
        assert child.wait(COMPLETION_S) == -signal.SIGKILL
        return last


@pytest.mark.parametrize("seconds", [3, 7])
def test_everything_older_than_two_seconds_survives(tmp_path: Path, seconds: int) -> None:
    path = tmp_path / "killed.mcap"
    last_ns = _run_until(WRITER, path, seconds * 1_000_000_000)
    report = recover(path)
    assert report.output is not None
    assert report.cut_short
    found = read_with_mcap(report.output)
    assert found[-1].log_time_ns >= last_ns - 2_000_000_000
    assert [m.sequence for m in found] == list(range(len(found)))
    assert len(read_with_rosbags(report.output)) == len(found)


def test_what_the_queue_has_written_survives(tmp_path: Path) -> None:
    path = tmp_path / "killed.mcap"
    written = _run_until(QUEUE, path, 50)
    report = recover(path)
    assert report.output is not None
    found = read_with_mcap(report.output)
    assert len(found) >= written
    assert [m.sequence for m in found] == list(range(len(found)))


def test_topics_survive_a_kill_before_the_first_flush(tmp_path: Path) -> None:
    path = tmp_path / "killed.mcap"
    _run_until(WRITER, path, 0)
    assert list(recover(path).messages) == ["/trial/events"]
