"""Soul preview: the system text that a soul would give, and a sample conversation with it."""

from fastapi import Response

from opencrab.domain.agents.agent import Identity, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.value import ShortText, Value
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.prompt.soul_preview import preview_system_prompt
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable, refuse_unfinished_http_repeat
from opencrab.ports.models.model import estimated_tokens

_LOCAL_SECONDS, _AWS_SECONDS = 240, 25
"""How long both answers may take together."""

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


class SampleAnswerView(Value):
    """A question and what the agent's model answered; `text` is empty if it said nothing."""

    question: str
    text: str
    cost_micro_usd: int
    latency_ms: int


class SampleConversationView(Value):
    """The answers of a model to two fixed questions, with what each cost."""

    model: str
    answers: tuple[SampleAnswerView, ...]


@router.post("/preview")
def preview_soul(
    api: Api, _caller: Owner, agent_id: Id, _once: Repeatable, body: Strict[SoulPreviewBody]
) -> SoulPreviewView:
    """Show the system text that a soul would give.

    It changes nothing.
    """
    text = str(preview_system_prompt(_previewed_profile(api.runtime, agent_id, body)))
    return SoulPreviewView(text=text, estimated_tokens=estimated_tokens(text))


@router.post("/sample", response_model=SampleConversationView)
def sample_soul(
    api: Api, _caller: Owner, agent_id: Id, once: Repeatable, body: Strict[SoulPreviewBody]
) -> Response:
    """Answer two fixed questions with a soul.

    The agent's own model answers, within the agent's budgets, in 25 seconds at most on AWS.
    The texts are stored nowhere. A repeat with the same Idempotency-Key costs nothing: it
    returns no texts, or 409 if the first request still runs or has failed.
    """

    def make() -> SampleConversationView:
        from opencrab.engine.installation.sample_conversation import (  # noqa: PLC0415 - seldom
            installation_sample_conversation,
        )

        seconds = api.capped_wait(_LOCAL_SECONDS) or _LOCAL_SECONDS
        found = installation_sample_conversation(
            api.runtime,
            _previewed_profile(api.runtime, agent_id, body),
            timeout_seconds=seconds if seconds == _LOCAL_SECONDS else min(seconds, _AWS_SECONDS),
        )
        return SampleConversationView.model_validate(found.model_dump())

    return once.answer(body, make, again=refuse_unfinished_http_repeat, remembered=_without_texts)


def _without_texts(found: SampleConversationView) -> SampleConversationView:
    return found.replaced(answers=tuple(each.replaced(text="") for each in found.answers))


def _previewed_profile(runtime: Runtime, agent_id: str, body: SoulPreviewBody) -> Profile:
    stored = runtime.home.agents.get(agent_id)
    purpose = stored.agent.purpose if body.purpose is None else body.purpose.strip()
    return Profile(
        agent=stored.agent.replaced(purpose=purpose),
        soul=body.soul,
        identity=body.identity or stored.identity,
    )
