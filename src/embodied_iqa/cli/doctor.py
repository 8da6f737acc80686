"""`embodied-iqa doctor`: what works on this machine, what does not, and how to fix it."""

from __future__ import annotations

import argparse
import dataclasses
import json
from concurrent.futures import ThreadPoolExecutor

from embodied_iqa import __version__
from embodied_iqa.cli.checks import hardware, machine, python, ros
from embodied_iqa.cli.checks.finding import Check, Finding, Status

CHECKS = (
    Check("Python", python.python_version),
    Check("Python", python.gate_works),
    Check("Python", python.packages),
    Check("ROS", ros.rclpy_works),
    Check("ROS", ros.interfaces),
    Check("ROS", ros.middleware),
    Check("ROS", ros.log_folder),
    Check("machine", machine.processors),
    Check("machine", machine.disk),
    Check("machine", machine.shared_memory),
    Check("machine", machine.leftovers),
    Check("machine", machine.rendering),
    Check("robot", hardware.realsense),
    Check("robot", hardware.universal_robots),
    Check("models", hardware.models),
)
_MARKS = {Status.OK: "[green]ok[/]", Status.MISSING: "[yellow]missing[/]", Status.BROKEN: "[red]broken[/]"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Check the machine; return 0 if everything that the simulated trial needs works."""
    findings = examine()
    whole = not any(finding.stops_the_trial for _, finding in findings)
    if arguments.json:
        print(json.dumps(_as_data(findings, whole=whole), indent=2))
    else:
        _print(findings, whole=whole)
    return 0 if whole else 1


def examine() -> list[tuple[str, Finding]]:
    """Run the checks, two at a time; return group and finding in the order of the checks."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        results = pool.map(_findings, CHECKS)
        return [
            (check.group, finding) for check, found in zip(CHECKS, results, strict=True) for finding in found
        ]


def _findings(check: Check) -> list[Finding]:
    try:
        return check.run()
    except Exception as error:  # noqa: BLE001 - a failed check is a finding; the other checks go on
        name = getattr(check.run, "__name__", "check").replace("_", " ")
        reason = f"the check itself failed: {type(error).__name__}: {error}"
        return [Finding(name, Status.BROKEN, reason, "please report this", required=True)]


def _as_data(findings: list[tuple[str, Finding]], *, whole: bool) -> dict[str, object]:
    checks = [{"group": group, **dataclasses.asdict(finding)} for group, finding in findings]
    return {"version": __version__, "ok": whole, "checks": checks}


def _verdict(findings: list[tuple[str, Finding]], *, whole: bool) -> str:
    optional = sum(1 for _, finding in findings if finding.status is not Status.OK and not finding.required)
    if not whole:
        names = [finding.name for _, finding in findings if finding.stops_the_trial]
        gate = [finding for _, finding in findings if finding.name == python.GATE]
        works = "the gate works; " if gate and gate[0].status is Status.OK else ""
        return f"{works}the simulated trial cannot run yet: {', '.join(names)}"
    remark = f" ({optional} optional findings)" if optional else ""
    return f"everything that the simulated trial needs works{remark}: embodied-iqa trial"


def _print(findings: list[tuple[str, Finding]], *, whole: bool) -> None:
    try:
        from rich.console import Console
        from rich.markup import escape

        from embodied_iqa.cli.output import console, table_of
    except ImportError:
        _print_plainly(findings, whole=whole)
        return
    table = table_of("what", "state", "found, and how to fix it", title=f"embodied-iqa {__version__}")
    before = ""
    for group, finding in findings:
        if group != before:
            table.add_row(f"[bold]{group}[/]", "", "")
        before = group
        texts = [escape(text) for text in (finding.detail, finding.fix) if text]
        state = _MARKS[finding.status] + ("" if finding.required else "\n(optional)")
        table.add_row(f"  {finding.name}", state, "\n[dim]fix:[/] ".join(texts))
    output: Console = console()
    output.print(table)
    output.print(escape(_verdict(findings, whole=whole)), style="bold green" if whole else "bold red")


def _print_plainly(findings: list[tuple[str, Finding]], *, whole: bool) -> None:
    for group, finding in findings:
        fix = f" -> {finding.fix}" if finding.fix else ""
        print(f"{group:8} {finding.name:18} {finding.status:8} {finding.detail}{fix}")
    print(_verdict(findings, whole=whole))
