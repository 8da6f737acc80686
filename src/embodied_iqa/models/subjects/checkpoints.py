"""Checkpoints in a folder or a repository, inspected and hashed before anything is loaded.

A checkpoint is untrusted data. Weights are read from safetensors only: opening the pickles of `.bin` and
`.pt` can run code. Python code in a checkpoint runs only if the user consents and names its exact revision.
File names inside its files never leave its folder.
"""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.files import write_json_whole
from embodied_iqa.base.lazy import load
from embodied_iqa.base.user_folders import cache_folder
from embodied_iqa.models.subjects.reference import SubjectReference
from embodied_iqa.models.subjects.repositories import INSTALL_MODELS, find_snapshot
from embodied_iqa.models.subjects.safetensors_header import WeightsSize, read_size
from embodied_iqa.models.subjects.subject_options import LoadingOptions, Progress

_KINDS: Final = frozenset({".json", ".jinja", ".txt", ".model", ".py", ".safetensors", ".tiktoken"})
_LARGE_BYTES: Final = 1_000_000
"""Hashes of files of at least this size are stored."""
_MOST_REMEMBERED: Final = 2000


def fingerprint_of(folder: Path) -> str:
    """Return a hash of a checkpoint's files: names and contents; 64 hexadecimal digits.

    Raises:
        InputError: A file cannot be read.
    """
    memory = _remembered()
    known = len(memory)
    whole = hashlib.sha256()
    try:
        for file in sorted(item for item in folder.iterdir() if item.is_file() and item.suffix in _KINDS):
            whole.update(f"{file.name}\0{_hash_of(file, memory)}\n".encode())
    except OSError as error:
        raise InputError(f"cannot read {error.filename}: {error.strerror}") from None
    if len(memory) != known:
        _remember(memory)
    return whole.hexdigest()


def _hash_of(file: Path, memory: dict[str, str]) -> str:
    state = file.stat()
    key = f"{file.resolve()} {state.st_size} {state.st_mtime_ns} {state.st_ino}"
    if key in memory:
        return memory[key]
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if state.st_size >= _LARGE_BYTES:
        memory[key] = digest
    return digest


def _store() -> Path:
    return cache_folder() / "fingerprints.json"


