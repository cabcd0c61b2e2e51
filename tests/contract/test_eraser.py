"""Erasing: words go for good, places stay, and what is done again changes nothing."""

from typing import Any

import pytest

from opencrab.domain.conversation.message import Audience, Instruction, LineKind
from opencrab.domain.document import new_fact
from opencrab.domain.erasure.request import FORGOTTEN_PERSON
from opencrab.domain.erasure.stored_text import StoredTextFilter
from opencrab.domain.errors import Conflict
from opencrab.domain.turn.record import key_of_turn_record
from opencrab.domain.turn.turn import Block, Turn, TurnStatus
from opencrab.ports.home import Home
from opencrab.ports.turn.journal import TurnChange
from tests.contract.example import (
    CHANNEL,
    ENGLISH,
    JAPANESE,
    NOW,
    admission,
    admitted,
    ending,
    intent,
    later,
    line,
    result,
    running,
    session,
    step,
    turn,
    utterance,
    wish,
)

TEXTS = (JAPANESE, ENGLISH)


def said(home: Home, *texts: str) -> None:
    home.sessions.create(session())
    for number, text in enumerate(texts, 1):
        asked = turn(f"t{number}")
        home.journal.admit(admission(asked, message_id=f"m{number}", text=text))


def ended(home: Home, turn_id: str = "t1", **changes: Any) -> Turn:
    current = running(home, turn_id, channel=CHANNEL, **changes)
    after = home.journal.commit(step(current, result(1), utterances=(utterance(turn_id=turn_id),)))
    return home.journal.commit(ending(after))


@pytest.mark.parametrize("text", TEXTS)
def test_a_redacted_line_keeps_its_place_and_nothing_else(home: Home, text: str) -> None:
    said(home, text, "stays", text)
    before = home.journal.lines("s1")
    home.eraser.redact("s1", (3, 1))
    after = home.journal.lines("s1")
    assert [each.sequence for each in after] == [1, 2, 3]
    assert [each.is_erased for each in after] == [True, False, True]
    assert after[1] == before[1]
    assert after[0] == before[0].without_content()
    assert (after[0].text, after[0].speaker_id, after[0].message_id) == ("", FORGOTTEN_PERSON, None)


def test_what_is_written_next_takes_the_next_number(home: Home) -> None:
    said(home, "a", "b")
    home.eraser.redact("s1", (2, 1))
    home.journal.admit(admission(turn("t9"), message_id="m9", text="c"))
    assert [each.text for each in home.journal.lines("s1")] == ["", "", "c"]


def test_numbers_of_no_line_are_passed_over(home: Home) -> None:
    said(home, "a")
    home.eraser.redact("s1", (7, 1))
    home.eraser.redact("nowhere", (1,))
    assert [each.sequence for each in home.journal.lines("s1")] == [1]


def test_who_read_the_newest_lines_before_does_not_see_them_again(home: Home) -> None:
    said(home, "a", "b", "c")
    home.sessions.get("s1")
    assert len(home.journal.lines("s1", limit=2, newest_first=True)) == 2
    home.eraser.redact("s1", (3,))
    home.sessions.get("s1")
    newest = home.journal.lines("s1", limit=2, newest_first=True)
    assert [each.text for each in newest] == ["", "b"]


def test_many_lines_are_redacted_at_once(home: Home) -> None:
    said(home, *(f"line {number}" for number in range(30)))
    home.eraser.redact("s1", tuple(range(30, 0, -1)))
    assert all(each.is_erased for each in home.journal.lines("s1"))


@pytest.mark.parametrize("text", TEXTS)
def test_an_instruction_goes_with_its_line_and_is_known_again(home: Home, text: str) -> None:
    current = running(home)
    told = Instruction(id="i1", session_id="s1", text=text, by="taro", at=NOW)
    spoken = line(text, kind=LineKind.SYSTEM, audience=Audience.AGENTS, group="i1", message_id="i1")
    placed = home.journal.instruct(told, spoken)
    assert home.journal.read_step_state(current).instructions == (placed,)
    home.eraser.redact("s1", (placed.line,))
    assert home.journal.read_step_state(current).instructions == ()
    home.journal.instruct(told, spoken)
    assert len(home.journal.lines("s1")) == 2
    assert home.journal.lines("s1", after=1)[0].is_erased


def test_an_erased_turn_leaves_a_header_without_words(home: Home) -> None:
    current = ended(home, note=JAPANESE, principal_id="taro")
    home.eraser.erase_turn("t1")
    recorded = home.journal.load("t1")
    assert recorded.records == ()
    assert recorded.turn.is_erased
    assert recorded.turn == current.without_content()
    assert "taro" not in recorded.turn.model_dump_json()
    assert home.eraser.records_of("t1") == ()


def test_what_an_erased_turn_said_to_a_channel_is_gone(home: Home) -> None:
    ended(home)
    home.eraser.erase_turn("t1")
    assert home.outbox.list_unsent(later(1_000_000), 10) == ()


def test_erasing_again_changes_nothing(home: Home) -> None:
    ended(home)
    home.eraser.erase_turn("t1")
    once = home.journal.load("t1")
    home.eraser.erase_turn("t1")
    home.eraser.erase_turn("never")
    assert home.journal.load("t1") == once


