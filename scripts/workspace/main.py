"""`make setup`: brings a working copy to where everything in it runs; does only what is not done yet."""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from embodied_iqa.errors import UserError
from workspace.commands import run_logged
from workspace.environment import fault_of, make_environment
from workspace.layout import Layout, SetupError
from workspace.ros_source import RosSource, base_python, can_import_rclpy, clean_environment, decide
from workspace.steps import steps_for
from workspace.system import provide

__all__ = ["main"]

_NOT_DONE = 3


def _say(line: str) -> None:
    print(f"set-up: {line}", flush=True)


@contextmanager
def _alone(layout: Layout) -> Iterator[None]:
    """Hold the working copy's lock: two set-ups at once would spoil each other."""
    layout.build.mkdir(parents=True, exist_ok=True)
    with (layout.build / "setup.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("waiting for another set-up of this working copy")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _asked_for() -> str | None:
    """The version of the interpreter that PYTHON names (it runs this), or None when none was named."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}" if os.environ.get("PYTHON") else None


def _is_complete(layout: Layout, source: RosSource, *, models: bool) -> bool:
    if fault_of(layout.venv, source, None):
        return False
    return all(step.is_current() for step in steps_for(layout, source, models=models))


def _check(layout: Layout, source: RosSource, *, models: bool) -> int:
    """Fast answer of the environment's own Python; a named interpreter is compared by the slow path."""
    return 0 if not os.environ.get("PYTHON") and _is_complete(layout, source, models=models) else _NOT_DONE


def _set_up(layout: Layout, source: RosSource, *, models: bool) -> None:
    if not fault_of(layout.venv, source, _asked_for()) and _is_complete(layout, source, models=models):
        return
    started = time.monotonic()
    layout.log.unlink(missing_ok=True)
    provide(layout, _say)
    reason = fault_of(layout.venv, source, _asked_for())
    if reason:
        _say(f"making .venv with Python {sys.version.split()[0]} ({reason})")
        make_environment(
            layout,
            source,
            lambda words: run_logged(
                words,
                log=layout.log,
                environment=clean_environment(os.environ, source, layout.venv),
                cwd=layout.root,
                what="making the virtual environment",
            ),
            explicit=_asked_for() is not None,
        )
    for step in steps_for(layout, source, models=models):
        if not step.is_current():
            begun = time.monotonic()
            _say(f"{step.title} ...")
            step.perform()
            _say(f"{step.title}: done in {time.monotonic() - begun:.0f} s")
    _say(f"ready in {time.monotonic() - started:.0f} s; try .venv/bin/embodied-iqa doctor")


def main(arguments: Sequence[str]) -> int:
    """Set up, with --models also what large models need.

    With --check only say by the exit code whether all is done (0) or not (3).
    """
    layout = Layout(Path(__file__).resolve().parents[2])
    source, remark = decide(os.environ, lambda: can_import_rclpy(base_python(), os.environ))
    models = "--models" in arguments
    if "--check" in arguments:
        return _check(layout, source, models=models)
    try:
        with _alone(layout):
            if remark:
                _say(remark)
            _set_up(layout, source, models=models)
    except (SetupError, UserError) as error:
        print(f"set-up: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("set-up: interrupted; run it again to go on", file=sys.stderr)
        return 130
    return 0
