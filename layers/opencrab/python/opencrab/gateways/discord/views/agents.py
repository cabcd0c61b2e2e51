"""Showing agents: who one is, what it does now, and how far its goals have come."""

from collections.abc import Iterator
from typing import Any

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import Profile, Role
from opencrab.domain.discord.community import KIND, Presence, discord_address
from opencrab.domain.errors import NotFound
from opencrab.domain.goals.goal import Goal, TaskStatus
from opencrab.domain.models.routing import Use
from opencrab.domain.money.budget import INSTALLATION
from opencrab.engine.goals.instructions import page_of_goals
from opencrab.engine.goals.pausing import require_goal_document
from opencrab.engine.goals.progress import GoalSummary, Standing, goal_progress, goal_summary
from opencrab.engine.insight.agent_state import State, agent_state_for_insight
from opencrab.engine.models.effective_choice import effective_models
from opencrab.engine.models.preferences import current_model_preferences
from opencrab.gateways.discord.agent_lookup import AgentQuery, agent_of_discord_command
from opencrab.gateways.discord.text.embeds import (
    FIELD_VALUE,
    Colour,
    Field,
    discord_embed_lines_that_fit,
    discord_embeds_message,
    discord_timestamp,
    escape_discord_markdown,
    make_embed,
    one_discord_line,
)
from opencrab.gateways.discord.text.view_sentences import discord_term, discord_text_of_view

_LOOKED_AT, _SHOWN = 50, 8
_TEXT = 500
_NAME = 120
_MARKS = {
    TaskStatus.PENDING: "▫️",
    TaskStatus.ACTIVE: "▶️",
    TaskStatus.DONE: "✅",
    TaskStatus.FAIL: "❌",
}
_COLOURS = {
    Standing.WAITING: Colour.WAITING,
    Standing.ACTIVE: Colour.GOOD,
    Standing.PAUSED: Colour.QUIET,
}


def show_agent_on_discord(asked: AgentQuery) -> dict[str, Any]:
    """Show an agent's role, model and purpose to a user who may ask it."""
    profile, _ = agent_of_discord_command(asked)
    agent, identity, language = profile.agent, profile.identity, asked.language
    role = discord_term(language, identity.role.value)
    if identity.role is Role.CUSTOM and identity.custom_role:
        role = escape_discord_markdown(identity.custom_role)
    current_model_preferences(asked.runtime)
    model = effective_models(asked.runtime.models, agent)[Use.CONVERSATION].model
    fields: list[Field] = [(discord_text_of_view(language, "role"), role)]
    for key, value in (("job", identity.job_title), ("organization", identity.organization)):
        if value:
            fields.append((discord_text_of_view(language, key), escape_discord_markdown(value)))
    fields += [
        (
            discord_text_of_view(language, "status"),
            discord_term(language, _status(asked, profile)),
        ),
        (discord_text_of_view(language, "language"), discord_term(language, agent.language.value)),
        (discord_text_of_view(language, "model"), escape_discord_markdown(model)),
    ]
    purpose = escape_discord_markdown(agent.purpose) or discord_text_of_view(language, "no_purpose")
    return discord_embeds_message(
        make_embed(escape_discord_markdown(agent.name), purpose, fields=fields, footer=agent.id)
    )


def show_agent_state_on_discord(asked: AgentQuery) -> dict[str, Any]:
    """Show what an agent does now; its input, thoughts and results only to its owner."""
    profile, presence = agent_of_discord_command(asked)
    language, owner = asked.language, asked.authority(presence) is Authority.OWNER
    now = agent_state_for_insight(asked.runtime, profile.agent.id)
    fields = [(discord_text_of_view(language, "now"), _now(asked, profile, presence, now))]
    if owner:
        fields += [
            (discord_text_of_view(language, key), one_discord_line(text, _TEXT))
            for key, text in (
                ("heard", now.input.text),
                ("thought", now.thought.judgment),
                ("intent", now.thought.intent),
                ("last_action", None if now.action.phase else now.action.summary),
                ("last_result", now.result.summary),
            )
            if text
        ]
    open_goals = (_goal(asked, profile, goal.id) for goal in now.plan.goals)
    seen = [goal for goal in open_goals if goal and _may_see(asked, presence, goal)]
    if seen:
        rows = (f"**{goal.id}** {one_discord_line(goal.name, _NAME)}" for goal in seen)
        fields.append(
            (discord_text_of_view(language, "open_goals"), discord_embed_lines_that_fit(rows))
        )
    phase = now.action.phase
    colour = {"approving": Colour.WAITING, "executing": Colour.GOOD, None: Colour.QUIET}[phase]
    title = discord_text_of_view(
        language, "state_of", name=escape_discord_markdown(profile.agent.name)
    )
    return discord_embeds_message(make_embed(title, fields=fields, colour=colour))


