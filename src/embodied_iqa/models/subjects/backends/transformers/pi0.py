"""pi0 in this process: images, state and instruction in, one chunk out, from the same noise every time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.models.subjects.actions.action_statistics import (
    Statistics,
    checked_statistics,
    load_statistics,
)
from embodied_iqa.models.subjects.actions.adapter import joints_seen
from embodied_iqa.models.subjects.actions.convention import ActionConvention
from embodied_iqa.models.subjects.actions.observation import state_for
from embodied_iqa.models.subjects.backends.policies import chunk_from_rows, convention_for, views_for
from embodied_iqa.models.subjects.backends.transformers.features import tower_features
from embodied_iqa.models.subjects.backends.transformers.loading import LoadedModel, load_model
from embodied_iqa.models.subjects.catalogue import StatisticsKind
from embodied_iqa.models.subjects.checkpoints import Checkpoint
from embodied_iqa.models.subjects.subject_options import PolicyOptions, VlaRequest
from embodied_iqa.world.protocols import ActionChunk, SubjectInfo, VlaObservation

Array = NDArray[np.float64]

_VIEWS: Final = (View.TOP, View.WRIST)
_LETTERS: Final = 8
_MAPPING: Final = "normalization_mapping"
_STATE, _ACTIONS = "STATE", "ACTION"
_KINDS: Final = {"MEAN_STD": StatisticsKind.MOMENTS, "QUANTILES": StatisticsKind.PERCENTILES}
"""Words of LeRobot's configs."""
_CHOICE: Final = "policy.statistics_kind"


@dataclass(frozen=True, slots=True)
class _Kinds:
    """Kinds of the statistics of the training data."""

    state: StatisticsKind
    actions: StatisticsKind


@dataclass(frozen=True, slots=True)
class Normalisation:
    """Statistics of the training data."""

    state: Statistics
    actions: Statistics


def load_pi0(checkpoint: Checkpoint, request: VlaRequest) -> Pi0Vla:
    """Load a checkpoint of type pi0.

    Raises:
        UserError: Libraries, statistics or the convention are missing, or it does not fit.
    """
    policy, reference = request.options.policy, request.reference
    convention = convention_for(request)
    loaded = load_model(
        checkpoint, request, processor_class="PI0Processor", model_class="PI0ForConditionalGeneration"
    )
    normalisation = _normalisation(policy, _kinds(policy, checkpoint.config), loaded.processor)
    info = SubjectInfo(
        name=reference.text,
        version=policy.version or _version(checkpoint, policy, convention, loaded),
        description=f"pi0 with {checkpoint.size.parameters / 1e9:.3g} billion parameters ({convention.name})",
        views=views_for(request, _VIEWS),
        simulation_only=reference.simulation_only,
        rate_hz=convention.rate_hz,
        joints_of=convention.arm,
    )
    return Pi0Vla(info, loaded, convention, normalisation, policy)


class Pi0Vla:
    """Physical Intelligence's pi0 (Black et al. 2024, arXiv:2410.24164) in transformers.

    Flow matching starts from noise. It depends on the seed alone, so that the same observation gives the same
    chunk, and the chunks on a reference and a distorted image differ by the image only.

    Args:
        info: Description of the subject.
        loaded: Model and processor.
        convention: Convention of its actions.
        normalisation: Statistics of its training data.
        policy: Seed and number of steps.
    """

    def __init__(
        self,
        info: SubjectInfo,
        loaded: LoadedModel,
        convention: ActionConvention,
        normalisation: Normalisation,
        policy: PolicyOptions,
    ) -> None:
        self.info = info
        self._torch, self._model, self._processor = loaded.torch, loaded.model, loaded.processor
        self._convention, self._normalisation = convention, normalisation
        self._steps = policy.denoising_steps or None
        config = loaded.model.config
        generator = loaded.torch.Generator().manual_seed(policy.seed)
        shape = (1, config.chunk_size, config.max_action_dim)
        self._noise = loaded.torch.randn(shape, generator=generator).to(**self._place)
        self._state_size = int(config.max_state_dim)
        if convention.numbers > config.max_action_dim:
            raise InputError(
                f"the checkpoint does not fit the convention {convention.name}",
                expected=f"at least {convention.numbers} numbers an action",
                got=config.max_action_dim,
            )

    def act(self, observation: VlaObservation) -> ActionChunk:
        """Return the next chunk.

        Raises:
            UsageError: A view is missing.
            InputError: The actions do not match the convention.
        """
        return self.act_batch([observation])[0]

    def act_batch(self, observations: Sequence[VlaObservation]) -> list[ActionChunk]:
        """Return a chunk per observation; up to rounding the same as one by one."""
        joints = [self._joints(observation) for observation in observations]
        inputs = self._inputs(observations, joints)
        noise = self._noise.expand(len(observations), -1, -1)
        with self._torch.inference_mode():
            actions = self._model.sample_actions(**inputs, noise=noise, num_steps=self._steps)
        rows = actions.float().cpu().numpy().astype(np.float64)
        return [self._chunk(*item) for item in zip(rows, observations, joints, strict=True)]

    def features(self, frame: Frame) -> NDArray[np.float32]:
        """Return the ``(tokens, C)`` output of the vision tower, which is the same for every camera."""
        pixels = self._processor.image_processor([np.ascontiguousarray(frame.rgb)], return_tensors="pt")
        image = pixels["pixel_values"].to(**self._place)
        with self._torch.inference_mode():
            return tower_features(
                self._model, self.info.name, lambda: self._model.model.vlm.get_image_features(image)
            )

    @property
    def _place(self) -> dict[str, Any]:
        return {"device": self._model.device, "dtype": self._model.dtype}

    def _joints(self, observation: VlaObservation) -> Array | None:
        return joints_seen(self._convention, observation)

    def _inputs(
        self, observations: Sequence[VlaObservation], joints: Sequence[Array | None]
    ) -> dict[str, Any]:
        inputs = self._processor(
            images=[self._images(observation) for observation in observations],
            text=[observation.instruction.strip() for observation in observations],
            padding="longest",
            return_tensors="pt",
        )
        states = [self._state(*item) for item in zip(observations, joints, strict=True)]
        moved = {name: value.to(self._model.device) for name, value in inputs.items()}
        moved["pixel_values"] = moved["pixel_values"].to(self._model.dtype)
        return {**moved, "state": self._torch.from_numpy(np.stack(states)).to(**self._place)}

    def _images(self, observation: VlaObservation) -> list[NDArray[np.uint8]]:
        return [np.ascontiguousarray(frame.rgb) for frame in observation.frames_of(self.info.views)]

    def _state(self, observation: VlaObservation, q_rad: Array | None) -> NDArray[np.float32]:
        plain = state_for(self._convention, observation, q_rad)
        state = self._normalisation.state.first(len(plain)).apply(plain)
        if len(state) > self._state_size:
            expected = f"at most {self._state_size} numbers"
            raise InputError("the checkpoint does not take this state", expected=expected, got=len(state))
        return np.pad(state, (0, self._state_size - len(state))).astype(np.float32)

    def _chunk(self, rows: Array, observation: VlaObservation, q_rad: Array | None) -> ActionChunk:
        statistics = self._normalisation.actions.first(self._convention.numbers)
        return chunk_from_rows(rows, self._convention, observation, statistics, q_rad)


