"""Call cards: what a human sees of a call before deciding, in every home."""

from typing import Any

import pytest

from opencrab.actions import GROUPS, Registry
from opencrab.domain.access.authority import Authority
from opencrab.domain.approvals.call_text import approval_call_arguments, hash_shown_in_approval
from opencrab.domain.memory.clearance import NOTHING_WITHHELD
from opencrab.domain.turn.record import ActionCall
from opencrab.domain.value import Language
from opencrab.engine.approvals.call_card import (
    CallCard,
    approval_question_for_channel,
    call_card_for_approval,
    stored_approval_call_card,
)
from opencrab.ports.turn.action import ActionContext
from tests.unit.engine.approving import CALL, DELEGATE, asked
from tests.unit.engine.known_world import World

ALL = Registry(GROUPS)


def test_a_card_has_the_exact_call_its_change_and_its_hash(world: World) -> None:
    card = stored_approval_call_card(world.runtime, asked(world), is_owner=True)
    assert card is not None
    assert card.arguments == CALL.arguments
    assert card.argument_hash == CALL.argument_hash
    assert card.text == approval_call_arguments(CALL.arguments or {})
    assert card.diff == (
        "--- /dev/null\n+++ メモ.md\n@@ -0,0 +1 @@\n+海 🦀\n\\ No newline at end of file"
    )
    assert not card.replaces


def test_a_card_shows_what_is_there_when_it_is_read(world: World) -> None:
    approval = asked(world)
    world.runtime.home.files.write("ken", "メモ.md", "山\n".encode())
    card = stored_approval_call_card(world.runtime, approval, is_owner=True)
    assert card is not None
    assert "\n-山\n+海 🦀" in card.diff
    assert card.replaces


@pytest.mark.parametrize(
    ("authority", "shown"),
    [
        (Authority.OWNER, True),
        (Authority.SELF, True),
        (Authority.USER, False),
        (Authority.PEER, False),
        (Authority.PUBLIC, False),
    ],
)
def test_a_delegate_sees_what_is_there_only_if_no_user_asked_for_the_call(
    world: World, authority: Authority, *, shown: bool
) -> None:
    world.runtime.home.files.write("ken", "メモ.md", "山\n".encode())
    approval = asked(world, authority=authority, delegates=(DELEGATE.id,))
    card = stored_approval_call_card(world.runtime, approval, is_owner=False)
    owners = stored_approval_call_card(world.runtime, approval, is_owner=True)
    assert card is not None
    assert owners is not None
    assert (card.text, card.argument_hash) == (owners.text, owners.argument_hash)
    assert "\n-山\n" in owners.diff
    assert card.diff == (owners.diff if shown else "")


def test_a_call_whose_records_are_gone_has_no_card(world: World) -> None:
    approval = asked(world).replaced(argument_hash="0" * 64)
    assert stored_approval_call_card(world.runtime, approval, is_owner=True) is None


@pytest.mark.parametrize(
    ("name", "arguments", "shown"),
    [
        ("set_purpose", {"purpose": "蟹\u202eになる"}, "+蟹⟨U+202E⟩になる"),
        ("ws_edit", {"path": "a.md", "old_string": "二", "new_string": "2"}, "-二\n+2\n"),
        ("ws_delete", {"path": "a.md"}, "+++ /dev/null\n@@ -1,3 +0,0 @@\n-一\n-二\n-三"),
        ("update_note", {"path": "vault/n.md", "content": "新しい\n"}, "\n-古い\n"),
        ("create_note", {"title": "蟹", "content": "甲羅\n"}, "\n+甲羅"),
        ("summarize_and_save", {"content": "要約", "filename": "a.md"}, "-二\n-三\n+要約"),
        (
            "world_send",
            {"message": "BOUNTY_CLAIM", "payload": {"bounty_id": "b\u200b1", "claimer": "蟹"}},
            "+++ world/BOUNTY_CLAIM",
        ),
    ],
)
def test_what_changes_a_text_shows_the_change(
    world: World, name: str, arguments: dict[str, Any], shown: str
) -> None:
    approval = asked(world)
    files = world.runtime.home.files
    files.write("ken", "a.md", "一\n二\n三\n".encode())
    files.write("ken", "vault/n.md", "古い\n".encode())
    call = ActionCall(id="c", name=name, arguments=arguments)
    card = card_of(world, approval.turn_id, call)
    assert shown in card.diff


def card_of(world: World, turn_id: str, call: ActionCall) -> CallCard:
    """The card of any call of a turn."""
    runtime = world.runtime
    turn = runtime.home.journal.header(turn_id)
    context = ActionContext(
        agent=runtime.home.agents.get("ken").agent,
        session=runtime.home.sessions.get(turn.session_id),
        turn=turn,
        key="k",
        reach=runtime.reach,
        clock=runtime.clock,
        actions=ALL,
        clearance=NOTHING_WITHHELD,
    )
    action = ALL.find(call.name)
    assert action is not None
    assert action.change is not None
    return call_card_for_approval(call, action, context)


@pytest.mark.parametrize(
    ("content", "replaces", "is_whole"),
    [("短い", False, True), ("長い" * 1_000, False, False), ("短い", True, False)],
)
def test_a_channel_shows_a_whole_call_or_how_to_open_it(
    content: str, *, replaces: bool, is_whole: bool
) -> None:
    text = approval_call_arguments({"content": content})
    card = CallCard({"content": content}, CALL.argument_hash, text, replaces=replaces)
    for language in Language:
        question = approval_question_for_channel(card, "書いてもいい?", "ap1", language)
        assert (hash_shown_in_approval(question) == CALL.argument_hash[:16]) is is_whole
        assert (text in question) is is_whole
        assert ("`opencrab approvals show ap1`" in question) is not is_whole
