"""RT-1-X (TensorFlow). Sources: google-deepmind/open_x_embodiment; simpler-env/SimplerEnv policies/rt1.

The checkpoint and the sentence encoder are SavedModels: TensorFlow executes their graphs, so both count as
code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.lazy import load
from policy_host.contract import Family, Needs, PolicyRequest, Seen
from policy_host.images import fitted
from policy_host.statistics import choose_key

_HEIGHT_PX, _WIDTH_PX = 256, 320
_WORDS: Final = 512
_SCALES: Final = {"fractal20220817_data": (1.0, 1.0), "bridge": (0.05 / 1.75, 0.25 / 1.4)}
"""Data set to metres and radians of one unit."""
_LIMITS: Final = {"bridge": (0.05, 0.25)}


class Rt1X:
    """A loaded checkpoint; each question starts from an empty history.

    Args:
        request: Checkpoint and options.

    Raises:
        UsageError: The sentence encoder or the statistics are ambiguous.
        InputError: The encoder is missing.
    """

    def __init__(self, request: PolicyRequest) -> None:
        encoder = request.options.get("encoder", "")
        if not encoder:
            raise UsageError(
                "RT-1-X needs the Universal Sentence Encoder (large, 5)", expected="--set encoder=FOLDER"
            )
        if not Path(encoder).is_dir():
            raise InputError(
                "no sentence encoder at this path", expected="a folder with a SavedModel", got=encoder
            )
        self._tf = tf = load("tensorflow")
        self._time_step, self._specs = load("tf_agents.trajectories.time_step"), load("tf_agents.specs")
        self._key = choose_key(request.unnorm_key, "fractal20220817_data", _SCALES)
        self._encoder = tf.saved_model.load(encoder)
        self._policy = load("tf_agents.policies.py_tf_eager_policy:SavedModelPyTFEagerPolicy")(
            model_path=str(request.folder), load_specs_from_pbtxt=True, use_tf_function=True
        )
        self._version = f"rt-1-x-tf-{tf.__version__}-{self._key}"

    @property
    def version(self) -> str:
        """Of TensorFlow, with the scale."""
        return self._version

    def act(self, seen: Seen) -> NDArray[np.floating]:
        """Return ``(1, 7)``: displacement (m), rotation (rad), change of the gripper (1 closes)."""
        observation = self._blank()
        observation["image"] = self._tf.constant(fitted(seen.images[0], _HEIGHT_PX, _WIDTH_PX))
        observation["natural_language_embedding"] = self._embedding(seen.prompt)
        step = self._time_step.transition(observation, reward=np.zeros((), dtype=np.float32))
        action = self._policy.action(step, self._policy.get_initial_state(batch_size=1)).action
        metres, radians = _SCALES[self._key]
        motion = np.asarray(action["world_vector"], dtype=np.float64) * metres
        turn = np.asarray(action["rotation_delta"], dtype=np.float64) * radians
        if self._key in _LIMITS:
            most_m, most_rad = _LIMITS[self._key]
            motion, turn = np.clip(motion, -most_m, most_m), np.clip(turn, -most_rad, most_rad)
        gripper = np.asarray(action["gripper_closedness_action"], dtype=np.float64)
        return np.concatenate([motion.ravel(), turn.ravel(), gripper.ravel()])[None]

    def _blank(self) -> dict[str, Any]:
        """Return an observation of zeros that matches the policy's specification."""
        specs = self._specs.from_spec(self._policy.time_step_spec.observation)
        return dict(self._specs.zero_spec_nest(specs))

    def _embedding(self, prompt: str) -> Any:
        embedding = self._encoder([prompt])[0]
        if tuple(embedding.shape) != (_WORDS,):
            raise InputError("wrong sentence encoder", expected=f"{_WORDS} numbers", got=embedding.shape)
        return embedding


FAMILY: Final = Family(
    name="rt1x",
    conventions=("rt-1-x",),
    needs=Needs.REMOTE_CODE,
    load=Rt1X,
    options={"encoder": "folder of the Universal Sentence Encoder large 5 (a SavedModel)"},
)
