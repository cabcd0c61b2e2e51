"""Example values in both languages, and the first steps of a turn."""

from datetime import UTC, datetime, timedelta
from typing import Any

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.conversation.message import (
    Channel,
    Line,
    LineKind,
    Message,
    Sender,
    TextPart,
    Utterance,
)
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.document import Document
from opencrab.domain.identifier import content_hash
from opencrab.domain.models.routing import Use
from opencrab.domain.money.budget import Price, Usage
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.turn.record import ActionIntent, ApprovalRequest, CallResult, CallState, Record
from opencrab.domain.turn.turn import Stop, Trigger, Turn, TurnStatus
from opencrab.domain.usage.ledger import UsageRow
from opencrab.domain.value import Language
from opencrab.ports.home import Home
from opencrab.ports.turn.journal import AdmittedMessage, TurnChange

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
DAY = "2026-02-17"
JAPANESE = "おはようございます。今日の予定を教えて🦀"
ENGLISH = "Good morning. What is planned for today?"
CHANNEL = Channel(kind="discord", address="雑談 #general")


def later(seconds: float) -> datetime:
    """So many seconds after now; negative ones lie before it."""
    return NOW + timedelta(seconds=seconds)


def profile(agent_id: str = "hana", name: str = "花", **changes: Any) -> Profile:
    """An agent who was just created."""
    language = Language.EN if name.isascii() else Language.JA
    agent = Agent(id=agent_id, name=name, language=language, created_at=NOW, updated_at=NOW)
    return Profile(
        agent=agent.replaced(**changes),
        soul=Soul(persona_name=name, custom_traits={"口癖": "なるほど", "habit": "asks why"}),
        identity=Identity(name=name, job_title="編集者"),
    )


def session(session_id: str = "s1", *agent_ids: str, **changes: Any) -> Session:
    """A session that was just opened."""
    opened = Session(
        id=session_id,
        theme="朝の会 / morning round",
        participants=tuple(Participant(agent_id=name) for name in agent_ids or ("hana",)),
        created_by="taro",
        created_at=NOW,
        updated_at=NOW,
    )
    return opened.replaced(**changes)


def line(text: str = JAPANESE, session_id: str = "s1", **changes: Any) -> Line:
    """Words of a user that open a group."""
    spoken = Line(
        session_id=session_id,
        group="m1",
        kind=LineKind.SPEECH,
        speaker_id="taro",
        speaker_name="太郎",
        authority=Authority.USER,
        text=text,
        message_id="m1",
        at=NOW,
    )
    return spoken.replaced(**changes)


def turn(turn_id: str = "t1", session_id: str = "s1", **changes: Any) -> Turn:
    """A turn that waits to be claimed."""
    queued = Turn(
        id=turn_id,
        agent_id="hana",
        session_id=session_id,
        trigger=Trigger.MESSAGE,
        source=Source.REST,
        authority=Authority.USER,
        principal_id="taro",
        group="m1",
        body_hash="hash",
        lease_until=later(60),
        created_at=NOW,
    )
    return queued.replaced(**changes)


def admission(*turns: Turn, message_id: str = "m1", text: str = JAPANESE) -> AdmittedMessage:
    """A message with the turns that answer it."""
    admitted = turns or (turn(),)
    spoken = line(text, admitted[0].session_id, group=message_id, message_id=message_id)
    return AdmittedMessage(
        message_id, body_hash=content_hash(text.encode()), turns=admitted, line=spoken
    )


def message(text: str = ENGLISH) -> Message:
    """A message from another door."""
    return Message(
        source=Source.SCHEDULE,
        source_id="毎朝",
        principal_id="taro",
        sender=Sender(id="taro", name="太郎"),
        authority=Authority.SELF,
        parts=(TextPart(text=text),),
    )


def due_item(item_id: str = "d1", *, seconds: float = 60, text: str = ENGLISH) -> DueItem:
    """A message for later."""
    return DueItem(id=item_id, at=later(seconds), session_id="s1", message=message(text))


