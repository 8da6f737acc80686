"""How subjects are loaded, reached and asked; every field is a parameter of vlm_node or vla_node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from embodied_iqa.config import ranged
from embodied_iqa.subjects.reference import SubjectReference

__all__ = [
    "CacheOptions",
    "DecodingOptions",
    "Device",
    "LoadingOptions",
    "PolicyOptions",
    "Precision",
    "Progress",
    "ServerOptions",
    "VlaOptions",
    "VlaRequest",
    "VlmOptions",
    "VlmRequest",
    "silent",
]

Progress = Callable[[str], None]
"""Takes a line that says how far loading is."""


def silent(_line: str) -> None:
    """Keep progress to oneself."""


class Device(StrEnum):
    """Where a model computes."""

    AUTO = "auto"
    """The accelerator with the most free memory, else the processor."""
    CPU = "cpu"
    CUDA = "cuda"
    MPS = "mps"


class Precision(StrEnum):
    """Numbers that a model computes with."""

    AUTO = "auto"
    """bfloat16 on an accelerator that has it, else float16; as stored on the processor."""
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"


@dataclass(frozen=True, slots=True)
class LoadingOptions:
    """How a checkpoint is loaded.

    Attributes:
        device: Where the model computes.
        precision: Numbers that it computes with.
        allow_network: Consent to fetch weights and to send pictures to a public API.
        trust_remote_code: Consent to run Python code of a checkpoint; takes a pinned revision too.
        memory_share: Part of the free memory that weights and work may take.
    """

    device: Device = Device.AUTO
    precision: Precision = Precision.AUTO
    allow_network: bool = False
    trust_remote_code: bool = False
    memory_share: float = ranged(0.9, 0.05, 1.0)


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How a server is reached.

    Attributes:
        key_env: Name of the environment variable with the server's key; empty for the catalogue's, or none.
        connect_s: How long connecting may take [s].
        deadline_s: How long one answer may take, with all its repetitions [s].
        retries: Further attempts after a busy or broken server.
        max_answer_bytes: Longest answer that is read [byte].
    """

    key_env: str = ""
    connect_s: float = ranged(5.0, 0.1, 60.0)
    deadline_s: float = ranged(30.0, 0.1, 600.0)
    retries: int = ranged(3, 0, 20)
    max_answer_bytes: int = ranged(4_194_304, 1024, 1_073_741_824)


@dataclass(frozen=True, slots=True)
class DecodingOptions:
    """How a VLM chooses its words.

    Attributes:
        words: About how many words are asked for.
        max_new_tokens: Longest answer [tokens].
        temperature: 0 for the most likely word each time; above, words are drawn with the seed.
        seed: Of the draws.
        batch: Most questions that are answered at once.
    """

    words: int = ranged(10, 1, 500)
    max_new_tokens: int = ranged(64, 1, 4096)
    temperature: float = ranged(0.0, 0.0, 2.0)
    seed: int = ranged(0, 0, 2**31 - 1)
    batch: int = ranged(8, 1, 256)


@dataclass(frozen=True, slots=True)
class CacheOptions:
    """Answers that are kept on disk.

    Attributes:
        enabled: Keep answers and give them again to the same question about the same picture.
        folder: Absolute path; empty for the user's cache folder.
        max_mb: Largest size [MB]; the answers that were not used for longest go first.
    """

    enabled: bool = True
    folder: str = ""
    max_mb: float = ranged(256.0, 0.01, 100_000.0)


@dataclass(frozen=True, slots=True)
class PolicyOptions:
    """What a foreign policy's numbers mean; empty fields are the catalogue's or the server's word.

    Attributes:
        convention: What its actions mean, see docs/reference/action-conventions.md.
        views: The cameras that it gets, separated by commas: one that looks from outside, then the wrist.
        version: Changes whenever its answers can change.
        statistics: File with the statistics of its training data, where the server does not un-normalise.
        statistics_key: Which data set of that file.
        unnorm_key: The same for OpenVLA's server, which then un-normalises itself.
        seed: Of the noise that a diffusion policy starts from.
        denoising_steps: Of a diffusion policy; 0 for as many as the checkpoint says.
    """

    convention: str = ""
    views: str = ""
    version: str = ""
    statistics: str = ""
    statistics_key: str = ""
    unnorm_key: str = ""
    seed: int = ranged(0, 0, 2**31 - 1)
    denoising_steps: int = ranged(0, 0, 1000)


@dataclass(frozen=True, slots=True)
class VlmOptions:
    """All options of a VLM.

    Attributes:
        loading: How a checkpoint is loaded.
        server: How a server is reached.
        decoding: How words are chosen.
        cache: Answers that are kept.
    """

    loading: LoadingOptions = field(default_factory=LoadingOptions)
    server: ServerOptions = field(default_factory=ServerOptions)
    decoding: DecodingOptions = field(default_factory=DecodingOptions)
    cache: CacheOptions = field(default_factory=CacheOptions)


@dataclass(frozen=True, slots=True)
class VlaOptions:
    """All options of a VLA.

    Attributes:
        loading: How a checkpoint is loaded.
        server: How a server is reached.
        policy: What its numbers mean.
    """

    loading: LoadingOptions = field(default_factory=LoadingOptions)
    server: ServerOptions = field(default_factory=ServerOptions)
    policy: PolicyOptions = field(default_factory=PolicyOptions)


@dataclass(frozen=True, slots=True)
class VlmRequest:
    """What a VLM back end is made from."""

    reference: SubjectReference
    options: VlmOptions = field(default_factory=VlmOptions)
    progress: Progress = silent


@dataclass(frozen=True, slots=True)
class VlaRequest:
    """What a VLA back end is made from."""

    reference: SubjectReference
    options: VlaOptions = field(default_factory=VlaOptions)
    progress: Progress = silent
