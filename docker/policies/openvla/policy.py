"""OpenVLA, its LIBERO fine-tunes, and Embodied-CoT, which is an OpenVLA that reasons before it acts.

Sources: openvla/openvla vla-scripts/deploy.py and experiments/robot/openvla_utils.py; the README of
MichalZawalski/embodied-CoT.
"""

from __future__ import annotations

import json
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.lazy import load
from policy_host.contract import Family, Needs, PolicyRequest, Seen
from policy_host.images import centre_crop, stretched
from policy_host.statistics import choose_key

_USES_IMAGE: Final = "4.40."
"""Versions of transformers on which the checkpoint's code uses the image. From 4.50 on it silently ignores it
and gives the same action every time."""
_SIDE_PX: Final = 224
_CROP_AREA: Final = 0.9
"""LIBERO fine-tunes were trained on random crops of this area and run on the centre crop."""
_REASONING_TOKENS: Final = 1024
_SYSTEM: Final = (
    "A chat between a curious user and an artificial intelligence assistant. "
    "The assistant gives helpful, detailed, and polite answers to the user's questions."
)
_PLAIN: Final = "In: What action should the robot take to {task}?\nOut:"
_REASONING: Final = _SYSTEM + " USER: What action should the robot take to {task}? ASSISTANT: TASK:"
_STYLES: Final = ("plain", "reasoning")
_UNITS: Final = {"openvla-bridge": "bridge_orig"}


class OpenVla:
    """A loaded checkpoint.

    Args:
        request: Checkpoint and options.

    Raises:
        InputError: The installed transformers would ignore the image.
        UsageError: An option or the statistics are ambiguous.
    """

    def __init__(self, request: PolicyRequest) -> None:
        torch, transformers = load("torch"), load("transformers")
        if not transformers.__version__.startswith(_USES_IMAGE):
            raise InputError(
                "with this transformers OpenVLA's code ignores the image",
                expected="transformers 4.40.1",
                got=transformers.__version__,
            )
        self._style = _choice(request.options.get("style", _style_of(request.name)), _STYLES, "style")
        is_libero = request.convention == "openvla-libero"
        crop = request.options.get("centre_crop", "yes" if is_libero else "no")
        self._crops = _choice(crop, ("yes", "no"), "centre_crop") == "yes"
        self._torch = torch
        self._device = request.device
        self._dtype = torch.bfloat16 if request.device == "cuda" else torch.float32
        common = {"trust_remote_code": True, "local_files_only": True}
        self._processor = transformers.AutoProcessor.from_pretrained(str(request.folder), **common)
        model = transformers.AutoModelForVision2Seq.from_pretrained(
            str(request.folder),
            torch_dtype=self._dtype,
            low_cpu_mem_usage=True,
            use_safetensors=True,
            **common,
        )
        self._model = model.to(request.device).eval()
        own = request.folder / "dataset_statistics.json"
        if own.is_file():
            self._model.norm_stats = json.loads(own.read_text(encoding="utf-8"))
        usual = _UNITS.get(request.convention, "")
        self._key = choose_key(request.unnorm_key, usual, self._model.norm_stats)
        self._version = f"openvla-transformers-{transformers.__version__}-{self._key}-{self._style}"

    @property
    def version(self) -> str:
        """Of transformers, with statistics and prompt."""
        return self._version

    def act(self, seen: Seen) -> NDArray[np.floating]:
        """Return ``(1, 7)``: displacement, Euler angles or axis-angle, gripper."""
        image = stretched(seen.images[0], _SIDE_PX, _SIDE_PX)
        if self._crops:
            image = centre_crop(image, _CROP_AREA)
        reasons = self._style == "reasoning"
        words = (_REASONING if reasons else _PLAIN).format(task=seen.prompt.lower())
        inputs = self._processor(words, load("PIL.Image:fromarray")(image)).to(
            self._device, dtype=self._dtype
        )
        more: dict[str, Any] = {"max_new_tokens": _REASONING_TOKENS} if reasons else {}
        with self._torch.inference_mode():
            given = self._model.predict_action(**inputs, unnorm_key=self._key, do_sample=False, **more)
        action = given[0] if isinstance(given, tuple) else given
        return np.atleast_2d(np.asarray(action, dtype=np.float64))


def _style_of(name: str) -> str:
    return "reasoning" if "ecot" in name.lower() else "plain"


def _choice(value: str, available: tuple[str, ...], name: str) -> str:
    if value not in available:
        raise UsageError(f"wrong {name}", got=value, available=available)
    return value


FAMILY: Final = Family(
    name="openvla",
    conventions=("openvla-bridge", "openvla-libero"),
    needs=Needs.REMOTE_CODE,
    load=OpenVla,
    options={
        "style": "plain, or reasoning for Embodied-CoT (default: by the checkpoint's name)",
        "centre_crop": "yes or no (default: yes for openvla-libero)",
    },
)
