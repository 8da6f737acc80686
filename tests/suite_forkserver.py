"""One fork server for the pools of all workers of the suite: what jobs import is imported once."""

from __future__ import annotations

import importlib
import multiprocessing
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker

import pytest

_LIBRARIES = ("mujoco", "onnxruntime", "pandas", "pyarrow.parquet", "scipy.optimize", "torch")
"""What modules of the package import when they are used."""
_LATER = ("onnxruntime", "scipy.signal", "torch._dynamo", "torchvision")
"""What a test that trains or exports a network imports besides, in nearly two seconds."""
_LEFT_OUT = ("embodied_iqa.live", "embodied_iqa.cli")
"""Wings that no job belongs to: they import rclpy, or parse words."""


def start() -> None:
    """Start the server, which imports the package's modules that tests have imported.

    Where tests import torch, this process imports what goes with it, for the workers that it forks.
    """
    names = [name for name in sys.modules if name.startswith("embodied_iqa")]
    ours = [name for name in names if not name.startswith(_LEFT_OUT)]
    later = _LATER if "torch" in sys.modules else ()
    modules = [*ours, *_LIBRARIES, *later]
    multiprocessing.get_context("forkserver").set_forkserver_preload(modules)
    forkserver.ensure_running()
    for name in later:
        importlib.import_module(name)


def share() -> None:
    """In a worker: use the server of the process that forked it, which alone can wait for it."""
    forkserver._forkserver.ensure_running = resource_tracker.ensure_running  # type: ignore[attr-defined]


@contextmanager
def own_server() -> Iterator[None]:
    """A server of the test's own, whose processes write where the test looks."""
    server = forkserver.ForkServer()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forkserver, "connect_to_new_process", server.connect_to_new_process)
        try:
            yield
        finally:
            server._stop()
