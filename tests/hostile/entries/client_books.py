"""The law of clients with keys: who may hear what, said once more and asked of nobody."""

import json
import re
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from opencrab.domain.access.authority import Authority, Scope
from opencrab.domain.errors import NotFound
from opencrab.domain.turn.turn import Trigger, Turn
from opencrab.engine.approvals import approvals
from opencrab.ports.turn.journal import AdmittedMessage
from tests.hostile.entries.client_calls import Heard
from tests.hostile.world import SAFE, World

NUMBER = re.compile(r"#q(\d+)q")
RESULT = re.compile(r"#r(\d+)r")
_ID = re.compile(r"(?<![0-9a-z])[0-9a-z]{26}(?![0-9a-z])")
_LONG = 12
_REFUSED, _UNAUTHENTICATED, _FAULT = 400, 401, 500
_PEOPLE = "client-"


@dataclass
class Client:
    """A key as its holder knows it; `grants` are those of a read key."""

    name: str
    secret: str
    principal: str
    scope: Scope
    grants: tuple[str, ...] = ()
    mcp: str = ""


@dataclass(frozen=True)
class Question:
    """A message of a client; `once` says that its repeats are known by an id of the client's."""

    client: Client
    authority: Authority
    once: bool


@dataclass
class ClientBooks:
    """Keys, sessions and questions by this module's own law, and what breaks it."""

    world: World
    members: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    dead: set[str] = field(default_factory=set)
    questions: dict[int, Question] = field(default_factory=dict)
    results: dict[int, tuple[Client, str]] = field(default_factory=dict)
    cut_off: list[tuple[str, int]] = field(default_factory=list)
    """Sessions that the client who waits may not hear any more, from a line on."""

    _asked: dict[tuple[int, str], set[str]] = field(default_factory=lambda: defaultdict(set))

    def number(self, client: Client, *, once: bool, by_peer: bool = False) -> int:
        """The number of one more question."""
        authority = Authority.OWNER if client.scope is Scope.OWNER else Authority.USER
        number = len(self.questions) + 1
        self.questions[number] = Question(client, Authority.PEER if by_peer else authority, once)
        return number

    def may_read(self, client: Client, session_id: str) -> bool:
        """Whether a key may read a session now."""
        if client.secret in self.dead:
            return False
        if client.scope is Scope.OWNER:
            return True
        try:
            session = self.world.raw.sessions.get(session_id)
        except NotFound:
            return True
        if client.scope is Scope.CHAT:
            people = {session.created_by, *self.members[session_id]}
            return client.principal in people
        agents = {f"agent:{each}" for each in session.all_time_agent_ids}
        return f"sessions:{session_id}" in client.grants or bool(agents & set(client.grants))

    def hears(self, client: Client, request: str, heard: Heard) -> None:
        """Judge an answer: nothing of a session that its client may not read."""
        counts = self.world.watcher.counts
        counts["client answers"] += 1
        counts[f"client status {heard.status}"] += 1
        where = f"an answer to {client.name}"
        if heard.status == _FAULT:
            self.problem(f"{where} is {heard.status}: {heard.text[:200]}")
        if client.secret in self.dead and not self.cut_off and heard.status != _UNAUTHENTICATED:
            self.problem(f"{client.name} has no key any more and was answered {heard.status}")
        if client.scope is not Scope.OWNER:
            self.world.watcher.public(self._without_own_mails(client, heard.text), where)
        told = set(_strings(heard))
        for found in set(_ID.findall(heard.text)) - set(_ID.findall(request)):
            self._hears_id(client, found, request)
        if SAFE in told and SAFE not in request and not self.may_read(client, SAFE):
            self.problem(f"{where} names session {SAFE}")
        self._hears_after(where, told)
        if self.cut_off and not _is_refusal(heard):
            self.problem(f"{where} came after it was cut off: {heard.late[:300]}")

    def _without_own_mails(self, client: Client, text: str) -> str:
        """What is heard without the secrets of mails in sessions that a client may read."""
        for canary in self.world.watcher.canaries:
            is_of_mail = canary.token.startswith("CANARY-MAIL-") and canary.session is not None
            if is_of_mail and canary.token in text and self.may_read(client, canary.session or ""):
                text = text.replace(canary.token, "")
        return text

    def _hears_id(self, client: Client, found: str, request: str) -> None:
        turn = self.world.watcher.turns.get(found)
        session_id = turn.session_id if turn else found
        if turn is None:
            with suppress(NotFound):
                session_id = approvals.find_approval(self.world.raw.facts, found).session_id
        if self.may_read(client, session_id) or session_id in {cut for cut, _ in self.cut_off}:
            return
        self.problem(f"{client.name} was told of {found} in {session_id} by {request[:160]}")

    def _hears_after(self, where: str, told: set[str]) -> None:
        """Nothing that was said after whoever waits was cut off."""
        whole = "\n".join(told)
        for session_id, last in self.cut_off:
            for line in self.world.raw.journal.lines(session_id, after=last, limit=100):
                text = line.text.strip()
                if line.from_agent and len(text) >= _LONG and text in whole:
                    self.problem(f"{where} has words of {session_id} after it was cut off")

    def admitted(self, admission: AdmittedMessage) -> None:
        """Judge what became of a question: whose turn it is, and that it is one."""
        found = NUMBER.findall(admission.line.text)
        for turn in admission.turns:
            if not turn.principal_id.startswith(_PEOPLE) or turn.trigger is not Trigger.MESSAGE:
                continue
            asked = self.questions.get(int(found[-1])) if found else None
            if asked is None:
                continue  # a goal that goes on
            self.world.watcher.counts["client turns"] += 1
            if (turn.principal_id, turn.authority) != (asked.client.principal, asked.authority):
                self.problem(
                    f"{turn.id} is {turn.authority} of {turn.principal_id}, asked by {asked}"
                )
            if not self.may_read(asked.client, turn.session_id):
                self.problem(f"{asked.client.name} said something in {turn.session_id}")
            same = self._asked[int(found[-1]), turn.agent_id]
            same.add(turn.id)
            if asked.once and len(same) > 1:
                self.problem(f"question {found[-1]} became {len(same)} turns")

    def sees(self, turn: Turn, text: str) -> None:
        """Judge what a model is told: no results that another key brought for its calls."""
        for number in map(int, RESULT.findall(text)):
            client, turn_id = self.results[number]
            if turn_id == turn.id and client.principal != turn.principal_id:
                self.problem(f"{turn.id} was told results that {client.name} brought")

    def turns_of(self, number: int) -> list[Turn]:
        """The turns that answer a question."""
        ids = {each for (asked, _), same in self._asked.items() if asked == number for each in same}
        return [self.world.watcher.turns[each] for each in sorted(ids)]

    def shared_turns(self, client: Client) -> list[Turn]:
        """Turns at work that a key with scope chat may read, and not stop."""
        return [
            turn
            for turn in self.world.watcher.turns.values()
            if not turn.status.is_end
            and client.scope is Scope.CHAT
            and turn.principal_id != client.principal
            and self.may_read(client, turn.session_id)
        ]

    def problem(self, text: str) -> None:
        """Note a violation."""
        self.world.watcher.problem(text)


def _is_refusal(heard: Heard) -> bool:
    """Whether a client that was cut off got an error, or a stream that ended there."""
    if heard.headers.get("content-type", "").startswith("text/event-stream"):
        return not heard.late
    told = heard.json()
    is_error = "error" in told or told.get("result", {}).get("isError", False)
    return heard.status >= _REFUSED or is_error


def _strings(heard: Heard) -> list[str]:
    """Every text in an answer, be it JSON or a stream of it."""
    rows = [row.removeprefix("data: ") for row in heard.text.splitlines() if row[:6] == "data: "]
    found: list[str] = []
    for row in rows or [heard.text]:
        try:
            _collect(json.loads(row), found)
        except ValueError:
            found.append(row)
    return found


def _collect(value: Any, found: list[str]) -> None:
    if isinstance(value, str):
        found.append(value)
    for each in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        _collect(each, found)
