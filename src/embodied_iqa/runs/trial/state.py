"""State of a trial between two events."""

from __future__ import annotations

from dataclasses import dataclass

from embodied_iqa.base.states import replace
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.runs.trial.protocol import (
    CheckStart,
    Command,
    Reply,
    ReturnToStart,
    RunResult,
    Stage,
    TrialPlan,
    WorldSeen,
)
from embodied_iqa.world.protocols import ChunkStatus


@dataclass(frozen=True, eq=False)
class TrialState:
    """State of a trial.

    Attributes:
        plan: The trial.
        stage: Its stage.
        run_index: The present run.
        pending: Remaining commands of this stage; the first one waits for its reply.
        start_ns: First stamp of the run.
        now_ns: Newest stamp seen.
        moved_ns: When the arm last moved, later by what decisions have taken since.
        held_ns: When the gate last held it, later likewise; the time without motion starts anew then.
        deciding: Whether the policy decides now.
        held: Why the gate keeps the arm from a motion that the policy wants; empty if it does not.
        at_rest: Why the arm does not move, in its own words; empty if it moves or says nothing.
        passed_ns: Stamp of the newest frame on which the gate lets the arm move.
        rejection: Why it does not on the newest other frame.
        rejected_ns: Stamp of that frame; 0 for none.
        asked: Whether the VLM was asked about the run's first frame.
        answered: Answers and failures of the VLM in this run.
        waited: What the policy last waited for before it began this run; empty where it did not wait.
        decided: How the VLA decided in this run; None stands for a failure.
        referenced: Whether it has decided on the undistorted images, or failed to, in this run.
        acts: Its decisions of this run to act.
        moved: Whether the arm has moved in this run.
        world: Newest state of the world in this run.
        ended_ns: When the run was ended, before things come to rest.
        ending: Why the run ends; empty before. Only an emergency stop settles the outcome.
        judged: What a person said of the run, in words; empty where nobody was asked.
        reported: What a node reports of itself, such as a topic without images; empty for nothing. It stays
            as it is while a person is asked how the run went.
        failure: How the VLA failed at its newest decision of this run; empty where it did not.
        emergency: Whether the run ends as an emergency stop.
        by_person: Whether a person ends it.
        settle_until_ns: End of the time for things to come to rest.
        results: Of the runs that ended.
        problem: Why the trial failed; else empty.
        remarks: Problems that did not end the trial.
    """

    plan: TrialPlan
    stage: Stage = Stage.OPEN
    run_index: int = 0
    pending: tuple[Command, ...] = ()
    start_ns: int = 0
    now_ns: int = 0
    moved_ns: int = 0
    held_ns: int = 0
    deciding: bool = False
    held: str = ""
    at_rest: str = ""
    passed_ns: int = 0
    rejection: str = ""
    rejected_ns: int = 0
    asked: bool = False
    answered: int = 0
    waited: str = ""
    decided: frozenset[ChunkStatus | None] = frozenset()
    referenced: bool = False
    acts: int = 0
    moved: bool = False
    world: WorldSeen | None = None
    ended_ns: int = 0
    ending: str = ""
    judged: str = ""
    reported: str = ""
    failure: str = ""
    emergency: bool = False
    by_person: bool = False
    settle_until_ns: int = 0
    results: tuple[RunResult, ...] = ()
    problem: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def fault(self) -> str:
        """What is wrong with the graph in this run: the fault that a node reports, and a VLA that fails."""
        never = "no decision came: " if self.failure and self.decided == {None} else ""
        is_reported = self.failure and self.failure in self.reported
        return "; ".join(filter(None, (self.reported, "" if is_reported else f"{never}{self.failure}")))

    @property
    def is_executing(self) -> bool:
        """Whether the policy may move the arm."""
        return self.stage is Stage.EXECUTE and not self.pending

    @property
    def is_answered(self) -> bool:
        """Whether every question of a run has been answered, which ends one without an arm.

        A receding horizon may skip the undistorted images: then nothing more is being decided.
        """
        has_both = self.referenced or not self.deciding
        return bool(self.decided) and has_both and self.answered >= len(Source) * self.plan.has_vlm

    def goes_back(self, done: Command, reply: Reply) -> bool:
        """Return whether a person is asked whether the way is free, so that a real arm may go back."""
        if reply.ok:
            return False
        if isinstance(done, ReturnToStart):
            return bool(reply.stopped) or self.run_index < self.plan.run_count
        # without a given start, the first run starts where the arm is
        has_start = self.run_index > 0 or self.plan.has_start
        return isinstance(done, CheckStart) and has_start and not reply.stopped

    def from_start(self, stamp_ns: int) -> TrialState:
        """Return the state of a run from a stamp on: what came since the last run ended is of neither."""
        start_ns = max(stamp_ns, self.start_ns)
        state = replace(self, start_ns=start_ns, now_ns=start_ns, moved_ns=start_ns, moved=False)
        state = replace(state, answered=0, decided=frozenset(), referenced=False)
        return replace(state, acts=0, failure="", world=None)

    def without_run(self) -> TrialState:
        """Return the state between two runs, or before another start of the same one."""
        state = replace(
            self, asked=False, held="", rejection="", ending="", judged="", failure="", at_rest=""
        )
        return replace(state, emergency=False, by_person=False, settle_until_ns=0)

    def at(self, stamp_ns: int) -> TrialState:
        """Return the state at a later time; while the policy decides, no time without motion passes."""
        now_ns = max(self.now_ns, stamp_ns)
        if not self.deciding:
            return replace(self, now_ns=now_ns)
        passed_ns = now_ns - self.now_ns
        moved_ns, held_ns = min(self.moved_ns + passed_ns, now_ns), min(self.held_ns + passed_ns, now_ns)
        return replace(self, now_ns=now_ns, moved_ns=moved_ns, held_ns=held_ns)
