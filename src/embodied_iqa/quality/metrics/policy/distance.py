"""Policy-feature distance: ``policy-distance:SUBJECT``.

A full-reference metric without annotation or training: how far a distortion moves the features that a policy,
or a VLM, computes of an image before it reads a task.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.frame import View, image_frame
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.reference import parse_reference
from embodied_iqa.models.subjects.registry import make_vla, make_vlm, single_policy
from embodied_iqa.models.subjects.subject_options import CacheOptions, VlmOptions
from embodied_iqa.quality.metrics.functions import required
from embodied_iqa.quality.metrics.input_checks import check_pair
from embodied_iqa.quality.metrics.metric import Image, MetricContext, MetricInfo, Needs
from embodied_iqa.quality.metrics.policy.token_maps import map_distance
from embodied_iqa.world.protocols import FeatureSubject, SubjectInfo, close_subject

KIND: Final = "policy-distance"
_SMALLEST_PX: Final = 8


class PolicyDistance:
    """One minus the cosine of the token maps of two images, ``(T, C)`` taken as one vector.

    0 for equal images, at most 2; lower is better. The features of the last reference are kept, because the
    distorted images of one reference usually follow each other.

    Args:
        subject: Shows its features.
        name: The subject's reference.
    """

    def __init__(self, subject: FeatureSubject, name: str) -> None:
        self._subject = subject
        self._last: tuple[str, NDArray[np.float32]] | None = None
        self.info = MetricInfo(
            f"{KIND}:{name}",
            Needs.REFERENCE,
            higher_is_better=False,
            lowest=0.0,
            highest=2.0,
            source=f"features of {subject.info.name}, version {subject.info.version}",
            smallest_px=_SMALLEST_PX,
        )

    @property
    def subject_info(self) -> SubjectInfo:
        """Description of the subject."""
        return self._subject.info

    def measure(
        self, distorted: Image, reference: Image | None = None, context: MetricContext | None = None
    ) -> float:
        """Return the distance; a camera that is not given counts as the subject's first.

        Raises:
            InputError: No reference, not two images of one size, or the subject has no features.
        """
        return map_distance(*self.token_maps(distorted, reference, context))

    def token_maps(
        self, distorted: Image, reference: Image | None, context: MetricContext | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the ``(T, C)`` features of reference and distorted image.

        Raises:
            InputError: See `measure`.
        """
        reference = required(reference, self.info)
        check_pair(reference, distorted, _SMALLEST_PX)
        view = context.view if context is not None else None
        view = view or self._subject.info.views[0]
        return self._reference_features(reference, view), self.features(distorted, view)

    def features(self, rgb: Image, view: View) -> NDArray[np.float32]:
        """Return the ``(T, C)`` features of an image.

        Raises:
            InputError: The subject has no features.
        """
        return self._subject.features(image_frame(np.ascontiguousarray(rgb), view))

    def close(self) -> None:
        """Release the subject."""
        close_subject(self._subject)

    def _reference_features(self, reference: Image, view: View) -> NDArray[np.float32]:
        key = f"{view} {reference.shape} {hashlib.sha256(reference.tobytes()).hexdigest()}"
        if self._last is None or self._last[0] != key:
            self._last = key, self.features(reference, view)
        return self._last[1]


def make(name: str) -> PolicyDistance:
    """Make the metric of a subject's reference, such as ``panel-vla-query`` or ``openpi://HOST:8000``.

    Raises:
        UserError: The subject cannot be loaded or reached.
        InputError: It shows no features.
    """
    reference = parse_reference(name)
    subject: Any
    if reference.role is Role.VLM:
        subject = make_vlm(reference, VlmOptions(cache=CacheOptions(enabled=False)))
    else:
        subject = make_vla(single_policy(reference))
    if not isinstance(subject, FeatureSubject):
        close_subject(subject)
        raise InputError(
            f"{name} shows no features",
            expected="the embedded panel, a VLM or pi0 in transformers, or an openpi server with features",
        )
    return PolicyDistance(subject, name)
