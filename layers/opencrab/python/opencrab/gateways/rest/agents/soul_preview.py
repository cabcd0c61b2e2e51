"""Soul preview: the system text that a soul would give; nothing is stored."""

from opencrab.domain.agents.agent import Identity, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.text.terms import estimated_tokens
from opencrab.domain.value import ShortText, Value
from opencrab.engine.turn.prompt.soul_preview import soul_preview
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable

router = http_routes_below("/api/agents/{agent_id}/soul", "agents")


class SoulPreviewBody(Value, defer_build=False):
    """A soul to preview; identity and purpose are the stored ones unless they are given."""

    soul: Soul
    identity: Identity | None = None
    purpose: ShortText | None = None


class SoulPreviewView(Value):
    """The system text of a soul; skills, memories and the session's theme are added in a turn."""

    text: str
    estimated_tokens: int


@router.post("/preview")
def preview_soul(
    api: Api, _caller: Owner, agent_id: Id, _once: Repeatable, body: Strict[SoulPreviewBody]
) -> SoulPreviewView:
    """Show the system text that a soul would give.

    It changes nothing.
    """
    stored = api.runtime.home.agents.get(agent_id)
    purpose = stored.agent.purpose if body.purpose is None else body.purpose.strip()
    profile = Profile(
        agent=stored.agent.replaced(purpose=purpose),
        soul=body.soul,
        identity=body.identity or stored.identity,
    )
    text = soul_preview(profile)
    return SoulPreviewView(text=text, estimated_tokens=estimated_tokens(text))
