"""The watcher: sees every change, call and request below all seeded bugs, and judges it at once."""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.message import Audience, Line
from opencrab.domain.document import Document
from opencrab.domain.skills.skill import SkillStatus
from opencrab.domain.turn.action import Effect, FileDeleted, FileWritten
from opencrab.domain.turn.record import (
    ActionIntent,
    CallResult,
    CallState,
    ModelIntent,
    ModelResult,
    Record,
)
from opencrab.domain.turn.turn import Trigger, Turn
from opencrab.ports.models.model import ChatRequest
from opencrab.ports.turn.action import FAILURE, Action, ActionContext
from opencrab.ports.turn.journal import AdmittedMessage, TurnChange, resolve_record_pointers
from tests.hostile import words
from tests.hostile.entry import Entry
from tests.hostile.goal_books import GoalBooks
from tests.hostile.law import (
    BESIDE,
    FOR_PEERS,
    INSIDERS,
    LOOKING,
    OF_PEERS,
    OUTSIDERS,
    STEPS,
    called_name,
    fingerprint,
    impact_of,
    is_granted,
    is_normal,
    is_same,
    runs_unasked,
)

_RESULT = 64 * 1024
_TOKENS = 24_000

CallKey = tuple[str, str]
"""A turn and the id of one of its calls."""


class Killed(BaseException):
    """The worker's process ends here."""


@dataclass(frozen=True)
class Canary:
    """A text that only some may read: an agent, a session, nobody."""

    token: str
    agent: str | None = None
    session: str | None = None
    not_outsiders: bool = False


