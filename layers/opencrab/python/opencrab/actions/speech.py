"""Speaking, staying silent, thinking privately, noting impressions, and ending a conversation."""

from pydantic import Field

from opencrab.actions.registry import Group
from opencrab.domain.access.impact import Impact
from opencrab.domain.conversation.message import Audience, LineKind
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Invalid, Refused
from opencrab.domain.memory.impression import first_impression, note_impression
from opencrab.domain.memory.memory import IMPRESSION, Impression
from opencrab.domain.turn.action import (
    ActionResult,
    AnsweredLine,
    DeclaredDone,
    Effect,
    InnerVoiceNoted,
    SilenceChosen,
    SpeechSent,
)
from opencrab.domain.value import Identifier, MessageText, Name, ShortText, Value
from opencrab.ports.turn.action import ActionContext

IMPRESSIONS = 500
"""Most persons and peers of whom one agent may have an impression."""

_LATELY = 50
_LONG_NUMBER = 10
_IN_HISTORY = {"agreement", "recent_behavior", "notes"}
"""The properties of an impression that its history keeps for each session."""

group = Group("speech")


class SendSpeech(Value):
    content: MessageText
    more: bool = False
    reply_to: ShortText = Field("", description="Speaker id or line number")


class SendNoreact(Value):
    reason: ShortText = ""


class GenerateInnerVoice(Value):
    content: MessageText


class UpdateImpression(Value):
    target_id: Identifier
    target_name: Name | None = None
    personality: ShortText = ""
    communication_style: ShortText = ""
    recent_behavior: ShortText = ""
    agreement: ShortText = ""
    notes: ShortText = ""


class DeclareDone(Value):
    reason: ShortText = ""


def _is_last(arguments: SendSpeech, _result: ActionResult) -> bool:
    return not arguments.more


@group.action(
    impact=Impact.SPEECH,
    effect=Effect.TRANSACTIONAL,
    sentences=("Say something", "発言する"),
    ja="会話の参加者全員に発言を送ります。more を true にしない限り、ターンはここで終わります。",
    ends_turn=_is_last,
)
def send_speech(arguments: SendSpeech, context: ActionContext) -> ActionResult:
    """Say something to everybody in the conversation. Ends your turn unless `more` is true."""
    _require_words(arguments.content)
    wanted = arguments.reply_to.strip()
    answered = _answered_line(wanted, context) if wanted else None
    return ActionResult.ok(SpeechSent(text=arguments.content, reply_to=answered), said=True)


@group.action(
    impact=Impact.SPEECH,
    effect=Effect.TRANSACTIONAL,
    sentences=("Stay silent", "黙っている"),
    ja="何も言わずにターンを終えます。",
    ends_turn=True,
)
def send_noreact(arguments: SendNoreact, context: ActionContext) -> ActionResult:
    """Say nothing and end your turn."""
    return ActionResult.ok(SilenceChosen(reason=arguments.reason), said=False)


@group.action(
    impact=Impact.SPEECH,
    effect=Effect.TRANSACTIONAL,
    sentences=("Think to oneself", "心の中で考える"),
    ja="心の中で考えます。誰にも届かず、ターンは続きます。",
)
def generate_inner_voice(arguments: GenerateInnerVoice, context: ActionContext) -> ActionResult:
    """Think to yourself. Nobody else ever reads it, and your turn goes on."""
    _require_words(arguments.content)
    return ActionResult.ok(InnerVoiceNoted(text=arguments.content), said=False)


@group.action(
    impact=Impact.SPEECH,
    effect=Effect.TRANSACTIONAL,
    sentences=("Declare the conversation done", "話し終えたと宣言する"),
    ja="もう加えることがないと宣言し、ターンを終えます。全員が宣言すると議論は終了します。",
    ends_turn=True,
)
def declare_done(arguments: DeclareDone, context: ActionContext) -> ActionResult:
    """Declare that you have nothing more to add, and end your turn.

    A discussion is over once everybody has.
    """
    return ActionResult.ok(DeclaredDone(reason=arguments.reason), said=False)


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Note an impression of {target_id}", "{target_id}の印象を書き留める"),
    ja="相手の印象を書き留めます。書かなかった項目は前のまま残ります。",
    for_peers=True,
)
def update_impression(arguments: UpdateImpression, context: ActionContext) -> ActionResult:
    """Note what you think of somebody; what you leave out stays as it was."""
    target = arguments.target_id
    given = arguments.model_dump(exclude={"target_id"})
    said = {name: value for name, value in given.items() if value}
    if not said:
        raise Invalid("the impression is empty", cure="give at least one property")
    updated = sorted(said)
    stored = context.reach.facts.get(context.agent.id, IMPRESSION, target)
    now, turn, language = context.clock.now(), context.turn, context.agent.language
    if stored is None:
        _require_room(context)
        name = arguments.target_name or _heard_name(target, context)
        earlier = first_impression(target, name, language, now)
    else:
        earlier = stored.read(Impression)
    session_id = context.session.id
    if not context.clearance.whole and earlier.session_id not in {"", session_id}:
        # The history keeps what these replace; the others would be lost, unread by this turn.
        said = {k: v for k, v in said.items() if k in _IN_HISTORY or not getattr(earlier, k)}
    impression = note_impression(
        earlier, said, session_id=session_id, turn_id=turn.id, taint=turn.taint, now=now
    )
    if stored is None:
        fact = new_fact(context.agent.id, IMPRESSION, target, impression)
    else:
        fact = stored.with_body(impression)
    return ActionResult.ok(target_id=target, updated=updated).keeping(fact)


def _answered_line(wanted: str, context: ActionContext) -> AnsweredLine:
    """Return the speech of this session that is meant by its number, or its speaker's last one.

    Raises Invalid if there is none that this turn may read.
    """
    history, session_id = context.reach.history, context.session.id
    if wanted.isascii() and wanted.isdecimal() and len(wanted) < _LONG_NUMBER:
        found = history.lines(session_id, after=max(int(wanted) - 1, 0), limit=1)
        lines = tuple(line for line in found if line.sequence == int(wanted))
    else:
        recent = history.lines(session_id, limit=_LATELY, newest_first=True)
        lines = tuple(line for line in recent if wanted in {line.speaker_id, line.message_id})
    for line in lines:
        heard = line.kind is LineKind.SPEECH and line.audience is Audience.ALL
        if heard and not line.is_erased and context.clearance.reads_line(line):
            return AnsweredLine(sequence=line.sequence, sent_as=line.sent_as)
    raise Invalid(
        f"nobody here said {wanted[:100]!r}",
        field="reply_to",
        cure="give a speaker's id or the number of a line of this conversation, or leave it out",
    )


def _heard_name(target: str, context: ActionContext) -> str | None:
    """Return the name of a recent speaker in this session, None if they did not speak lately."""
    lines = context.reach.history.lines(context.session.id, limit=_LATELY, newest_first=True)
    return next((line.speaker_name for line in lines if line.speaker_id == target), None)


def _require_room(context: ActionContext) -> None:
    known = context.reach.facts.page(context.agent.id, IMPRESSION, limit=IMPRESSIONS)
    if len(known) >= IMPRESSIONS:
        raise Refused(
            f"limit reached: {IMPRESSIONS} impressions",
            cure="update the impression of somebody whom you know already",
        )


def _require_words(text: str) -> None:
    if not text.strip():
        raise Invalid("content is blank", field="content", cure="write words or use send_noreact")
