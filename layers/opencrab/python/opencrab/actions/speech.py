"""Speaking, staying silent, thinking aloud to oneself, and having nothing to add."""

from pydantic import Field

from opencrab.actions.registry import Group
from opencrab.domain.action import ActionResult, DeclaredDone, Effect, Impact, Mused, Passed, Spoke
from opencrab.domain.errors import Invalid
from opencrab.domain.value import MessageText, ShortText, Value
from opencrab.ports.action import ActionContext

group = Group("speech")


class SendSpeech(Value):
    content: MessageText = Field(description="What you say")
    more: bool = Field(
        default=False, description="True to go on working in this turn after speaking"
    )


class SendNoreact(Value):
    reason: ShortText = ""


class GenerateInnerVoice(Value):
    content: MessageText = Field(description="What you think")


class DeclareDone(Value):
    reason: ShortText = ""


def _is_last(arguments: SendSpeech) -> bool:
    return not arguments.more


@group.action(
    impact=Impact.SPEECH,
    effect=Effect.TRANSACTIONAL,
    ja="会話の参加者全員に発言を送ります。more を true にしない限り、ターンはここで終わります。",
    ends_turn=_is_last,
)
def send_speech(arguments: SendSpeech, context: ActionContext) -> ActionResult:
    """Say something to everybody in the conversation. Ends your turn unless `more` is true."""
    _require_words(arguments.content)
    return ActionResult.done(Spoke(text=arguments.content), said=True)


@group.action(
    impact=Impact.SPEECH,
    effect=Effect.TRANSACTIONAL,
    ja="何も言わずにターンを終えます。新しく加えることがないときに使います。",
    ends_turn=True,
)
def send_noreact(arguments: SendNoreact, context: ActionContext) -> ActionResult:
    """Say nothing and end your turn: for when you have nothing new to add."""
    return ActionResult.done(Passed(reason=arguments.reason), said=False)


@group.action(
    impact=Impact.SPEECH,
    effect=Effect.TRANSACTIONAL,
    ja="心の中で考えます。誰にも届かず、ターンは続きます。",
)
def generate_inner_voice(arguments: GenerateInnerVoice, context: ActionContext) -> ActionResult:
    """Think to yourself. Nobody else ever reads it, and your turn goes on."""
    _require_words(arguments.content)
    return ActionResult.done(Mused(text=arguments.content), said=False)


@group.action(
    impact=Impact.SPEECH,
    effect=Effect.TRANSACTIONAL,
    ja="この会話に加えることがもうないと宣言し、ターンを終えます。全員が宣言すると会話は終了します。",
    ends_turn=True,
)
def declare_done(arguments: DeclareDone, context: ActionContext) -> ActionResult:
    """Declare that you have nothing more to add to this conversation, and end your turn.

    The conversation is over once everybody has.
    """
    return ActionResult.done(DeclaredDone(reason=arguments.reason), said=False)


def _require_words(text: str) -> None:
    if not text.strip():
        raise Invalid("content is blank", field="content", cure="write words or use send_noreact")
