"""Checkpoints are found without the network, and run code only with a consent to one very content."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from image_files import POLICIES

from embodied_iqa.base.errors import InputError, UsageError

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def checkpoint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ModuleType]:
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "policy_host").symlink_to(POLICIES / "policy_host")
    monkeypatch.syspath_prepend(str(tmp_path / "path"))
    return importlib.import_module("policy_host.checkpoint")


def family(needs: str):
    contract = importlib.import_module("policy_host.contract")
    return contract.Family("some", ("octo-bridge",), contract.Needs(needs), SimpleNamespace)


def repository(models: Path, *files: str) -> Path:
    """A repository as the Hub's tools store it: links into a folder of blobs."""
    base = models / "models--owner--name"
    folder = base / "snapshots" / COMMIT
    folder.mkdir(parents=True)
    (base / "blobs").mkdir()
    for name in files:
        (base / "blobs" / name).write_text(name, encoding="utf-8")
        (folder / name).symlink_to(base / "blobs" / name)
    return folder


def test_repository_is_found_at_its_commit(checkpoint: ModuleType, tmp_path: Path) -> None:
    folder = repository(tmp_path, "config.json")
    found = checkpoint.locate("owner/name", COMMIT, tmp_path)
    assert (found.folder, found.name, found.revision) == (folder, "owner/name", COMMIT)


@pytest.mark.parametrize("revision", ["", "main", COMMIT[:12], COMMIT.upper(), "../../..", COMMIT + "/.."])
def test_a_branch_is_no_revision(checkpoint: ModuleType, tmp_path: Path, revision: str) -> None:
    repository(tmp_path, "config.json")
    with pytest.raises(UsageError, match="40 digits"):
        checkpoint.locate("owner/name", revision, tmp_path)


@pytest.mark.parametrize(
    "model", ["../secrets", "owner/../x", "a/b/c", "name", "/nowhere", "gs://bucket/x", ""]
)
def test_names_lead_nowhere_else(
    checkpoint: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    with pytest.raises(InputError):
        checkpoint.locate(model, COMMIT, tmp_path)


@pytest.mark.parametrize(("needs", "flag"), [("remote-code", "remote_code"), ("pickles", "pickles")])
def test_consent_is_to_one_revision(checkpoint: ModuleType, tmp_path: Path, needs: str, flag: str) -> None:
    located = checkpoint.Located(
        repository(tmp_path, "config.json", "a.pt", "b.safetensors"), "owner/name", COMMIT
    )
    asked = family(needs)
    with pytest.raises(UsageError, match=f"{asked.needs.flag} --revision {COMMIT}"):
        checkpoint.check_consent(asked, located, checkpoint.Consent(), COMMIT)
    other = "pickles" if flag == "remote_code" else "remote_code"
    with pytest.raises(UsageError, match="can run any code"):
        checkpoint.check_consent(asked, located, checkpoint.Consent(**{other: True}), COMMIT)
    given = checkpoint.Consent(**{flag: True})
    with pytest.raises(UsageError, match="is for one revision"):
        checkpoint.check_consent(asked, located, given, "")
    checkpoint.check_consent(asked, located, given, COMMIT)


def test_pickles_are_refused_where_a_family_has_none(checkpoint: ModuleType, tmp_path: Path) -> None:
    located = checkpoint.Located(repository(tmp_path, "config.json", "model.bin"), "owner/name", COMMIT)
    for needs in ("nothing", "remote-code"):
        with pytest.raises(InputError, match="pickled weights only"):
            checkpoint.check_consent(
                family(needs), located, checkpoint.Consent(remote_code=True, pickles=True), COMMIT
            )


def test_hash_of_a_folder_changes_with_any_end_of_any_file(checkpoint: ModuleType, tmp_path: Path) -> None:
    large = tmp_path / "weights.safetensors"
    with large.open("wb") as content:
        content.truncate(20 << 20)
    (tmp_path / "config.json").write_text(json.dumps({"a": 1}), encoding="utf-8")
    hashes = {checkpoint.content_digest(tmp_path)}
    for place, write in ((0, b"x"), (-1, b"y")):
        with large.open("r+b") as content:
            content.seek(place, os.SEEK_END if place else os.SEEK_SET)
            content.write(write)
        hashes.add(checkpoint.content_digest(tmp_path))
    (tmp_path / "config.json").rename(tmp_path / "other.json")
    hashes.add(checkpoint.content_digest(tmp_path))
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "note").write_text("of a download tool", encoding="utf-8")
    hashes.add(checkpoint.content_digest(tmp_path))
    assert len(hashes) == 4
