"""Agent cards: what clients of A2A read first, at the well-known place of the host or of an agent.

The card of the default agent needs no key, as it says how to sign in; those of others do.
"""

import json
from contextlib import suppress
from itertools import islice
from typing import Any

from fastapi import APIRouter, Request, Response

from opencrab import __version__
from opencrab.domain.a2a.protocol import (
    A2A_BINDING,
    A2A_CARD_PATH,
    A2A_HOPS,
    A2A_VERSION,
)
from opencrab.domain.agents.agent import Profile
from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.identifier import content_hash
from opencrab.gateways.rest.a2a.message_parts import INPUT_MODES
from opencrab.gateways.rest.agents.agent_names import find_agent_by_id_or_name
from opencrab.gateways.rest.http.access import CALLER, Caller
from opencrab.gateways.rest.http.dependencies import Api
from opencrab.ports.agents import Agents
from opencrab.ports.paging import paginate
from opencrab.ports.texts import Texts

CARD_SECONDS = 300
"""The time for which clients may keep a card."""

_LOOKED_AT = 1_000
_TEXTS = Texts(__file__)

router = APIRouter(include_in_schema=False)


@router.get(A2A_CARD_PATH)
def get_a2a_card_of_default_agent(request: Request, api: Api) -> Response:
    """Get the card of the agent that the settings name; it is the only one without a key."""
    state, agents = request.app.state, api.runtime.home.agents
    profile = _named_agent(agents, state.a2a, getattr(state, "a2a_agent", state.a2a))
    if profile is None:
        profile = _default_agent(agents, state.a2a)
    # Anybody may ask: the next request reads this one agent, not all that might have its name.
    state.a2a_agent = profile.agent.id
    return _card_response(request, profile, public=True)


@router.get(f"/a2a/{{agent}}{A2A_CARD_PATH}")
def get_a2a_card_of_agent(request: Request, api: Api, agent: str) -> Response:
    """Get the card of one agent that the key may see."""
    caller: Caller = request.scope[CALLER]
    profile = find_agent_by_id_or_name(
        api.runtime.home.agents,
        caller.principal,
        agent,
        field="agent",
        cure="GET /api/agents lists the agents of this key",
    )
    return _card_response(request, profile, public=False)


def a2a_card_of_agent(profile: Profile, base: str) -> dict[str, Any]:
    """Return the card of an agent of the installation at an address."""
    agent, language = profile.agent, profile.agent.language
    described = agent.purpose.strip() or _TEXTS["description"][language]
    return {
        "name": profile.identity.name,
        "description": described,
        "version": __version__,
        "supportedInterfaces": [
            {
                "url": f"{base}/a2a/{agent.id}",
                "protocolBinding": A2A_BINDING,
                "protocolVersion": A2A_VERSION,
            }
        ],
        "capabilities": {
            "streaming": True,
            "pushNotifications": False,
            "extendedAgentCard": False,
            "extensions": [
                {"uri": A2A_HOPS, "description": _TEXTS["hops"][language], "required": False}
            ],
        },
        "securitySchemes": {
            "key": {
                "httpAuthSecurityScheme": {
                    "scheme": "Bearer",
                    "description": _TEXTS["key"][language],
                }
            }
        },
        "securityRequirements": [{"schemes": {"key": {"list": []}}}],
        "defaultInputModes": list(INPUT_MODES),
        "defaultOutputModes": ["text/plain"],
        "skills": [
            {
                "id": "conversation",
                "name": _TEXTS["skill"][language],
                "description": described,
                "tags": ["conversation"],
            }
        ],
    }


def _named_agent(agents: Agents, named: str, agent_id: str) -> Profile | None:
    """Return the agent of an id, if it answers and is the one that the settings name."""
    with suppress(NotFound, Invalid):
        agent = (profile := agents.get(agent_id)).agent
        return profile if agent.answers and named in {agent.id, agent.name} else None
    return None


def _default_agent(agents: Agents, named: str) -> Profile:
    profiles = paginate(agents.page, key=lambda each: each.agent.id)
    found = [
        each
        for each in islice(profiles, _LOOKED_AT if named else 0)
        if each.agent.answers and named in {each.agent.id, each.agent.name}
    ]
    if len(found) != 1:
        why = "is not set" if not named else "is the name of no agent, or of several"
        raise NotFound(
            f"there is no default agent: gateway.a2a.agent {why}",
            cure=f"set it to an agent's id, or get /a2a/AGENT{A2A_CARD_PATH} with a key",
        )
    return found[0]


def _card_response(request: Request, profile: Profile, *, public: bool) -> Response:
    card = a2a_card_of_agent(profile, str(request.base_url).rstrip("/"))
    text = json.dumps(card, ensure_ascii=False)
    etag = f'"{content_hash(text.encode())[:32]}"'
    kept = "public" if public else "private"
    headers = {
        "ETag": etag,
        "Cache-Control": f"{kept}, max-age={CARD_SECONDS}",
        "Vary": "Host",
    }
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return Response(text, headers=headers, media_type="application/json")
