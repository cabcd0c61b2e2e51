"""A pair of answers from two versions of an agent that differ in one number, and a blind verdict.

All calls are paid for like every other and their texts are stored nowhere.
"""

import re
import unicodedata

from opencrab.domain.agents.agent import Agent, Profile
from opencrab.domain.agents.trait_comparison import (
    TraitName,
    soul_trait_share_of_pair,
    souls_of_trait_comparison,
)
from opencrab.domain.errors import Conflict
from opencrab.domain.models.routing import Use
from opencrab.domain.value import Language, MicroUsd, Unit, Value
from opencrab.engine.installation.model_question import ModelQuestion, ModelQuestionResult
from opencrab.engine.models.effective_choice import effective_models
from opencrab.engine.models.preferences import current_model_preferences
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.prompt.soul_preview import preview_system_prompt
from opencrab.ports.models.model import (
    ChatModel,
    PromptText,
    TrustedText,
    labelled_message,
    labelled_request,
)
from opencrab.ports.texts import Texts

MOST_TOKENS = 300
"""The most that the agent's model may answer."""

_VERDICT_TOKENS = 64
"""Room for a verdict of models that think first."""

_CALLS = 4
_TEXTS = Texts(__file__, "texts")
_TRAITS = Texts(__file__, "traits")
_SITUATIONS = Texts(__file__, "situations")
_VERDICT = re.compile(r"(?<![A-Z])[AB](?![A-Z'])")


class TraitPair(Value):
    """Both answers to one question; `share` is 1 if they differ as described, 0 if the other way.

    One half says that the judge's verdicts disagree or cannot be used.
    """

    name: TraitName
    question: str
    high_answer: str
    low_answer: str
    share: Unit
    model: str
    judge: str
    cost_micro_usd: MicroUsd


def compare_trait_on_installation_models(
    runtime: Runtime, profile: Profile, name: TraitName, place: int, *, timeout_seconds: float
) -> TraitPair:
    """Ask a question of both versions of an agent, and a judge which answer shows more of a trait.

    The agent's model for conversations answers, its model for analysis judges, without knowing
    whose the answers are. `place` is the question's, from 0. Each of the four calls is reserved
    from the agent's budgets and may take a quarter of the time. Raises Invalid for a number that is
    neutral, Conflict for a retired agent, Refused for a frozen one, Exhausted, and ModelCallFailed.
    """
    agent = profile.agent
    if not agent.answers:
        raise Conflict(f"agent {agent.id!r} has retired", cure="choose another agent")
    souls = souls_of_trait_comparison(profile.soul, name)
    current_model_preferences(runtime)
    chosen = effective_models(runtime.models, agent)
    model, judge = (
        runtime.models.get(chosen[use].model) for use in (Use.CONVERSATION, Use.ANALYSIS)
    )
    question = trait_questions_for_installation(name, agent.language)[place]
    asking = _Asking(runtime, agent, timeout_seconds / _CALLS)
    high, low = (
        asking.ask(model, preview_system_prompt(profile.replaced(soul=soul)), question, MOST_TOKENS)
        for soul in souls
    )
    first, second = (
        asking.judge(judge, name, question, answers)
        for answers in ((high.text, low.text), (low.text, high.text))
    )
    return TraitPair(
        name=name,
        question=question,
        high_answer=high.text,
        low_answer=low.text,
        share=soul_trait_share_of_pair((first, None if second is None else not second)),
        model=model.info.name,
        judge=judge.info.name,
        cost_micro_usd=asking.cost,
    )


def trait_questions_for_installation(name: TraitName, language: Language) -> tuple[str, ...]:
    """Return the questions in whose answers a number should show."""
    return tuple(
        texts[language] for texts in _SITUATIONS.values() if name.value in texts["for"].split()
    )


class _Asking:
    """Calls in the name of an agent, and their cost so far."""

    def __init__(self, runtime: Runtime, agent: Agent, seconds: float) -> None:
        self._runtime, self._agent, self._seconds = runtime, agent, seconds
        self.cost: MicroUsd = 0

    def ask(
        self, model: ChatModel, system: PromptText, question: str, tokens: int
    ) -> ModelQuestionResult:
        request = labelled_request(
            model=model.info.name.partition(":")[2],
            actions=(),
            system=system,
            turns=(labelled_message("user", PromptText(question)),),
            max_output_tokens=tokens,
            temperature=None,
            stop=(),
            timeout_seconds=self._seconds,
        )
        found = ModelQuestion(self._runtime, self._agent, model).ask(
            timeout_seconds=self._seconds, request=request
        )
        self.cost += found.cost
        return found

    def judge(
        self, judge: ChatModel, name: TraitName, question: str, answers: tuple[str, str]
    ) -> bool | None:
        """Return whether the first answer shows more of the trait; None for no usable verdict."""
        language = self._agent.language
        text = _TEXTS["compare"][language].format(
            question=question, a=answers[0], b=answers[1], trait=_TRAITS[name][language]
        )
        system = TrustedText(_TEXTS["judge"][language])
        return _verdict(self.ask(judge, system, text, _VERDICT_TOKENS).text)


def _verdict(text: str) -> bool | None:
    """Read a verdict: the only letter A or B in the answer."""
    found = set(_VERDICT.findall(unicodedata.normalize("NFKC", text)))
    return found == {"A"} if len(found) == 1 else None
