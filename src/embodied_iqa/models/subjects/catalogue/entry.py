"""Entry of the catalogue: description, weights and requirements of a subject."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from embodied_iqa.base.errors import InternalError
from embodied_iqa.imaging.images.frame import View

_BYTES_A_PARAMETER: Final = 2.0
"""bfloat16."""
_MEMORY_SHARE: Final = 1.2
_MEMORY_FLOOR_GB: Final = 1.0


class Role(StrEnum):
    """Role of a subject."""

    VLM = "vlm"
    """Answers in words: cognition."""
    VLA = "vla"
    """Answers with actions: decision."""
    PLANNER = "planner"
    """Answers with a plan of actions as text."""


class Backend(StrEnum):
    """Runtime of a subject."""

    EMBEDDED = "embedded"
    """Part of this package; needs no weights and no accelerator."""
    TRANSFORMERS = "transformers"
    """Checkpoint, loaded by Hugging Face transformers in this process."""
    OPENAI = "openai"
    """Server with the OpenAI chat completions protocol."""
    OPENPI = "openpi"
    """Policy server with openpi's websocket protocol."""
    OPENVLA_HTTP = "openvla-http"
    """Policy server with OpenVLA's HTTP protocol."""
    PANEL = "panel"
    """Network and card of `embodied-iqa train panel`."""
    PYTHON = "python"
    """Code of the user."""
    ALTERNATIVES = "alternatives"
    """Several policies of different cameras."""


class Paper(StrEnum):
    """Paper that used the subject."""

    EMBODIED_IQA = "embodied-iqa"
    """One of the 15 + 15 subjects of the Embodied-IQA database."""
    STATIC_EMBODIED_BENCH = "static-embodied-bench"
    """A row of a table of StaticEmbodiedBench."""


class StatisticsKind(StrEnum):
    """Statistics of the training data with which a family of policies normalises actions and states."""

    AUTO = "auto"
    """As the catalogue or the action convention says."""
    MOMENTS = "mean-std"
    """Mean and standard deviation: Octo, pi0."""
    PERCENTILES = "percentiles"
    """1st and 99th percentile: OpenVLA, CogACT, pi0-FAST, pi0.5."""


@dataclass(frozen=True, slots=True)
class SubjectEntry:
    """A subject.

    Attributes:
        name: Unique, lower case, such as ``qwen2.5-vl-7b``.
        label: Name in the papers.
        role: VLM, VLA or planner; a VLM that reads several images can plan, too.
        backend: Runtime.
        model_id: Repository on the Hugging Face Hub, ``gs://`` folder, or model name of an API; empty for
            embedded subjects.
        revision: Pinned commit of the repository, or None: the user then gives one to fetch it.
        licence: Licence of the weights as published; SPDX if there is such a name.
        parameters_m: Parameters in millions, or None if not published.
        download_gb: Size of the weights [GB], or None for two bytes a parameter.
        memory_gb: Memory that inference takes [GB], or None for an estimate in bfloat16.
        image_px: Side of the square input image [px]; 0 for any size.
        prompt: A VLM's prompt template, see `subjects.prompt`; empty for others.
        convention: A VLA's action convention, by name; empty for others.
        statistics: Statistics with which a VLA's family normalises; auto where it does not, and for others.
        views: Input views; a VLA aims in the first.
        any_view: A VLM for images of any camera; ``views`` then only names its live input.
        simulation_only: Trained on simulated images only: a VLA must not move a real arm.
        family: Model type in transformers; empty if transformers does not load it.
        remote_code: The repository carries Python code that has to run.
        server: Server software, for subjects that run elsewhere.
        url: Address of a public API; empty for a server of the user.
        key_env: Environment variable with the API's key; may be empty.
        papers: Papers that used it.
        factory: ``module:function`` that makes an embedded subject of a request.
        note: Further information, one sentence.
    """

    name: str
    label: str
    role: Role
    backend: Backend
    licence: str
    views: tuple[View, ...]
    model_id: str = ""
    revision: str | None = None
    parameters_m: float | None = None
    download_gb: float | None = None
    memory_gb: float | None = None
    image_px: int = 0
    prompt: str = ""
    convention: str = ""
    statistics: StatisticsKind = StatisticsKind.AUTO
    any_view: bool = False
    simulation_only: bool = False
    family: str = ""
    remote_code: bool = False
    server: str = ""
    url: str = ""
    key_env: str = ""
    papers: tuple[Paper, ...] = ()
    factory: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        embedded = self.backend is Backend.EMBEDDED
        if not self.views or embedded != bool(self.factory) or embedded == bool(self.model_id):
            raise InternalError(f"catalogue entry {self.name} is incomplete")
        if bool(self.prompt) != (self.role is Role.VLM) or bool(self.convention) != (self.role is Role.VLA):
            raise InternalError(f"catalogue entry {self.name} needs a prompt (VLM) or a convention (VLA)")
        if self.any_view and self.role is not Role.VLM:
            raise InternalError(f"catalogue entry {self.name} aims in one camera and cannot accept any")

    @property
    def is_api(self) -> bool:
        """Whether it is a public service: images leave the laboratory."""
        return bool(self.url)

    @property
    def weights_gb(self) -> float | None:
        """Size of the weights [GB], measured or estimated; None if unknown."""
        if self.download_gb is not None or self.parameters_m is None:
            return self.download_gb
        return round(_BYTES_A_PARAMETER * self.parameters_m / 1e3, 2)

    @property
    def needed_gb(self) -> float | None:
        """Memory of inference [GB], given or estimated: weights, a fifth more, and 1 GB."""
        if self.memory_gb is not None or self.parameters_m is None:
            return self.memory_gb
        return round(_MEMORY_SHARE * _BYTES_A_PARAMETER * self.parameters_m / 1e3 + _MEMORY_FLOOR_GB, 1)

    @property
    def needs(self) -> tuple[str, ...]:
        """Requirements in words."""
        words: list[str] = []
        if self.backend is Backend.TRANSFORMERS:
            words.append("torch, torchvision and transformers")
            words.append(f"weights ({self.weights_gb} GB)" if self.weights_gb else "weights")
        if self.server:
            words.append(f"a server: {self.server}")
        if self.is_api:
            words.append(f"consent to use the network and a key in {self.key_env}")
        if self.needed_gb is not None and self.backend is not Backend.EMBEDDED:
            words.append(f"{self.needed_gb} GB of memory where it runs")
        if self.remote_code:
            words.append("consent to run the repository's code, on the machine that serves it")
        return tuple(words)
