"""Buttons of approvals: to approve only where the whole call is shown, and read back as meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.approvals.buttons import (
    ApprovalButton,
    ApprovalButtonKind,
    buttons_below_approval,
    buttons_of_shown_approval,
    data_of_approval_buttons,
    read_approval_button,
)
from opencrab.domain.approvals.call_text import approval_question_with_call

HASH = "ab" * 32


def question(asked: str) -> str:
    """A question as channels show it, with the call and its hash."""
    return approval_question_with_call(asked, '{"tone": "潮🦀"}', HASH)


@pytest.mark.parametrize("asked", ["May I ring the bell?", "鐘を鳴らしてよいですか?🔔"])
def test_only_what_shows_the_whole_call_can_be_approved(asked: str) -> None:
    whole = buttons_below_approval("01AP", question(asked), is_whole=True)
    assert whole.approve == f"oc:ap:01AP:y:{HASH[:16]}"
    assert (whole.reject, whole.show) == ("oc:ap:01AP:n", "oc:ap:01AP:s")
    assert buttons_below_approval("01AP", question(asked), is_whole=False).approve == ""
    # A text without the call cannot be approved, however short it is.
    assert buttons_below_approval("01AP", asked, is_whole=True).approve == ""


def test_what_a_button_has_is_read_back_as_it_was_meant() -> None:
    found = buttons_of_shown_approval("01AP", "cd" * 8)
    assert read_approval_button(found.approve) == ApprovalButton(
        "01AP", ApprovalButtonKind.APPROVE, "cd" * 8
    )
    assert read_approval_button(found.reject) == ApprovalButton("01AP", ApprovalButtonKind.REJECT)
    assert read_approval_button(found.show) == ApprovalButton("01AP", ApprovalButtonKind.SHOW)
    begin = data_of_approval_buttons("01AP")
    assert all(each.startswith(begin) for each in (found.approve, found.reject, found.show))
    assert not data_of_approval_buttons("01APX").startswith(begin)


def test_a_button_that_names_no_hash_approves_nothing() -> None:
    assert read_approval_button("oc:ap:01AP:y") == ApprovalButton("01AP", ApprovalButtonKind.SHOW)
    assert read_approval_button("oc:ap:01AP:y:") == ApprovalButton(
        "01AP", ApprovalButtonKind.APPROVE, ""
    )


@pytest.mark.parametrize(
    "data", ["", "oc:ap", "oc:ap:01AP", "oc:ap:01AP:maybe", "oc:ap:01AP:n:x", "oc:fb:t:u", "\ud83e"]
)
def test_another_button_is_none_of_an_approval(data: str) -> None:
    assert read_approval_button(data) is None


@given(st.text(max_size=80))
def test_whatever_a_service_sends_is_read_or_left(data: str) -> None:
    found = read_approval_button(f"oc:ap:{data}")
    assert found is None or found.kind in ApprovalButtonKind