def utterance(ordinal: int = 1, text: str = JAPANESE, **changes: Any) -> Utterance:
    """Speech on its way out."""
    waiting = Utterance(
        channel=CHANNEL,
        turn_id="t1",
        ordinal=ordinal,
        agent_id="hana",
        session_id="s1",
        text=text,
        nonce=f"nonce{ordinal}",
        created_at=NOW,
        updated_at=NOW,
    )
    return waiting.replaced(**changes)


def intent(n: int = 1, call_id: str = "c1") -> ActionIntent:
    """A keyed action is about to run."""
    return ActionIntent(
        n=n, call_id=call_id, name="ws_write", effect=Effect.KEYED, argument_hash="arguments"
    )


def result(n: int = 1, call_id: str = "c1", text: str = JAPANESE) -> CallResult:
    """An action ended well."""
    return CallResult(
        n=n,
        call_id=call_id,
        name="ws_write",
        state=CallState.COMPLETED,
        result=ActionResult.ok(text=text),
    )


def request(n: int = 1, call_id: str = "c1", argument_hash: str = "arguments") -> ApprovalRequest:
    """A call waits for a human."""
    return ApprovalRequest(
        n=n,
        call_id=call_id,
        name="ws_write",
        argument_hash=argument_hash,
        what="write a file / ファイルを書く",
        touches="日記.md",
    )


def fact(fact_id: str = "a", text: str = JAPANESE, **changes: Any) -> Document:
    """Something that is to be kept about an agent, and is new."""
    kept = Document(owner="hana", kind="note", id=fact_id, body={"text": text, "share": 0.5})
    return kept.replaced(**changes)


def usage_row(n: int = 1, *, at: datetime = NOW, **changes: Any) -> UsageRow:
    """A call of a model that was answered, as a usual one is kept."""
    row = UsageRow(
        agent_id="hana",
        session_id="s1",
        turn_id="t1",
        n=n,
        at=at,
        trigger=Trigger.MESSAGE,
        provider="openai",
        model="gpt-5-mini",
        purpose=Use.CONVERSATION,
        task_type="conversation",
        complexity=0.25,
        tier=2,
        chosen_by="agent",
        state=CallState.COMPLETED,
        usage=Usage(input_tokens=1_200, output_tokens=80, cached_tokens=1_024),
        reserved=9_000,
        cost=412,
        price=Price(input_per_million=250_000, output_per_million=2_000_000),
        latency_ms=840,
        first_token_ms=310,
    )
    return row.replaced(**changes)


def wish(by: str = "owner", reason: str = "もう十分です") -> Stop:
    """Somebody wants a turn to stop."""
    return Stop(by=by, reason=reason, at=NOW)


def hold(by: str = "owner", reason: str = "少し待って") -> Stop:
    """Somebody wants a turn to wait until it is resumed."""
    return Stop(by=by, reason=reason, at=NOW, pause=True)


def admitted(home: Home, turn_id: str = "t1", session_id: str = "s1", **changes: Any) -> Turn:
    """A turn in a session of its own, queued."""
    home.sessions.create(session(session_id))
    asked = admission(turn(turn_id, session_id, **changes), message_id=f"message_{turn_id}")
    return home.journal.admit(asked)[0]


def running(home: Home, turn_id: str = "t1", session_id: str = "s1", **changes: Any) -> Turn:
    """A turn in a session of its own, in a worker's hands."""
    queued = admitted(home, turn_id, session_id, **changes)
    claimed = home.journal.claim(queued.id, lease_until=later(120), receipt="receipt")
    assert claimed is not None
    return claimed.turn


def step(current: Turn, *records: Record, **changes: Any) -> TurnChange:
    """One step of a turn that writes records and moves its sequence on."""
    status = changes.pop("status", current.status)
    after = current.replaced(sequence=current.sequence + 1, status=status)
    return TurnChange(turn=after, expected=current.sequence, records=records, **changes)


def ending(current: Turn, status: TurnStatus = TurnStatus.COMPLETED, **changes: Any) -> TurnChange:
    """The step that closes a turn."""
    after = current.replaced(
        sequence=current.sequence + 1, status=status, ended_at=NOW, lease_until=None
    )
    return TurnChange(turn=after, expected=current.sequence, at=NOW, **changes)