@dataclass
class Watcher:
    """Books of what happened; `problems` is what must never have happened.

    `dirty` are the marks that each turn has read, `vouched` those that an owner agreed with.
    """

    home: Any
    canaries: tuple[Canary, ...]
    problems: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    running: str | None = None
    authorities: dict[str, Authority] = field(default_factory=dict)
    dirty: dict[str, set[str]] = field(default_factory=dict)
    vouched: set[str] = field(default_factory=set)
    approved: dict[CallKey, str] = field(default_factory=dict)
    permitted: set[tuple[CallKey, str]] = field(default_factory=set)
    looked: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    grants: list[Any] = field(default_factory=list)
    by_grant: set[CallKey] = field(default_factory=set)
    calls: dict[CallKey, Any] = field(default_factory=dict)
    turns: dict[str, Turn] = field(default_factory=dict)
    results: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    open_intents: dict[str, ModelIntent] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    bills: Counter[str] = field(default_factory=Counter)
    once: Counter[str] = field(default_factory=Counter)
    acting: tuple[Action, Any, ActionContext] | None = None
    policies: dict[str, Any] = field(default_factory=dict)
    effects: dict[str, Effect] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()
    _marks: int = 0

    def __post_init__(self) -> None:
        self.goals = GoalBooks(self.problem)

    def problem(self, text: str) -> None:
        """Note a violation once."""
        if text not in self.problems and len(self.problems) < 40:
            self.problems.append(text)

    def mint(self) -> str:
        self._marks += 1
        return f"zqf{self._marks}x"

    def paths(self) -> tuple[str, ...]:
        return self.files

    # What models are sent.

    def sees(self, request: ChatRequest, body: bytes) -> tuple[str, ...]:
        turn_id = self.running
        if turn_id is None or turn_id not in self.open_intents:
            self.problem("a model was called without a reservation")
            return ()
        turn, text = self.turns[turn_id], body.decode()
        self.counts["model calls"] += 1
        self._hears(turn, text)
        for entry in self.entries:
            entry.sees(turn, request, text)
        marks = set(words.FOREIGN.findall(text)) - self.vouched
        self.dirty.setdefault(turn_id, set()).update(marks)
        if set(words.FOREIGN.findall(request.system)) - self.vouched:
            self.problem(
                f"foreign words in the system text of {turn_id}: {words.near(request.system)}"
            )
        if marks and not turn.taint:
            self.counts["untainted but dirty"] += 1
            self.problem(
                f"{turn_id} read foreign words and is not tainted: {words.place_of_mark(request)}"
            )
        if request.max_output_tokens + len(text) // 4 > 2 * _TOKENS:
            self.problem(f"a request of {len(text)} characters in {turn_id}")
        return tuple(sorted(self.dirty[turn_id]))

    def billed(self, micro_usd: int) -> None:
        intent = self.open_intents.get(self.running or "")
        if intent is None or self.running is None:
            return
        if micro_usd > intent.reserved:
            self.problem(f"{self.running} was billed {micro_usd} of {intent.reserved}")
        self.bills[self.running] += micro_usd
        self.asked[self.running] += 1
        if self.asked[self.running] > STEPS:
            self.problem(f"{self.running} asks models without end")
            raise Killed

    def _hears(self, turn: Turn, text: str) -> None:
        if any(secret in text for entry in self.entries for secret in entry.secrets):
            self.problem(f"a secret of an entry in a request of {turn.id}")
        for canary in self.canaries:
            if canary.token not in text:
                continue
            outsider = canary.not_outsiders and self.authorities.get(turn.id) in OUTSIDERS
            strange = canary.agent is None and canary.session is None
            other = canary.agent not in {None, turn.agent_id}
            elsewhere = canary.session not in {None, turn.session_id}
            elsewhere = elsewhere and not self._may_know(turn, canary)
            if strange or other or elsewhere or outsider:
                self.problem(f"{canary.token} in a request of {turn.agent_id}, {turn.session_id}")

    def _may_know(self, turn: Turn, canary: Canary) -> bool:
        """Whether a turn may hear another session of its agent: an owner's that looked it up."""
        if turn.trigger is Trigger.COMPACTION:
            return _is_of_all(turn)
        looked = self.looked.get((turn.agent_id, turn.session_id), set())
        return self.authorities.get(turn.id) in INSIDERS and canary.token in looked

    def public(self, text: str, where: str) -> None:
        """Something left for others: no canary may be in it."""
        found = words.CANARY.search(text)
        if found:
            self.problem(f"{found[0]} in {where}")
        if any(secret in text for entry in self.entries for secret in entry.secrets):
            self.problem(f"a secret of an entry in {where}")

    # What actions do.

    def judge(self, action: Action, arguments: Any, context: ActionContext) -> None:
        if FAILURE in context.prepared:
            # It does nothing but tell its model why it cannot run.
            return
        turn, call_id = context.turn, context.key.rpartition("-")[2]
        key = (turn.id, call_id)
        self.acting = action, arguments, context
        self.counts["actions run"] += 1
        known = (entry.impact_of(action.name) for entry in self.entries)
        impact = next(filter(None, known), None) or impact_of(action.name, arguments)
        if action.name == "set_purpose" and self.dirty.get(turn.id, set()) - self.vouched:
            impact = "shared"
        self.counts[f"ran {impact}"] += 1
        if self.running != turn.id or context.agent.id != turn.agent_id:
            self.problem(f"{action.name} ran for {turn.id} while {self.running} is at work")
        stored = self.calls.get(key)
        if stored is None or not is_same(action, stored, arguments):
            self.problem(f"{action.name} of {key} ran with other arguments than its model gave")
        self._require(action, impact, arguments, context)
        for entry in self.entries:
            entry.acts(action, context)
        if action.effect.value == "once":
            self.once[context.key] += 1
            if self.once[context.key] > 1:
                self.problem(f"{action.name} of {key} ran {self.once[context.key]} times")

    def _require(self, action: Action, impact: str, arguments: Any, context: ActionContext) -> None:
        """See that somebody with authority wants this, or that nobody has to be asked."""
        turn = context.turn
        key = (turn.id, context.key.rpartition("-")[2])
        authority = self.authorities.get(turn.id, turn.authority)
        by_peer = authority is Authority.PEER and action.name in FOR_PEERS
        if authority in OUTSIDERS and impact not in {"speech", "read"} and not by_peer:
            self.problem(f"{action.name} ({impact}) ran for {authority.value}")
        if (key, impact) not in self.permitted:
            self.permitted.add((key, impact))
            self._permit(action, impact, key, arguments, context)

    def _permit(
        self, action: Action, impact: str, key: CallKey, arguments: Any, context: ActionContext
    ) -> None:
        turn = context.turn
        dirty = bool(self.dirty.get(turn.id, set()) - self.vouched) or turn.taint
        guarded = dirty and impact in {"shared", "external"}
        policy = self.policies[turn.agent_id]
        if not guarded and runs_unasked(policy, action.name, impact):
            return
        if key in self.approved and self.approved[key] == fingerprint(self.calls.get(key)):
            self.counts["ran by approval"] += 1
        elif not guarded and is_granted(self.grants, action, impact, arguments, context):
            self.by_grant.add(key)
            self.counts["ran by grant"] += 1
            if len(self.by_grant) > sum(each.calls for each in self.grants):
                self.problem("more calls ran by grants than were granted")
        else:
            self.problem(f"{action.name} ({impact}) ran unapproved, dirty: {dirty}, {policy}")

    def fetched(self, url: str) -> None:
        """A server was asked for an address."""
        self.counts["pages asked for"] += 1
        self.public(url, "a web address")
        host = url.partition("://")[2].partition("/")[0]
        path = url.partition("://")[2][len(host) :].partition("?")[0]
        docs = host == "docs.example.org" and (path == "/3" or path.startswith("/3/"))
        wild = host.endswith(".wild.example.net") and (path == "/w" or path.startswith("/w/"))
        if not url.startswith("https://") or not (docs or wild) or "/../" in path:
            self.problem(f"a page outside of the allow-list was asked for: {url}")
        acting, self.acting = self.acting, None
        if acting is not None and url != words.ALLOWED[0]:
            action, arguments, context = acting
            self._require(action, "external", arguments, context)

    def searched(self, query: str) -> None:
        """A search service was asked."""
        self.counts["searches"] += 1
        self.public(query, "a search of the web")

    # What is stored.

    def admitted(self, admission: AdmittedMessage) -> None:
        line = admission.line
        said = set(words.FOREIGN.findall(f"{line.speaker_name} {line.text}")) - self.vouched
        for turn in admission.turns:
            if (said or turn.authority in OUTSIDERS) and not turn.taint:
                self.problem(f"{turn.id} begins clean with a message of {turn.authority.value}")
            self.turns.setdefault(turn.id, turn)
            self.authorities.setdefault(turn.id, turn.authority)
        for entry in self.entries:
            entry.admitted(admission)

    def extended(self, turn: Turn, before: Turn) -> None:
        """A lease was extended for whoever saw `turn`, which was stored as `before`."""
        if (turn.epoch, turn.lease_until) != (before.epoch, before.lease_until):
            self.problem(f"{turn.id} of epoch {turn.epoch} was extended in {before.epoch}")

    def claimed(self, turn: Turn) -> None:
        self.turns[turn.id] = turn
        for entry in self.entries:
            entry.claimed(turn)

    def committed(self, change: TurnChange, stored: Turn) -> None:
        turn = self.turns[stored.id] = stored
        for record in resolve_record_pointers(change.records, self.home.blobs):
            self._recorded(turn, record)
        for line in change.lines:
            self._lined(turn, line)
        for utterance in change.utterances:
            self.public(utterance.text, "an utterance")
        for fact in change.facts:
            self._kept(turn, fact)
        if turn.allowance < 0 or turn.spent < 0:
            self.problem(f"{turn.id} has {turn.allowance} left and {turn.spent} spent")

    def _recorded(self, turn: Turn, record: Record) -> None:
        if isinstance(record, ModelIntent):
            self.open_intents[turn.id] = record
        elif isinstance(record, ModelResult):
            self.open_intents.pop(turn.id, None)
            for call in record.answer.calls if record.answer else ():
                self.calls[turn.id, call.id] = call
                self.counts[f"called {called_name(call)[:40]}"] += 1
        elif isinstance(record, CallResult):
            self._resulted(turn, record)
        elif isinstance(record, ActionIntent):
            self.counts["intents"] += 1

    def _resulted(self, turn: Turn, record: CallResult) -> None:
        self.counts[f"result {record.state.value}"] += 1
        told = json.dumps(record.result.data, ensure_ascii=False)
        call = self.calls.get((turn.id, record.call_id))
        name = record.name if call is None else called_name(call)
        if name in LOOKING and self.authorities.get(turn.id) in INSIDERS:
            looked = self.looked.setdefault((turn.agent_id, turn.session_id), set())
            looked.update(words.CANARY.findall(told))
        if len(told.encode()) > _RESULT:
            self.problem(f"{record.name} answered {len(told)} characters")
        for effect in record.result.side_effects:
            if isinstance(effect, FileWritten | FileDeleted) and not is_normal(effect.path):
                self.problem(f"{record.name} recorded the path {effect.path!r}")
        if record.state.value == "refused":
            return
        if turn.stop is not None and self._acts_by_its_result(name, record):
            self.problem(f"{name} took effect in {turn.id}, which had been stopped")
        same = self.results.setdefault(turn.id, [])
        outcome = json.dumps([told, record.result.error, record.result.success])
        same.append((fingerprint(call), outcome))
        mine = [out for print_, out in same if print_ == same[-1][0]]
        ran = record.state.value != "cancelled" and not record.invalid
        if len(mine) > 3 and len(set(mine[-4:])) == 1 and ran:
            self.problem(f"{record.name} ran four times with one result")

    def _acts_by_its_result(self, name: str, record: CallResult) -> bool:
        completed = record.state is CallState.COMPLETED
        return completed and self.effects.get(name[:100]) is Effect.TRANSACTIONAL

    def _lined(self, turn: Turn, line: Line) -> None:
        text = f"{line.text} {json.dumps(line.data, ensure_ascii=False)}"
        if line.audience is not Audience.SELF:
            self.public(text, f"a line of {line.kind.value}")
        for canary in self.canaries:
            other = canary.agent != turn.agent_id if canary.agent else canary.session is None
            if canary.token in text and other:
                self.problem(f"{canary.token} in a private line of {turn.agent_id}")

    def _kept(self, turn: Turn, fact: Document) -> None:
        authority = self.authorities.get(turn.id)
        if authority in OUTSIDERS and turn.task is None:
            allowed = OF_PEERS if authority is Authority.PEER else BESIDE
            if fact.kind not in allowed:
                self.problem(f"a {fact.kind} was written for {authority}")
        dirty = bool(self.dirty.get(turn.id, set()) - self.vouched)
        if fact.kind == "goal":
            self.goals.saved(turn, fact, dirty=dirty)
        self.kept(fact)
        unsure = authority in OUTSIDERS or dirty
        body = fact.body or {}
        if fact.kind == "summary":
            self._summed_up(turn, body)
        if fact.kind == "skill" and unsure and _is_live(body):
            self.problem(f"skill {fact.id} became live in a turn that does not vouch")

    def _summed_up(self, turn: Turn, body: dict[str, Any]) -> None:
        """A summary says what it was made of: foreign words, and a session that others hear not."""
        self.counts["summaries"] += 1
        told = f"{body.get('title', '')} {body['text']}"
        if set(words.FOREIGN.findall(told)) - self.vouched and not body.get("tainted", False):
            self.problem(f"summary {body['id']} holds foreign words and is not tainted")
        for canary in self.canaries:
            if canary.session is None or canary.token not in told:
                continue
            self.counts["summaries of secrets"] += 1
            heard = body.get("session_id", ""), body.get("hearing", "private")
            if heard[0] != canary.session and heard != ("", "private"):
                self.problem(f"{canary.token} in a summary that {heard} hear")

    def kept(self, fact: Document) -> None:
        """A fact was written, by a turn or by a person."""
        body = fact.body or {}
        if fact.kind == "goal":
            self.goals.kept(fact, self.vouched)
        by_peer = fact.kind == "skill" and body.get("source_type") == "peer"
        if by_peer and _is_live(body) and not body.get("approved_by"):
            self.problem(f"skill {fact.id} of a peer is live without an owner")


def _is_live(skill: dict[str, Any]) -> bool:
    """Whether a model may be shown a skill that is stored so."""
    return SkillStatus(skill.get("status", SkillStatus.ACTIVE)).is_live


def _is_of_all(turn: Turn) -> bool:
    """Whether a turn makes a summary of a day or month: of all sessions, for its agent alone."""
    of_lines = turn.group.startswith("topic:")
    return turn.trigger is Trigger.COMPACTION and not of_lines
