"""Who is answered on LINE, by whom, and what they are told otherwise."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.chat.people import ChatPeople, GroupRule
from opencrab.domain.conversation.attachment import UPLOADS
from opencrab.domain.conversation.session import Hearing, Session
from opencrab.domain.value import Language
from opencrab.engine.access.owners import owners_among_principals
from opencrab.engine.chat.sentences import chat_sentence
from opencrab.engine.conversation.channel_bindings import conversation_bound_to_channel
from tests.contract.homes import HOMES
from tests.crash.outside import Reply
from tests.discord.faults import Status
from tests.e2e.line_house import LineHouse
from tests.line.fake import GROUP, GUEST, OWNER

HI = (Reply(text="やあ"),)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[LineHouse]:
    made = LineHouse(HOMES[0], tmp_path)
    made.agent("kani", HI, Language.JA)
    yield made
    made.close()
    assert made.vendor.complaints == []
    assert made.problems == []


def session(house: LineHouse, place: str = OWNER) -> Session:
    found = conversation_bound_to_channel(house.home, f"line.{place}")
    assert found is not None
    return found


def test_the_only_agent_answers_its_owner_in_private(house: LineHouse) -> None:
    house.vendor.says("元気?")
    house.rest()
    assert house.vendor.texts() == ["やあ"]
    line = house.home.journal.lines(session(house).id, limit=9)[0]
    assert (line.speaker_name, line.speaker_id) == ("たろう", f"line-{OWNER}")
    assert line.authority is Authority.OWNER
    owners = owners_among_principals(house.runtime, [f"line-{OWNER}", f"line-{GUEST}"], "kani")
    assert owners == {f"line-{OWNER}"}


def test_strangers_are_public_and_named_users_are_users(house: LineHouse) -> None:
    house.vendor.says("だれ?", GUEST)
    house.rest()
    assert house.home.journal.lines(session(house, GUEST).id, limit=9)[0].authority is (
        Authority.PUBLIC
    )
    house.people = ChatPeople(user_ids=(GUEST,))
    house.begin()
    house.vendor.says("もう一度", GUEST)
    house.rest()
    lines = house.home.journal.lines(session(house, GUEST).id, limit=9)
    assert [each.authority for each in lines if not each.from_agent][-1] is Authority.USER


def test_a_group_is_a_session_of_its_own_and_hears_only_who_addresses_it(house: LineHouse) -> None:
    house.vendor.says("ひとりごと", GUEST, group=GROUP)
    house.rest()
    assert conversation_bound_to_channel(house.home, f"line.{GROUP}") is None
    house.vendor.mentions("元気?", GUEST)
    house.vendor.says("@Kani どう?", GUEST, group=GROUP)
    house.vendor.says("\uff20kani、どう?", GUEST, group=GROUP)
    house.rest()
    assert house.vendor.texts(GROUP) == ["やあ"] * 3
    assert session(house, GROUP).hearing is Hearing.SESSION
    _, access = house.home.sessions.get_with_access(session(house, GROUP).id)
    assert access.others_read
    assert conversation_bound_to_channel(house.home, f"line.{GUEST}") is None


def test_a_name_is_known_in_other_widths_and_not_within_another_word(house: LineHouse) -> None:
    for text in ("Kanichan?", "kani2", "ka ni"):
        house.vendor.says(text, GUEST, group=GROUP)
    house.rest()
    assert house.vendor.texts(GROUP) == []
    for text in ("\uff2b\uff41\uff4e\uff49、どう?", "kaniさん", "KANI: hi", "kani"):
        house.vendor.says(text, GUEST, group=GROUP)
        house.rest()
    assert len(house.vendor.texts(GROUP)) == 4


def test_groups_can_be_switched_off(house: LineHouse) -> None:
    house.people = ChatPeople(groups=GroupRule.OFF)
    house.begin()
    house.vendor.mentions("元気?")
    house.rest()
    assert house.vendor.texts(GROUP) == []


def test_of_several_agents_the_named_one_answers(house: LineHouse) -> None:
    house.agent("ebi", (Reply(text="海老です"),), Language.JA)
    house.vendor.says("誰かいますか")
    house.rest()
    assert house.vendor.texts()[0].startswith("ここで応答するエージェントがまだ決まっていません。")
    house.name_agent("EBI")
    house.vendor.says("誰かいますか")
    house.rest()
    assert house.vendor.texts()[1:] == ["海老です"]


def test_a_video_is_answered_with_what_can_be_read(house: LineHouse) -> None:
    house.vendor.says("", type="video", contentProvider={"type": "line"})
    house.rest()
    assert house.vendor.texts() == [chat_sentence("attached", Language.JA, name="kani")]
    house.vendor.says("", type="sticker")
    house.vendor.says("", GUEST, group=GROUP, type="image")
    house.rest()
    assert len(house.vendor.texts()) == 1
    assert house.vendor.texts(GROUP) == []


def test_a_picture_alone_is_answered_in_private_and_is_nobody_s_in_a_group(
    house: LineHouse,
) -> None:
    house.vendor.attaches(None, b"\x89PNG\r\n\x1a\n" + bytes(9))
    house.vendor.attaches(None, b"\x89PNG\r\n\x1a\n", GUEST, group=GROUP)
    house.rest()
    assert house.vendor.texts() == ["やあ"]
    assert house.vendor.texts(GROUP) == []
    assert len(house.home.files.list("kani", UPLOADS)) == 1
    assert len(house.net.requests) == 1


def test_somebody_whom_line_does_not_name_is_answered_all_the_same(house: LineHouse) -> None:
    nobody = "U" + "9" * 32
    house.vendor.says("やあ", nobody)
    house.vendor.faults.plan("profile", Status(500), times=9)
    house.vendor.says("やあ", GUEST)
    house.rest()
    assert (house.vendor.texts(nobody), house.vendor.texts(GUEST)) == (["やあ"], ["やあ"])
    line = house.home.journal.lines(session(house, nobody).id, limit=9)[0]
    assert line.speaker_name == "line U9999999"


def test_an_odd_name_and_odd_characters_keep_nobody_from_an_answer(house: LineHouse) -> None:
    house.vendor.names[GUEST] = "ゲ\nスト"
    house.vendor.says("蟹\ud83d\0です", GUEST)
    house.rest()
    assert house.vendor.texts(GUEST) == ["やあ"]
    line = house.home.journal.lines(session(house, GUEST).id, limit=9)[0]
    assert (line.text, line.speaker_name) == ("蟹\ufffdです", f"line {GUEST[:8]}")


def test_somebody_without_an_id_starts_nothing(house: LineHouse) -> None:
    house.vendor.says("kani、やあ", None, group=GROUP)
    house.rest()
    assert house.vendor.texts(GROUP) == []


def test_a_redelivered_message_starts_no_second_turn(house: LineHouse) -> None:
    house.vendor.says("一度だけ")
    house.rest()
    house.vendor.send_again()
    house.rest()
    assert house.vendor.texts() == ["やあ"]


def test_the_next_message_takes_over_as_on_every_channel(house: LineHouse) -> None:
    house.vendor.says("一")
    (kept,) = session_unanswered(house)
    assert kept
    house.rest()


def session_unanswered(house: LineHouse) -> tuple[str, ...]:
    """The hashes of people whose messages wait, of the owner's session."""
    house._take("interactions", house._queues[0][1])
    return tuple(each.person for each in session(house).unanswered)
