"""Options of subjects; every field is a parameter of vlm_node or vla_node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.config import ranged
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.frame import View, parse_view
from embodied_iqa.models.subjects.alternative_names import OR
from embodied_iqa.models.subjects.catalogue import StatisticsKind
from embodied_iqa.models.subjects.reference import SubjectReference

Progress = Callable[[str], None]
"""Takes a line about the progress of loading."""


def silent(_line: str) -> None:
    """Ignore progress."""


OWN_SAMPLING: Final = -1.0
"""Temperature of servers whose models take none."""


class Device(StrEnum):
    """Compute device of a model."""

    AUTO = "auto"
    """Accelerator with the most free memory, else the processor."""
    CPU = "cpu"
    CUDA = "cuda"
    MPS = "mps"


class Precision(StrEnum):
    """Number type of a model."""

    AUTO = "auto"
    """bfloat16 on an accelerator that supports it, else float16; as stored on the processor."""
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"


class Acts(StrEnum):
    """When a policy of the embedded panel acts."""

    WHEN_SEEN = "when-seen"
    """It refuses where its images seem not to show the object of the task."""
    ALWAYS = "always"
    """It never refuses, as most policies."""

    def version_of(self, version: str) -> str:
        """Return the version of a policy that acts like this; one that never refuses is another subject."""
        return version if self is Acts.WHEN_SEEN else f"{version}-{self}"

    def policy_of(self, name: str) -> str:
        """Return the name of a policy for what is fitted to it, such as ``panel-vla-query (acts always)``."""
        return name if self is Acts.WHEN_SEEN else f"{name} (acts {self})"

    @staticmethod
    def of_version(version: str) -> Acts:
        """Return how a policy acts, see `version_of`."""
        return Acts.ALWAYS if version.endswith(f"-{Acts.ALWAYS}") else Acts.WHEN_SEEN


@dataclass(frozen=True, slots=True)
class LoadingOptions:
    """Loading of a checkpoint.

    Attributes:
        device: Compute device.
        precision: Number type.
        allow_network: Consent to fetch weights and to send images to a public API.
        trust_remote_code: Consent to run Python code of a checkpoint; needs a pinned revision too.
        memory_share: Share of the free memory that the model may use.
    """

    device: Device = Device.AUTO
    precision: Precision = Precision.AUTO
    allow_network: bool = False
    trust_remote_code: bool = False
    memory_share: float = ranged(0.9, 0.05, 1.0)


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Connection to a server.

    Attributes:
        key_env: Environment variable with the server's key; empty for the catalogue's, or none.
        connect_s: Longest time to connect [s].
        deadline_s: Longest time of an answer, including retries [s].
        retries: Further attempts if the server is busy or the connection breaks.
        max_answer_bytes: Longest answer [byte].
    """

    key_env: str = ""
    connect_s: float = ranged(5.0, 0.1, 60.0)
    deadline_s: float = ranged(30.0, 0.1, 600.0)
    retries: int = ranged(3, 0, 20)
    max_answer_bytes: int = ranged(4_194_304, 1024, 1_073_741_824)


@dataclass(frozen=True, slots=True)
class DecodingOptions:
    """Decoding of a VLM.

    Attributes:
        words: Approximate number of words in the prompt's request.
        max_new_tokens: Longest answer [tokens].
        temperature: 0 for greedy decoding; above 0, words are sampled with the seed. `OWN_SAMPLING` sends a
            server none, and it samples as it does.
        seed: Seed of the sampling.
        batch: Most questions that are answered at once.
    """

    words: int = ranged(10, 1, 500)
    max_new_tokens: int = ranged(64, 1, 4096)
    temperature: float = ranged(0.0, OWN_SAMPLING, 2.0)
    seed: int = ranged(0, 0, 2**31 - 1)
    batch: int = ranged(8, 1, 256)

    def __post_init__(self) -> None:
        if not (0 <= self.temperature <= 2 or self.temperature == OWN_SAMPLING):  # NaN too
            expected = f"0 to 2, or {OWN_SAMPLING:g}: the server's own sampling"
            raise UsageError("wrong decoding.temperature", expected=expected, got=self.temperature)


