"""The question for a purpose: asked once, by code, where an agent's owner sees it."""

from opencrab.domain.access.authority import Authority
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

    The question goes to the channel of the agent's heartbeat, or into the conversation with the
    owner where people read it there: not where answers go to another channel.
    """

    def on_close(self, work: TurnWork, ending: TurnEnding) -> FollowUp:
        agent = work.profile.agent
        if not work.runtime.rules.asks_purpose or agent.purpose.strip():
            return FollowUp()
        if not _is_chat_with_owner(work, ending):
            return FollowUp()
        has_channel = agent.heartbeat.channel is not None
        if not has_channel and work.turn.channel is not None:
            return FollowUp()
        facts = work.runtime.home.facts
        if facts.get(agent.id, PURPOSE_QUESTION, PURPOSE_QUESTION) is not None:
            return FollowUp()
        mark = new_fact(agent.id, PURPOSE_QUESTION, PURPOSE_QUESTION, PurposeQuestion())
        asked = system_phrase("ask_purpose", agent.language, name=agent.name)
        if has_channel:
            return FollowUp(facts=(mark,), owner_question=asked)
        return FollowUp(facts=(mark,), session_notice=asked)


def _is_chat_with_owner(work: TurnWork, ending: TurnEnding) -> bool:
    turn = work.turn
    is_chat = turn.trigger is Trigger.MESSAGE and turn.task is None and not work.session.discusses
    is_answered = ending.status is TurnStatus.COMPLETED and bool(ending.speech)
    is_early = turn.trigger_line <= _FIRST_LINES
    return is_chat and is_answered and is_early and turn.authority is Authority.OWNER
