"""The studio as a process or in a thread, for tests in a browser."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import uvicorn

from embodied_iqa.pages.studio.app import create_app
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.security import Address


@contextmanager
def studio_process(folder: Path, stderr: int | None = None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Serve a folder; yield the process and the address without a slash at its end. It ends with 0."""
    command = [sys.executable, "-m", "embodied_iqa.cli.main", "studio", "--port", "0", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().split()[-1].rstrip("/")
        finally:  # else a failed test would wait for it for good
            process.terminate()
            try:
                code = process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        assert code == 0


@contextmanager
def running_studio(folder: Path) -> Iterator[str]:
    """Serve a folder; yield the address without a slash at its end. It ends cleanly on SIGTERM."""
    with studio_process(folder) as (_, address):
        yield address


@contextmanager
def threaded_studio(studio: Studio) -> Iterator[str]:
    """Serve a studio whose parts the test replaces; yield the address without a slash at its end."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = Address("127.0.0.1", listener.getsockname()[1])
        server = uvicorn.Server(uvicorn.Config(create_app(studio, address), log_level="warning"))
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{address.port}"
        finally:
            server.should_exit = True
            thread.join(60)
            assert not thread.is_alive()
