"""`make setup`: brings a working copy to where everything in it runs; does only what is not done yet."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from embodied_iqa.base.errors import UserError
from workspace.commands import alone, run_logged, say
from workspace.environment import fault_of, make_environment
from workspace.layout import MAIN_ENVIRONMENT, Layout, SetupError
from workspace.ros_source import RosSource, base_python, can_import_rclpy, clean_environment, decide
from workspace.steps import Extra, Step, steps_for
from workspace.system import browser_is_settled, provide, provide_browser
from workspace.ticker import Ticker

__all__ = ["main", "perform"]

_NOT_DONE = 3


def _asked_for() -> str | None:
    """The version of the interpreter that PYTHON names (it runs this), or None when none was named."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}" if os.environ.get("PYTHON") else None


def _is_complete(layout: Layout, source: RosSource, extras: Collection[Extra]) -> bool:
    if fault_of(layout.venv, source, None):
        return False
    if Extra.BROWSER in extras and not browser_is_settled(layout):
        return False
    return all(step.is_current() for step in steps_for(layout, source, extras))


def _check(layout: Layout, source: RosSource, extras: Collection[Extra]) -> int:
    """Fast answer of the environment's own Python; a named interpreter is compared by the slow path."""
    return 0 if not os.environ.get("PYTHON") and _is_complete(layout, source, extras) else _NOT_DONE


def _set_up(layout: Layout, source: RosSource, extras: Collection[Extra]) -> None:
    if not fault_of(layout.venv, source, _asked_for()) and _is_complete(layout, source, extras):
        return
    started = time.monotonic()
    layout.log.unlink(missing_ok=True)
    with alone(layout.shared_lock, "waiting for another set-up's system packages"):
        provide(layout, say)
        if Extra.BROWSER in extras and not browser_is_settled(layout):
            provide_browser(layout, say)
    reason = fault_of(layout.venv, source, _asked_for())
    if reason:
        say(f"making {layout.environment} with Python {sys.version.split()[0]} ({reason})")
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
    perform(steps_for(layout, source, extras), layout.log)
    ready = f"ready in {time.monotonic() - started:.0f} s"
    say(f"{ready}; try {layout.environment}/bin/embodied-iqa doctor")


def perform(steps: Sequence[Step], log: Path) -> None:
    """Do what is not done, in order; what later steps do not need runs beside them.

    What runs beside them is done one after another, so that each finds what was begun before it done.
    """
    with ThreadPoolExecutor(1) as pool:
        beside: list[tuple[Step, Future[None]]] = []
        for step in steps:
            if step.is_current():
                continue
            if step.beside:
                beside.append((step, pool.submit(_timed, step)))
                continue
            with Ticker(log):
                _timed(step)
        for step, future in beside:
            with Ticker(log.with_name(f"{step.stamp.name}.log")):
                future.result()


def _timed(step: Step) -> None:
    begun = time.monotonic()
    say(f"{step.title} ...")
    step.perform()
    say(f"{step.title}: done in {time.monotonic() - begun:.0f} s")


def main(arguments: Sequence[str]) -> int:
    """Set up; --models, --cpu, --ray and --browser name what to install beyond the pinned sets.

    The environment variable VENV names the folder of the environment. With --check only say by the exit code
    whether all is done (0) or not (3).
    """
    try:
        layout = Layout(Path(__file__).resolve().parents[2], os.environ.get("VENV") or MAIN_ENVIRONMENT)
    except SetupError as error:
        print(f"set-up: {error}", file=sys.stderr)
        return 2
    source, remark = decide(os.environ, lambda: can_import_rclpy(base_python(), os.environ))
    extras = {extra for extra in Extra if extra.value in arguments}
    if "--check" in arguments:
        return _check(layout, source, extras)
    try:
        with alone(layout.build / "setup.lock", f"waiting for another set-up of {layout.environment}"):
            if remark:
                say(remark)
            _set_up(layout, source, extras)
    except (SetupError, UserError) as error:
        print(f"set-up: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("set-up: interrupted; run it again to go on", file=sys.stderr)
        return 130
    return 0
