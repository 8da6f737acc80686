"""Octo. Sources: octo-models/octo, examples/01_inference_pretrained.ipynb and octo/model/octo_model.py."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.lazy import load
from policy_host.contract import Family, Needs, PolicyRequest, Seen
from policy_host.images import stretched
from policy_host.statistics import choose_key

_CAMERAS: Final = ("image_primary", "image_wrist")
_UNITS: Final = "bridge_dataset"


class Octo:
    """A loaded checkpoint; each question is a history of one image.

    Args:
        request: Checkpoint and options.

    Raises:
        InputError: Its configuration names code that is not Octo's.
        UsageError: The statistics are ambiguous.
    """

    def __init__(self, request: PolicyRequest) -> None:
        _check_modules(json.loads((request.folder / "config.json").read_text(encoding="utf-8")))
        self._jax = jax = load("jax")
        self._seed = request.seed
        self._model = load("octo.model.octo_model:OctoModel").load_pretrained(str(request.folder))
        self._key = choose_key(request.unnorm_key, _UNITS, self._model.dataset_statistics)
        observed = self._model.example_batch["observation"]
        self._sizes = {name: observed[name].shape[-3:-1] for name in _CAMERAS if name in observed}
        self._version = f"octo-jax-{jax.__version__}-{self._key}-seed-{request.seed}"

    @property
    def version(self) -> str:
        """Of JAX, with statistics and seed."""
        return self._version

    def act(self, seen: Seen) -> NDArray[np.floating]:
        """Return ``(4, 7)``: displacement (m), Euler angles (rad), gripper (1 is open)."""
        there = np.array([[True]])
        observation: dict[str, Any] = {"timestep_pad_mask": there, "pad_mask_dict": {}}
        for name, image in zip(_CAMERAS, seen.images, strict=False):
            if name in self._sizes:
                observation[name] = stretched(image, *self._sizes[name])[None, None]
                observation["pad_mask_dict"][name] = there
        actions = self._model.sample_actions(
            observation,
            self._model.create_tasks(texts=[seen.prompt]),
            unnormalization_statistics=self._model.dataset_statistics[self._key]["action"],
            rng=self._jax.random.PRNGKey(self._seed),
        )
        rows: NDArray[np.floating] = np.asarray(actions, dtype=np.float64)[0]
        return rows


def _check_modules(config: Any) -> None:
    """Refuse modules outside Octo, which imports and calls them by name."""
    for module in _modules(config):
        if not module.startswith("octo."):
            raise InputError("config.json names code that is not Octo's", expected="octo.*", got=module)


def _modules(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "module" in value and "name" in value:
            yield str(value["module"])
        for item in value.values():
            yield from _modules(item)
    elif isinstance(value, list):
        for item in value:
            yield from _modules(item)


FAMILY: Final = Family(name="octo", conventions=("octo-bridge",), needs=Needs.NOTHING, load=Octo)
