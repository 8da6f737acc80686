"""The catalogue holds what the papers name, whole and without invention; references resolve into it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.base.errors import InternalError, UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.actions.convention import Motion, ObservationForm
from embodied_iqa.models.subjects.actions.table import convention_of
from embodied_iqa.models.subjects.catalogue import (
    Backend,
    Paper,
    Role,
    StatisticsKind,
    SubjectEntry,
    entries,
    entry,
    names_of,
)
from embodied_iqa.models.subjects.reference import parse_reference, role_of

DATABASE_VLMS = """Mini-InternVL, InternLM-XComposer2, InternLM-XComposer2.5, InternVL2, InternVL2.5,
    InternVL3, mPLUG-Owl3, Ovis1.5-Gemma, Ovis1.6-Llama, Ovis2, Phi3-Vision, Phi3.5-Vision, Phi4-Multimodal,
    Qwen2-VL, Qwen2.5-VL"""
DATABASE_VLAS = """CogACT, Embodied-CoT, Octo, OpenVLA, OpenVLA-Libero, OpenVLA-Goal, OpenVLA-Libero-Object,
    OpenVLA-Libero-Spatial, Pi0-Aloha-Pen, Pi0-Aloha-Towel, Pi0-Aloha-Tupperware, Pi0-Base, Pi0-Droid,
    Pi0-Fast, RT-X-1"""
STATIC_VLMS = 19
STATIC_VLAS = 11


def _labels(role: Role, paper: Paper) -> list[str]:
    return [item.label for item in entries() if item.role is role and paper in item.papers]


@pytest.mark.parametrize(("role", "words"), [(Role.VLM, DATABASE_VLMS), (Role.VLA, DATABASE_VLAS)])
def test_the_database_is_there_in_whole(role: Role, words: str) -> None:
    assert _labels(role, Paper.EMBODIED_IQA) == [word.strip() for word in words.split(",")]


def test_the_second_paper_is_there_in_whole() -> None:
    assert len(_labels(Role.VLM, Paper.STATIC_EMBODIED_BENCH)) == STATIC_VLMS
    assert len(_labels(Role.VLA, Paper.STATIC_EMBODIED_BENCH)) == STATIC_VLAS


def test_the_policy_of_the_guides_is_for_a_ur5() -> None:
    policy = entry("pi0-ur5")
    convention = convention_of(policy.convention)
    assert (convention.arm, convention.joints, convention.motion) == ("ur5", 6, Motion.ABSOLUTE)
    assert convention.observation is ObservationForm.UR5
    assert policy.statistics is StatisticsKind.MOMENTS, "pi0 normalises with mean and standard deviation"
    assert not policy.papers


def test_real_vlms_take_images_of_any_camera() -> None:
    for item in entries():
        assert item.any_view == (item.role is Role.VLM and item.backend is not Backend.EMBEDDED), item.name
    with pytest.raises(InternalError, match="cannot accept any"):
        SubjectEntry(
            "a",
            "A",
            Role.VLA,
            Backend.OPENPI,
            "MIT",
            (View.TOP,),
            model_id="m",
            convention="c",
            any_view=True,
        )


def test_no_revision_is_invented() -> None:
    assert all(item.revision is None or re.fullmatch("[0-9a-f]{40}", item.revision) for item in entries())


def test_every_entry_says_what_it_takes() -> None:
    for item in entries():
        assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*", item.name)
        assert bool(item.needs) == (item.backend is not Backend.EMBEDDED)
        assert bool(item.server) == (item.backend not in {Backend.EMBEDDED, Backend.TRANSFORMERS})
        assert bool(item.family) == (item.backend is Backend.TRANSFORMERS)
        assert bool(item.key_env) == item.is_api
        if not item.is_api and item.backend is not Backend.EMBEDDED:
            assert item.weights_gb
            assert item.needed_gb
            assert item.needed_gb > min(item.weights_gb, 2e-3 * (item.parameters_m or 0))


def test_an_entry_that_is_not_whole_is_refused() -> None:
    with pytest.raises(InternalError, match="is incomplete"):
        SubjectEntry("a", "A", Role.VLM, Backend.TRANSFORMERS, "MIT", (View.TOP,), prompt="plain")
    with pytest.raises(InternalError, match="prompt"):
        SubjectEntry("a", "A", Role.VLM, Backend.TRANSFORMERS, "MIT", (View.TOP,), model_id="a/a")


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"available: classical-vlm, .*rt-1-x"):
        entry("gpt-9")


@pytest.mark.parametrize(
    ("text", "role", "backend", "place"),
    [
        ("classical-vla", Role.VLA, Backend.EMBEDDED, ("", "", "")),
        ("qwen2.5-vl-7b", Role.VLM, Backend.TRANSFORMERS, ("Qwen/Qwen2.5-VL-7B-Instruct", "", "")),
        ("qwen2-vl-7b@0f1e", Role.VLM, Backend.TRANSFORMERS, ("Qwen/Qwen2-VL-7B-Instruct", "", "0f1e")),
        ("transformers:a/b@v1.0", Role.VLM, Backend.TRANSFORMERS, ("a/b", "", "v1.0")),
        ("transformers:/no/such@place/m", Role.VLM, Backend.TRANSFORMERS, ("/no/such@place/m", "", "")),
        ("openai:http://h:8000/v1/#a/b", Role.VLM, Backend.OPENAI, ("http://h:8000/v1", "a/b", "")),
        (
            "phi3-vision=openai:http://h:1/v1",
            Role.VLM,
            Backend.OPENAI,
            ("http://h:1/v1", "microsoft/Phi-3-vision-128k-instruct", ""),
        ),
        ("gpt-4o", Role.VLM, Backend.OPENAI, ("https://api.openai.com/v1", "gpt-4o", "")),
        ("openpi://h:8000", Role.VLA, Backend.OPENPI, ("openpi://h:8000", "", "")),
        ("pi0-droid=openpi://h:8000", Role.VLA, Backend.OPENPI, ("openpi://h:8000", "", "")),
        ("openvla-7b=openvla+http://h:1/act", Role.VLA, Backend.OPENVLA_HTTP, ("http://h:1/act", "", "")),
        ("pi0-base=transformers:/models/pi0", Role.VLA, Backend.TRANSFORMERS, ("/models/pi0", "", "")),
    ],
)
def test_references_resolve(text: str, role: Role, backend: Backend, place: tuple[str, str, str]) -> None:
    found = parse_reference(text, role)
    assert (found.text, found.role, found.backend) == (text, role, backend)
    assert (found.target, found.model, found.revision) == place
    named = "=" in text or ":" not in text
    assert (found.entry is not None) == named
    if backend is not Backend.TRANSFORMERS or found.entry is not None:
        assert role_of(text) is role


def test_a_folder_with_an_at_sign_is_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "model@home"
    folder.mkdir()
    found = parse_reference(f"transformers:{folder}", Role.VLM)
    assert (found.target, found.revision, found.is_local_folder) == (str(folder), "", True)


@pytest.mark.parametrize(
    ("text", "role", "words"),
    [
        ("gpt-9", Role.VLM, "unknown VLM.*available: classical-vlm"),
        ("pi0-droid", Role.VLM, "pi0-droid is a VLA, not a VLM"),
        ("pi0-droid", Role.VLA, "expected where: pi0-droid=openpi://HOST:PORT"),
        ("mini-internvl", Role.VLM, "runs behind a server .*expected where: mini-internvl=openai:"),
        ("openai:http://h:1/v1", Role.VLM, "needs the model's name"),
        ("openai:http://me:secret@h/v1#m", Role.VLM, "would be recorded"),
        ("openai:http://h/v1?key=secret#m", Role.VLM, "would be recorded"),
        ("openai:http://h:99999/v1#m", Role.VLM, "not an address"),
        ("openai:ftp://h/v1#m", Role.VLM, "not an address"),
        ("openai:http://h:1/v1#m", Role.VLA, "reaches no VLA"),
        ("openpi://h:1", Role.VLM, "reaches no VLM"),
        ("openpi://", Role.VLA, "not an address"),
        ("classical-vla@1", Role.VLA, "has no revisions"),
        ("gpt-4o@1", Role.VLM, "decides about the revision"),
        ("transformers:", Role.VLM, "not a checkpoint"),
        ("smtp://h", Role.VLM, "not a subject"),
        ("", Role.VLM, "not a subject"),
    ],
)
def test_what_names_no_subject_is_refused(text: str, role: Role, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        parse_reference(text, role)
    assert "secret" not in str(caught.value)


@given(st.text(max_size=60), st.sampled_from(Role))
def test_any_text_is_understood_or_refused(text: str, role: Role) -> None:
    try:
        found = parse_reference(text, role)
    except UsageError:
        return
    assert found.text == text.strip()
    assert found.role is role


def test_the_published_tables_are_covered() -> None:
    """Labels of the second paper are unique, so that its tables can be joined by label."""
    for role in Role:
        labels = _labels(role, Paper.STATIC_EMBODIED_BENCH)
        assert len(labels) == len(set(labels))
    assert names_of(Role.VLM, Backend.EMBEDDED)[0] == "classical-vlm"
