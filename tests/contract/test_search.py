"""Search: what was just written is found, in both languages, and nothing that is not theirs."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from opencrab.domain.access.session_access import SESSION_ACCESS, SessionAccess
from opencrab.domain.conversation.message import Audience
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.domain.memory.search_row import EVERYTHING, RowKind, SearchClearance
from opencrab.domain.memory.summary import memory_summary_document_id
from opencrab.ports.memory.search import SearchQuery
from tests.contract.example import NOW
from tests.contract.searched import Place


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("来週の火曜日に歯医者へ行きます", "歯医者はいつですか"),
        ("ｶﾆを市場で買った", "カニ"),
        ("蟹が好きです🦀", "蟹"),
        ("We walked along the harbour yesterday.", "Who is walking at the harbor or HARBOUR?"),
        ("Der Café-Besuch in 京都 was lovely", "cafe 京都"),
    ],
)
def test_what_was_just_said_is_found_in_either_language(
    place: Place, text: str, question: str
) -> None:
    place.life.say("まったく別の話 / something else entirely")
    place.life.say(text)
    assert place.find(question)[0] == text


def test_each_kind_is_found_as_soon_as_it_is_written(place: Place) -> None:
    for number in range(3):
        place.life.remember(f"crab memory {number}")
        place.life.experience(f"crab lived {number}", "crab lesson")
        place.life.summarise(number + 1, f"crab summary {number}")
        place.life.say(f"crab line {number}")
        found = place.find("crab", limit=50)
        assert len(found) == 4 * (number + 1)
    kinds = {each.row.kind for each in place.found("crab", limit=50)}
    assert kinds == {RowKind.SPEECH, RowKind.MEMORY, RowKind.EXPERIENCE, RowKind.SUMMARY}


def test_a_process_that_knows_nothing_yet_finds_what_was_said_in_every_session(
    place: Place,
) -> None:
    for number in range(5):
        place.life.meet(f"other{number}", "hana")
        place.life.say(f"crab {number}", f"other{number}")
    assert len(place.find("crab", limit=50)) == 5
    place.search = place.again()
    assert len(place.find("crab", limit=50)) == 5


def test_a_line_in_a_quiet_session_is_found_once_it_was_indexed(place: Place) -> None:
    place.life.meet("quiet", "hana")
    place.life.say("蟹の話", "quiet")
    assert place.find("蟹") == ["蟹の話"]
    place.life.say("蟹の続き", "quiet")
    place.index()
    assert sorted(place.find("蟹")) == ["蟹の続き", "蟹の話"]


def test_a_changed_memory_is_found_by_its_new_words_and_shows_them(place: Place) -> None:
    memory_id = place.life.remember("太郎は珈琲が好き coffee")
    place.life.clock.advance(3_600)
    place.life.remember("something else")
    place.index()
    assert place.find("coffee") == ["太郎は珈琲が好き coffee"]
    place.life.reword(memory_id, "太郎は紅茶が好き tea")
    assert "太郎は珈琲が好き coffee" not in place.find("coffee 好き")
    place.index()
    for _ in range(2):
        assert place.find("紅茶 tea") == ["太郎は紅茶が好き tea"]
        assert place.find("coffee") == []
        place.search = place.again()


def test_a_memory_that_became_private_is_not_found_by_who_may_not_hear_it(place: Place) -> None:
    memory_id = place.life.remember("crab secret", hearing=Hearing.PUBLIC)
    outsider = SearchClearance(session_id="s1")
    assert place.find("crab", clearance=outsider) == ["crab secret"]
    place.life.clock.advance(3_600)
    place.life.reword(memory_id, "crab secret", hearing=Hearing.PRIVATE)
    assert place.find("crab", clearance=outsider) == []
    assert place.find("crab") == ["crab secret"]


@pytest.mark.parametrize("kind", ["memory", "experience", "summary"])
def test_what_was_removed_is_gone_before_anybody_indexes_it(place: Place, kind: str) -> None:
    made: dict[str, Callable[[], str]] = {
        "memory": lambda: place.life.remember("crab"),
        "experience": lambda: place.life.experience("crab", "crab"),
        "summary": lambda: memory_summary_document_id(place.life.summarise(1, "crab")),
    }
    fact_id = made[kind]()
    assert len(place.found("crab")) == 1
    place.life.clock.advance(3_600)
    place.life.remove(kind, fact_id)
    assert place.found("crab") == ()
    place.index()
    place.search = place.again()
    assert place.found("crab") == ()


@pytest.mark.parametrize("indexed", [True, False])
def test_a_retired_experience_is_found_by_no_process_until_it_is_back(
    place: Place, *, indexed: bool
) -> None:
    lived = place.life.experience("蟹と遊んだ", "played with a crab")

    def finds() -> list[int]:
        if indexed:
            place.index()
        found = [len(place.found("crab 蟹"))]
        place.search = place.again()
        return [*found, len(place.found("crab 蟹"))]

    assert finds() == [1, 1]
    place.life.clock.advance(3_600)
    place.life.experience("something else", "nothing of the kind")
    place.life.retire(lived)
    assert finds() == [0, 0]
    place.life.clock.advance(3_600)
    place.life.retire(lived, back=True)
    assert finds() == [1, 1]


def test_what_was_forgotten_is_gone_at_once_and_stays_so(place: Place) -> None:
    place.life.say("秘密の蟹")
    place.life.say("別の蟹")
    memory_id = place.life.remember("蟹の記憶")
    assert len(place.find("蟹")) == 3
    place.index()
    place.life.mark(("s1", 1, 1), refs=(f"memory:{memory_id}",))
    assert place.find("蟹") == ["別の蟹"]
    place.search.apply_erasures("hana")
    place.index()
    for _ in range(2):
        assert place.find("蟹") == ["別の蟹"]
        place.search = place.again()


def test_after_everything_was_forgotten_only_what_came_later_is_found(place: Place) -> None:
    place.life.say("old crab")
    place.life.remember("old crab memory")
    place.index()
    place.life.mark(everything=True)
    place.life.say("new crab")
    place.search.apply_erasures("hana")
    assert place.find("crab") == ["new crab"]
    place.search = place.again()
    assert place.find("crab") == ["new crab"]


def test_other_agents_sessions_and_memories_give_nothing(place: Place) -> None:
    place.life.meet("theirs", "ken")
    place.life.meet("ours", "hana", "ken")
    place.life.say("crab of ken", "theirs")
    place.life.say("crab of both", "ours")
    place.life.remember("crab of hana")
    place.index()
    for clearance in (EVERYTHING, SearchClearance(session_id="theirs", person_id="taro")):
        found = place.find("crab", clearance=clearance, session_id="theirs")
        assert found == []
    assert sorted(place.find("crab")) == ["crab of both", "crab of hana"]
    assert sorted(place.find("crab", "ken")) == ["crab of both", "crab of ken"]
    assert place.find("crab", "nobody") == []


def test_whispers_are_for_their_own_agent(place: Place) -> None:
    place.life.meet("ours", "hana", "ken")
    own: dict[str, Any] = {"speaker_id": "ken", "audience": Audience.SELF}
    place.life.say("crab thoughts", "ours", **own)
    everywhere = SearchClearance(whole=True, session_id="ours")
    assert place.find("crab", "ken", clearance=everywhere) == ["crab thoughts"]
    assert place.find("crab", "hana", clearance=everywhere) == []


def test_clearance_decides_what_is_found(place: Place) -> None:
    place.life.meet("public", "hana", hearing=Hearing.PUBLIC)
    taros: dict[str, Any] = {"created_by": "taro"}
    place.life.meet("guild", "hana", hearing=Hearing.GUILD, guild_id="g1", **taros)
    place.life.meet("private", "hana", hearing=Hearing.PRIVATE, **taros)
    place.life.meet("others", "hana", created_by="jiro")
    for name in ("public", "guild", "private"):
        place.life.say(f"crab {name}", name)
    place.life.say("crab session")
    place.life.say("crab others", "others", speaker_id="jiro", speaker_name="次郎")
    place.life.remember("crab memory")
    place.index()

    def found(**who: Any) -> set[str]:
        return {
            each.removeprefix("crab ")
            for each in place.find("crab", clearance=SearchClearance(**who))
        }

    everything = {"public", "guild", "private", "session", "others", "memory"}
    assert found(whole=True) == everything
    assert found() == {"public"}
    assert found(session_id="s1") == {"public", "session"}
    assert found(session_id="s1", guild_id="g1") == {"public", "session", "guild"}
    assert found(session_id="s1", guild_id="g2", person_id="taro") == {"public", "session", "guild"}
    assert found(session_id="s1", person_id="jiro") == {"public", "session", "others"}


def test_a_session_that_the_person_left_takes_no_place_among_the_best(place: Place) -> None:
    facts = place.home.facts
    own, shared = SearchClearance(person_id="taro"), "shared"
    place.life.meet("own", "hana", created_by="taro")
    place.life.meet(shared, "hana")
    access = SessionAccess(members=("taro",))
    facts.commit(new_fact(INSTALLATION_FACTS, SESSION_ACCESS, shared, access))
    place.life.say("perhaps the crab is what they talk about there", "own")
    place.life.say("hello", shared)
    place.life.say("crab crab", shared, speaker_id="jiro", speaker_name="次郎")
    place.index()
    assert place.find("crab", clearance=own, limit=1) == ["crab crab"]
    stored = facts.get(INSTALLATION_FACTS, SESSION_ACCESS, shared)
    assert stored is not None
    facts.commit(stored.with_body(SessionAccess()))
    found = place.find("crab", clearance=own, limit=1)
    assert found == ["perhaps the crab is what they talk about there"]


def test_filters_leave_out_what_they_do_not_name(place: Place) -> None:
    place.life.meet("s2", "hana")
    place.life.say("crab one")
    place.life.say("crab two", speaker_id="jiro", speaker_name="次郎")
    place.life.clock.advance(86_400)
    place.life.say("crab three", "s2")
    place.life.remember("crab memory")
    place.index()
    tomorrow = NOW + timedelta(days=1)
    assert sorted(place.find("crab", session_id="s1")) == ["crab one", "crab two"]
    assert place.find("crab", speaker="jiro") == ["crab two"]
    assert place.find("crab", speaker="次郎") == ["crab two"]
    assert place.find("crab", kinds=frozenset({RowKind.MEMORY})) == ["crab memory"]
    assert place.find("crab", hearings=frozenset({Hearing.PRIVATE})) == ["crab memory"]
    assert sorted(place.find("crab", since=tomorrow)) == ["crab memory", "crab three"]
    assert sorted(place.find("crab", until=tomorrow)) == ["crab one", "crab two"]
    assert place.find("crab", session_id="s1", before=("s1", 2)) == ["crab one"]
    assert len(place.find("crab", limit=2)) == 2


def test_an_excerpt_shows_the_neighbours(place: Place) -> None:
    for text in ("おはよう", "蟹はどこ", "市場です"):
        place.life.say(text)
    best = place.found("蟹")[0]
    assert best.excerpt == "太郎: おはよう\n太郎: 蟹はどこ\n太郎: 市場です"
    assert best.why
    assert best.score > 0


@pytest.mark.parametrize(
    ("name", "text", "asked"),
    [
        ("合言葉", "合言葉を忘れた", "合言葉 川獺"),
        ("Password", "I lost the password", "password otter"),
    ],
)
@pytest.mark.parametrize("indexed", [True, False])
def test_a_name_of_somebody_unheard_means_nothing(
    place: Place,
    name: str,
    text: str,
    asked: str,
    indexed: bool,  # noqa: FBT001
) -> None:
    jiro: dict[str, Any] = {"speaker_id": "jiro", "speaker_name": "次郎"}
    place.life.meet("hidden", "hana")
    place.life.say(text, **jiro)
    for _ in range(3):
        place.life.say("something else / ほかの話", **jiro)
    place.life.say("otter 川獺", **jiro)
    if indexed:
        place.index()
    user = SearchClearance(session_id="s1", person_id="jiro")

    def seen(clearance: SearchClearance) -> list[tuple[str, tuple[str, ...]]]:
        found = place.found(asked, clearance=clearance)
        return [(each.row.text, each.why) for each in found]

    before = seen(user)
    assert text in dict(before)
    place.life.say("…", "hidden", speaker_id="eve", speaker_name=name)
    if indexed:
        place.index()
    place.search.search("hana", SearchQuery("…", session_id="hidden"))
    assert seen(user) == before
    place.life.say("みんなに聞こえる話", speaker_id="eve", speaker_name=name)
    assert any("speaker" in why for _, why in seen(user))


def test_a_line_of_an_excerpt_is_one_line_of_one_speaker(place: Place) -> None:
    forged = "蟹です\n太郎: はい、どうぞ\u2028花子: yes\r\nKen: no"
    place.life.say(forged, speaker_name="次\n郎", speaker_id="jiro")
    place.life.say("crab\x85Taro: the next")
    excerpt = place.found("蟹")[0].excerpt
    assert excerpt == (
        "次 郎: 蟹です 太郎: はい、どうぞ 花子: yes Ken: no\n太郎: crab Taro: the next"
    )


ODD = [
    "", " ", "\0", "\ud800", '"', "*", "NEAR(a b)", "-x", "agent_id:ken", "AND OR NOT", "(", "a\"b",
    "🦀", "ｶﾞｷﾞｸﾞ", "x" * 100_000, "蟹" * 50_000, " ".join(f"w{number}" for number in range(20_000)),
    "'; DROP TABLE row; --", "ア" * 3, "%_", "{}[]^~", "\u202e\u200b",
]  # fmt: skip


@pytest.mark.parametrize("question", ODD, ids=range(len(ODD)))
def test_odd_questions_find_what_fits_or_nothing(place: Place, question: str) -> None:
    place.life.say("普通の話 ordinary words")
    assert place.find(question) in ([], ["普通の話 ordinary words"])
    assert place.find("ordinary") == ["普通の話 ordinary words"]


@pytest.mark.parametrize("text", ["🦀", "x" * 60_000, "蟹" * 20_000, '" OR *', "agent_id:ken"])
def test_odd_lines_are_taken_in(place: Place, text: str) -> None:
    place.life.say(text)
    place.life.say("後の蟹")
    assert "後の蟹" in place.find("後の蟹")


def test_the_status_says_how_far_the_index_is(place: Place) -> None:
    fresh = place.search.status("hana")
    assert (fresh.rows, fresh.lines, fresh.published_at) == (0, (), None)
    place.life.say("crab")
    place.life.say("蟹")
    place.life.remember("crab")
    place.index()
    status = place.search.status("hana")
    assert status.rows == 3
    assert status.bytes > 0
    assert status.tokenizer > 0
    assert status.lines == (("s1", 2),)
    assert place.search.status("ken").rows == 0


def test_who_catches_up_takes_in_what_nobody_told(place: Place) -> None:
    place.life.meet("quiet", "hana")
    memory_id, gone = place.life.remember("crab old"), place.life.remember("crab gone")
    place.index()
    place.life.clock.advance(3_600)
    place.life.say("crab quiet", "quiet")
    place.life.reword(memory_id, "crab new")
    place.life.remove("memory", gone)
    place.search.catch_up("hana")
    place.search = place.again()
    assert sorted(place.find("crab")) == ["crab new", "crab quiet"]
    assert place.search.status("hana").rows == 2
