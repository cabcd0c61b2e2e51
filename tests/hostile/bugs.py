"""The seeded bugs: each is a wrapper around a port, and the machine must catch every one."""

import unicodedata
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from opencrab.adapters.web.address import Address
from opencrab.domain.access.authority import Authority
from opencrab.domain.access.impact import Impact
from opencrab.domain.conversation.message import Audience
from opencrab.domain.turn.record import ActionCall, ApprovalDecision, ModelIntent, ModelResult
from opencrab.engine.runtime import Runtime
from opencrab.ports.turn.journal import TurnChange
from opencrab.ports.workspace.files import FileInfo
from tests.hostile.entries.faults import ENTRY_FAULTS
from tests.hostile.faults import FAULTS
from tests.hostile.playing import Totals, play
from tests.hostile.world import Bug, World


class Over:
    """Everything as what is wrapped does it, but for what a subclass does worse."""

    def __init__(self, inner: Any, world: World) -> None:
        self.inner, self.world = inner, world

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class LinesForgetTaint(Over):
    """An agent's lines do not tell that they were written after foreign words."""

    def commit(self, change: TurnChange) -> Any:
        lines = tuple(line.replaced(taint=False) for line in change.lines)
        return self.inner.commit(replace(change, lines=lines))


class TurnsForgetTaint(Over):
    """A turn is clean for whoever takes it: policies and grants count as if it had read nothing."""

    def claim(self, *arguments: Any, **named: Any) -> Any:
        claimed = self.inner.claim(*arguments, **named)
        return claimed and replace(claimed, turn=claimed.turn.replaced(taint=False))

    def lines(self, *arguments: Any, **named: Any) -> Any:
        found = self.inner.lines(*arguments, **named)
        return tuple(
            line.replaced(taint=False, authority=Authority.USER, from_agent=False) for line in found
        )


class PublicAreUsers(Over):
    """Turns of the public run with the authority of a user."""

    def claim(self, *arguments: Any, **named: Any) -> Any:
        claimed = self.inner.claim(*arguments, **named)
        if claimed is None or claimed.turn.authority is not Authority.PUBLIC:
            return claimed
        return replace(claimed, turn=claimed.turn.replaced(authority=Authority.USER))


class PrivateLinesShown(Over):
    """What was said in one session is found in every other one of the agent."""

    def lines(self, session_id: str, **named: Any) -> Any:
        found = self.inner.lines(session_id, **named)
        other = self.inner.lines("safe", limit=5) if session_id != "safe" else ()
        shown = [line.replaced(audience=Audience.ALL, sequence=1) for line in other]
        return (*found, *shown[:1]) if named.get("newest_first") else found


class ApprovedForAnything(Over):
    """An approval is bound to the name of an action, and its arguments may be others."""

    def claim(self, *arguments: Any, **named: Any) -> Any:
        claimed = self.inner.claim(*arguments, **named)
        if claimed is None:
            return None
        decided = [r for r in claimed.records if isinstance(r, ApprovalDecision) and r.approved]
        records = list(claimed.records)
        for decision in decided[-1:]:
            call = self.world.watcher.calls.get((claimed.turn.id, decision.call_id))
            if call is not None and call.name in {"ring_gong", "publish_page", "pin_note"}:
                other = call.replaced(arguments={})
                records = [_swapped(record, call, other) for record in records]
        return replace(claimed, records=tuple(records))


def _swapped(record: Any, call: ActionCall, other: ActionCall) -> Any:
    if isinstance(record, ApprovalDecision) and record.call_id == call.id:
        return record.replaced(argument_hash=other.argument_hash)
    if isinstance(record, ModelResult) and record.answer is not None:
        calls = tuple(other if each.id == call.id else each for each in record.answer.calls)
        return record.replaced(answer=record.answer.replaced(calls=calls))
    return record


class BudgetIgnored(Over):
    """A block is drawn although the budget is used up."""

    def commit(self, change: TurnChange) -> Any:
        draws = tuple(draw.replaced(limit_micro_usd=None) for draw in change.draws)
        return self.inner.commit(replace(change, draws=draws))


class ReservedLate(Over):
    """A model is called before the reservation is written."""

    def __init__(self, inner: Any, world: World) -> None:
        super().__init__(inner, world)
        self._kept: dict[str, TurnChange] = {}

    def commit(self, change: TurnChange) -> Any:
        if any(isinstance(record, ModelIntent) for record in change.records):
            self._kept[change.turn.id] = change
            return change.turn
        kept = self._kept.pop(change.turn.id, None)
        if kept is not None:
            change = replace(
                change, expected=kept.expected, records=kept.records + change.records,
                draws=kept.draws + change.draws, facts=kept.facts + change.facts,
            )  # fmt: skip
        return self.inner.commit(change)


class StepsForgotten(Over):
    """Nobody counts how often a turn has called a model."""

    def commit(self, change: TurnChange) -> Any:
        return self.inner.commit(replace(change, turn=change.turn.replaced(attempts=0)))


class DecisionsLost(Over):
    """A decision is written, and its turn is never queued again."""

    def send(self, body: str, *, group: str, deduplication: str) -> Any:
        if "-decision" not in deduplication:
            self.inner.send(body, group=group, deduplication=deduplication)

    def list_overdue(self, *_arguments: Any, **_named: Any) -> Any:
        return ()


