"""Each family's policy.py on a stand-in with its library's call signatures, as strict as the real one."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from image_files import HOSTED, POLICIES

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.models.subjects.actions.table import convention_of

WIDE = np.zeros((240, 320, 3), np.uint8)
WIDE[:, 160:] = 200
WRIST = np.full((224, 224, 3), 90, np.uint8)


@pytest.fixture
def family(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], ModuleType]:
    """Load a family's module with policy_host, but without the folders that are named as libraries are."""
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "policy_host").symlink_to(POLICIES / "policy_host")
    monkeypatch.syspath_prepend(str(tmp_path / "path"))

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"family_{name}", POLICIES / name / "policy.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def stand_in(monkeypatch: pytest.MonkeyPatch, name: str, **content: Any) -> ModuleType:
    """Put a library's module where imports find it."""
    module = ModuleType(name)
    vars(module).update(content)
    monkeypatch.setitem(sys.modules, name, module)
    parent, _, child = name.rpartition(".")
    if parent in sys.modules:
        monkeypatch.setattr(sys.modules[parent], child, module, raising=False)
    return module


def request(folder: Path, convention: str, **more: Any) -> Any:
    from policy_host.contract import PolicyRequest

    return PolicyRequest(
        folder=folder, name=more.pop("name", folder.name), convention=convention, device="cpu", **more
    )


def seen(*images: np.ndarray, state: Any = None, prompt: str = "Pick the RED cube") -> Any:
    from policy_host.contract import Seen

    return Seen(images or (WIDE,), prompt, state)


def rows_of(module: ModuleType, policy: Any, shown: Any, convention: str) -> np.ndarray:
    """What the server would send: checked against the convention."""
    from policy_host.hosted import HostedPolicy

    hosted = HostedPolicy(policy, module.FAMILY.name, "name", "revision", convention_of(convention))
    (answer,) = hosted.answer([shown])
    return answer["actions"]


# --- OpenVLA


class OpenVlaModel:
    """As the checkpoint's modelling code: a row by the statistics of a key."""

    def __init__(self, *, reasons: bool, keys: tuple[str, ...]) -> None:
        self.norm_stats = {key: {"action": {"q01": [-0.02] * 6 + [0.0]}} for key in keys}
        self.reasons = reasons
        self.calls: list[dict[str, Any]] = []

    def to(self, device: str) -> OpenVlaModel:
        assert device == "cpu"
        return self

    def eval(self) -> OpenVlaModel:
        return self

    def predict_action(self, input_ids: Any = None, unnorm_key: Any = None, **words: Any):
        self.calls.append({"words": input_ids, "unnorm_key": unnorm_key, **words})
        assert words["pixel_values"].shape == (224, 224, 3)
        assert unnorm_key in self.norm_stats, "the real one asserts so too"
        assert words["do_sample"] is False
        row = np.append(np.full(6, words["pixel_values"].mean() / 1e4), 1.0)
        if self.reasons:
            assert words["max_new_tokens"] == 1024, "7 tokens would cut the reasoning off"
            return row, "generated ids"
        assert "max_new_tokens" not in words, "the plain model sets it itself"
        return row


class Inputs(dict):
    def to(self, device: str, dtype: Any) -> Inputs:
        assert device == "cpu"
        return self


def openvla(
    monkeypatch: pytest.MonkeyPatch,
    *,
    version: str = "4.40.1",
    reasons: bool = False,
    keys: Any = ("bridge_orig", "fractal"),
):
    model = OpenVlaModel(reasons=reasons, keys=keys)

    def from_pretrained(folder: str, *, trust_remote_code: bool, local_files_only: bool, **words: Any):
        assert trust_remote_code
        assert local_files_only
        assert isinstance(folder, str)
        if words:
            assert words["use_safetensors"] is True
            return model
        return lambda text, image: Inputs(input_ids=text, pixel_values=np.asarray(image))

    auto = SimpleNamespace(from_pretrained=from_pretrained)
    stand_in(
        monkeypatch, "transformers", __version__=version, AutoProcessor=auto, AutoModelForVision2Seq=auto
    )
    return model


