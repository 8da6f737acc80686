"""Constants of subjects: written atomically, read back equal, refused when broken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.models.scoring.constants import SubjectConstants, load_constants, save_constants
from embodied_iqa.models.scoring.frequencies import document_frequencies

VLM = SubjectConstants(
    "a-vlm", "1", "seed 0", 2, frequencies=document_frequencies(["red cube", "gr\u00fcne Schale"])
)
VLA = SubjectConstants("a-vla", "2.1", "seed 0, 200 scenes", 200, d_max_m=0.1234567890123456789)


@pytest.mark.parametrize("constants", [VLM, VLA])
def test_a_file_gives_back_what_was_saved(tmp_path: Path, constants: SubjectConstants):
    path = tmp_path / "new" / "constants.json"
    save_constants(constants, path)
    assert load_constants(path) == constants
    assert [entry.name for entry in path.parent.iterdir()] == ["constants.json"]


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"d_max_m": -1},
        {"d_max_m": "far"},
        {"d_max_m": None},
        {"n_references": 0},
        {"n_references": "many"},
        {"subject": 3},
        {"surplus": 1},
        {"document_frequencies": {"n_documents": 1}},
    ],
)
def test_a_changed_file_is_refused_with_its_reason(tmp_path: Path, change: dict[str, object]):
    path = tmp_path / "constants.json"
    save_constants(VLA, path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError):
        load_constants(path)


@pytest.mark.parametrize("text", ["", "[1]", "{", "\x00"])
def test_other_files_are_refused(tmp_path: Path, text: str):
    path = tmp_path / "constants.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"constants\.json"):
        load_constants(path)


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(InputError, match=r"absent\.json"):
        load_constants(tmp_path / "absent.json")


def test_one_reference_is_enough_and_a_scale_is_above_zero():
    assert SubjectConstants("a", "1", "one", 1, d_max_m=1e-9).n_references == 1
    for wrong in (0.0, -0.1, float("inf"), float("nan")):
        with pytest.raises(InputError, match="wrong d_max_m of a"):
            SubjectConstants("a", "1", "none", 1, d_max_m=wrong)
    with pytest.raises(InputError, match="constants of a are empty"):
        SubjectConstants("a", "1", "none", 1)


def test_a_file_is_json_in_its_own_characters(tmp_path: Path):
    save_constants(VLM, tmp_path / "vlm.json")
    text = (tmp_path / "vlm.json").read_text(encoding="utf-8")
    assert '\n  "gr\u00fcne": 1,' in text or "gr\u00fcne" in text
    assert text.startswith('{\n "format": ')
