"""Panes: an agent at a glance, as Avatar shows it: chat, cli, plan, inspector and vitals."""

from enum import StrEnum

from opencrab.domain.access.authority import Source
from opencrab.domain.conversation.message import Audience, Line, LineKind
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Value
from opencrab.engine.insight.agent_state import (
    StateAction,
    StatePlan,
    StateResult,
    StateThought,
    agent_state_for_insight,
)
from opencrab.engine.insight.vitals import (
    ReadMachine,
    Vitals,
    agent_vitals_for_insight,
    no_machine_vitals_for_insight,
    recent_turns_for_insight,
)
from opencrab.engine.runtime import Runtime
from opencrab.ports.turn.journal import Journal

_LINES = 8
_READ = 40
_TEXT = 500
_SAID = {LineKind.SPEECH, LineKind.SYSTEM, LineKind.APPROVAL}


class PaneName(StrEnum):
    """Name of a pane."""

    CHAT = "chat"
    CLI = "cli"
    PLAN = "plan"
    INSPECTOR = "inspector"
    VITALS = "vitals"


class Inspector(Value):
    """The agent's thoughts, actions and their results."""

    thought: StateThought
    action: StateAction
    result: StateResult


class Pane(Value):
    """A pane and its content: text in chat and cli, values in the others."""

    pane: PaneName
    data: str | StatePlan | Inspector | Vitals


def insight_panes(
    runtime: Runtime, agent_id: str, machine: ReadMachine = no_machine_vitals_for_insight
) -> tuple[Pane, ...]:
    """Return all five panes; raises NotFound.

    `cli` shows the conversation of the newest turn from the terminal, `chat` that of the newest
    turn from anywhere else.
    """
    now = agent_state_for_insight(runtime, agent_id)
    turns = recent_turns_for_insight(runtime, agent_id)
    typed = next((turn for turn in turns if turn.source is Source.CLI), None)
    other = next((turn for turn in turns if turn.source is not Source.CLI), None)
    inspector = Inspector(thought=now.thought, action=now.action, result=now.result)
    return (
        Pane(pane=PaneName.CHAT, data=_recent_lines_text(runtime.home.journal, other)),
        Pane(pane=PaneName.CLI, data=_recent_lines_text(runtime.home.journal, typed)),
        Pane(pane=PaneName.PLAN, data=now.plan),
        Pane(pane=PaneName.INSPECTOR, data=inspector),
        Pane(
            pane=PaneName.VITALS, data=agent_vitals_for_insight(runtime, agent_id, machine, turns)
        ),
    )


def _recent_lines_text(journal: Journal, turn: Turn | None) -> str:
    """Return the newest public lines of a turn's session, one per row, oldest first."""
    if turn is None:
        return ""
    rows = journal.lines(turn.session_id, limit=_READ, newest_first=True)
    told = [row for row in rows if row.kind in _SAID and row.audience is Audience.ALL][:_LINES]
    return "\n".join(_line(row) for row in reversed(told))


def _line(row: Line) -> str:
    text = row.text if len(row.text) <= _TEXT else f"{row.text[: _TEXT - 1]}…"
    return f"{row.speaker_name}: {text}"