@dataclass(frozen=True, slots=True)
class CacheOptions:
    """Cache of answers on disk.

    Attributes:
        enabled: Reuse the answer to the same question about the same image.
        folder: Absolute path; empty for the user's cache folder.
        max_mb: Largest size [MB]; the least recently used answers are removed first.
    """

    enabled: bool = True
    folder: str = ""
    max_mb: float = ranged(256.0, 0.01, 100_000.0)


@dataclass(frozen=True, slots=True)
class PolicyOptions:
    """Options of a policy, mostly of another stack; empty fields follow the catalogue or the server.

    Attributes:
        convention: Action convention, see docs/reference/action-conventions.md.
        views: Its cameras, separated by commas: an outside camera first, then the wrist.
        pairing_tolerance_s: How far the stamps of its images may be from that of its first camera's image
            [s]; 0: equal stamps only. Where no source sets it, 0 in the simulated cell.
        version: Version of the policy; changes whenever its answers can change.
        statistics: File with the statistics of its training data, if the server does not un-normalise.
        statistics_key: Data set in that file.
        statistics_kind: Statistics that the policy's family normalises with; auto follows the catalogue.
        unnorm_key: Data set for OpenVLA's server, which then un-normalises itself.
        seed: Seed of the initial noise of a diffusion policy.
        denoising_steps: Steps of a diffusion policy; 0 for the checkpoint's own number.
        acts: always or when-seen: whether a policy of the embedded panel acts on what it does not see.
    """

    convention: str = ""
    views: str = ""
    pairing_tolerance_s: float = ranged(0.05, 0.0, 1.0)
    version: str = ""
    statistics: str = ""
    statistics_key: str = ""
    statistics_kind: StatisticsKind = StatisticsKind.AUTO
    unnorm_key: str = ""
    seed: int = ranged(0, 0, 2**31 - 1)
    denoising_steps: int = ranged(0, 0, 1000)
    acts: Acts = Acts.WHEN_SEEN

    @property
    def pairing_tolerance_ns(self) -> int:
        """The tolerance in nanoseconds."""
        return round(self.pairing_tolerance_s * SECOND_NS)

    @property
    def named_views(self) -> tuple[View, ...]:
        """The cameras that `views` names; empty for those of the policy.

        Raises:
            UsageError: A name is not that of a view.
        """
        return tuple(parse_view(word.strip()) for word in self.views.split(",") if word.strip())


@dataclass(frozen=True, slots=True)
class VlmOptions:
    """All options of a VLM."""

    loading: LoadingOptions = field(default_factory=LoadingOptions)
    server: ServerOptions = field(default_factory=ServerOptions)
    decoding: DecodingOptions = field(default_factory=DecodingOptions)
    cache: CacheOptions = field(default_factory=CacheOptions)


@dataclass(frozen=True, slots=True)
class VlaOptions:
    """All options of a VLA."""

    loading: LoadingOptions = field(default_factory=LoadingOptions)
    server: ServerOptions = field(default_factory=ServerOptions)
    policy: PolicyOptions = field(default_factory=PolicyOptions)

    def acts_of(self, reference: SubjectReference) -> Acts:
        """Return when a policy acts; one that looks while it acts never refuses, whatever is asked for."""
        return self.policy.acts if reference.step_rate_hz is None else Acts.WHEN_SEEN

    def policy_name(self, reference: SubjectReference) -> str:
        """Return the name of a policy with these options for what is fitted to it, see `Acts.policy_of`."""
        parts = reference.parts or (reference,)
        return OR.join(self.acts_of(part).policy_of(part.text) for part in parts)


@dataclass(frozen=True, slots=True)
class VlmRequest:
    """Input of the factory of a VLM back end.

    Attributes:
        reference: Which VLM.
        options: How it is loaded, reached and queried.
        progress: Takes lines that report how far loading is.
        prompt: Template of its questions, see `subjects.prompt`; empty for that of the catalogue.
        clock: Of its deadlines.
    """

    reference: SubjectReference
    options: VlmOptions = field(default_factory=VlmOptions)
    progress: Progress = silent
    prompt: str = ""
    clock: Clock = MONOTONIC


@dataclass(frozen=True, slots=True)
class VlaRequest:
    """Input of the factory of a VLA back end."""

    reference: SubjectReference
    options: VlaOptions = field(default_factory=VlaOptions)
    progress: Progress = silent