def test_openvla(
    family: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model, module = openvla(monkeypatch), family("openvla")
    policy = module.FAMILY.load(request(tmp_path, "openvla-bridge"))
    rows = rows_of(module, policy, seen(), "openvla-bridge")
    assert rows.shape == (1, 7)
    assert model.calls[0]["words"] == "In: What action should the robot take to pick the red cube?\nOut:"
    assert model.calls[0]["unnorm_key"] == "bridge_orig"
    assert rows[0, 0] == pytest.approx(0.01, rel=0.05), "half of the image is 200"
    assert "4.40.1" in policy.version
    assert "bridge_orig" in policy.version


@pytest.mark.parametrize("version", ["4.50.0", "4.57.1", "5.23.0"])
def test_openvla_refuses_versions_that_do_not_look(
    family: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str
) -> None:
    openvla(monkeypatch, version=version)
    with pytest.raises(InputError, match="code ignores the image"):
        family("openvla").FAMILY.load(request(tmp_path, "openvla-bridge"))


def test_openvla_libero_has_its_own_statistics_and_the_centre_crop(
    family: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model, module = openvla(monkeypatch), family("openvla")
    (tmp_path / "dataset_statistics.json").write_text('{"libero_spatial": {}}', encoding="utf-8")
    policy = module.FAMILY.load(request(tmp_path, "openvla-libero"))
    framed = np.full((224, 224, 3), 100, np.uint8)
    framed[:4] = framed[-4:] = framed[:, :4] = framed[:, -4:] = 0
    policy.act(seen(framed))
    call = model.calls[0]
    assert call["unnorm_key"] == "libero_spatial"
    assert call["pixel_values"].min() > 90, "the outer 2.5 % are cut off"
    plain = module.FAMILY.load(request(tmp_path, "openvla-libero", options={"centre_crop": "no"}))
    plain.act(seen(framed))
    assert model.calls[1]["pixel_values"].min() == 0


@pytest.mark.parametrize("name", ["Embodied-CoT/ecot-openvla-7b-bridge", "mine"])
def test_embodied_cot_reasons_before_it_acts(
    family: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    model, module = openvla(monkeypatch, reasons=True), family("openvla")
    options = {"style": "reasoning"} if name == "mine" else {}
    policy = module.FAMILY.load(request(tmp_path, "openvla-bridge", name=name, options=options))
    assert rows_of(module, policy, seen(), "openvla-bridge").shape == (1, 7)
    assert model.calls[0]["words"].startswith("A chat between a curious user")
    assert model.calls[0]["words"].endswith(
        "USER: What action should the robot take to pick the red cube? ASSISTANT: TASK:"
    )


def test_unclear_statistics_are_a_question_to_the_user(
    family: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    openvla(monkeypatch, keys=("libero_a", "libero_b"))
    module = family("openvla")
    with pytest.raises(UsageError, match="available: libero_a, libero_b"):
        module.FAMILY.load(request(tmp_path, "openvla-libero"))
    with pytest.raises(UsageError, match="got 'bridge_orig'"):
        module.FAMILY.load(request(tmp_path, "openvla-libero", unnorm_key="bridge_orig"))


# --- Octo


class OctoStandIn:
    """As octo.model.octo_model.OctoModel: batch and time in front, sizes from the example batch."""

    def __init__(self) -> None:
        self.dataset_statistics = {
            "bridge_dataset": {"action": {"mean": np.zeros(7)}},
            "kuka": {"action": {}},
        }
        self.example_batch = {
            "observation": {
                "image_primary": np.zeros((1, 2, 256, 256, 3), np.uint8),
                "image_wrist": np.zeros((1, 2, 128, 128, 3), np.uint8),
            }
        }
        self.asked: dict[str, Any] = {}

    def create_tasks(self, goals: Any = None, texts: Any = None):
        assert goals is None
        assert isinstance(texts, list)
        return {"language_instruction": texts}

    def sample_actions(
        self, observations: Any, tasks: Any, unnormalization_statistics: Any = None, rng: Any = None
    ):
        self.asked = {"observations": observations, "tasks": tasks, "rng": rng}
        for name, example in self.example_batch["observation"].items():
            if name in observations:
                assert observations[name].shape == (1, 1, *example.shape[2:])
                assert observations[name].dtype == np.uint8
        assert observations["timestep_pad_mask"].tolist() == [[True]]
        shown = {name for name in observations if name.startswith("image_")}
        assert set(observations["pad_mask_dict"]) == shown, "what is not masked in counts as missing"
        assert unnormalization_statistics is self.dataset_statistics["bridge_dataset"]["action"]
        return np.arange(28, dtype=np.float32).reshape(1, 4, 7) * 1e-3


@pytest.fixture
def octo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> OctoStandIn:
    model = OctoStandIn()
    stand_in(
        monkeypatch, "jax", __version__="0.4.20", random=SimpleNamespace(PRNGKey=lambda seed: ("key", seed))
    )
    for name in ("octo", "octo.model"):
        stand_in(monkeypatch, name)
    loader = SimpleNamespace(load_pretrained=lambda folder: model if isinstance(folder, str) else None)
    stand_in(monkeypatch, "octo.model.octo_model", OctoModel=loader)
    (tmp_path / "config.json").write_text(
        json.dumps(
            {"model": {"heads": {"action": {"module": "octo.model.components.action_heads", "name": "D"}}}}
        ),
        encoding="utf-8",
    )
    return model


@pytest.mark.parametrize("images", [(WIDE,), (WIDE, WRIST)])
def test_octo(family: Callable[[str], ModuleType], octo: OctoStandIn, tmp_path: Path, images: Any) -> None:
    module = family("octo")
    policy = module.FAMILY.load(request(tmp_path, "octo-bridge", seed=5))
    rows = rows_of(module, policy, seen(*images), "octo-bridge")
    np.testing.assert_allclose(rows, np.arange(28).reshape(4, 7) * 1e-3, rtol=1e-6)
    assert ("image_wrist" in octo.asked["observations"]) == (len(images) == 2)
    assert octo.asked["rng"] == ("key", 5), "the same image gives the same actions"
    assert octo.asked["tasks"] == {"language_instruction": ["Pick the RED cube"]}


def test_octo_without_a_wrist_camera_is_shown_none(
    family: Callable[[str], ModuleType], octo: OctoStandIn, tmp_path: Path
) -> None:
    del octo.example_batch["observation"]["image_wrist"]
    policy = family("octo").FAMILY.load(request(tmp_path, "octo-bridge"))
    policy.act(seen(WIDE, WRIST))
    assert "image_wrist" not in octo.asked["observations"]


def test_octo_config_cannot_call_other_code(
    family: Callable[[str], ModuleType], octo: OctoStandIn, tmp_path: Path
) -> None:
    config = {"text_processor": [{"module": "os", "name": "system", "args": ["id"], "kwargs": {}}]}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(InputError, match="code that is not Octo's"):
        family("octo").FAMILY.load(request(tmp_path, "octo-bridge"))


# --- RT-1-X


class Rt1StandIn:
    """As tf_agents' SavedModelPyTFEagerPolicy of the checkpoint; its history would be in the state."""

    def __init__(self, model_path: str, *, load_specs_from_pbtxt: bool, use_tf_function: bool) -> None:
        assert isinstance(model_path, str)
        assert load_specs_from_pbtxt
        assert use_tf_function
        self.time_step_spec = SimpleNamespace(
            observation={"image": (256, 320, 3), "natural_language_embedding": (512,)}
        )
        self.given: list[Any] = []

    def get_initial_state(self, batch_size: int):
        assert batch_size == 1
        return {"seq_idx": 0}

    def action(self, step: Any, state: Any):
        assert state == {"seq_idx": 0}, "nothing is kept between two questions"
        self.given.append(step)
        assert step["image"].shape == (256, 320, 3)
        assert step["image"].dtype == np.uint8
        assert step["natural_language_embedding"].shape == (512,)
        assert step["base_pose"].shape == (3,), "all that the specification asks for is there"
        action = {
            "world_vector": np.array([0.35, -0.7, 3.5], np.float32),
            "rotation_delta": np.array([0.14, 0.0, -1.4], np.float32),
            "gripper_closedness_action": np.array([-1.0], np.float32),
            "terminate_episode": np.array([0, 1, 0]),
        }
        return SimpleNamespace(action=action, state={"seq_idx": 1})


@pytest.fixture
def rt1(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    encoder = SimpleNamespace(load=lambda folder: lambda words: np.ones((len(words), 512), np.float32))
    stand_in(monkeypatch, "tensorflow", __version__="2.15.0", constant=np.asarray, saved_model=encoder)
    blank = {
        "image": np.zeros((256, 320, 3), np.uint8),
        "base_pose": np.zeros(3),
        "natural_language_embedding": None,
    }
    for name in ("tf_agents", "tf_agents.policies", "tf_agents.trajectories"):
        stand_in(monkeypatch, name)
    stand_in(
        monkeypatch,
        "tf_agents.specs",
        from_spec=lambda spec: spec,
        zero_spec_nest=lambda spec: dict(blank),
    )
    stand_in(monkeypatch, "tf_agents.policies.py_tf_eager_policy", SavedModelPyTFEagerPolicy=Rt1StandIn)
    stand_in(
        monkeypatch,
        "tf_agents.trajectories.time_step",
        transition=lambda observation, reward: observation,
    )
    (tmp_path / "encoder").mkdir()
    return {"encoder": str(tmp_path / "encoder")}


def test_rt1x_in_its_own_units(
    family: Callable[[str], ModuleType], rt1: dict[str, str], tmp_path: Path
) -> None:
    module = family("rt1x")
    policy = module.FAMILY.load(request(tmp_path, "rt-1-x", options=rt1))
    for _ in range(2):
        rows = rows_of(module, policy, seen(), "rt-1-x")
        np.testing.assert_allclose(rows, [[0.35, -0.7, 3.5, 0.14, 0.0, -1.4, -1.0]], rtol=1e-6)


def test_rt1x_in_the_units_of_bridge(
    family: Callable[[str], ModuleType], rt1: dict[str, str], tmp_path: Path
) -> None:
    """1.75 of the network are 0.05 m and 1.4 are 0.25 rad; further than that the data never went."""
    policy = family("rt1x").FAMILY.load(request(tmp_path, "rt-1-x", options=rt1, unnorm_key="bridge"))
    np.testing.assert_allclose(policy.act(seen()), [[0.01, -0.02, 0.05, 0.025, 0.0, -0.25, -1.0]], rtol=1e-6)


@pytest.mark.parametrize("options", [{}, {"encoder": "/nowhere"}])
def test_rt1x_needs_its_encoder(
    family: Callable[[str], ModuleType], rt1: dict[str, str], tmp_path: Path, options: dict[str, str]
) -> None:
    with pytest.raises((UsageError, InputError), match=r"[Ee]ncoder"):
        family("rt1x").FAMILY.load(request(tmp_path, "rt-1-x", options=options))


# --- CogACT


class CogActModel:
    """As vla.CogACT: a chunk of 16 rows and the normalised one beside it."""

    def __init__(self) -> None:
        self.norm_stats = {"bridge_orig": {}, "fractal20220817_data": {}}
        self.vlm = SimpleNamespace(to=lambda dtype: None)

    def to(self, device: str) -> CogActModel:
        return self

    def eval(self) -> CogActModel:
        return self

    def predict_action(self, image: Any, instruction: str, **words: Any):
        import torch

        assert image.size == (224, 224)
        assert image.mode == "RGB"
        assert instruction == "Pick the RED cube"
        assert words == {
            "unnorm_key": "bridge_orig",
            "cfg_scale": 1.5,
            "use_ddim": True,
            "num_ddim_steps": 10,
            "do_sample": False,
        }
        noise = torch.randn(16, 7).numpy()
        return noise * 1e-3, noise


def cogact(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str = "CogACT-Base.pt") -> list[Any]:
    (folder / "checkpoints").mkdir(exist_ok=True)
    (folder / "checkpoints" / name).write_bytes(b"")
    loaded: list[Any] = []

    def load_vla(
        path: str,
        *,
        load_for_training: bool,
        action_model_type: str,
        future_action_window_size: int,
        action_dim: int,
    ):
        import os

        assert os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] == "1", "else a pickle's code would run"
        assert Path(path).is_file()
        loaded.append((load_for_training, action_model_type, future_action_window_size, action_dim))
        return CogActModel()

    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0")
    stand_in(monkeypatch, "vla", load_vla=load_vla)
    return loaded


@pytest.mark.parametrize(
    ("name", "size"),
    [("CogACT-Base.pt", "DiT-B"), ("CogACT-Large.pt", "DiT-L"), ("CogACT-Small.pt", "DiT-S")],
)
def test_cogact(
    family: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, size: str
) -> None:
    loaded, module = cogact(monkeypatch, tmp_path, name), family("cogact")
    policy = module.FAMILY.load(request(tmp_path, "cogact-bridge"))
    assert loaded == [(False, size, 15, 7)]
    first = rows_of(module, policy, seen(), "cogact-bridge")
    assert first.shape == (16, 7)
    np.testing.assert_array_equal(first, rows_of(module, policy, seen(), "cogact-bridge"))


def test_cogact_of_unknown_size_is_a_question(
    family: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cogact(monkeypatch, tmp_path, "step-1000.pt")
    module = family("cogact")
    with pytest.raises(UsageError, match="DiT-S, DiT-B, DiT-L"):
        module.FAMILY.load(request(tmp_path, "cogact-bridge"))
    module.FAMILY.load(request(tmp_path, "cogact-bridge", options={"action_model": "DiT-L"}))
    (tmp_path / "checkpoints" / "second-base.pt").write_bytes(b"")
    with pytest.raises(InputError, match="not hold exactly one file"):
        module.FAMILY.load(request(tmp_path, "cogact-bridge"))


def test_torch_opens_pickles_as_tensors_only_when_told_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The variable does what the image counts on: a pickle that would run code is refused."""
    import torch

    marker = tmp_path / "ran"

    class Evil:
        def __reduce__(self) -> Any:
            return Path.touch, (marker,)

    torch.save({"model": Evil()}, tmp_path / "evil.pt")
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(Exception, match=r"[Ww]eights.only"):
        torch.load(tmp_path / "evil.pt", weights_only=False)
    assert not marker.exists()


# --- LeRobot


class LeRobotPolicy:
    def __init__(self, folder: str, config: Any) -> None:
        assert (Path(folder) / "config.json").is_file()
        self.config, self.resets, self.batch = config, 0, {}

    def reset(self) -> None:
        self.resets += 1

    def predict_action_chunk(self, batch: Any):
        import torch

        self.batch = batch
        for name, feature in self.config.image_features.items():
            assert batch[name].shape == (1, *feature.shape)
            assert batch[name].dtype == torch.float32
            assert 0.0 <= float(batch[name].min()) <= float(batch[name].max()) <= 1.0
        assert batch["normalised"], "the policy's own processor comes first"
        return torch.full((1, 5, 7), 2.0) + torch.randn(1) * 1e-6


def lerobot(
    monkeypatch: pytest.MonkeyPatch, folder: Path, *, kind: str = "smolvla", cameras: int = 2
) -> list[LeRobotPolicy]:
    (folder / "config.json").write_text(json.dumps({"type": kind}), encoding="utf-8")
    for name in ("policy_preprocessor.json", "policy_postprocessor.json"):
        (folder / name).write_text('{"steps": [{"registry_name": "device_processor"}]}', encoding="utf-8")
    shapes = {"observation.images.top": (3, 480, 640), "observation.images.wrist": (3, 224, 224)}
    features = {name: SimpleNamespace(shape=shape) for name, shape in list(shapes.items())[:cameras]}
    config = SimpleNamespace(
        device="cuda", image_features=features, robot_state_feature=SimpleNamespace(shape=(8,))
    )
    made: list[LeRobotPolicy] = []

    def from_pretrained(folder: str, config: Any):
        made.append(LeRobotPolicy(folder, config))
        return made[-1]

    def processors(
        config: Any, *, pretrained_path: str, preprocessor_overrides: Any, postprocessor_overrides: Any
    ):
        assert config.device == "cpu"
        assert preprocessor_overrides == postprocessor_overrides == {"device_processor": {"device": "cpu"}}

        def undo(action: Any):
            assert action.shape == (1, 7), "LeRobot's own server hands over one step at a time"
            return action * 0.5

        return lambda batch: {**batch, "normalised": True}, undo

    stand_in(monkeypatch, "lerobot", __version__="0.4.4")
    stand_in(monkeypatch, "lerobot.configs")
    stand_in(monkeypatch, "lerobot.policies")
    loader = SimpleNamespace(from_pretrained=lambda folder: config)
    stand_in(monkeypatch, "lerobot.configs.policies", PreTrainedConfig=loader)
    stand_in(
        monkeypatch,
        "lerobot.policies.factory",
        get_policy_class=lambda name: SimpleNamespace(from_pretrained=from_pretrained),
        make_pre_post_processors=processors,
    )
    return made


def test_lerobot(
    family: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made, module = lerobot(monkeypatch, tmp_path), family("lerobot")
    policy = module.FAMILY.load(request(tmp_path, "pi0-libero"))
    shown = seen(WIDE, WRIST, state=np.arange(8, dtype=np.float32))
    rows = rows_of(module, policy, shown, "pi0-libero")
    assert rows.shape == (5, 7)
    np.testing.assert_allclose(rows, 1.0, atol=1e-4)
    np.testing.assert_array_equal(rows, rows_of(module, policy, shown, "pi0-libero"))
    assert made[0].resets == 2, "nothing is kept between two questions"
    assert made[0].batch["task"] == "Pick the RED cube"
    assert made[0].batch["observation.state"].tolist() == [list(range(8))]


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (((WIDE,), np.zeros(8, np.float32)), "another number of cameras"),
        (((WIDE, WRIST), np.zeros(7, np.float32)), "another state"),
        (((WIDE, WRIST), None), "another state"),
    ],
)
def test_lerobot_refuses_another_robot(
    family: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    shown: Any,
    said: str,
) -> None:
    lerobot(monkeypatch, tmp_path)
    policy = family("lerobot").FAMILY.load(request(tmp_path, "pi0-libero"))
    with pytest.raises(InputError, match=said):
        policy.act(seen(*shown[0], state=shown[1]))


def test_lerobot_refuses_policies_with_a_history(
    family: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lerobot(monkeypatch, tmp_path, kind="diffusion")
    with pytest.raises(InputError, match="available: act, smolvla"):
        family("lerobot").FAMILY.load(request(tmp_path, "pi0-libero"))


def test_lerobot_processors_cannot_name_other_code(
    family: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lerobot(monkeypatch, tmp_path)
    (tmp_path / "policy_postprocessor.json").write_text(
        '{"steps": [{"class": "os.system"}]}', encoding="utf-8"
    )
    with pytest.raises(InputError, match="code that is not LeRobot's"):
        family("lerobot").FAMILY.load(request(tmp_path, "pi0-libero"))


# --- all


@pytest.mark.parametrize("name", HOSTED)
def test_conventions_of_a_family_are_known_and_can_be_asked(
    family: Callable[[str], ModuleType], name: str
) -> None:
    from importlib import import_module

    offered = family(name).FAMILY
    forms = import_module("policy_host.observation").FORMS
    assert offered.name == name
    for word in offered.conventions:
        assert convention_of(word).observation in forms
