"""What a recording says of how it was made: taken over where numbers depend on it, and never a consent."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.recording.trial_reading import METADATA
from embodied_iqa.models.subjects.catalogue import StatisticsKind
from embodied_iqa.runs.graph import recorded_graph
from embodied_iqa.runs.graph.parameters import VlmParameters


def record(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    """Let every recording hold these values."""
    named = {name.replace("__", "."): value for name, value in values.items()}
    reader = SimpleNamespace(metadata=lambda: {METADATA: named})
    monkeypatch.setattr(recorded_graph, "TrialReader", lambda _path: nullcontext(reader))


def test_words_are_chosen_again_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    record(
        monkeypatch,
        vlm_node__subject="classical-vlm",
        vlm_node__decoding__max_new_tokens="17",
        vlm_node__decoding__temperature="0.5",
        vlm_node__loading__allow_network="True",
        vlm_node__loading__trust_remote_code="True",
        vlm_node__decoding__of_another_version="1",
    )
    vlm = recorded_graph.graph_of_recording(Path("trial.mcap")).graph.vlm_node
    assert isinstance(vlm, VlmParameters)
    assert (vlm.decoding.max_new_tokens, vlm.decoding.temperature) == (17, 0.5)
    assert not vlm.loading.allow_network
    assert not vlm.loading.trust_remote_code


def test_what_a_policys_numbers_mean_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    record(
        monkeypatch,
        vla_node__subject="openpi://127.0.0.1:8000",
        vla_node__policy__convention="pi0-base",
        vla_node__policy__views="top,wrist",
        vla_node__policy__statistics="/of/another/machine.json",
        vla_node__policy__statistics_kind="mean-std",
        vla_node__policy__seed="3",
        vla_node__server__key_env="A_SECRET",
    )
    vla = recorded_graph.graph_of_recording(Path("trial.mcap")).graph.vla_node
    policy = vla.policy
    assert (policy.convention, policy.views, policy.seed) == ("pi0-base", "top,wrist", 3)
    assert policy.statistics_kind is StatisticsKind.MOMENTS
    assert not policy.statistics
    assert not vla.server.key_env


def test_a_value_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    record(monkeypatch, vlm_node__decoding__seed="many")
    with pytest.raises(InputError, match=r"trial\.mcap has a wrong vlm_node\.decoding\.seed; got 'many'"):
        recorded_graph.graph_of_recording(Path("trial.mcap"))


def test_the_judge_is_that_of_the_recording_unless_a_file_sets_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def judge(*files: Path) -> str:
        return str(recorded_graph.graph_of_recording(Path("trial.mcap"), files).graph.gate_node.judge.kind)

    other = tmp_path / "other.yaml"
    other.write_text("gate_node: {ros__parameters: {judge: {kind: statistics}}}")
    record(monkeypatch, gate_node__judge__kind="learned", vla_node__subject="panel-vla-side")
    assert (judge(), judge(other)) == ("learned", "statistics")
    record(monkeypatch, vla_node__subject="panel-vla-query")
    assert judge() == "statistics", "recorded before there were other judges"


def test_a_playback_in_a_namespace_takes_the_sections_of_its_nodes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "cells.yaml"
    path.write_text(
        "/cell1/gate_node: {ros__parameters: {judge: {kind: statistics}}}\n"
        "/cell2/gate_node: {ros__parameters: {}}\n"
    )
    record(monkeypatch, gate_node__judge__kind="learned", vla_node__subject="panel-vla-side")
    recording = Path("trial.mcap")
    here = recorded_graph.graph_of_recording(recording, (path,), namespace="/cell1").graph
    other = recorded_graph.graph_of_recording(recording, (path,), namespace="/cell2").graph
    assert [str(graph.gate_node.judge.kind) for graph in (here, other)] == ["statistics", "learned"]


def test_a_lease_named_at_any_node_replaces_that_of_the_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    def ttl_s(**overrides: object) -> float:
        values = {name.replace("__", "."): value for name, value in overrides.items()}
        graph = recorded_graph.graph_of_recording(Path("trial.mcap"), overrides=values).graph
        return graph.gate_node.judge.lease.ttl_s

    record(monkeypatch, gate_node__judge__lease__ttl_s="0.45")
    assert ttl_s() == 0.45
    assert ttl_s(gate_node__judge__lease__ttl_s=0.3) == 0.3
    assert ttl_s(arm_node__controller__lease__ttl_s=0.3) == 0.3
