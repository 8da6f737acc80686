"""A studio on made-up data, asked without a network."""

from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient

from embodied_iqa.pages.studio.app import create_app
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.security import Address

HOST = "127.0.0.1:8600"
ORIGIN = {"Origin": f"http://{HOST}"}


def client_of(*folders: Path, token: str = "", host: str = "127.0.0.1") -> tuple[TestClient, Studio]:
    """A client of a fresh studio; exceptions of the studio are raised here."""
    studio = Studio.of(folders, token)
    app = create_app(studio, Address(host, 8600))
    return TestClient(app, base_url=f"http://{HOST}", follow_redirects=False), studio
