"""One subject as the catalogue knows it: what it is, where its weights are, and what it takes to run it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from embodied_iqa.errors import InternalError
from embodied_iqa.images.frame import View

__all__ = ["Backend", "Paper", "Role", "SubjectEntry"]

_BYTES_A_PARAMETER: Final = 2.0
"""bfloat16."""
_MEMORY_SHARE: Final = 1.2
_MEMORY_FLOOR_GB: Final = 1.0


class Role(StrEnum):
    """What a subject is scored for."""

    VLM = "vlm"
    """Answers in words: cognition."""
    VLA = "vla"
    """Answers with actions: decision."""


class Backend(StrEnum):
    """What runs a subject."""

    EMBEDDED = "embedded"
    """Part of this package: no weights to fetch, no accelerator."""
    TRANSFORMERS = "transformers"
    """A checkpoint that Hugging Face's transformers loads in this process."""
    OPENAI = "openai"
    """A server that speaks the OpenAI chat completions protocol over HTTP."""
    OPENPI = "openpi"
    """A policy server that speaks openpi's websocket protocol."""
    OPENVLA_HTTP = "openvla-http"
    """A policy server that answers POST /act as OpenVLA's does."""
    PANEL = "panel"
    """A network and its card that `embodied-iqa train panel` made."""
    PYTHON = "python"
    """The user's own code."""


class Paper(StrEnum):
    """Who used the subject."""

    EMBODIED_IQA = "embodied-iqa"
    """One of the 15 + 15 subjects of the Embodied-IQA database."""
    STATIC_EMBODIED_BENCH = "static-embodied-bench"
    """A row of a table of StaticEmbodiedBench."""


@dataclass(frozen=True, slots=True)
class SubjectEntry:
    """A subject.

    Attributes:
        name: Unique, lower case, such as ``qwen2.5-vl-7b``.
        label: As the papers write it.
        role: VLM or VLA.
        backend: What runs it here.
        model_id: Where the weights are or what the server calls it: a repository on the Hugging Face Hub, a
            ``gs://`` folder, the name of a model of an API; empty for embedded subjects.
        revision: Commit of the repository that is meant, or None where none is pinned: the user then gives
            one before anything is fetched.
        licence: Of the weights, as their publisher states it; SPDX where there is such a name.
        parameters_m: Parameters in millions, or None where the publisher does not tell.
        download_gb: Size of the weights [GB], or None for two bytes a parameter.
        memory_gb: Memory that inference takes [GB], or None for an estimate in bfloat16.
        picture_px: Side of the square picture that the model sees [px]; 0 where it takes pictures at their
            own size.
        prompt: A VLM's prompt template, see `subjects.prompt`; empty for a VLA.
        convention: A VLA's action convention, by name; empty for a VLM.
        views: The cameras that it looks at; a VLA's first view is the one that its actions name.
        any_view: A VLM for pictures of any camera; ``views`` then only says which one is shown to it live.
        simulation_only: A VLA of the panel must not move a real arm: it knows simulated images only.
        family: The checkpoint's model type in transformers; empty where transformers does not load it.
        remote_code: Its repository carries Python code that has to run.
        server: What serves it, for those that run elsewhere.
        url: Address of a public API; empty where the user runs the server.
        key_env: Environment variable with the API's key; empty where none is needed.
        papers: Who used it.
        factory: ``module:function`` that makes an embedded subject of a request.
        note: What else one should know, one sentence.
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
    picture_px: int = 0
    prompt: str = ""
    convention: str = ""
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
            raise InternalError(f"catalogue entry {self.name} is not whole")
        if bool(self.prompt) != (self.role is Role.VLM) or bool(self.convention) != (self.role is Role.VLA):
            raise InternalError(f"catalogue entry {self.name} needs a prompt (VLM) or a convention (VLA)")
        if self.any_view and self.role is not Role.VLM:
            raise InternalError(f"catalogue entry {self.name} acts in the frame of one camera, not of any")

    @property
    def is_api(self) -> bool:
        """Whether it is reached through somebody else's service: pictures leave the laboratory."""
        return bool(self.url)

    @property
    def weights_gb(self) -> float | None:
        """Size of the weights [GB], measured or estimated; None where there is nothing to fetch."""
        if self.download_gb is not None or self.parameters_m is None:
            return self.download_gb
        return round(_BYTES_A_PARAMETER * self.parameters_m / 1e3, 2)

    @property
    def needed_gb(self) -> float | None:
        """Memory that inference takes [GB], given or estimated: weights, a fifth more, and 1 GB."""
        if self.memory_gb is not None or self.parameters_m is None:
            return self.memory_gb
        return round(_MEMORY_SHARE * _BYTES_A_PARAMETER * self.parameters_m / 1e3 + _MEMORY_FLOOR_GB, 1)

    @property
    def needs(self) -> tuple[str, ...]:
        """What it takes, in words."""
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
