"""Checkpoints are looked through before anything of them is read: pickles, code, paths, broken files."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.models.subjects import repositories
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.checkpoints import Checkpoint, fingerprint_of, open_checkpoint
from embodied_iqa.models.subjects.device import FreeMemory, check_fits, free_on_machine, needed_bytes
from embodied_iqa.models.subjects.reference import parse_reference
from embodied_iqa.models.subjects.safetensors_header import WeightsSize, read_size
from embodied_iqa.models.subjects.subject_options import LoadingOptions, silent

TRUSTING = LoadingOptions(trust_remote_code=True)
NO_LOADING = LoadingOptions()


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "model"
    made.mkdir()
    (made / "config.json").write_text(json.dumps({"model_type": "llava"}))
    save_file({"a": np.ones((3, 5), np.float32), "b": np.ones(7, np.float16)}, made / "model.safetensors")
    return made


def look(folder: Path | str, loading: LoadingOptions = NO_LOADING) -> Checkpoint:
    return open_checkpoint(parse_reference(f"transformers:{folder}", Role.VLM), loading, silent)


def write(file: Path, value: Any) -> None:
    file.write_text(json.dumps(value))


def test_a_plain_checkpoint_is_measured(folder: Path) -> None:
    found = look(folder)
    assert (found.family, found.runs_code) == ("llava", False)
    assert found.size == WeightsSize(parameters=22, stored_bytes=74)
    assert found.revision == fingerprint_of(folder)[:12]


def test_the_fingerprint_follows_every_file_that_matters(folder: Path) -> None:
    seen = {fingerprint_of(folder)}
    save_file({"a": np.zeros((3, 5), np.float32), "b": np.ones(7, np.float16)}, folder / "model.safetensors")
    seen.add(fingerprint_of(folder))
    (folder / "chat_template.jinja").write_text("{{ 1 }}")
    seen.add(fingerprint_of(folder))
    assert len(seen) == 3
    (folder / "README.md").write_text("of no matter")
    assert fingerprint_of(folder) in seen


def test_hashes_of_large_files_are_remembered_until_they_change(folder: Path, tmp_path: Path) -> None:
    save_file({"a": np.zeros(400_000, np.float32)}, folder / "model.safetensors")
    first = fingerprint_of(folder)
    store = tmp_path / "cache" / "embodied-iqa" / "fingerprints.json"
    assert len(json.loads(store.read_text())) == 1
    assert fingerprint_of(folder) == first
    save_file({"a": np.ones(400_000, np.float32)}, folder / "model.safetensors")
    assert fingerprint_of(folder) != first
    store.write_text("no json")
    assert fingerprint_of(folder) != first


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "weights.pth", "last.ckpt", "model.PKL"])
def test_pickled_weights_are_refused_with_the_way_out(folder: Path, name: str) -> None:
    (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(b"\x80\x04cos\nsystem\n")
    with pytest.raises(InputError, match=r"can run code; expected safetensors; convert .*save_pretrained"):
        look(folder)


def test_pickles_beside_safetensors_are_not_read(folder: Path) -> None:
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04")
    assert [file.name for file in look(folder).weights] == ["model.safetensors"]


@pytest.mark.parametrize(
    "name",
    ["../other.safetensors", "/etc/passwd", "sub/a.safetensors", "..", "model.bin", "", "a\\..\\b.bin"],
)
def test_an_index_does_not_lead_out_of_its_folder(folder: Path, name: str) -> None:
    write(folder / "model.safetensors.index.json", {"weight_map": {"a": name}})
    with pytest.raises(InputError, match="names files outside its folder or of another type"):
        look(folder)


def test_an_index_names_files_that_are_there(folder: Path) -> None:
    index = folder / "model.safetensors.index.json"
    write(index, {"weight_map": {"a": "model.safetensors", "b": "model-2.safetensors"}})
    with pytest.raises(InputError, match=r"lacks 1 of 2 files; got 'model-2.safetensors'"):
        look(folder)
    write(index, {"weight_map": {}})
    with pytest.raises(InputError, match="no weight_map"):
        look(folder)
    write(index, {"weight_map": {"a": "model.safetensors"}})
    assert look(folder).size.parameters == 22


def test_code_of_a_checkpoint_takes_consent_and_the_very_revision(folder: Path) -> None:
    write(folder / "config.json", {"model_type": "novel", "auto_map": {"AutoModel": "modeling.Novel"}})
    (folder / "modeling.py").write_text("raise SystemExit")
    revision = fingerprint_of(folder)[:12]
    with pytest.raises(UsageError, match=r"carries Python code .*--trust-remote-code"):
        look(folder)
    with pytest.raises(UsageError, match=f"not given; expected transformers:{folder}@{revision}"):
        look(folder, TRUSTING)
    with pytest.raises(UsageError, match="not given"):
        look(f"{folder}@{'0' * 12}", TRUSTING)
    with pytest.raises(UsageError, match="carries Python code"):
        look(f"{folder}@{revision}")
    assert look(f"{folder}@{revision}", TRUSTING).runs_code
    (folder / "modeling.py").write_text("raise SystemExit(1)")
    with pytest.raises(UsageError, match="not given"):
        look(f"{folder}@{revision}", TRUSTING)


def test_code_that_only_the_processor_carries_counts_too(folder: Path) -> None:
    write(folder / "config.json", {"model_type": "novel"})
    write(folder / "processor_config.json", {"auto_map": {"AutoProcessor": "processing.Novel"}})
    with pytest.raises(UsageError, match=r"processor_config\.json: auto_map"):
        look(folder)


def test_code_that_transformers_replaces_is_left_alone(folder: Path) -> None:
    write(folder / "config.json", {"model_type": "llava", "auto_map": {"AutoModel": "modeling.Own"}})
    assert not look(folder).runs_code
    assert not look(folder, TRUSTING).runs_code


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("config.json", "no json", "is not JSON"),
        ("config.json", "[" * 100_000, "is not JSON"),
        ("config.json", "[]", "is not a JSON object"),
        ("model.safetensors", "short", "damaged or not a safetensors file"),
        ("adapter_config.json", "{}", "holds an adapter"),
    ],
)
def test_what_is_broken_is_told(folder: Path, name: str, content: str, words: str) -> None:
    (folder / name).write_text(content)
    with pytest.raises(InputError, match=words):
        look(folder)


def test_what_is_missing_is_told(folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(InputError, match="has no weights"):
        look(folder)
    (folder / "config.json").unlink()
    with pytest.raises(InputError, match=r"cannot read .*config\.json"):
        look(folder)
    with pytest.raises(InputError, match="is not a folder"):
        look(tmp_path / "nowhere")


def test_a_file_that_was_cut_short_is_told(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(InputError, match="damaged or not a safetensors file"):
        look(folder)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=64), st.booleans())
def test_no_bytes_break_the_header_reader(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes, framed: bool
):
    file = tmp_path_factory.mktemp("junk") / "model.safetensors"
    file.write_bytes(struct.pack("<Q", len(junk)) + junk if framed else junk)
    try:
        read_size(file)
    except InputError:
        return
    assert framed


@pytest.mark.parametrize("shape", [[-1, 3], [1.5], "3", None, [True]])
def test_impossible_shapes_are_refused(tmp_path: Path, shape: object) -> None:
    header = json.dumps({"a": {"dtype": "F32", "shape": shape, "data_offsets": [0, 4]}}).encode()
    file = tmp_path / "model.safetensors"
    file.write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
    with pytest.raises(InputError, match="damaged or not a safetensors file"):
        read_size(file)


# --- repositories -----------------------------------------------------------------------------------------


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the hub with one repository, and no way out of this machine."""
    commit = "9" * 40
    repository = tmp_path / "hub" / "models--lab--tiny"
    snapshot = repository / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    write(snapshot / "config.json", {"model_type": "llava"})
    save_file({"a": np.ones(3, np.float32)}, snapshot / "model.safetensors")
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    return snapshot


