"""The question for a purpose: asked once, by code, where an agent's owner sees it."""

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import Agent
from opencrab.domain.document import new_fact
from opencrab.domain.turn.turn import Trigger, TurnStatus
from opencrab.domain.value import Value
from opencrab.engine.consequence import FollowUp, TurnConsequence, TurnEnding
from opencrab.engine.phrases import system_phrase
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.work import TurnWork

PURPOSE_QUESTION = "purpose_question"
"""Kind and id of the document that says that an agent's owner was asked."""

_FIRST_LINES = 4
"""It is asked at the beginning of a conversation, so that all other turns cost no read."""


class PurposeQuestion(Value):
    """A mark without content."""


class PurposeQuestionConsequence(TurnConsequence[Runtime, TurnWork]):
    """Asks the owner of an agent without a purpose for one, after its answer to the owner.

    Only an agent that acts on its own, or speaks in a channel of its own, needs one: others do what
    they are told, and a program that talks to them gets answers only.

    The question goes to the channel of the agent's heartbeat, or into the conversation with the
    owner where people read it there: not where answers go to another channel.
    """

    def on_close(self, work: TurnWork, ending: TurnEnding) -> FollowUp:
        agent, facts = work.profile.agent, work.runtime.home.facts
        if not work.runtime.rules.asks_purpose or not _lacks_purpose(agent):
            return FollowUp()
        has_channel = agent.heartbeat.channel is not None
        is_read = has_channel or work.turn.channel is None
        if not (is_read and _is_chat_with_owner(work, ending)):
            return FollowUp()
        if facts.get(agent.id, PURPOSE_QUESTION, PURPOSE_QUESTION) is not None:
            return FollowUp()
        mark = new_fact(agent.id, PURPOSE_QUESTION, PURPOSE_QUESTION, PurposeQuestion())
        asked = system_phrase("ask_purpose", agent.language, name=agent.name)
        if has_channel:
            return FollowUp(facts=(mark,), owner_question=asked)
        return FollowUp(facts=(mark,), session_notice=asked)


def _lacks_purpose(agent: Agent) -> bool:
    """Check whether an agent has no purpose although it does more than it is told."""
    heartbeat = agent.heartbeat
    needs = heartbeat.channel is not None or heartbeat.acts_on_its_own
    return needs and not agent.purpose.strip()


def _is_chat_with_owner(work: TurnWork, ending: TurnEnding) -> bool:
    turn = work.turn
    is_chat = turn.trigger is Trigger.MESSAGE and turn.task is None and not work.session.discusses
    is_answered = ending.status is TurnStatus.COMPLETED and bool(ending.speech)
    is_early = turn.trigger_line <= _FIRST_LINES
    return is_chat and is_answered and is_early and turn.authority is Authority.OWNER