def show_goals_on_discord(asked: AgentQuery) -> dict[str, Any]:
    """Show an agent's newest goals and their progress.

    Users who are not trusted see only goals that they gave, or that were given in this channel.
    """
    profile, presence = agent_of_discord_command(asked)
    language = asked.language
    found = page_of_goals(asked.runtime.home, profile.agent.id, limit=_LOOKED_AT)
    seen = [goal for goal in found if _may_see(asked, presence, goal)]
    seen.sort(key=lambda goal: goal.status.is_end)
    title = discord_text_of_view(
        language, "goals_of", name=escape_discord_markdown(profile.agent.name)
    )
    if not seen:
        return discord_embeds_message(
            make_embed(title, discord_text_of_view(language, "no_goals"), colour=Colour.QUIET)
        )
    told = [(goal, goal_summary(asked.runtime.home.journal, goal)) for goal in seen[:_SHOWN]]
    fields = [_goal_field(asked, goal, figures) for goal, figures in told]
    left = len(seen) - len(told)
    footer = discord_text_of_view(language, "older_goals", count=left) if left else ""
    colour = _COLOURS.get(told[0][1].status, Colour.CALM)
    return discord_embeds_message(make_embed(title, fields=fields, footer=footer, colour=colour))


def _status(asked: AgentQuery, profile: Profile) -> str:
    switches, agent = asked.runtime.home.switches, profile.agent
    if agent.answers and (switches.is_frozen(INSTALLATION) or switches.is_frozen(agent.id)):
        return "frozen"
    return agent.status.value


def _now(asked: AgentQuery, profile: Profile, presence: Presence | None, now: State) -> str:
    """Return what the agent does now in one line; details only for a user who may see the goal."""
    language = asked.language
    status = _status(asked, profile)
    if status != "active":
        return discord_term(language, status)
    if now.action.phase == "approving":
        return discord_text_of_view(language, "waits_for_approval")
    owner = asked.authority(presence) is Authority.OWNER
    if owner and now.action.phase and now.action.summary:
        return one_discord_line(now.action.summary, _TEXT)
    goal = _goal(asked, profile, profile.mind.agenda.current)
    if goal is not None and _may_see(asked, presence, goal):
        doing = goal_progress(asked.runtime, goal, private=owner).current
        if doing is not None:
            return one_discord_line(doing.sentence, _TEXT)
    return discord_text_of_view(language, "works" if now.action.phase else "rests")


def _goal(asked: AgentQuery, profile: Profile, goal_id: str | None) -> Goal | None:
    if goal_id is None:
        return None
    try:
        return require_goal_document(asked.runtime.home.facts, profile.agent.id, goal_id).read(Goal)
    except NotFound:
        return None


def _may_see(asked: AgentQuery, presence: Presence | None, goal: Goal) -> bool:
    """Check whether the user may see a goal; the public only sees its own and this channel's.

    A known user may read all of them over REST too.
    """
    if asked.authority(presence) in {Authority.OWNER, Authority.USER}:
        return True
    if goal.principal_id == asked.person.principal_id:
        return True
    channel = goal.channel
    here = channel is not None and channel.kind == KIND
    return here and channel is not None and discord_address(channel)[0] == asked.reply.channel_id


def _goal_field(asked: AgentQuery, goal: Goal, told: GoalSummary) -> Field:
    figures = [discord_term(asked.language, told.status.value), f"{told.completion} %"]
    if told.tasks_total:
        figures.append(f"{told.tasks_over}/{told.tasks_total}")
    figures.append(discord_timestamp(goal.ended_at or goal.created_at))
    rows = [" · ".join(figures), *_tasks(goal)]
    return f"{goal.id} {one_discord_line(goal.name, _NAME)}", discord_embed_lines_that_fit(
        rows, FIELD_VALUE // 2
    )


def _tasks(goal: Goal) -> Iterator[str]:
    if not goal.status.is_end:
        yield from (
            f"{_MARKS[task.status]} {one_discord_line(task.name, _NAME)}" for task in goal.tasks
        )
