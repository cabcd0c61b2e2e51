"""Showing memory: what an agent can find again of its past, and letting it forget."""

import re
from collections.abc import Iterator
from typing import Any

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import Profile
from opencrab.domain.conversation.session import Hearing, Session
from opencrab.domain.discord.community import KIND, Presence
from opencrab.domain.erasure.request import ErasureRequest, ErasureScope
from opencrab.domain.errors import Invalid
from opencrab.domain.memory.memory import MEMORY
from opencrab.domain.memory.search_row import EPOCH, EVERYTHING, RowKind, SearchClearance, SearchRow
from opencrab.engine.conversation.channel_bindings import conversation_bound_to_channel
from opencrab.engine.erasure import erase
from opencrab.engine.memory import reading
from opencrab.engine.memory.curation import MemoryCurator
from opencrab.gateways.discord.agent_lookup import AgentQuery, agent_of_discord_command
from opencrab.gateways.discord.text.embeds import (
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
from opencrab.ports.memory.search import SearchQuery

_FOUND = 8
_TEXT = 500
_QUOTED = 300
_CALLS = 2
"""So often one command says a wish again that takes longer than one call works."""

_OPEN = frozenset(Hearing) - {Hearing.PRIVATE}
_MEMORY_ID = re.compile(r"[A-Za-z0-9_\-]{1,64}")


def search_memory_on_discord(asked: AgentQuery) -> dict[str, Any]:
    """Show search results that the user may read; only owners find private ones."""
    profile, presence = agent_of_discord_command(asked)
    text, language = str(asked.options.get("query", "")), asked.language
    if not text.strip():
        raise Invalid(discord_text_of_view(language, "blank_query"), field="query")
    clearance = _clearance(asked, profile, presence)
    query = SearchQuery(
        text=text,
        clearance=clearance,
        limit=_FOUND,
        hearings=frozenset() if clearance.whole else _OPEN,
    )
    runtime = asked.runtime
    found = reading.search_memory(
        runtime.home, runtime.search, profile.agent.id, query, runtime.rules.time_zone
    )
    title = discord_text_of_view(
        language, "found_of", name=escape_discord_markdown(profile.agent.name)
    )
    asked_for = f"🔎 {one_discord_line(text, _QUOTED)}"
    if not found:
        nothing = f"{asked_for}\n{discord_text_of_view(language, 'found_nothing')}"
        return discord_embeds_message(make_embed(title, nothing, colour=Colour.QUIET))
    fields = [_search_result_field(asked, each.row) for each in found]
    return discord_embeds_message(make_embed(title, asked_for, fields=fields))


def forget_memory_on_discord(asked: AgentQuery) -> dict[str, Any]:
    """Erase a memory, or all data of a person; without `confirm` only show a preview."""
    profile, presence = agent_of_discord_command(asked)
    asked.require_owner(profile, presence)
    wish = _wish(asked)
    if asked.options.get("confirm") is True:
        return _erase_and_report(asked, profile, wish)
    return _preview(asked, profile, wish)


def _clearance(asked: AgentQuery, profile: Profile, presence: Presence | None) -> SearchClearance:
    """Return what the user may search: owners everything, others this channel's session.

    A known user also finds what they heard in other conversations.
    """
    authority = asked.authority(presence)
    if authority is Authority.OWNER:
        return EVERYTHING
    session = _session(asked, profile)
    return SearchClearance(
        session_id="" if session is None else session.id,
        guild_id=asked.reply.guild_id or "",
        person_id=asked.person.principal_id if authority is Authority.USER else "",
    )


def _session(asked: AgentQuery, profile: Profile) -> Session | None:
    session = conversation_bound_to_channel(asked.runtime.home, f"{KIND}.{asked.reply.channel_id}")
    present = session is not None and profile.agent.id in session.agent_ids
    return session if present else None


def _search_result_field(asked: AgentQuery, row: SearchRow) -> Field:
    """Return a search result as a field; an owner sees the id that `/memory forget` takes."""
    head = [discord_term(asked.language, row.kind.value)]
    if row.speaker.strip():
        head.append(one_discord_line(row.speaker, 100))
    told = one_discord_line(row.text, _TEXT)
    at = "" if row.at == EPOCH else f"\n{discord_timestamp(row.at)}"
    named = f" · `{row.ref}`" if row.kind is RowKind.MEMORY and row.ref else ""
    return " · ".join(head), f"{told}{at}{named}"


def _wish(asked: AgentQuery) -> ErasureRequest:
    memory, person = asked.options.get("memory"), asked.options.get("person")
    if bool(memory) == bool(person):
        raise Invalid(
            discord_text_of_view(asked.language, "forget_what"),
            field="memory",
            cure=discord_text_of_view(asked.language, "forget_what_cure"),
        )
    if person:
        return ErasureRequest(scope=ErasureScope.PERSON, id=f"{KIND}-{person}")
    wanted = str(memory).strip().removeprefix(f"{RowKind.MEMORY}:")
    if not _MEMORY_ID.fullmatch(wanted):
        raise Invalid(
            discord_text_of_view(asked.language, "no_memory_id"),
            field="memory",
            cure=discord_text_of_view(asked.language, "no_memory_id_cure"),
        )
    return ErasureRequest(scope=ErasureScope.MEMORY, id=wanted)


def _preview(asked: AgentQuery, profile: Profile, wish: ErasureRequest) -> dict[str, Any]:
    language = asked.language
    lineage = erase.erased_data_lineage(asked.runtime, profile.agent.id, wish)
    fields = [
        (discord_text_of_view(language, "lines"), f"{lineage.lines:,}"),
        (discord_text_of_view(language, "repeated"), f"{lineage.repeated:,}"),
        (discord_text_of_view(language, "turns"), f"{lineage.turns:,}"),
        *_name_list_fields(asked, "kept", lineage.kept),
        *_name_list_fields(asked, "files_stay", lineage.files),
        *_name_list_fields(asked, "skills_stay", lineage.skills),
        *_name_list_fields(asked, "schedules_stay", lineage.schedules),
    ]
    title = discord_text_of_view(
        language, "would_forget", name=escape_discord_markdown(profile.agent.name)
    )
    told = f"{_what(asked, profile, wish)}\n\n{discord_text_of_view(language, 'confirm')}"
    return discord_embeds_message(make_embed(title, told, fields=fields, colour=Colour.WAITING))


def _erase_and_report(asked: AgentQuery, profile: Profile, wish: ErasureRequest) -> dict[str, Any]:
    language, what = asked.language, _what(asked, profile, wish, quoted=False)
    reports = list(_reports(asked, profile, wish))
    removed = dict.fromkeys(name for each in reports for name in each.removed)
    report = reports[-1]
    fields = [
        (discord_text_of_view(language, "lines"), f"{sum(each.lines for each in reports):,}"),
        (discord_text_of_view(language, "turns"), f"{sum(each.turns for each in reports):,}"),
        *_name_list_fields(asked, "kept", tuple(removed)),
        *_name_list_fields(asked, "files_stay", report.files),
        *_name_list_fields(asked, "skills_stay", report.skills),
        *_name_list_fields(asked, "schedules_stay", report.schedules),
        *_out_of_reach(asked, report.out_of_reach),
    ]
    key = "forgotten" if report.done else "forgotten_partly"
    colour = Colour.GOOD if report.done else Colour.WAITING
    told = what if report.done else f"{what}\n\n{discord_text_of_view(language, 'forget_again')}"
    title = discord_text_of_view(language, key, name=escape_discord_markdown(profile.agent.name))
    return discord_embeds_message(make_embed(title, told, fields=fields, colour=colour))


def _reports(
    asked: AgentQuery, profile: Profile, wish: ErasureRequest
) -> Iterator[erase.ErasureReport]:
    """Run the erasure in several calls until it is done or their number is used up."""
    for _ in range(_CALLS):
        report = erase.erase_data(asked.runtime, profile.agent.id, wish)
        yield report
        if report.done:
            return


def _what(asked: AgentQuery, profile: Profile, wish: ErasureRequest, *, quoted: bool = True) -> str:
    """Name what is to be erased; a memory is quoted only while it exists."""
    if wish.scope is ErasureScope.PERSON:
        return discord_text_of_view(
            asked.language, "of_person", id=str(wish.id).removeprefix(f"{KIND}-")
        )
    named = discord_text_of_view(asked.language, "of_memory", id=str(wish.id))
    if not quoted or asked.runtime.home.facts.get(profile.agent.id, MEMORY, str(wish.id)) is None:
        return named
    memory = MemoryCurator(asked.runtime, profile.agent.id).get(str(wish.id)).memory
    return f"{named}\n> {one_discord_line(memory.content, _QUOTED)}"


def _out_of_reach(asked: AgentQuery, kinds: tuple[str, ...]) -> list[Field]:
    """Return a field with the copies that an erasure cannot remove."""
    words = (discord_text_of_view(asked.language, f"out_of_reach_{kind}") for kind in kinds)
    title = discord_text_of_view(asked.language, "out_of_reach")
    return [(title, discord_embed_lines_that_fit(words))] if kinds else []


def _name_list_fields(asked: AgentQuery, key: str, names: tuple[str, ...]) -> list[Field]:
    """Return a field with some names; none if there are none."""
    if not names:
        return []
    title = f"{discord_text_of_view(asked.language, key)} ({len(names)})"
    return [(title, discord_embed_lines_that_fit(one_discord_line(name, 150) for name in names))]
