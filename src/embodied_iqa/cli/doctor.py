"""`embodied-iqa doctor`: what works on this machine, what does not, and how to fix it."""

from __future__ import annotations

import argparse
import dataclasses
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from embodied_iqa import __version__
from embodied_iqa.base.lazy import has_module
from embodied_iqa.base.resources import source_checkout
from embodied_iqa.cli.checks import hardware, machine, python, ros
from embodied_iqa.cli.checks.finding import Check, Finding, Status
from embodied_iqa.cli.output import program

_TRIAL: Final = "trial"
_GATE: Final = "gate"
_ROS: Final = "ros"
_ROBOT: Final = "robot"
_MODELS: Final = "models"
USES: Final = {
    _TRIAL: "the simulated trial",
    _GATE: "the gate",
    _ROS: "the gate as a ROS node",
    _ROBOT: "a trial with the robot",
    _MODELS: "a large model in this process",
}
"""Words of --for, and what they mean."""
_NEEDED = frozenset({_GATE, _ROS})

CHECKS = (
    Check("Python", python.python_version, _NEEDED | {_MODELS}),
    Check("Python", python.gate_works, _NEEDED),
    Check("Python", python.packages),
    Check("ROS", ros.rclpy_works, frozenset({_ROS})),
    Check("ROS", ros.interfaces, frozenset({_ROS})),
    Check("ROS", ros.middleware, frozenset({_ROS})),
    Check("ROS", ros.log_folder, frozenset({_ROS})),
    Check("ROS", ros.launching),
    Check("machine", machine.processors),
    Check("machine", machine.disk),
    Check("machine", machine.shared_memory),
    Check("machine", machine.leftovers),
    Check("machine", machine.rendering),
    Check("robot", hardware.realsense, frozenset({_ROBOT})),
    Check("robot", hardware.universal_robots, frozenset({_ROBOT})),
    Check("models", hardware.models, frozenset({_MODELS})),
)
_MARKS = {Status.OK: "[green]ok[/]", Status.MISSING: "[yellow]missing[/]", Status.BROKEN: "[red]broken[/]"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    use = f"what the exit code is for (default {_TRIAL}, or {_GATE} where a package without ROS is installed)"
    parser.add_argument("--for", dest="use", choices=[*USES], help=use)
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Check the machine; return 0 if everything works that the simulated trial, or another use, needs."""
    use: str = arguments.use or usual_use()
    findings = examine(use)
    whole = not any(finding.stops for _, finding in findings)
    if arguments.json:
        print(json.dumps(_as_data(findings, use, whole=whole), indent=2))
    else:
        _print(findings, _verdict(findings, use, whole=whole), whole=whole)
    return 0 if whole else 1


def usual_use() -> str:
    """Return the default use: the gate where a wheel without ROS is installed, a trial elsewhere."""
    return _TRIAL if has_module("rclpy") or source_checkout() is not None else _GATE


def examine(use: str = _TRIAL) -> list[tuple[str, Finding]]:
    """Run the checks, two at a time; return group and finding in the order of the checks.

    Args:
        use: One of `USES`; what it needs is required.
    """
    with ThreadPoolExecutor(max_workers=2) as pool:
        results = pool.map(_findings, CHECKS)
        return [
            (check.group, dataclasses.replace(finding, required=_is_needed(check, finding, use)))
            for check, found in zip(CHECKS, results, strict=True)
            for finding in found
        ]


def _is_needed(check: Check, finding: Finding, use: str) -> bool:
    return use in check.uses or (use in {_TRIAL, _ROBOT} and finding.required)


def _findings(check: Check) -> list[Finding]:
    try:
        return check.run()
    except Exception as error:  # noqa: BLE001 - a failed check is a finding; the other checks go on
        name = getattr(check.run, "__name__", "check").replace("_", " ")
        reason = f"the check itself failed: {type(error).__name__}: {error}"
        return [Finding(name, Status.BROKEN, reason, "please report this", required=True)]


def _as_data(findings: list[tuple[str, Finding]], use: str, *, whole: bool) -> dict[str, object]:
    checks = [{"group": group, **dataclasses.asdict(finding)} for group, finding in findings]
    return {"version": __version__, "for": use, "ok": whole, "checks": checks}


def _verdict(findings: list[tuple[str, Finding]], use: str, *, whole: bool) -> str:
    optional = sum(1 for _, finding in findings if finding.status is not Status.OK and not finding.required)
    if not whole:
        names = [finding.name for _, finding in findings if finding.stops]
        gate = [finding for _, finding in findings if finding.name == python.GATE]
        works = "the gate works; " if gate and gate[0].status is Status.OK and use != _GATE else ""
        return f"{works}{USES[use]} cannot run yet: {', '.join(names)}"
    remark = f" ({optional} optional findings)" if optional else ""
    then = f": {program()} trial" if use == _TRIAL else ""
    if use == _GATE:
        then = "; for another use: doctor --for trial"
    return f"everything that {USES[use]} needs works{remark}{then}"


def _print(findings: list[tuple[str, Finding]], verdict: str, *, whole: bool) -> None:
    try:
        from rich.console import Console
        from rich.markup import escape

        from embodied_iqa.cli.output import console, table_of
    except ImportError:
        _print_plainly(findings, verdict)
        return
    table = table_of("what", "state", "found, and how to fix it", title=f"embodied-iqa {__version__}")
    before = ""
    for group, finding in findings:
        if group != before:
            table.add_row(f"[bold]{group}[/]", "", "")
        before = group
        note = _note(finding)
        texts = [escape(text) for text in (finding.detail, finding.fix) if text]
        state = _MARKS[finding.status] + (note and f"\n({note})")
        table.add_row(f"  {finding.name}", state, "\n[dim]fix:[/] ".join(texts))
    output: Console = console()
    output.print(table)
    output.print(escape(verdict), style="bold green" if whole else "bold red")


def _note(finding: Finding) -> str:
    """Return what a finding means for a use that does not need it; empty where it does."""
    if finding.required:
        return ""
    return "not needed" if finding.status is Status.BROKEN else "optional"


def _print_plainly(findings: list[tuple[str, Finding]], verdict: str) -> None:
    for group, finding in findings:
        fix, note = f" -> {finding.fix}" if finding.fix else "", _note(finding)
        print(f"{group:8} {finding.name:18} {finding.status:8} {finding.detail}{fix}{note and f' ({note})'}")
    print(verdict)