def test_the_message_of_an_erased_turn_is_still_known(home: Home) -> None:
    asked = admission(turn("t1", channel=CHANNEL), message_id="message_t1")
    ended(home)
    home.eraser.redact("s1", (1,))
    home.eraser.erase_turn("t1")
    again = home.journal.admit(asked)
    assert [each.id for each in again] == ["t1"]
    assert len(home.journal.lines("s1")) == 1


@pytest.mark.parametrize("status", [TurnStatus.WAITING, TurnStatus.RUNNING])
def test_a_turn_that_has_not_ended_is_not_erased(home: Home, status: TurnStatus) -> None:
    current = running(home)
    home.journal.commit(step(current, result(1), status=status))
    with pytest.raises(Conflict, match="t1"):
        home.eraser.erase_turn("t1")
    assert home.journal.load("t1").records == (result(1),)


def test_a_stopped_turn_does_not_tell_who_stopped_it(home: Home) -> None:
    current = running(home, blocks=(Block(day="d", micro_usd=1, scopes=("public:taro",)),))
    home.journal.stop("t1", wish(by="taro"))
    stop = home.journal.header("t1").stop
    assert stop is not None
    home.journal.commit(ending(current.replaced(stop=stop), TurnStatus.STOPPED))
    home.eraser.erase_turn("t1")
    assert "taro" not in home.journal.header("t1").model_dump_json()


def test_the_turns_of_a_message_are_found_by_its_group(home: Home) -> None:
    home.sessions.create(session())
    home.journal.admit(admission(turn("t1"), turn("t2"), message_id="m1"))
    home.journal.instruct(
        Instruction(id="i1", session_id="s1", text="x", by="taro", at=NOW),
        line("x", group="i1", message_id="i1"),
    )
    found = home.eraser.turns_of("m1", "i1", "never")
    assert {group: sorted(turns) for group, turns in found.items() if turns} == {"m1": ["t1", "t2"]}


def test_records_can_be_read_without_their_header(home: Home) -> None:
    current = running(home)
    home.journal.commit(step(current, intent(1)))
    assert [key_of_turn_record(each) for each in home.eraser.records_of("t1")] == ["0001I"]


def test_a_stripped_session_keeps_its_participants_and_its_count(home: Home) -> None:
    home.sessions.create(session("s1", "hana", "kai", name="花子の部屋"))
    before = home.sessions.get("s1")
    home.eraser.strip_session("s1")
    home.eraser.strip_session("nowhere")
    after = home.sessions.get("s1")
    assert after == before.without_opening_words()
    assert (after.name, after.theme, after.created_by) == (None, "", FORGOTTEN_PERSON)
    assert after.agent_ids == ("hana", "kai")
    assert [each.id for each in home.sessions.page(after=None, limit=9)] == ["s1"]


def test_a_turn_goes_on_beside_what_is_redacted(home: Home) -> None:
    current = running(home)
    home.eraser.redact("s1", (1,))
    change = TurnChange(
        turn=current.replaced(sequence=2), expected=1, records=(result(1),), lines=(line("b"),)
    )
    home.journal.commit(change)
    assert [each.text for each in home.journal.lines("s1")] == ["", "b"]


def test_wiping_keeps_what_is_there(home: Home) -> None:
    admitted(home)
    home.eraser.scrub_storage()
    assert home.journal.lines("s1")[0].text == JAPANESE


@pytest.mark.parametrize("text", TEXTS)
def test_a_scan_reads_only_lines_and_documents_that_can_match(home: Home, text: str) -> None:
    scan = home.eraser.scan
    if scan is None:
        return

    answers = ("another", text, "a third", f"{text} again")
    told = [line(each, from_agent=True, speaker_id="hana") for each in answers]
    home.journal.commit(step(running(home), lines=tuple(told)))
    facts = [new_fact("a1", "memory", f"0{n}", wish(reason=each)) for n, each in enumerate(TEXTS)]
    home.facts.commit(*facts)
    words = StoredTextFilter((), [text.casefold()])
    assert [fact.id for fact in facts if text in fact.model_dump_json()] == list(
        scan.documents("a1", "memory", words)
    )
    assert list(scan.documents("a1", "memor", words)) == []
    ids = StoredTextFilter([text], ())
    assert list(scan.documents("a1", "memory", ids)) == list(scan.documents("a1", "memory", words))
    (found,) = scan.lines({"s1": 0, "nowhere": 0}, words)
    assert (found.session_id, found.last) == ("s1", 5)
    assert [each.sequence for each in found.lines] == [3, 5]
    (later_part,) = scan.lines({"s1": 3}, words)
    assert [each.sequence for each in later_part.lines] == [5]
    assert list(scan.lines({"s1": 5}, words)) == []


def test_a_scan_may_leave_out_documents_that_were_there_before_a_moment(home: Home) -> None:
    scan = home.eraser.scan
    if scan is None:
        return
    words = StoredTextFilter((), ["moonlit otter"])
    told = [new_fact("a1", "memory", f"0{n}", wish(reason="Moonlit OTTER")) for n in range(3)]
    home.facts.commit(told[0])
    before = scan.moment()
    assert list(scan.documents("a1", "memory", words, since=before)) == []
    home.facts.commit(told[1], new_fact("a1", "memory", "05", wish(reason="another")))
    home.facts.commit(told[2], new_fact("a2", "memory", "06", wish(reason="moonlit otter")))
    assert list(scan.documents("a1", "memory", words, since=before)) == ["01", "02"]
    assert list(scan.documents("a1", "memory", words)) == ["00", "01", "02"]
