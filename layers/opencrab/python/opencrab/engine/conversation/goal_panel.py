"""The progress panel of an instruction, drawn when it is shown."""

from collections.abc import Mapping
from typing import Any

from opencrab.domain.errors import NotFound
from opencrab.domain.goals.goal import Goal
from opencrab.engine.goals.pausing import require_goal_document
from opencrab.engine.goals.progress import goal_progress
from opencrab.engine.runtime import Runtime
from opencrab.ports.conversation.channel import Panel, PanelRow


def show_goal_panel_in_conversation(runtime: Runtime, body: Mapping[str, Any]) -> None:
    """Show the panel that a queue message asks for; raise the errors of the channel."""
    named = body["panel"]
    try:
        goal = require_goal_document(runtime.home.facts, named["agent"], named["goal"]).read(Goal)
        profile = runtime.home.agents.get(goal.agent_id)
    except NotFound:
        return
    channel = None if goal.channel is None else runtime.channels.get(goal.channel.kind)
    if goal.channel is None or channel is None:
        return
    told = goal_progress(runtime, goal, private=False)
    rows = tuple(PanelRow(task.id, task.name, task.status.value) for task in told.tasks)
    channel.show(
        goal.channel,
        Panel(
            agent_id=goal.agent_id,
            agent_name=profile.identity.name,
            goal=goal.id,
            name=goal.name,
            language=profile.agent.language,
            standing=told.status.value,
            percent=told.completion,
            rows=rows,
            note=told.pause_reason or "",
            over=told.over,
        ),
    )