def _normalisation(policy: PolicyOptions, kinds: _Kinds, processor: Any) -> Normalisation:
    """Return the statistics that the user names, else the checkpoint's.

    Raises:
        InputError: There are none.
    """
    if policy.statistics:
        path, key = Path(policy.statistics), policy.statistics_key
        return Normalisation(
            load_statistics(path, key, kind=kinds.state, of_state=True),
            load_statistics(path, key, kind=kinds.actions),
        )
    for kind, feature in ((kinds.actions, "actions"), (kinds.state, "state")):
        if kind is not StatisticsKind.MOMENTS:
            raise InputError(
                f"the checkpoint keeps no {kind} of its {feature}",
                expected="policy.statistics: the norm_stats.json of its training data",
            )
    return Normalisation(_own(processor, "state"), _own(processor, "actions"))


def _own(processor: Any, feature: str) -> Statistics:
    values = [getattr(processor, f"{feature}_{word}", None) for word in ("mean", "std")]
    if any(value is None for value in values):
        raise InputError(
            f"the checkpoint has no statistics of its {feature}",
            expected="policy.statistics: the norm_stats.json of its training data",
        )
    mean, std = (np.asarray(value, dtype=np.float64) for value in values)
    is_action = feature == "actions"
    return checked_statistics(
        StatisticsKind.MOMENTS, mean, std, f"the checkpoint's {feature}", varies=is_action
    )


def _kinds(policy: PolicyOptions, config: Mapping[str, Any]) -> _Kinds:
    """Return the kind that the user chooses, else those of the weights' config, else that of pi0 weights.

    Raises:
        UsageError: The config names a kind that is neither, or only one of state and actions.
    """
    if policy.statistics_kind is not StatisticsKind.AUTO:
        return _Kinds(policy.statistics_kind, policy.statistics_kind)
    mapping = config.get(_MAPPING)
    words = mapping if isinstance(mapping, Mapping) else {}
    if words.get(_STATE) is None and words.get(_ACTIONS) is None:
        # of openpi's families, pi0 alone normalises with mean and deviation, and this is pi0
        return _Kinds(StatisticsKind.MOMENTS, StatisticsKind.MOMENTS)
    return _Kinds(_kind_of(_STATE, words), _kind_of(_ACTIONS, words))


def _kind_of(feature: str, words: Mapping[str, Any]) -> StatisticsKind:
    word = words.get(feature)
    if word not in _KINDS:
        choices = [kind for kind in StatisticsKind if kind is not StatisticsKind.AUTO]
        raise UsageError(
            f"{_MAPPING} of the checkpoint: {feature}", expected=_CHOICE, got=word, available=choices
        )
    return _KINDS[word]


def _version(
    checkpoint: Checkpoint, policy: PolicyOptions, convention: ActionConvention, loaded: LoadedModel
) -> str:
    """Return the checkpoint's revision and a hash of everything else that its actions depend on."""
    choices: dict[str, Any] = {
        "convention": repr(convention),
        "seed": policy.seed,
        "steps": policy.denoising_steps,
        "statistics": Path(policy.statistics).read_text(encoding="utf-8") if policy.statistics else "",
        "key": policy.statistics_key,
        "views": policy.views,
    }
    if policy.statistics:
        kinds = _kinds(policy, checkpoint.config)
        choices["kind"] = kinds.actions if kinds.state is kinds.actions else [kinds.state, kinds.actions]
    digest = hashlib.sha256(json.dumps(choices, sort_keys=True).encode()).hexdigest()[:_LETTERS]
    return f"{checkpoint.revision}-{digest}-{str(loaded.model.dtype).removeprefix('torch.')}"
