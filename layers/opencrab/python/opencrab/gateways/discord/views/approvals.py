"""Showing approvals: what waits for the asker's decision, with buttons to decide by."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import Profile
from opencrab.domain.approvals.approval import Approval
from opencrab.domain.errors import NotFound, Refused
from opencrab.engine.approvals.approvals import Decider, page_of_approvals, require_approval_decider
from opencrab.engine.discord.presence import discord_presence
from opencrab.gateways.discord.agent_lookup import AgentQuery
from opencrab.gateways.discord.text.embeds import (
    ROWS,
    Colour,
    Embed,
    Style,
    discord_timestamp,
    embeds_message,
    escape_discord_markdown,
    make_button,
    make_embed,
    one_line,
)
from opencrab.gateways.discord.text.view_sentences import discord_term, discord_view_sentence

_PAGE = 100
_NAME, _WHAT, _TOUCHES = 100, 400, 350
"""Units of each: five approvals fit one message whole, with their warnings."""


def show_approvals(asked: AgentQuery) -> dict[str, Any]:
    """The oldest approvals that the asker may decide now, each with its two buttons."""
    language = asked.language
    found = list(islice(_theirs(asked), ROWS + 1))
    if not found:
        nothing = discord_view_sentence(language, "no_approvals")
        return embeds_message(
            make_embed(discord_view_sentence(language, "approvals"), nothing, colour=Colour.QUIET)
        )
    shown = found[:ROWS]
    embeds = [
        _embed(asked, place, approval, profile)
        for place, (approval, profile) in enumerate(shown, start=1)
    ]
    if len(found) > len(shown):
        embeds[-1]["footer"] = {"text": discord_view_sentence(language, "more_approvals")}
    rows = [
        (
            make_button(
                f"{discord_view_sentence(language, 'approve')} {place}",
                f"oc:ap:{approval.id}:y",
                Style.YES,
            ),
            make_button(
                f"{discord_view_sentence(language, 'reject')} {place}",
                f"oc:ap:{approval.id}:n",
                Style.NO,
            ),
        )
        for place, (approval, _) in enumerate(shown, start=1)
    ]
    return embeds_message(*embeds, rows=rows)


def _theirs(asked: AgentQuery) -> Iterator[tuple[Approval, Profile]]:
    """What is open and theirs to decide, the oldest turns' first."""
    deciders = dict[str, tuple[Profile, Decider] | None]()
    for approval in _open(asked):
        if approval.agent_id not in deciders:
            deciders[approval.agent_id] = _decider(asked, approval.agent_id)
        known = deciders[approval.agent_id]
        if known is not None and _may_decide(asked, approval, *known):
            yield approval, known[0]


def _open(asked: AgentQuery) -> Iterator[Approval]:
    after = ""
    while found := page_of_approvals(
        asked.runtime.home.facts, decided=False, after=after, limit=_PAGE
    ):
        yield from found
        after = found[-1].id


def _decider(asked: AgentQuery, agent_id: str) -> tuple[Profile, Decider] | None:
    """An agent with what the asker is to it; None when it is gone."""
    try:
        profile = asked.runtime.home.agents.get(agent_id)
    except NotFound:
        return None
    authority = asked.authority(discord_presence(asked.runtime.home.facts, agent_id))
    is_owner = authority is Authority.OWNER
    return profile, Decider(id=asked.person.principal_id, is_owner=is_owner)


def _may_decide(asked: AgentQuery, approval: Approval, profile: Profile, who: Decider) -> bool:
    now = asked.runtime.clock.now()
    if approval.expires_at is not None and now >= approval.expires_at:
        return False
    try:
        require_approval_decider(approval, profile.agent, who, now)
    except Refused:
        return False
    return True


def _embed(asked: AgentQuery, place: int, approval: Approval, profile: Profile) -> Embed:
    language = asked.language
    told = [f"**{one_line(approval.what, _WHAT)}**"]
    if approval.touches.strip():
        touches = one_line(approval.touches, _TOUCHES)
        told.append(f"{discord_view_sentence(language, 'touches')}: {touches}")
    impact = discord_term(language, approval.impact.value)
    told.append(
        f"{escape_discord_markdown(approval.action)} · {impact}"
        f" · {discord_timestamp(approval.created_at)}"
    )
    if approval.expires_at is not None:
        told.append(
            f"{discord_view_sentence(language, 'expires')} {discord_timestamp(approval.expires_at)}"
        )
    if approval.tainted:
        told.append(f"⚠️ {discord_view_sentence(language, 'tainted')}")
    title = f"{place}. {one_line(profile.agent.name, _NAME)}"
    return make_embed(title, "\n".join(told), colour=Colour.WAITING)
