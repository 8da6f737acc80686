"""The graph that rescores a recorded trial: what its numbers depend on is as it was recorded."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final

from embodied_iqa.arm.lease_options import LeaseOptions
from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.config import Parameter, build, named, parameters_of, values_of
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.files import sha256_of
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.trial_reading import METADATA
from embodied_iqa.models.subjects.subject_options import VlaOptions, VlmOptions
from embodied_iqa.quality.gate.calibration_file import gate_file_path, load_gate_file
from embodied_iqa.quality.gate.judge import GateOptions
from embodied_iqa.quality.gate.judgement import JudgeChoice, JudgeKind
from embodied_iqa.runs.graph.lease_parameters import LEASE_GROUPS, link_nodes
from embodied_iqa.runs.graph.node_sections import values_by_node
from embodied_iqa.runs.graph.node_table import (
    nodes_with,
    overrides_by_node,
    parameters_by_node,
    resolve,
)
from embodied_iqa.runs.graph.parameters import GateParameters, GraphParameters, VlaParameters, VlmParameters

_GATE: Final = "gate_node."
_CALIBRATION: Final = f"{_GATE}calibration"
CALIBRATION_SHA256: Final = f"{_CALIBRATION}.sha256"
"""Name under which recordings and results keep the hash of the gate's calibration."""
_TAKEN_OVER: Final = ("gate_node.judge.mode", "vlm_node.subject", "vla_node.subject")
_RULES: Final = f"{_GATE}judge."
_KIND: Final = f"{_RULES}kind"
_LEASE, _MODE = "lease.", "mode"
_IS_PATH: Final = "policy.statistics"
"""Of the machine of the trial: a parameter file names it where the recording is rescored."""
_GROUPS: Final = (("vlm_node", VlmParameters, "decoding."), ("vla_node", VlaParameters, "policy."))
_BOOLEANS: Final = {"True": True, "False": False}
_READ: Final = (
    _CALIBRATION,
    _RULES.removesuffix("."),
    *(f"vlm_node.{group.name}" for group in fields(VlmOptions)),
    *(f"vla_node.{group.name}" for group in fields(VlaOptions)),
)
"""Parameters and groups that rescoring reads where no node runs."""
_LINKED: Final = tuple(f"{node}.{group}" for node, group in LEASE_GROUPS.items())
_RECORDED: Final = (f"{_RULES}{_MODE}", "vla_node.policy.pairing_tolerance_s")
"""In groups that are read, but as recorded."""
_NOTHING: Final = "the gate judges nothing (--calibration FILE names one):"


@dataclass(frozen=True, slots=True)
class RecordedGraph:
    """Parameters with which a recorded trial is rescored.

    Attributes:
        graph: Of every node; of a gate that cannot judge, the mode is off.
        can_judge: Whether the gate's calibration is known and here: that of the trial, or one that the user
            named.
        remarks: What is not known of the gate of the trial, or not here, and what is done instead.
        lacks_repairs: The policy saw repaired images, which cannot be made again.
    """

    graph: GraphParameters
    can_judge: bool
    remarks: tuple[str, ...] = ()
    lacks_repairs: bool = False

    def for_playback(self) -> GraphParameters:
        """Return the parameters of the nodes.

        Raises:
            UsageError: The policy saw repaired images, which cannot be made again.
        """
        if self.lacks_repairs:
            raise UsageError(f"the gate of the trial repaired images, and {self.remarks[-1]}")
        return self.graph


def calibration_identity(calibration: str) -> dict[str, str]:
    """Return the hash of the gate's calibration as metadata; empty where the file is not on this machine.

    Args:
        calibration: As the parameter of the gate names it.
    """
    path = _file_of(calibration)
    return {} if path is None else {CALIBRATION_SHA256: sha256_of(path)}


def played_metadata(recorded: Mapping[str, str], gate: Mapping[str, object]) -> dict[str, str]:
    """Return the metadata of a playback: those of the recording, but of the gate that judges now.

    Args:
        recorded: Metadata of the recording.
        gate: Parameters of the gate.
    """
    kept = {name: text for name, text in recorded.items() if not name.startswith(_GATE)}
    now = {f"{_GATE}{name}": str(value) for name, value in gate.items()}
    return kept | now | calibration_identity(str(gate["calibration"]))


