"""LeRobot's policies. Source: huggingface/lerobot v0.4.4, policies/factory.py and async_inference/.

Its gRPC server unpickles what it receives and is not used.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.lazy import load
from policy_host.contract import Family, Needs, PolicyRequest, Seen
from policy_host.images import fitted

_TYPES: Final = ("act", "smolvla")
"""Policies that decide from one observation. Diffusion, VQ-BeT and TD-MPC need a history, which the protocol
does not carry; LeRobot's pi0 needs another transformers."""
_PROCESSORS: Final = ("policy_preprocessor.json", "policy_postprocessor.json")


class LeRobot:
    """A loaded policy with its processors, which hold the statistics of its data.

    Args:
        request: Checkpoint and options.

    Raises:
        InputError: It is of a type that is not served, or its processors name code that is not LeRobot's.
    """

    def __init__(self, request: PolicyRequest) -> None:
        kind = _json(request.folder / "config.json").get("type")
        if kind not in _TYPES:
            raise InputError("this type of policy is not served", got=kind, available=_TYPES)
        for name in _PROCESSORS:
            _check_steps(_json(request.folder / name), name)
        factory = load("lerobot.policies.factory")
        folder = str(request.folder)
        config = load("lerobot.configs.policies:PreTrainedConfig").from_pretrained(folder)
        config.device = request.device
        self._torch, self._config, self._seed = load("torch"), config, request.seed
        self._policy = factory.get_policy_class(kind).from_pretrained(folder, config=config)
        where = {"device_processor": {"device": request.device}}
        self._before, self._after = factory.make_pre_post_processors(
            config, pretrained_path=folder, preprocessor_overrides=where, postprocessor_overrides=where
        )
        self._version = f"lerobot-{load('lerobot').__version__}-{kind}-seed-{request.seed}"

    @property
    def version(self) -> str:
        """Of LeRobot, with type and seed."""
        return self._version

    def act(self, seen: Seen) -> NDArray[np.floating]:
        """Return ``(K, D)`` in the units of the policy's data.

        Raises:
            InputError: The policy needs another number of cameras, or another state.
        """
        self._torch.manual_seed(self._seed)
        self._policy.reset()
        with self._torch.inference_mode():
            chunk = self._policy.predict_action_chunk(self._before(self._batch(seen)))
            steps = [self._after(chunk[:, k, :]) for k in range(chunk.shape[1])]
        return np.asarray(self._torch.stack(steps, dim=1)[0].float().cpu().numpy(), dtype=np.float64)

    def _batch(self, seen: Seen) -> dict[str, Any]:
        cameras = self._config.image_features
        if len(cameras) != len(seen.images):
            raise InputError(
                "the policy needs another number of cameras",
                expected=", ".join(cameras),
                got=len(seen.images),
            )
        batch: dict[str, Any] = {"task": seen.prompt}
        for (name, feature), image in zip(cameras.items(), seen.images, strict=True):
            _, height_px, width_px = feature.shape
            shown = fitted(image, height_px, width_px).transpose(2, 0, 1)
            batch[name] = self._torch.from_numpy(np.ascontiguousarray(shown, dtype=np.float32) / 255.0)[None]
        feature = self._config.robot_state_feature
        if feature is not None:
            batch["observation.state"] = self._state(seen, int(feature.shape[0]))
        return batch

    def _state(self, seen: Seen, size: int) -> Any:
        if seen.state is None or seen.state.shape != (size,):
            got = None if seen.state is None else seen.state.shape
            raise InputError("the policy needs another state", expected=f"({size},)", got=got)
        return self._torch.from_numpy(seen.state)[None]


def _json(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {file}: {error}") from None
    if not isinstance(value, dict):
        raise InputError(f"{file} is not a JSON object")
    return value


def _check_steps(pipeline: dict[str, Any], name: str) -> None:
    """Refuse processor steps outside LeRobot, which imports them by name."""
    for step in pipeline.get("steps", ()):
        code = step.get("class", "") if "registry_name" not in step else ""
        if code and not code.startswith("lerobot."):
            raise InputError(f"{name} names code that is not LeRobot's", expected="lerobot.*", got=code)


FAMILY: Final = Family(name="lerobot", conventions=(), needs=Needs.NOTHING, load=LeRobot)
