"""Set-up's uv installs from where the user's pip does."""

import os
import subprocess
import sys
from pathlib import Path

from live_process import COMPLETION_S
from workspace.uv_settings import uv_settings

ALWAYS = {"UV_INDEX_STRATEGY": "unsafe-best-match", "UV_SYSTEM_CERTS": "true"}


def test_without_settings_uv_keeps_its_own() -> None:
    assert uv_settings("", {}) == (ALWAYS, [])


def test_every_setting_of_an_index_is_passed_on(tmp_path: Path) -> None:
    """pip itself lists what its file and the environment hold."""
    file = tmp_path / "pip.conf"
    file.write_text(
        "[global]\nindex-url = https://one.example/simple\nextra-index-url =\n  https://two.example/simple\n"
        "  https://three.example/simple\nfind-links = /wheels\n  /more\ncert = /ca.pem\ntimeout = 7\n"
        "[install]\ntrusted-host = two.example\nindex-url = https://wins.example/simple\n"
    )
    variables = {key: value for key, value in os.environ.items() if not key.startswith("PIP_")}
    words = [sys.executable, "-m", "pip", "config", "list"]
    listing = subprocess.run(
        words,
        env=variables | {"PIP_CONFIG_FILE": str(file), "PIP_TIMEOUT": "9"},
        capture_output=True,
        text=True,
        check=True,
        timeout=COMPLETION_S,
    ).stdout
    settings, options = uv_settings(listing, {"SSL_CERT_FILE": "/mine.pem", "UV_PYTHON": "x"})
    assert settings["UV_DEFAULT_INDEX"] == "https://wins.example/simple"
    assert settings["UV_INDEX"] == "https://two.example/simple https://three.example/simple"
    assert settings["UV_FIND_LINKS"] == "/wheels,/more"
    assert settings["UV_INSECURE_HOST"] == "two.example"
    assert settings["UV_HTTP_TIMEOUT"] == "9"
    assert settings["SSL_CERT_FILE"] == "/mine.pem", "variables of uv that the user set win"
    assert "UV_PYTHON" not in settings
    assert options == []


def test_no_index() -> None:
    assert uv_settings(":env:.no-index='1'", {}) == (ALWAYS, ["--no-index"])
    assert uv_settings("global.no-index='true'\n:env:.no-index='0'", {}) == (ALWAYS, [])
