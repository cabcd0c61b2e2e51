"""Templates of agents: the presets, and character cards; both are sent to `POST /api/agents`."""

from typing import Annotated

from fastapi import Header

from opencrab.domain.value import Value
from opencrab.engine.agents.character_card import CharacterCard, agent_from_character_card
from opencrab.engine.agents.creation import NewAgent
from opencrab.gateways.language.accept_language import language_of_http_request
from opencrab.gateways.rest.http.access import Owner, Reader
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.idempotency import Repeatable

router = http_routes_below("/api/presets", "agents")

_Language = Annotated[str | None, Header(description="the language of the agent")]


class PresetView(Value):
    """A preset; `agent` is a body for `POST /api/agents`."""

    key: str
    title: str
    is_founder: bool
    agent: NewAgent


class PresetsView(Value):
    """The presets for new users, then the eight of the first population."""

    presets: tuple[PresetView, ...]


class CardAgentView(Value):
    """A new agent as a card describes it; `cut` are the texts that were too long."""

    agent: NewAgent
    cut: tuple[str, ...]


@router.get("")
def list_presets(_caller: Reader, accept_language: _Language = None) -> PresetsView:
    """List the presets from which agents can be created."""
    from opencrab.engine.agents.presets import (  # noqa: PLC0415 - seldom needed
        agent_from_preset,
        all_agent_presets,
        founder_presets,
    )

    language = language_of_http_request(accept_language or "")
    founders = {each.key for each in founder_presets()}
    return PresetsView(
        presets=tuple(
            PresetView(
                key=each.key,
                title=each.words[language].title,
                is_founder=each.key in founders,
                agent=agent_from_preset(each, language),
            )
            for each in all_agent_presets()
        )
    )


@router.post("/card", operation_id="read_card")
def convert_character_card(
    _caller: Owner,
    _once: Repeatable,
    body: Strict[CharacterCard],
    accept_language: _Language = None,
) -> CardAgentView:
    """Convert a character card to the settings of an agent.

    It creates nothing. Versions 1 to 3 of the format are read; instructions to a model, such as
    `system_prompt`, are left out.
    """
    agent, cut = agent_from_character_card(body, language_of_http_request(accept_language or ""))
    return CardAgentView(agent=agent, cut=cut)
