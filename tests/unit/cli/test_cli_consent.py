"""The consent to run a checkpoint's code reaches whoever loads it, and nobody gets it unasked."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from embodied_iqa.cli.main import main
from embodied_iqa.cli.node_options import add_consent, with_consent


@pytest.mark.parametrize(
    ("words", "nodes", "expected"),
    [
        ([], ("vlm_node",), []),
        (["--set", "a=1"], (), ["a=1"]),
        (["--trust-remote-code"], (), ["loading.trust_remote_code=true"]),
        (
            ["--trust-remote-code", "--set", "a=1"],
            ("vlm_node", "vla_node"),
            ["a=1", "vlm_node.loading.trust_remote_code=true", "vla_node.loading.trust_remote_code=true"],
        ),
    ],
)
def test_the_flag_becomes_options(words: list[str], nodes: tuple[str, ...], expected: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--set", action="append", default=[])
    add_consent(parser)
    assert with_consent(parser.parse_args(words), *nodes) == expected


def test_code_needs_the_flag_and_then_the_very_revision(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("transformers")
    config = {"model_type": "of_its_own", "auto_map": {"AutoModel": "modeling.Own"}}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (tmp_path / "modeling.py").write_text("raise SystemExit('it ran')", encoding="utf-8")
    (tmp_path / "model.safetensors").write_bytes(b"\x02\x00\x00\x00\x00\x00\x00\x00{}")
    words = ["subjects", "calibrate", f"transformers:{tmp_path}", "--role", "vlm", "--scenes", "1"]
    assert main(words) == 2
    assert "--trust-remote-code" in capsys.readouterr().err
    assert main([*words, "--trust-remote-code"]) == 2
    assert "the revision that you have read is not given" in capsys.readouterr().err
