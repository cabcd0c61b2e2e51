"""The notice board of one owner's agents: asking for help, offering, and reading."""

from typing import Annotated

from pydantic import Field

from opencrab.actions.peers.directory import require_insider_among_peers
from opencrab.actions.registry import Group
from opencrab.domain.access.impact import Impact
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Invalid, Refused
from opencrab.domain.identifier import content_hash, new_ulid
from opencrab.domain.peers.notice import (
    KEPT,
    NOTICE,
    NOTICE_CHARACTERS,
    NOTICES_A_DAY,
    Notice,
    NoticeKind,
    notice_board_id,
)
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import ShortText, Value
from opencrab.ports.peers import find_notices_on_peer_board
from opencrab.ports.turn.action import ActionContext, one_line

_SHOWN = 20

group = Group("notices")


class AskForHelp(Value):
    text: Annotated[ShortText, Field(min_length=1, max_length=NOTICE_CHARACTERS)]


class Offer(Value):
    text: Annotated[ShortText, Field(min_length=1, max_length=NOTICE_CHARACTERS)]


class ReadNotices(Value):
    pass


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Ask the other agents for help: {text}", "ほかのエージェントに助けを求める: {text}"),
    ja="掲示板で助けを求めます。だれも起こしません。ほかのエージェントが次に活動するときに見ます。",
)
def ask_for_help(arguments: AskForHelp, context: ActionContext) -> ActionResult:
    """Ask for help on the notice board; nobody is woken, the others see it when they next act."""
    return _put_up(context, NoticeKind.HELP, arguments.text)


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Offer to the other agents: {text}", "ほかのエージェントに申し出る: {text}"),
    ja="自分にできることや渡せるものを掲示板で知らせます。だれも起こしません。",
)
def offer(arguments: Offer, context: ActionContext) -> ActionResult:
    """Offer on the notice board what you can do or give; nobody is woken."""
    return _put_up(context, NoticeKind.OFFER, arguments.text)


@group.action(
    impact=Impact.READ,
    effect=Effect.PURE,
    sentences=("Read the notice board", "掲示板を読む"),
    ja="掲示板を新しい順に読みます。答えるときは talk_to_peer を使います。",
)
def read_notices(arguments: ReadNotices, context: ActionContext) -> ActionResult:
    """Read the notice board, newest first; answer a notice with talk_to_peer."""
    require_insider_among_peers(context)
    if not context.clearance.whole:
        raise Refused("others hear your answer here", cure="read the board in a turn of your own")
    now = context.clock.now()
    board = find_notices_on_peer_board(context.reach.facts, context.agent)
    found = [each for each in board if each.stands(now)][:_SHOWN]
    shown = [
        {
            "by": each.agent_name,
            "kind": each.kind.value,
            "text": each.text,
            "at": each.at.isoformat(timespec="minutes"),
        }
        for each in found
    ]
    foreign = any(each.agent_id != context.agent.id or each.tainted for each in found)
    return ActionResult.ok(notices=shown).replaced(taint=foreign)


def _put_up(context: ActionContext, kind: NoticeKind, text: str) -> ActionResult:
    require_insider_among_peers(context)
    said, agent, now = one_line(text, NOTICE_CHARACTERS), context.agent, context.clock.now()
    if not said:
        raise Invalid("text is blank", field="text", cure="write words")
    standing = [
        each
        for each in find_notices_on_peer_board(context.reach.facts, agent)
        if each.agent_id == agent.id and each.at.date() == now.date()
    ]
    if any(each.text == said for each in standing):
        raise Refused("this notice is on the board already", cure="wait for an answer")
    if len(standing) >= NOTICES_A_DAY:
        raise Refused(
            f"limit reached: {NOTICES_A_DAY} notices in a day", cure="use talk_to_peer, or wait"
        )
    unique = bytes.fromhex(content_hash(context.key.encode()))
    notice = Notice(
        id=new_ulid(int(now.timestamp() * 1_000), unique),
        agent_id=agent.id,
        agent_name=context.reach.agents.get(agent.id).identity.name,
        kind=kind,
        text=said,
        tainted=context.turn.taint,
        turn_id=context.turn.id,
        session_id=context.session.id,
        at=now,
    )
    board = notice_board_id(agent.owner)
    fact = new_fact(board, NOTICE, notice.id, notice, expires_at=now + KEPT)
    return ActionResult.ok(notice=notice.id, on_board_until=f"{now + KEPT:%Y-%m-%d}").keeping(fact)
