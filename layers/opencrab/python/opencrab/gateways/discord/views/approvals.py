"""Showing approvals: what waits for the asker's decision, with buttons to decide by.

Only what shows the whole call can be approved: its button carries the hash that stands there.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import Profile
from opencrab.domain.approvals.approval import Approval
from opencrab.domain.approvals.buttons import buttons_of_shown_approval
from opencrab.domain.approvals.call_text import approval_hash
from opencrab.domain.errors import NotFound, Refused, Unavailable
from opencrab.engine.approvals.approvals import (
    Decider,
    open_or_decided_approvals,
    require_approval_decider,
)
from opencrab.engine.approvals.call_card import stored_approval_call_card
from opencrab.engine.approvals.signed_links import create_approval_link
from opencrab.engine.discord.presence import discord_presence
from opencrab.gateways.discord.agent_lookup import AgentQuery
from opencrab.gateways.discord.text.embeds import (
    DESCRIPTION,
    ROWS,
    Colour,
    Embed,
    Style,
    cut_discord_text,
    discord_code_block,
    discord_embeds_message,
    discord_text_length,
    discord_timestamp,
    escape_discord_markdown,
    make_button,
    make_embed,
    make_link_button,
    one_discord_line,
)
from opencrab.gateways.discord.text.view_sentences import discord_term, discord_text_of_view

log = logging.getLogger(__name__)

_PAGE = 100
_NAME, _WHAT, _TOUCHES = 100, 400, 350
_WHOLE = 1_050
"""Units of each: five approvals fit one message whole, with their warnings."""

_LINK_MINUTES = 60
_BLOCK = 20
"""Units of a code block besides its text, with a margin."""

_ENDPOINT = "/discord/interactions"


@dataclass(frozen=True)
class ShownCall:
    """An approval with its call: `whole` as Markdown if that fits, and the `text` of it.

    Both are empty when the records of the call have expired.
    """

    approval: Approval
    whole: str = ""
    text: str = ""


def show_approvals_on_discord(asked: AgentQuery) -> dict[str, Any]:
    """Show the oldest approvals that the user may decide now, each with its two buttons."""
    language = asked.language
    found = list(islice(_theirs(asked), ROWS + 1))
    if not found:
        nothing = discord_text_of_view(language, "no_approvals")
        return discord_embeds_message(
            make_embed(discord_text_of_view(language, "approvals"), nothing, colour=Colour.QUIET)
        )
    shown = found[:ROWS]
    cards = [_card(asked, approval, _WHOLE) for approval, _ in shown]
    embeds = [
        _embed(asked, place, card, profile)
        for place, (card, (_, profile)) in enumerate(zip(cards, shown, strict=True), start=1)
    ]
    if len(found) > len(shown):
        embeds[-1]["footer"] = {"text": discord_text_of_view(language, "more_approvals")}
    rows = [_row(asked, card, f" {place}") for place, card in enumerate(cards, start=1)]
    return discord_embeds_message(*embeds, rows=rows)


def show_approval_on_discord(asked: AgentQuery, approval: Approval) -> dict[str, Any]:
    """Show one approval whole to somebody who may decide it; a call too long for that by a link.

    Raises Refused, NotFound and Unavailable.
    """
    profile, who = _decider_of(asked, approval.agent_id)
    require_approval_decider(approval, profile.agent, who, asked.runtime.clock.now())
    language, shown = asked.language, _card(asked, approval, DESCRIPTION)
    title, told = one_discord_line(profile.agent.name, _NAME), _summary(asked, approval)
    if shown.whole:
        embed = make_embed(title, f"{told}\n{shown.whole}", colour=Colour.WAITING)
        return discord_embeds_message(embed, rows=[_row(asked, shown)])
    url = None if shown.text == "" else _page_for(asked, approval)
    facts = {"characters": f"{len(shown.text):,}", "id": approval.id, "minutes": _LINK_MINUTES}
    key = "call_gone" if shown.text == "" else "only_terminal" if url is None else "only_page"
    told += f"\n{discord_text_of_view(language, key, **facts)}"
    if shown.text:
        room = DESCRIPTION - discord_text_length(told) - _BLOCK
        told += f"\n{discord_code_block(cut_discord_text(shown.text[:room], room), '')}"
    row = [_reject_button(asked, approval, "")]
    if url is not None:
        row.insert(0, make_link_button(discord_text_of_view(language, "open_page"), url))
    return discord_embeds_message(make_embed(title, told, colour=Colour.WAITING), rows=[row])


def _card(asked: AgentQuery, approval: Approval, most: int) -> ShownCall:
    """Build what is shown of a call below its summary, within so many units of both."""
    _, who = _decider_of(asked, approval.agent_id)
    card = stored_approval_call_card(asked.runtime, approval, is_owner=who.is_owner)
    if card is None:
        return ShownCall(approval)
    blocks = [
        discord_code_block(card.text, "json"),
        f"SHA-256 `{approval_hash(card.argument_hash)}`",
    ]
    if card.diff:
        blocks.insert(1, discord_code_block(card.diff, "diff"))
    whole, text = "\n".join(blocks), "\n".join(filter(None, (card.text, card.diff)))
    fits = discord_text_length(f"{_summary(asked, approval)}\n{whole}") <= most
    return ShownCall(approval, whole if fits else "", text)


def _row(asked: AgentQuery, shown: ShownCall, number: str = "") -> tuple[dict[str, Any], ...]:
    """Return the buttons of an approval: to approve it only if it is shown whole."""
    approval, language = shown.approval, asked.language
    shown_hash = approval_hash(approval.argument_hash) if shown.whole else ""
    found = buttons_of_shown_approval(approval.id, shown_hash)
    if found.approve:
        label = f"{discord_text_of_view(language, 'approve')}{number}"
        first = make_button(label, found.approve, Style.YES)
    else:
        first = make_button(f"{discord_text_of_view(language, 'open')}{number}", found.show)
    return first, _reject_button(asked, approval, number)


def _reject_button(asked: AgentQuery, approval: Approval, number: str) -> dict[str, Any]:
    label = f"{discord_text_of_view(asked.language, 'reject')}{number}"
    return make_button(label, buttons_of_shown_approval(approval.id, "").reject, Style.NO)


def _page_for(asked: AgentQuery, approval: Approval) -> str | None:
    """Return a signed link in the user's name; None if this installation has no address or secret.

    The address is the one to which Discord sends interactions: the same host serves the page.
    """
    runtime = asked.runtime
    if runtime.discord is None:
        return None
    found = runtime.discord.ask("GET", "/applications/@me")
    endpoint = str(found.get("interactions_endpoint_url") or "")
    if not endpoint.startswith("https://") or not endpoint.endswith(_ENDPOINT):
        return None
    until = runtime.clock.now() + timedelta(minutes=_LINK_MINUTES)
    if approval.expires_at is not None:
        until = min(until, approval.expires_at)
    try:
        token = create_approval_link(
            runtime, approval.id, key_id=asked.person.principal_id, until=until
        )
    except Unavailable as error:
        log.warning("cannot sign a link: approval=%s, error=%s", approval.id, error.message)
        return None
    return f"{endpoint.removesuffix(_ENDPOINT)}/approve?t={token}"


def _theirs(asked: AgentQuery) -> Iterator[tuple[Approval, Profile]]:
    """Return the open approvals that the user may decide, oldest turns first."""
    deciders = dict[str, tuple[Profile, Decider] | None]()
    for approval in _open(asked):
        if approval.agent_id not in deciders:
            deciders[approval.agent_id] = _decider(asked, approval.agent_id)
        known = deciders[approval.agent_id]
        if known is not None and _may_decide(asked, approval, *known):
            yield approval, known[0]


def _open(asked: AgentQuery) -> Iterator[Approval]:
    after = ""
    while found := open_or_decided_approvals(
        asked.runtime.home.facts, decided=False, after=after, limit=_PAGE
    ):
        yield from found
        after = found[-1].id


def _decider(asked: AgentQuery, agent_id: str) -> tuple[Profile, Decider] | None:
    """Return an agent, and the user as decider of its approvals; None without such an agent."""
    try:
        return _decider_of(asked, agent_id)
    except NotFound:
        return None


def _decider_of(asked: AgentQuery, agent_id: str) -> tuple[Profile, Decider]:
    """Return an agent, and the user as decider of its approvals; raise NotFound."""
    profile = asked.runtime.home.agents.get(agent_id)
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


def _embed(asked: AgentQuery, place: int, shown: ShownCall, profile: Profile) -> Embed:
    below = shown.whole or discord_text_of_view(asked.language, "not_whole")
    title = f"{place}. {one_discord_line(profile.agent.name, _NAME)}"
    told = f"{_summary(asked, shown.approval)}\n{below}"
    return make_embed(title, told, colour=Colour.WAITING)


def _summary(asked: AgentQuery, approval: Approval) -> str:
    """Describe an approval in short: what, where, by which action, since when, and the taint."""
    language = asked.language
    told = [f"**{one_discord_line(approval.what, _WHAT)}**"]
    if approval.touches.strip():
        touches = one_discord_line(approval.touches, _TOUCHES)
        told.append(f"{discord_text_of_view(language, 'touches')}: {touches}")
    impact = discord_term(language, approval.impact.value)
    told.append(
        f"{escape_discord_markdown(approval.action)} · {impact}"
        f" · {discord_timestamp(approval.created_at)}"
    )
    if approval.expires_at is not None:
        told.append(
            f"{discord_text_of_view(language, 'expires')} {discord_timestamp(approval.expires_at)}"
        )
    if approval.tainted:
        told.append(f"⚠️ {discord_text_of_view(language, 'tainted')}")
    return "\n".join(told)
