"""Textures of table and floor: drawn once, kept, and never taken from a file that is not the drawn one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.world.simulation import textures

FRESH: Callable[[str], np.ndarray] = textures.texture.__wrapped__
"""Without what this process has drawn before."""


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize("name", textures._TEXTURES)
def test_what_is_drawn_is_what_is_kept(
    name: str, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = FRESH(name)
    (file,) = cache_folder.rglob("*.*")
    assert file == cache_folder / "embodied-iqa" / "textures" / f"{name}.rgb"
    monkeypatch.delitem(textures._TEXTURES, name)
    kept = FRESH(name)
    assert np.array_equal(kept, drawn)
    assert kept.shape == drawn.shape
    assert kept.std() > 1


def test_a_damaged_file_is_drawn_anew_and_replaced(cache_folder: Path) -> None:
    drawn = FRESH("tiles")
    (file,) = cache_folder.rglob("*.*")
    whole = file.read_bytes()
    for damaged in (whole[:-3], whole[:-1] + bytes([whole[-1] ^ 1]), b""):
        file.write_bytes(damaged)
        assert np.array_equal(FRESH("tiles"), drawn)
        assert file.read_bytes() == whole


def test_without_a_place_to_keep_it_a_texture_is_drawn(cache_folder: Path) -> None:
    cache_folder.touch()  # no folder can be made there
    assert FRESH("tiles").shape == (256, 256, 3)
    assert cache_folder.read_bytes() == b""


def test_what_this_processor_draws_otherwise_is_not_kept(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(textures._DIGESTS, "tiles", "0" * 64)
    assert FRESH("tiles").shape == (256, 256, 3)
    assert not cache_folder.exists()
