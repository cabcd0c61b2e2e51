"""A sample conversation with a soul: two fixed questions, before anybody saves the soul.

The answers are paid for like every other call and stored nowhere: no session, no memory.
"""

from opencrab.domain.agents.agent import Profile
from opencrab.domain.errors import Conflict
from opencrab.domain.models.routing import Use
from opencrab.domain.value import MicroUsd, Value
from opencrab.engine.installation.model_question import ModelQuestion
from opencrab.engine.models.effective_choice import effective_models
from opencrab.engine.models.preferences import current_model_preferences
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.prompt.soul_preview import preview_system_prompt
from opencrab.ports.models.model import (
    ChatMessage,
    PromptText,
    TrustedText,
    labelled_message,
    labelled_request,
)
from opencrab.ports.texts import Texts

MOST_TOKENS = 400
"""The most that a model may answer to each question."""

_QUESTIONS = Texts(__file__)


class SampleAnswer(Value):
    """A question and what the model answered; `text` is empty if it said nothing."""

    question: str
    text: str
    cost_micro_usd: MicroUsd
    latency_ms: int


class SampleConversation(Value):
    """The answers of one model in the order of the questions."""

    model: str
    answers: tuple[SampleAnswer, ...]


def installation_sample_conversation(
    runtime: Runtime, profile: Profile, *, timeout_seconds: float
) -> SampleConversation:
    """Ask the agent's own model for conversations two questions, with a profile that is not stored.

    Each call is reserved from the agent's budgets and may take half of the time. Raises Conflict
    for a retired agent, Refused for a frozen one, Exhausted, Invalid for a model that cannot be
    used, and ModelCallFailed.
    """
    agent = profile.agent
    if not agent.answers:
        raise Conflict(f"agent {agent.id!r} has retired", cure="choose another agent")
    current_model_preferences(runtime)
    model = runtime.models.get(effective_models(runtime.models, agent)[Use.CONVERSATION].model)
    system, turns = preview_system_prompt(profile), tuple[ChatMessage, ...]()
    answers = list[SampleAnswer]()
    for question in (texts[agent.language] for texts in _QUESTIONS.values()):
        turns = (*turns, labelled_message("user", TrustedText(question)))
        request = labelled_request(
            model=model.info.name.partition(":")[2],
            actions=(),
            system=system,
            turns=turns,
            max_output_tokens=MOST_TOKENS,
            temperature=None,
            stop=(),
            timeout_seconds=timeout_seconds / 2,
        )
        found = ModelQuestion(runtime, agent, model).ask(
            timeout_seconds=request.timeout_seconds, request=request
        )
        # Some vendors refuse an empty message.
        turns = (*turns, labelled_message("assistant", PromptText(found.text or "…")))
        answers.append(
            SampleAnswer(
                question=question,
                text=found.text,
                cost_micro_usd=found.cost,
                latency_ms=found.latency_ms,
            )
        )
    return SampleConversation(model=model.info.name, answers=tuple(answers))
