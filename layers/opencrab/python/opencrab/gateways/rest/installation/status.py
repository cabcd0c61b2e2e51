"""The installation's own state: whether it lives, how it is set up, and whether it may work."""

from enum import StrEnum
from typing import Annotated, Any, Literal

from fastapi import Header, Request
from pydantic import Field

from opencrab import __version__
from opencrab.domain.access.instance import (
    CHALLENGE_CHARACTERS,
    CHALLENGE_HEADER,
    instance_access_proof,
)
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.value import Identifier, Value
from opencrab.engine.agents.settings import freeze_or_unfreeze_agent
from opencrab.gateways.language.accept_language import language_of_http_request
from opencrab.gateways.rest.http.access import Owner, Reader, SetupReader
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api

router = http_routes_below("/api", "state")


class Health(Value):
    """The status and version of a process that responds; `proof` answers a challenge."""

    status: Literal["ok"] = "ok"
    version: str = __version__
    proof: str | None = Field(default=None, description="hex HMAC-SHA256 of the challenge, if any")


class Switch(StrEnum):
    """The state of a switch; turns of a frozen agent do not take their next step."""

    RUNNING = "running"
    FROZEN = "frozen"


class StatePut(Value, defer_build=False):
    """The state of a switch: that of the installation, or of one agent."""

    state: Switch
    agent_id: Identifier | None = Field(
        default=None, description="the agent to freeze or unfreeze; by default the installation"
    )


class StateView(Value):
    """The state of the switches; a frozen installation freezes all agents."""

    state: Switch
    frozen_agents: tuple[str, ...]


@router.get("/health", response_model_exclude_none=True, operation_id="health")
async def get_installation_health(api: Api, request: Request) -> Health:
    """Check that the process responds.

    It needs no key and reads no store. On your own computer it answers `X-OpenCrab-Challenge`, 64
    characters, with the proof that it serves its data folder; the command asks before it sends a
    key.
    """
    challenge = request.headers.get(CHALLENGE_HEADER, "")
    if api.instance is None or len(challenge) != CHALLENGE_CHARACTERS:
        return Health()
    return Health(proof=instance_access_proof(api.instance, challenge))


@router.get("/setup", operation_id="setup")
def get_installation_setup(
    api: Api,
    _caller: SetupReader,
    accept_language: Annotated[
        str | None, Header(description="the language of the sentences")
    ] = None,
) -> dict[str, Any]:
    """Get what is configured, what is missing and what to do about it."""
    return api.setup(language_of_http_request(accept_language or ""))


@router.get("/system/state", operation_id="get_system_state")
def get_installation_state(api: Api, _caller: Owner) -> StateView:
    """Get whether the installation runs, and which agents are frozen."""
    return _switches(api.runtime.home.switches.all_frozen())


@router.put("/system/state", operation_id="put_system_state")
def put_installation_state(api: Api, caller: Owner, body: Strict[StatePut]) -> StateView:
    """Freeze or unfreeze everything or one agent, queued work included.

    It takes effect before the next model call. Turns that are frozen end as stopped.
    """
    frozen = body.state is Switch.FROZEN
    return _switches(
        freeze_or_unfreeze_agent(
            api.runtime.home, body.agent_id, frozen=frozen, by=caller.principal.id
        )
    )


@router.get("/openapi.json", include_in_schema=False, operation_id="openapi")
def get_installation_openapi(request: Request, _caller: Reader) -> dict[str, Any]:
    """Get this API as an OpenAPI document."""
    document: dict[str, Any] = request.app.openapi()
    return document


def _switches(frozen: tuple[str, ...]) -> StateView:
    state = Switch.FROZEN if INSTALLATION in frozen else Switch.RUNNING
    return StateView(
        state=state, frozen_agents=tuple(scope for scope in frozen if scope != INSTALLATION)
    )