def test_a_repository_in_the_cache_needs_no_network(hub: Path) -> None:
    for text in ("lab/tiny", f"lab/tiny@{'9' * 40}"):
        found = look(text)
        assert (found.folder, found.revision) == (hub, "9" * 12)


def test_fetching_takes_consent_and_a_revision(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hub.is_dir()
    monkeypatch.setattr(repositories, "_fetch", lambda *_: pytest.fail("was fetched"))
    with pytest.raises(
        UsageError, match=r"lab/other is not on this machine; expected loading\.allow_network"
    ):
        look("lab/other")
    consent = LoadingOptions(allow_network=True)
    with pytest.raises(UsageError, match=r"no pinned revision.*expected transformers:lab/other@COMMIT"):
        look("lab/other", consent)
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(UsageError, match="HF_HUB_OFFLINE forbids"):
        look("lab/other@v1", consent)


def test_a_failed_fetch_is_one_line(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hub.is_dir()
    import huggingface_hub

    def fails(*_: object, local_files_only: bool = False, **__: object) -> str:
        if local_files_only:
            raise FileNotFoundError
        raise RuntimeError("no route\nlong trace")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fails)
    lines: list[str] = []
    reference = parse_reference("transformers:lab/other@v1", Role.VLM)
    with pytest.raises(InputError, match=r"cannot fetch lab/other@v1: RuntimeError: no route$"):
        open_checkpoint(reference, LoadingOptions(allow_network=True), lines.append)
    assert lines == ["fetching lab/other@v1"]


# --- memory -----------------------------------------------------------------------------------------------


def test_the_estimate_grows_with_weights_and_numbers() -> None:
    size = WeightsSize(parameters=8_000_000_000, stored_bytes=16_000_000_000)
    assert needed_bytes(size, None) == needed_bytes(size, 2) == 18_400_000_000
    assert needed_bytes(size, 4) == 36_800_000_000
    assert needed_bytes(WeightsSize(10, 40), None) > 200_000_000


def test_what_does_not_fit_is_refused_with_ways_out() -> None:
    free = FreeMemory("cuda:0", 10_000_000_000, 24_000_000_000)
    check_fits("m", 9_000_000_000, free, 0.9)
    with pytest.raises(InputError, match=r"does not fit on cuda:0; expected 9\.1 GB free; a smaller model"):
        check_fits("m", 9_100_000_000, free, 0.9)


def test_limits_of_a_container_count(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 8000000 kB\nMemFree: 100 kB\nMemAvailable: 6000000 kB\nHugePages: 0\n")
    assert free_on_machine(meminfo, tmp_path) == FreeMemory("the processor", 6_144_000_000, 8_192_000_000)
    (tmp_path / "memory.max").write_text("2000000000\n")
    (tmp_path / "memory.current").write_text("500000000\n")
    assert free_on_machine(meminfo, tmp_path) == FreeMemory("the processor", 1_500_000_000, 2_000_000_000)
    (tmp_path / "memory.max").write_text("max\n")
    assert free_on_machine(meminfo, tmp_path).total_bytes == 8_192_000_000
    assert free_on_machine(tmp_path / "none", tmp_path).free_bytes > 0