def judged_with(gate: GateParameters, calibration: Path) -> tuple[GateParameters, tuple[str, ...]]:
    """Return the gate with a calibration of the user: without a fit of its judge, statistics judge.

    Returns:
        The parameters, and a remark where statistics judge in place of the judge.

    Raises:
        InputError: The file cannot be read.
    """
    gate, file = replace(gate, calibration=str(calibration.resolve())), load_gate_file(calibration)
    kind = gate.judge.kind
    if kind == JudgeChoice() or any(one.choice == kind for one in file.fitted):
        return gate, ()
    remark = f"the gate judges by statistics: {calibration} holds no fit of the judge {kind}"
    return replace(gate, judge=replace(gate.judge, kind=JudgeChoice())), (remark,)


def refuse_unread(overrides: Mapping[str, object], instead: Mapping[str, str]) -> None:
    """Refuse a parameter that rescoring without nodes does not read; unknown ones are those of `resolve`.

    Args:
        overrides: `node.parameter` to value.
        instead: What to do in place of setting a parameter, by its name.

    Raises:
        UsageError: One is not read.
    """
    for name in overrides:
        node, _, parameter = name.partition(".")
        if not named(parameters_by_node().get(node, ()), parameter):
            continue
        is_read = any(name == read or name.startswith(f"{read}.") for read in (*_READ, *_LINKED))
        if name in instead or name in _RECORDED or not is_read:
            expected = instead.get(name, f"a parameter of {', '.join(_READ)}")
            raise UsageError(f"rescoring does not use {name}", expected=expected)


def graph_of_recording(
    recording: Path,
    files: tuple[Path, ...] = (),
    overrides: Mapping[str, object] | None = None,
    *,
    calibration: Path | None = None,
    namespace: str = "",
) -> RecordedGraph:
    """Resolve the parameters that rescore a recording.

    The subjects, the decoding options of the VLM, the policy options of the VLA (without the path of its
    statistics) and the mode of the gate are those of the recorded trial, never its consents. So are the
    calibration, the judge and the other rules of the gate, unless a file sets another. Every recorded image
    counts.

    Args:
        recording: Of a trial.
        files: See `node_table.resolve`.
        overrides: `node.parameter` to value; they replace what the recording says.
        calibration: Of the gate, in place of that of the trial; without a fit of its judge, statistics judge.
        namespace: Of the nodes, see `node_table.resolve`.

    Raises:
        UserError: The recording or a file cannot be read, or see `node_table.resolve`.
    """
    with TrialReader(recording) as reader:
        recorded = _Recorded(recording, reader.metadata().get(METADATA, {}))
    values = {**recorded.overrides(), **(overrides or {})}
    graph = resolve(files, values, defaults=recorded.rules(), namespace=namespace, only_reads=True)
    named = _named_by_user(files, values, namespace)
    graph = _with_lease(graph, {name: value for name, value in recorded.lease().items() if name not in named})
    if calibration is not None:
        gate, remarks = judged_with(graph.gate_node, calibration)
        return RecordedGraph(replace(graph, gate_node=gate), can_judge=True, remarks=remarks)
    fault, remark = (False, "") if _CALIBRATION in named else recorded.calibration_fault()
    remarks = (remark,) if remark and graph.gate_node.judge.mode is not GateMode.OFF else ()
    if not fault:
        return RecordedGraph(graph, can_judge=True, remarks=remarks)
    lacks_repairs = graph.gate_node.judge.repairs
    return RecordedGraph(_without_judge(graph), can_judge=False, remarks=remarks, lacks_repairs=lacks_repairs)


