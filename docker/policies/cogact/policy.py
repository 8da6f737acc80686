"""CogACT. Sources: microsoft/CogACT README, vla/load.py, scripts/deploy.py.

Its weights are published as pickles only. PyTorch opens them as plain tensors and refuses anything else.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.lazy import load
from policy_host.contract import Family, Needs, PolicyRequest, Seen
from policy_host.images import stretched
from policy_host.statistics import choose_key

_SIDE_PX: Final = 224
_FUTURE: Final = 15
_ACTION_MODELS: Final = {"small": "DiT-S", "base": "DiT-B", "large": "DiT-L"}
_UNITS: Final = "bridge_orig"
_GUIDANCE: Final = 1.5
_DDIM_STEPS: Final = 10


class CogAct:
    """A loaded checkpoint.

    Args:
        request: Checkpoint and options.

    Raises:
        InputError: There is not exactly one file of weights.
        UsageError: The size of the action model or the statistics are ambiguous.
    """

    def __init__(self, request: PolicyRequest) -> None:
        os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"
        torch = load("torch")
        weights = _weights(request.folder)
        self._torch, self._seed = torch, request.seed
        self._model = load("vla:load_vla")(
            str(weights),
            load_for_training=False,
            action_model_type=_action_model(weights.stem, request.options.get("action_model", "")),
            future_action_window_size=_FUTURE,
            action_dim=7,
        )
        if request.device == "cuda":
            self._model.vlm = self._model.vlm.to(torch.bfloat16)
        self._model = self._model.to(request.device).eval()
        self._key = choose_key(request.unnorm_key, _UNITS, self._model.norm_stats)
        self._version = f"cogact-torch-{torch.__version__}-{self._key}-seed-{request.seed}"

    @property
    def version(self) -> str:
        """Of PyTorch, with statistics and seed."""
        return self._version

    def act(self, seen: Seen) -> NDArray[np.floating]:
        """Return ``(16, 7)``: displacement (m), Euler angles (rad), gripper (1 is open)."""
        self._torch.manual_seed(self._seed)
        actions, _ = self._model.predict_action(
            load("PIL.Image:fromarray")(stretched(seen.images[0], _SIDE_PX, _SIDE_PX)),
            seen.prompt,
            unnorm_key=self._key,
            cfg_scale=_GUIDANCE,
            use_ddim=True,
            num_ddim_steps=_DDIM_STEPS,
            do_sample=False,
        )
        return np.asarray(actions, dtype=np.float64)


def _weights(folder: Path) -> Path:
    found = sorted((folder / "checkpoints").glob("*.pt"))
    if len(found) != 1:
        raise InputError(
            f"{folder}/checkpoints does not hold exactly one file of weights",
            expected="one *.pt",
            got=[file.name for file in found],
        )
    return found[0]


def _action_model(stem: str, given: str) -> str:
    if given:
        if given not in _ACTION_MODELS.values():
            raise UsageError("unknown action model", got=given, available=_ACTION_MODELS.values())
        return given
    kinds = [model for size, model in _ACTION_MODELS.items() if size in stem.lower()]
    if len(kinds) != 1:
        raise UsageError(
            f"how large is the action model of {stem}?",
            expected="--set action_model=",
            available=_ACTION_MODELS.values(),
        )
    return kinds[0]


FAMILY: Final = Family(
    name="cogact",
    conventions=("cogact-bridge",),
    needs=Needs.PICKLES,
    load=CogAct,
    options={"action_model": "DiT-S, DiT-B or DiT-L (default: by the file's name)"},
)