class PathsDecoded(Over):
    """Paths are decoded and followed wherever they lead."""

    def read(self, agent_id: str, path: str) -> Any:
        place = self._place(agent_id, path)
        if place is None:
            return self.inner.read(agent_id, path)
        content = place.read_bytes()
        return FileInfo(path, len(content), "0" * 64, "1"), content

    def _place(self, agent_id: str, path: str) -> Any:
        plain = unicodedata.normalize("NFKC", unquote(path)).replace("\\", "/")
        place = self.world.folder / "agents" / agent_id / "workspace" / plain
        return place if place.is_file() else None


class WorkspacesShared(Over):
    """A file that an agent does not have is looked for among the others'."""

    def read(self, agent_id: str, path: str) -> Any:
        other = "kani" if agent_id == "crab" else "crab"
        mine = self.inner.info(agent_id, path)
        return self.inner.read(agent_id if mine and "own" not in path else other, path)


class FilesTrusted(Over):
    """Every file counts as the agent's own writing."""

    def read(self, *arguments: Any, **named: Any) -> Any:
        info, content = self.inner.read(*arguments, **named)
        return replace(info, clean=True), content


class QuarantineIgnored(Over):
    """A skill counts from the moment it was learned."""

    def commit(self, change: TurnChange) -> Any:
        facts = tuple(_active(fact) for fact in change.facts)
        return self.inner.commit(replace(change, facts=facts))


def _active(fact: Any) -> Any:
    if fact.kind != "skill" or fact.body is None:
        return fact
    return fact.replaced(body={**fact.body, "status": "active", "tainted": False})


class InnerCheckSkipped(Over):
    """An action is taken for as harmless as `use_action`, through which it can be reached."""

    def find(self, name: str) -> Any:
        action = self.inner.find(name)
        if action is None or action.name.startswith(("send_", "web_")):
            return action
        return replace(action, impact=Impact.READ, impact_of=None)


class PeersMayAll(Over):
    """Every action is one of those few that peers may cause."""

    def find(self, name: str) -> Any:
        action = self.inner.find(name)
        return action and replace(action, for_peers=True)


class LevelForgotten(Over):
    """What a call touches is judged by its action alone, whatever its arguments are."""

    def find(self, name: str) -> Any:
        action = self.inner.find(name)
        return action and replace(action, impact_of=None)


class RepeatsUnseen(Over):
    """Equal calls look different to the guard against repeats."""

    def get(self, name: str | None) -> Any:
        return _Numbering(self.inner.get(name), self.world)


class _Numbering(Over):
    def chat(self, *request: Any) -> Any:
        answer = self.inner.chat(*request)
        counts = self.world.watcher.counts
        calls = []
        for call in answer.calls:
            counts["numbered"] += 1
            calls.append(call.replaced(raw=str(counts["numbered"])))
        return answer.replaced(calls=tuple(calls))


class AllowedBySubstring(Over):
    """An address is allowed if an allowed host stands anywhere in it."""

    def __init__(self, inner: Any, world: World) -> None:
        super().__init__(inner, world)
        inner._allowed = self

    def prefix(self, address: Any) -> str | None:
        url = address.url if isinstance(address, Address) else str(address)
        return url if "docs.example.org" in url or "wild.example.net" in url else None

    def __str__(self) -> str:
        return "docs.example.org"


class Seeded(Bug):
    """A bug in place of one port of the runtime, or of its home."""

    def __init__(self, over: type[Over], *ports: str) -> None:
        self.name = over.__name__
        self._over, self._ports = over, ports or ("journal",)

    def seed(self, runtime: Runtime, world: World) -> Runtime:
        for port in self._ports:
            above = port in {"actions", "models", "web", "search"}
            inner = getattr(runtime if above else runtime.home, port)
            changed: dict[str, Any] = {port: self._over(inner, world)}
            if above:
                runtime = replace(runtime, **changed)
            else:
                runtime = replace(runtime, home=replace(runtime.home, **changed))
        return runtime


BUGS: tuple[Bug, ...] = (
    Seeded(LinesForgetTaint),
    Seeded(TurnsForgetTaint),
    Seeded(PublicAreUsers),
    Seeded(PrivateLinesShown),
    Seeded(ApprovedForAnything),
    Seeded(BudgetIgnored),
    Seeded(ReservedLate),
    Seeded(StepsForgotten),
    Seeded(DecisionsLost, "turns", "journal"),
    Seeded(PathsDecoded, "files"),
    Seeded(WorkspacesShared, "files"),
    Seeded(FilesTrusted, "files"),
    Seeded(QuarantineIgnored),
    Seeded(InnerCheckSkipped, "actions"),
    Seeded(PeersMayAll, "actions"),
    Seeded(LevelForgotten, "actions"),
    Seeded(RepeatsUnseen, "models"),
    Seeded(AllowedBySubstring, "web"),
    *FAULTS,
    *ENTRY_FAULTS,
)


def hunt(bug: Bug, place: Any = None, runs: int = 150, first: int = 0) -> tuple[str, str] | None:
    """The seed of the first run that catches a bug, and what it says."""
    for number in range(first, first + runs):
        found = play(place, f"hunt/{number}", Totals(), bug=bug)
        if found:
            return f"hunt/{number}", found[0]
    return None
