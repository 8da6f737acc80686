import json
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.cli.main import main
from embodied_iqa.models.scoring.cognition import score_cognition
from embodied_iqa.models.scoring.constants import SubjectConstants, UncalibratedError, load_constants
from embodied_iqa.models.subjects import constants_files
from embodied_iqa.models.subjects.backends.panel import network
from embodied_iqa.models.subjects.catalogue import Backend, Role, entries, entry, names_of
from embodied_iqa.models.subjects.constants_files import constants_of
from embodied_iqa.models.subjects.reference import parse_reference, parse_vla, parse_vlm, role_of
from embodied_iqa.models.subjects.reference_answers import (
    reference_answers,
    reference_chunks,
    reference_scenes,
)
from embodied_iqa.models.subjects.registry import info_of, make_vla, make_vlm

EMBEDDED = (*names_of(Role.VLM, Backend.EMBEDDED), *names_of(Role.VLA, Backend.EMBEDDED))


def test_every_embedded_subject_can_be_made_and_is_called_what_it_is():
    for name in EMBEDDED:
        info = info_of(parse_reference(name))
        assert info.name == entry(name).name == name
        assert info.views
        assert info.simulation_only == entry(name).simulation_only == name.startswith("panel-")
    assert hasattr(make_vla(parse_vla("classical-vla")), "act")
    assert hasattr(make_vlm(parse_vlm("classical-vlm")), "answer")
    assert role_of("classical-vla") is Role.VLA


@pytest.mark.parametrize("make", [parse_vla, parse_vlm, parse_reference, role_of, constants_of])
def test_an_unknown_name_lists_the_known_ones(make):  # noqa: ANN001 - any of five functions
    with pytest.raises(UsageError, match=r"available: .*classical-v"):
        make("gpt-9")


def test_a_vlm_is_not_a_vla():
    with pytest.raises(UsageError, match="classical-vlm is a VLM, not a VLA; available: classical-vla"):
        parse_vla("classical-vlm")
    with pytest.raises(UsageError, match="classical-vlm is a VLM, not a VLA"):
        make_vla(parse_vlm("classical-vlm"))


@pytest.mark.parametrize("name", EMBEDDED)
def test_the_shipped_constants_belong_to_the_subject(name: str):
    constants = constants_of(name)
    assert constants.subject == name
    assert constants.version == info_of(parse_reference(name)).version
    assert constants.n_references >= 500
    assert "--seed" in constants.recipe
    assert (constants.d_max_m is not None) == (role_of(name) is Role.VLA)
    assert (constants.frequencies is not None) == (role_of(name) is Role.VLM)


def test_constants_of_a_panel_member_load_no_network(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(network, "open_session", lambda *_: pytest.fail("was loaded"))
    for name in EMBEDDED:
        assert constants_of(name).subject == name


@pytest.mark.parametrize("name", ["python:of_another_machine:make", "python:json:loads"])
def test_the_constants_of_a_stored_subject_do_not_need_its_code(name: str):
    with pytest.raises(UncalibratedError, match="has no constants"):
        constants_of(name, "1")


def test_stale_constants_are_refused(monkeypatch: pytest.MonkeyPatch):
    stale = SubjectConstants("classical-vla", "0", "by hand", 2, d_max_m=0.4)
    monkeypatch.setattr(constants_files, "load_constants", lambda _path: stale)
    with pytest.raises(InputError, match="stale"):
        constants_of("classical-vla")


def test_the_shipped_frequencies_make_different_answers_differ():
    frequencies = constants_of("classical-vlm").frequencies
    assert frequencies is not None
    answer = "The red cube is left by the blue bowl; grip and lift it."
    other = "I see no red cube, only a blue bowl and a green ball."
    assert score_cognition(answer, answer, frequencies).score == 1.0
    assert score_cognition(other, answer, frequencies).score < 0.5


def test_calibrating_measures_writes_and_repeats(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    paths = [tmp_path / name for name in ("one.json", "two.json", "words.json")]
    for path, name in zip(paths, ("classical-vla", "classical-vla", "classical-vlm"), strict=True):
        command = [
            "subjects",
            "calibrate",
            name,
            "--scenes",
            "2",
            "--seed",
            "1",
            "--out",
            str(path),
            "--json",
        ]
        assert main(command) == 0
        assert json.loads(capsys.readouterr().out)["subject"] == name
    assert paths[0].read_text() == paths[1].read_text()
    scale_m = load_constants(paths[0]).d_max_m
    scenes = reference_scenes(2, 1)
    chunks = [
        chunk for scene in scenes for chunk in reference_chunks(make_vla(parse_vla("classical-vla")), scene)
    ]
    assert scale_m is not None
    assert 0.05 < scale_m < 0.8
    assert len(chunks) == load_constants(paths[0]).n_references
    assert all(np.isfinite(chunk).all() for chunk in chunks)
    answers = [
        answer
        for scene in scenes
        for answer in reference_answers(make_vlm(parse_vlm("classical-vlm")), scene)
    ]
    frequencies = load_constants(paths[2]).frequencies
    assert frequencies is not None
    assert frequencies.n_documents == len(answers)
    assert frequencies.counts["the"] == sum("the" in answer.lower().split() for answer in answers)


def test_more_scenes_begin_with_the_same():
    assert reference_scenes(5, 3)[:2] == reference_scenes(2, 3)
    with pytest.raises(UsageError, match="scenes"):
        reference_scenes(0, 3)


def test_the_list_is_for_machines_too(capsys: pytest.CaptureFixture[str]):
    assert main(["subjects", "list", "--json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert {record["name"] for record in records} == {item.name for item in entries()}
    assert main(["subjects", "list"]) == 0
    assert "classical-vla" in capsys.readouterr().out


def test_a_wrong_name_ends_with_a_usage_error(capsys: pytest.CaptureFixture[str]):
    assert main(["subjects", "calibrate", "nobody"]) == 2
    assert "available" in capsys.readouterr().err