@dataclass(frozen=True, slots=True)
class _Recorded:
    """What a recording says of how it was made: text by the name of a parameter."""

    path: Path
    metadata: Mapping[str, str]

    def overrides(self) -> dict[str, object]:
        """Return what replaces the user's files."""
        found: dict[str, object] = {
            name: self.metadata[name] for name in _TAKEN_OVER if name in self.metadata
        }
        found |= {f"{node}.newest_only": False for node in nodes_with("newest_only")}
        for node, kind, prefix in _GROUPS:
            for parameter in parameters_of(kind):
                if parameter.name.startswith(prefix) and parameter.name != _IS_PATH:
                    found |= self._value(f"{node}.{parameter.name}", parameter)
        return found

    def rules(self) -> dict[str, object]:
        """Return the gate's calibration and the rules that its verdicts depend on, without the lease.

        Recordings from before there were other judges name none: statistics.
        """
        found: dict[str, object] = {_KIND: str(JudgeKind.STATISTICS)}
        if _CALIBRATION in self.metadata:
            found[_CALIBRATION] = self.metadata[_CALIBRATION]
        for parameter in parameters_of(GateOptions):
            if parameter.name != _MODE and not parameter.name.startswith(_LEASE):
                found |= self._value(_RULES + parameter.name, parameter)
        return found

    def lease(self) -> dict[str, object]:
        """Return the times of a lease: the gate's history of a camera depends on them."""
        found: dict[str, object] = {}
        for parameter in parameters_of(LeaseOptions):
            found |= self._value(f"{_RULES}{_LEASE}{parameter.name}", parameter)
        return found

    def calibration_fault(self) -> tuple[bool, str]:
        """Return whether the calibration of the trial cannot be used, and what a person should know of it."""
        name = self.metadata.get(_CALIBRATION)
        if name is None:
            return True, f"{_NOTHING} the recording does not name a calibration"
        path = _file_of(name)
        if path is None:
            return True, f"{_NOTHING} {name}, the calibration of the trial, is not on this machine"
        digest = self.metadata.get(CALIBRATION_SHA256)
        if digest is None:
            return False, f"the gate judges with {name}: whether it is as in the trial was not recorded"
        if sha256_of(path) != digest:
            return True, f"{_NOTHING} {name} is not as it was in the trial"
        return False, ""

    def _value(self, name: str, parameter: Parameter) -> dict[str, object]:
        """Return a recorded value by its name; empty where there is none.

        Raises:
            InputError: It is not a value of the parameter.
        """
        if name not in self.metadata:
            return {}
        text = self.metadata[name]
        try:
            return {name: _value_of(parameter, text)}
        except (ValueError, KeyError, SyntaxError):
            raise InputError(f"{self.path} has a wrong {name}", got=text) from None


def _value_of(parameter: Parameter, text: str) -> object:
    """Return the value of a parameter that was recorded as text; the class of the text checks the rest."""
    if parameter.is_list:
        return ast.literal_eval(text)
    if parameter.kind is bool:
        return _BOOLEANS[text]
    return parameter.kind(text) if parameter.kind in {int, float} else text


def _file_of(calibration: str) -> Path | None:
    """Return the file that the parameter of the gate names; None where it is not on this machine."""
    try:
        path = gate_file_path(calibration)
    except InputError:  # of another version of this package
        return None
    return path if path.is_file() else None


def _named_by_user(files: Sequence[Path], overrides: Mapping[str, object], namespace: str) -> set[str]:
    """Return the names of the parameters that a file or an override sets; leases are linked."""
    files_layers = [values_by_node(path, parameters_by_node(), namespace) for path in files]
    named: set[str] = set()
    for layer in (*files_layers, overrides_by_node(overrides)):
        link_nodes(layer)
        named |= {f"{node}.{name}" for node, values in layer.items() for name in values}
    return named


def _with_lease(graph: GraphParameters, recorded: Mapping[str, object]) -> GraphParameters:
    """Return parameters whose gate has recorded times of a lease; no arm obeys it, and no world waits."""
    rules, start = graph.gate_node.judge, _RULES + _LEASE
    times = {
        **values_of(rules.lease),
        **{name.removeprefix(start): value for name, value in recorded.items()},
    }
    lease = build(LeaseOptions, times, "the recorded lease")
    return replace(graph, gate_node=replace(graph.gate_node, judge=replace(rules, lease=lease)))


def _without_judge(graph: GraphParameters) -> GraphParameters:
    """Return parameters of a gate that measures nothing."""
    gate = graph.gate_node
    return replace(
        graph,
        gate_node=replace(gate, judge=replace(gate.judge, mode=GateMode.OFF)),
        vla_node=replace(graph.vla_node, repaired=False),
    )