def _remembered() -> dict[str, str]:
    try:
        value = json.loads(_store().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(value, dict):
        return {}
    return {str(key): str(digest) for key, digest in value.items()}


def _remember(memory: dict[str, str]) -> None:
    """Store the newest hashes; if that fails, they are computed again next time."""
    with suppress(InputError):
        write_json_whole(_store(), dict(list(memory.items())[-_MOST_REMEMBERED:]))


_PICKLES: Final = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".h5", ".msgpack", ".npz")
_MOST_JSON_BYTES: Final = 64_000_000
_COMMIT: Final = re.compile(r"[0-9a-f]{12,64}\Z")
_CODE_KEY: Final = "auto_map"
_INDEX: Final = "*.safetensors.index.json"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint that can be loaded.

    Attributes:
        folder: Folder on this machine.
        revision: Commit of the repository, or fingerprint of the folder's content: 12 hexadecimal digits.
        config: Its config.json.
        weights: Its safetensors files.
        size: Size of all weights.
        runs_code: It carries code that has to run, with the user's consent.
    """

    folder: Path
    revision: str
    config: dict[str, Any]
    weights: tuple[Path, ...]
    size: WeightsSize
    runs_code: bool

    @property
    def family(self) -> str:
        """Model type in transformers."""
        return str(self.config.get("model_type", ""))


def open_checkpoint(reference: SubjectReference, loading: LoadingOptions, progress: Progress) -> Checkpoint:
    """Find a checkpoint, fetch it with the user's consent, and inspect it; none of its code is run.

    Raises:
        UsageError: A consent or a revision is missing.
        InputError: It is missing, incomplete, or of a kind that is not loaded.
    """
    folder, revision = _locate(reference, loading, progress)
    config = read_json(folder / "config.json")
    weights = _weights(folder)
    size = sum((read_size(file) for file in weights), WeightsSize())
    if not revision:
        progress(f"reading {size.stored_bytes / 1e9:.2f} GB for the fingerprint of {folder}")
        revision = fingerprint_of(folder)
    runs_code = _check_code(folder, reference, loading, revision)
    return Checkpoint(folder, revision[:12], config, weights, size, runs_code)


def read_json(file: Path, most_bytes: int = _MOST_JSON_BYTES) -> dict[str, Any]:
    """Read a JSON object of at most ``most_bytes``.

    Raises:
        InputError: The file is missing, too large, or something else.
    """
    try:
        if file.stat().st_size > most_bytes:
            raise InputError(f"{file} is too large", expected=f"at most {most_bytes} bytes")
        value = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{file} is not JSON") from None
    if not isinstance(value, dict):
        raise InputError(f"{file} is not a JSON object", got=type(value).__name__)
    return value


def _locate(reference: SubjectReference, loading: LoadingOptions, progress: Progress) -> tuple[Path, str]:
    """Return folder and commit; the commit is empty for a folder outside a repository."""
    if reference.is_local_folder:
        return Path(reference.target).expanduser().resolve(), ""
    if reference.target.startswith((".", "/", "~")):
        raise InputError(f"no checkpoint: {reference.target} is not a folder")
    return find_snapshot(reference, allow_network=loading.allow_network, progress=progress)


def _weights(folder: Path) -> tuple[Path, ...]:
    """Return the safetensors files of the model.

    Raises:
        InputError: There are none, or their index is wrong.
    """
    if (folder / "adapter_config.json").is_file():
        raise InputError(f"{folder} holds an adapter", expected="a whole model; merge the adapter first")
    indices = sorted(folder.glob(_INDEX))
    if len(indices) > 1:
        raise InputError(f"{folder} has several indices of weights", available=[i.name for i in indices])
    if indices:
        return _indexed(indices[0])
    found = sorted(folder.glob("*.safetensors"))
    if found:
        return tuple(found)
    pickles = sorted(file.name for file in folder.iterdir() if file.suffix.lower() in _PICKLES)
    if pickles:
        raise InputError(
            f"{folder} has its weights in {pickles[0]}, which is not loaded because it can run code",
            expected="safetensors; convert them where running that code is acceptable, with "
            "transformers' AutoModel.from_pretrained(...).save_pretrained(NEW_FOLDER)",
        )
    raise InputError(f"{folder} has no weights", expected="*.safetensors")


def _indexed(index: Path) -> tuple[Path, ...]:
    table = read_json(index).get("weight_map")
    if not isinstance(table, dict) or not table:
        raise InputError(f"{index} has no weight_map")
    names = {str(name) for name in table.values()}
    for name in sorted(names):
        if Path(name).name != name or not name.endswith(".safetensors"):
            raise InputError(
                f"{index} names files outside its folder or of another type",
                expected="*.safetensors",
                got=name,
            )
    files = tuple(index.parent / name for name in sorted(names))
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        raise InputError(f"{index.parent} lacks {len(missing)} of {len(files)} files", got=missing[0])
    return files


def _check_code(folder: Path, reference: SubjectReference, loading: LoadingOptions, revision: str) -> bool:
    """Return whether the checkpoint's own code runs.

    Raises:
        UsageError: It has to, and the user has not consented to this revision.
    """
    carriers = [file for file in sorted(folder.glob("*.json")) if _carries_code(file)]
    if not carriers or _is_native(read_json(folder / "config.json")):
        return False
    what = f"{reference.text} carries Python code ({carriers[0].name}: {_CODE_KEY})"
    if not loading.trust_remote_code:
        raise UsageError(
            what,
            expected="a model that transformers knows, a server with the model's own environment, or, after "
            "you have read the code, --trust-remote-code and a revision",
        )
    if not _COMMIT.match(reference.revision) or not revision.startswith(reference.revision[:12]):
        raise UsageError(
            f"{what}, and the revision that you have read is not given",
            expected=f"transformers:{reference.target}@{revision}",
            got=reference.text,
        )
    return True


def _carries_code(file: Path) -> bool:
    return not file.name.endswith(".index.json") and _CODE_KEY in read_json(file)


def _is_native(config: dict[str, Any]) -> bool:
    """Whether transformers has this model type: then the checkpoint's code is not used."""
    known = load("transformers.models.auto.configuration_auto:CONFIG_MAPPING_NAMES", INSTALL_MODELS)
    return config.get("model_type") in known
