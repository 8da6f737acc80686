"""pi0 through the path of a real checkpoint: saved, looked through, loaded, asked."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.kinematics import HOME_Q_RAD, TOOL_2F140_M, Kinematics, pose_to_transform, tool_along_z
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View
from embodied_iqa.models.subjects.backends.transformers.pi0 import Pi0Vla
from embodied_iqa.models.subjects.catalogue import StatisticsKind
from embodied_iqa.models.subjects.reference import SubjectReference, parse_vla
from embodied_iqa.models.subjects.registry import make_vla
from embodied_iqa.models.subjects.subject_options import PolicyOptions, VlaOptions
from embodied_iqa.world.protocols import ChunkStatus, Vla, VlaObservation
from tiny_pi0 import save_tiny_pi0

pytest.importorskip("torch")
pytest.importorskip("transformers")

RAW = VlaOptions(policy=PolicyOptions(convention="pi0-base-raw"))


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_pi0(tmp_path_factory.mktemp("pi0") / "tiny")


@pytest.fixture(scope="module")
def pi0(folder: Path) -> Vla:
    return make_vla(parse_vla(f"transformers:{folder}"), RAW)


def frame(view: View, seed: int) -> Frame:
    rgb = np.random.default_rng(seed).integers(0, 255, (48, 64, 3), dtype=np.uint8)
    return Frame(view, 1, rgb, Intrinsics(64, 48, 50.0, 50.0, 31.5, 23.5), np.eye(4))


def seen(seed: int = 0, words: str = "pick the red cube") -> VlaObservation:
    frames = {View.TOP: frame(View.TOP, seed), View.WRIST: frame(View.WRIST, 99)}
    T = Kinematics(tool_along_z(TOOL_2F140_M)).forward(np.array(HOME_Q_RAD))
    return VlaObservation(frames, words, T, 0.0, 0)


def test_the_same_observation_gives_the_same_chunk_and_another_image_another(pi0: Vla, folder: Path):
    first, again = pi0.act(seen()), pi0.act(seen())
    assert first.status is ChunkStatus.ACT
    assert first.increments.shape == (6, 7)
    assert np.array_equal(first.increments, again.increments)
    fresh = make_vla(parse_vla(f"transformers:{folder}"), RAW)
    assert np.array_equal(fresh.act(seen()).increments, first.increments)
    assert fresh.info == pi0.info
    for other in (seen(seed=1), seen(words="push the green cylinder")):
        assert np.abs(pi0.act(other).increments - first.increments).max() > 1e-4


def test_the_state_is_looked_at(pi0: Vla):
    closed = dataclasses.replace(seen(), gripper=1.0)
    assert np.abs(pi0.act(closed).increments - pi0.act(seen()).increments).max() > 1e-6


def test_the_actions_are_those_of_transformers_alone(pi0: Vla, folder: Path):
    """Processor, model and un-normalisation written out by hand, joints through our own kinematics."""
    import torch
    import transformers

    processor = transformers.PI0Processor.from_pretrained(folder)
    model = transformers.PI0ForConditionalGeneration.from_pretrained(folder).eval()
    observation = seen()
    q = np.array(HOME_Q_RAD)
    inputs = processor(
        images=[[observation.frames[view].rgb for view in (View.TOP, View.WRIST)]],
        text=[observation.instruction],
        state=np.concatenate([q, [0.0]])[None],
        padding="longest",
    )
    noise = torch.randn(1, 6, 32, generator=torch.Generator().manual_seed(0))
    rows = model.sample_actions(**inputs, noise=noise)[0].numpy()[:, :7]
    rows = rows * 0.05 + np.array([0.0] * 6 + [0.5])
    kinematics = Kinematics(tool_along_z(TOOL_2F140_M))
    poses = kinematics.forward(np.vstack([q, q + rows[:, :6]]).astype(np.float64))
    T = observation.T_base_tool
    for row, pose, grip in zip(pi0.act(observation).increments, poses[1:], rows[:, 6], strict=True):
        T = T @ pose_to_transform(row[:6])
        assert np.allclose(T, pose, atol=1e-4)
        assert row[6] == pytest.approx(np.clip(grip, 0, 1), abs=1e-4)


def test_several_at_once_are_the_same_as_one_by_one(pi0: Vla):
    observations = [
        seen(seed, words) for seed, words in ((0, "pick"), (1, "push the green cylinder"), (2, "a"))
    ]
    together = pi0.act_batch(observations)
    for observation, chunk in zip(observations, together, strict=True):
        assert np.allclose(chunk.increments, pi0.act(observation).increments, atol=1e-4)


def test_the_version_changes_with_all_that_the_actions_depend_on(pi0: Vla, folder: Path):
    versions = {pi0.info.version}
    for changes in ({"seed": 1}, {"denoising_steps": 2}, {"convention": "pi0-base"}, {"views": "top"}):
        policy = dataclasses.replace(RAW.policy, **changes)
        versions.add(make_vla(parse_vla(f"transformers:{folder}"), VlaOptions(policy=policy)).info.version)
    assert len(versions) == 5


def test_a_checkpoint_without_statistics_needs_a_file(tmp_path: Path):
    folder = save_tiny_pi0(tmp_path / "bare", statistics=False)
    with pytest.raises(InputError, match=r"policy\.statistics"):
        make_vla(parse_vla(f"transformers:{folder}"), RAW)
    file = tmp_path / "norm_stats.json"
    part = {"mean": [0.0] * 7, "std": [0.05] * 7}
    file.write_text(json.dumps({"norm_stats": {"state": part, "actions": part}}))
    policy = dataclasses.replace(RAW.policy, statistics=str(file))
    assert make_vla(parse_vla(f"transformers:{folder}"), VlaOptions(policy=policy)).act(
        seen()
    ).increments.shape == (
        6,
        7,
    )


def _mapped(folder: Path, tmp_path: Path, mapping: dict[str, str]) -> tuple[SubjectReference, VlaOptions]:
    """Weights with a config of LeRobot, and a file with statistics of both kinds."""
    weights = shutil.copytree(folder, tmp_path / "weights")
    config = json.loads((weights / "config.json").read_text())
    mapped = {"normalization_mapping": mapping} if mapping else {}
    (weights / "config.json").write_text(json.dumps(config | mapped))
    part = {"mean": [0.1] * 7, "std": [0.2] * 7, "q01": [0.0] * 7, "q99": [1.5] * 7}
    (tmp_path / "norm_stats.json").write_text(json.dumps({"state": part, "actions": part}))
    policy = dataclasses.replace(RAW.policy, statistics=str(tmp_path / "norm_stats.json"))
    return parse_vla(f"transformers:{weights}"), VlaOptions(policy=policy)


@pytest.mark.parametrize(
    ("mapping", "state", "actions"),
    [
        ({}, 0.2, 0.2),
        ({"VISUAL": "IDENTITY"}, 0.2, 0.2),
        ({"STATE": "MEAN_STD", "ACTION": "MEAN_STD"}, 0.2, 0.2),
        ({"STATE": "QUANTILES", "ACTION": "QUANTILES"}, 0.75, 0.75),
        ({"STATE": "MEAN_STD", "ACTION": "QUANTILES"}, 0.2, 0.75),
        ({"STATE": "QUANTILES", "ACTION": "MEAN_STD"}, 0.75, 0.2),
    ],
)
def test_the_config_of_the_weights_decides_how_state_and_actions_are_normalised(
    folder: Path, tmp_path: Path, mapping: dict[str, str], state: float, actions: float
):
    reference, options = _mapped(folder, tmp_path, mapping)
    vla = make_vla(reference, options)
    assert isinstance(vla, Pi0Vla)
    assert (vla._normalisation.state.half[0], vla._normalisation.actions.half[0]) == (state, actions)
    if state != 0.2 or actions != 0.2:
        feature = "actions" if actions != 0.2 else "state"
        with pytest.raises(InputError, match=f"the checkpoint keeps no percentiles of its {feature}"):
            make_vla(reference, RAW)


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        ({"STATE": "MEAN_STD", "ACTION": "IDENTITY"}, "ACTION; .*got 'IDENTITY'"),
        ({"STATE": "IDENTITY", "ACTION": "MEAN_STD"}, "STATE; .*got 'IDENTITY'"),
        ({"ACTION": "QUANTILES"}, "STATE; "),
    ],
)
def test_a_kind_of_the_weights_that_is_not_known_has_to_be_chosen(
    folder: Path, tmp_path: Path, mapping: dict[str, str], words: str
):
    reference, options = _mapped(folder, tmp_path, mapping)
    with pytest.raises(UsageError, match=rf"{words}.*available: mean-std, percentiles"):
        make_vla(reference, options)
    chosen = dataclasses.replace(options.policy, statistics_kind=StatisticsKind.PERCENTILES)
    vla = make_vla(reference, VlaOptions(policy=chosen))
    assert isinstance(vla, Pi0Vla)
    assert (vla._normalisation.state.half[0], vla._normalisation.actions.half[0]) == (0.75, 0.75)


def test_what_cannot_be_is_told(pi0: Vla, folder: Path):
    with pytest.raises(UsageError, match="pi0-base-raw"):
        make_vla(parse_vla(f"transformers:{folder}"))
    only_top = dataclasses.replace(seen(), frames={View.TOP: frame(View.TOP, 0)})
    with pytest.raises(UsageError, match="a view is missing"):
        pi0.act(only_top)
    aloha = VlaOptions(policy=PolicyOptions(convention="pi0-aloha"))
    with pytest.raises(InputError, match="do not match"):
        make_vla(parse_vla(f"transformers:{folder}"), aloha).act(seen())


@pytest.mark.parametrize(
    ("family", "words"), [("openvla", "4.50"), ("octo", "JAX"), ("gpt2", "is not a VLA")]
)
def test_models_that_would_be_run_wrongly_are_refused_with_the_way_out(
    tmp_path: Path, family: str, words: str, folder: Path
):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": family}))
    (tmp_path / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
    with pytest.raises(InputError, match=words) as refusal:
        make_vla(parse_vla(f"transformers:{tmp_path}"), RAW)
    assert "HOST" in str(refusal.value)


def test_openvla_by_its_repository_is_refused_before_anything_is_fetched():
    with pytest.raises(InputError, match=r"deploy\.py"):
        make_vla(parse_vla("transformers:openvla/openvla-7b"))


def test_pickled_weights_are_refused(tmp_path: Path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "pi0"}))
    (tmp_path / "pytorch_model.bin").write_bytes(b"cos\nsystem\n")
    with pytest.raises(InputError, match="safetensors"):
        make_vla(parse_vla(f"transformers:{tmp_path}"), RAW)


def test_its_vision_tower_shows_what_the_policy_sees_of_an_image(pi0: Pi0Vla) -> None:
    import torch

    first, other = (pi0.features(frame(view, 0)) for view in (View.TOP, View.SIDE))
    assert first.shape == (4, 32)
    assert np.array_equal(first, other)  # one tower for all cameras
    assert not np.array_equal(first, pi0.features(frame(View.TOP, 1)))
    pixels = pi0._processor.image_processor([frame(View.TOP, 0).rgb], return_tensors="pt")["pixel_values"]
    with torch.inference_mode():
        expected = pi0._model.model.vlm.vision_tower(pixels).last_hidden_state
    np.testing.assert_allclose(first, expected[0].numpy(), rtol=1e-5, atol=1e-6)
    assert np.array_equal(pi0.act(seen()).increments, pi0.act(seen()).increments)  # no hook is left
