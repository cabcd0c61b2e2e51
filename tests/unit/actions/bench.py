"""A context for actions: an agent, a session, and a workspace in a temporary folder."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from opencrab.actions import GROUPS, Registry
from opencrab.adapters.local_files import LocalFiles
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.action import ActionResult
from opencrab.domain.agent import Agent
from opencrab.domain.session import Participant, Session
from opencrab.domain.value import Language
from opencrab.ports.action import ActionContext

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
REGISTRY = Registry(GROUPS)
NAMES = (
    "declare_done",
    "generate_inner_voice",
    "send_noreact",
    "send_speech",
    "ws_list",
    "ws_read",
    "ws_write",
)


def agent(language: Language = Language.JA) -> Agent:
    """Mika, in a language."""
    return Agent(id="mika", name="美香", language=language, created_at=NOW, updated_at=NOW)


def context(folder: Path, quota_bytes: int = 1_000_000) -> ActionContext:
    """What an action of Mika's may touch."""
    session = Session(
        id="s1",
        participants=(Participant(agent_id="mika"),),
        created_by="owner",
        created_at=NOW,
        updated_at=NOW,
    )
    return ActionContext(
        agent=agent(),
        session=session,
        turn_id="t1",
        key="t1-c1",
        files=LocalFiles(folder, quota_bytes=quota_bytes),
        clock=FakeClock(NOW),
    )


def prepared(at: ActionContext, name: str, **arguments: Any) -> ActionContext:
    """The context after the action has read its condition, as an intent keeps it."""
    action = REGISTRY.find(name)
    assert action is not None
    assert action.prepare is not None
    condition = action.prepare(action.arguments.model_validate(arguments), at)
    return replace(at, prepared=condition)


def run(at: ActionContext, name: str, **arguments: Any) -> ActionResult:
    """One attempt at a call."""
    action = REGISTRY.find(name)
    assert action is not None
    return action.run(action.arguments.model_validate(arguments), at)


def write(at: ActionContext, path: str, content: str) -> ActionResult:
    """A whole call of ws_write, undisturbed."""
    ready = prepared(at, "ws_write", path=path, content=content)
    return run(ready, "ws_write", path=path, content=content)
