"""What OpenCrab's REST interface shows, made from its own views, as JSON values."""

from datetime import UTC, datetime
from typing import Any

from opencrab.domain.access.authority import Authority, Scope, Source
from opencrab.domain.access.session_access import SessionAccess
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.conversation.message import Audience, LineKind
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.turn.turn import Trigger, TurnStatus
from opencrab.gateways.rest.access.api_keys import KeyView
from opencrab.gateways.rest.agents.agents import AgentView
from opencrab.gateways.rest.conversation.lines import LineView
from opencrab.gateways.rest.conversation.sessions import SessionView
from opencrab.gateways.rest.insight.turn_outcome import TurnErrorView, TurnOutcome
from opencrab.gateways.rest.insight.turn_story import ApprovalView, CallView, StepView, StoryView

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
MESSAGE = "m1"


def agent_view(name: str, **changes: Any) -> dict[str, Any]:
    """An agent whose id is its name in lower case with `-id` behind it."""
    settings = {"id": f"{name.lower()}-id", "created_at": NOW, "updated_at": NOW, **changes}
    soul = settings.pop("soul", Soul(persona_name=name))
    identity = settings.pop("identity", Identity(name=name))
    profile = Profile(agent=Agent(name=name, **settings), soul=soul, identity=identity)
    return AgentView.of(profile, ()).model_dump(mode="json")


def session_view(*agent_ids: str, **changes: Any) -> dict[str, Any]:
    """The session `s1` of some agents."""
    participants = tuple(Participant(agent_id=agent_id) for agent_id in agent_ids)
    facts = {"id": "s1", "created_by": "k1", "created_at": NOW, "updated_at": NOW, **changes}
    members = facts.pop("members", ())
    session = Session(participants=participants, **facts)
    return SessionView.shared(session, SessionAccess(members=members)).model_dump(mode="json")


def key_view(name: str, **changes: Any) -> dict[str, Any]:
    """A key without its secret."""
    facts: dict[str, Any] = {"id": "k1", "scope": Scope.CHAT, "created_at": NOW}
    facts |= {"revoked_at": None, "principal_id": "k1", "grants": (), **changes}
    return KeyView(name=name, **facts).model_dump(mode="json")


def line_view(sequence: int, speaker: str, text: str, **changes: Any) -> dict[str, Any]:
    """A line of a session: an agent's when it has a turn, else a person's with the message."""
    spoken = changes.get("turn_id") is not None
    facts: dict[str, Any] = {
        "thread": 1,
        "at": NOW,
        "kind": LineKind.SPEECH,
        "audience": Audience.ALL,
        "speaker_id": f"{speaker.lower()}-id",
        "from_agent": spoken,
        "authority": Authority.OWNER,
        "data": None,
        "turn_id": None,
        "message_id": None if spoken else MESSAGE,
        **changes,
    }
    view = LineView(sequence=sequence, speaker_name=speaker, text=text, **facts)
    return view.model_dump(mode="json")


def reply_view(name: str, text: str, sequence: int = 2, turn_id: str = "t1") -> dict[str, Any]:
    """What one agent answered."""
    return {
        "agent_id": f"{name.lower()}-id",
        "agent_name": name,
        "text": text,
        "kind": "speech",
        "turn_id": turn_id,
        "sequence": sequence,
        "at": NOW.isoformat(),
    }


def outcome_view(turn_id: str = "t1", **changes: Any) -> dict[str, Any]:
    """How a turn of Ada ended: with an answer, unless it has a `kind` of error."""
    kind = changes.pop("kind", None)
    if kind is not None:
        changes["error"] = TurnErrorView(type=kind, message="a note", cure="do something")
    facts = {
        "id": turn_id,
        "agent_id": "ada-id",
        "status": TurnStatus.COMPLETED,
        "cost_micro_usd": 1_250,
        **changes,
    }
    return TurnOutcome(**facts).model_dump(mode="json")


def answered(
    *replies: dict[str, Any], pending: tuple[str, ...] = (), **outcome: Any
) -> dict[str, Any]:
    """A message that was answered, by its one turn `t1` unless the replies name others.

    `outcome` is that of all turns; those that are pending run.
    """
    running = {"status": TurnStatus.RUNNING} if pending else {}
    turns = list(dict.fromkeys([reply["turn_id"] for reply in replies] + list(pending))) or ["t1"]
    return {
        "turn_ids": turns,
        "message_id": MESSAGE,
        "replies": list(replies),
        "pending": list(pending),
        "turns": [outcome_view(turn, **{**running, **outcome}) for turn in turns],
    }


def step_view(**changes: Any) -> StepView:
    """The first step of a turn."""
    facts: dict[str, Any] = {
        "number": 1,
        "model": "openai:gpt",
        "state": "completed",
        "reserved_micro_usd": 900,
        "cost_micro_usd": 1_250,
        "latency_ms": 320,
        **changes,
    }
    return StepView(**facts)


def call_view(name: str, **changes: Any) -> CallView:
    """A call that went well, unless it is said otherwise."""
    return CallView(**{"id": "c0", "name": name, "state": "completed", **changes})


def approval_view(**changes: Any) -> ApprovalView:
    """A human was asked to let a letter go."""
    return ApprovalView(**{"what": "send the letter", "touches": "the post", **changes})


def story_view(*steps: StepView, **changes: Any) -> dict[str, Any]:
    """The turn `t1` of Ada, with its steps."""
    facts: dict[str, Any] = {
        "id": "t1",
        "session_id": "s1",
        "agent_id": "ada-id",
        "status": TurnStatus.COMPLETED,
        "trigger": Trigger.MESSAGE,
        "source": Source.CLI,
        "authority": Authority.OWNER,
        "message_id": MESSAGE,
        "stop": None,
        "note": "",
        "model_calls": len(steps),
        "spent_micro_usd": 1_250 * len(steps),
        "created_at": NOW,
        "ended_at": NOW.replace(second=2),
        **changes,
    }
    return StoryView(steps=steps, **facts).model_dump(mode="json")
