"""An export goes to the Hub as it is, after consent: huggingface_hub's own client against a small Hub."""

from __future__ import annotations

import base64
import io
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from embodied_iqa.cli.main import main
from embodied_iqa.data.export.hugging_face import CONFIGS, card_head

constants = pytest.importorskip("huggingface_hub.constants")
NAME = "lab/cell"
EXAMPLE = 'pairs = load_dataset("this/folder", split="train")'


class SmallHub(ThreadingHTTPServer):
    """What the Hub answers to one client; it keeps the files of one data set."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Requests)
        self.files: dict[str, bytes] | None = None
        self.is_private = True
        self.parents: list[str | None] = []
        self.refuses = False

    def answer(self, path: str, body: bytes) -> tuple[int, object]:
        """Return status and answer of a request."""
        if self.refuses:
            return 403, {"error": "no"}
        if path == "/api/repos/create":
            self.files, self.is_private = {".gitattributes": b""}, json.loads(body)["visibility"] == "private"
            return 200, {"url": f"https://huggingface.co/datasets/{NAME}"}
        if path == "/api/validate-yaml":
            return 200, {"errors": [], "warnings": []}
        if self.files is None:
            return 404, {"error": "Repository not found"}
        if path.endswith("/preupload/main"):
            names = [file["path"] for file in json.loads(body)["files"]]
            return 200, {
                "files": [{"path": n, "uploadMode": "regular", "shouldIgnore": False} for n in names]
            }
        if path.endswith("/commit/main"):
            self._commit([json.loads(line) for line in body.splitlines()])
            return 200, {
                "commitUrl": f"https://huggingface.co/datasets/{NAME}/commit/2",
                "commitOid": "2" * 40,
            }
        files = [{"rfilename": name} for name in self.files]
        return 200, {"id": NAME, "private": self.is_private, "sha": "1" * 40, "siblings": files}

    def _commit(self, lines: list[dict[str, dict[str, str]]]) -> None:
        assert self.files is not None
        for line in lines:
            value = line["value"]
            match line["key"]:
                case "header":
                    self.parents.append(value.get("parentCommit"))
                case "file":
                    self.files[value["path"]] = base64.b64decode(value["content"])
                case "deletedFile":
                    del self.files[value["path"]]


class _Requests(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        assert isinstance(self.server, SmallHub)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, answer = self.server.answer(self.path.partition("?")[0], body)
        text = json.dumps(answer).encode()
        self.send_response(status)
        if status == 404:
            self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallHub]:
    with SmallHub() as running:
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{running.server_port}")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setenv("HF_TOKEN", "hf_of_the_test")
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join()


@pytest.fixture
def export(tmp_path: Path) -> Path:
    folder = tmp_path / "hub"
    for name in CONFIGS:
        (folder / name).mkdir(parents=True)
        (folder / name / f"{name}-00000.parquet").write_bytes(name.encode())
    (folder / "README.md").write_text(
        "\n".join([*card_head("cc-by-4.0", "set", 7, None), "# set", EXAMPLE]), encoding="utf-8"
    )
    for name in ("LICENSE.txt", "dataset.json"):
        (folder / name).write_text(name, encoding="utf-8")
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    return folder


def push(export: Path, *words: str) -> int:
    return main(["push", str(export), "--repository", NAME, *words])


def test_what_was_exported_is_there_and_nothing_else(
    server: SmallHub, export: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert push(export, "--yes", "--json") == 0
    out, err = capsys.readouterr()
    stored = {name: data for name, data in (server.files or {}).items() if name != ".gitattributes"}
    files = {path.relative_to(export).as_posix(): path.read_bytes() for path in export.rglob("*.*")}
    assert stored.pop("README.md") == files.pop("README.md").replace(b"this/folder", NAME.encode())
    assert stored == {name: data for name, data in files.items() if name != "notes.txt"}
    assert server.is_private
    assert set(json.loads(out)["files"]) == {*stored, "README.md"}
    assert "7 files" in err
    assert "licence cc-by-4.0" in err
    assert "its owner alone sees it" in err
    assert "stays here: notes.txt" in err


def test_a_repository_with_files_is_left_alone_unless_it_is_to_be_updated(
    server: SmallHub, export: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {"pairs/pairs-00001.parquet": b"old", "README.md": b"old", "pairs/mine.parquet": b"keep"}
    server.files, server.is_private = dict(before), False
    assert push(export, "--yes") == 1
    assert "holds 3 files already" in capsys.readouterr().err
    assert server.files == before
    assert push(export, "--yes", "--update") == 0
    assert "everybody sees it" in capsys.readouterr().err
    assert "pairs/pairs-00001.parquet" not in server.files
    assert server.files["pairs/mine.parquet"] == b"keep"
    assert server.files["README.md"] == (export / "README.md").read_bytes().replace(
        b"this/folder", NAME.encode()
    )
    assert server.parents == ["1" * 40], "what others have committed meanwhile is not overwritten"


@pytest.mark.parametrize(("typed", "code"), [("lab/cell\n", 0), ("y\n", 1), ("", 1)])
def test_the_name_is_typed_or_nothing_is_uploaded(
    server: SmallHub, export: Path, monkeypatch: pytest.MonkeyPatch, typed: str, code: int
) -> None:
    terminal = io.StringIO(typed)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    assert push(export, "--public") == code
    assert (server.files is None) == bool(code)
    assert server.is_private == bool(code)


def test_what_forbids_an_upload_is_named(
    server: SmallHub,
    export: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert push(export) == 2
    assert "--yes" in capsys.readouterr().err
    assert main(["push", str(export), "--repository", "cell", "--yes"]) == 2
    assert "OWNER/NAME" in capsys.readouterr().err
    server.refuses = True
    assert push(export, "--yes") == 1
    assert "cannot read http://127.0.0.1" in capsys.readouterr().err
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert push(export, "--yes") == 2
    assert "HF_HUB_OFFLINE" in capsys.readouterr().err
    (export / "scores" / "scores-00000.parquet").unlink()
    assert push(export, "--yes") == 1
    assert "is not an export for Hugging Face" in capsys.readouterr().err
    assert server.files is None
