"""People start, join, leave, look at and end the conversation of their channel."""

from typing import Any

import pytest

from opencrab.domain.conversation.session import PARTICIPANTS, Hearing, SessionStatus
from opencrab.domain.discord.community import Spot
from opencrab.engine.access.visibility import access_of_sessions
from tests.discord.recording import CHANNEL, HANA
from tests.unit.gateways.discord.stage import GUEST, USER_ROLE, Stage

USER: dict[str, Any] = {"user": HANA, "roles": (USER_ROLE,)}
PUBLIC: dict[str, Any] = {"user": GUEST}


@pytest.fixture
def talk(stage: Stage) -> Stage:
    """Three agents, of whom nobody talks yet."""
    for name in ("crab", "shrimp", "squid"):
        stage.agent(name)
    return stage


def do(stage: Stage, command: str, of: dict[str, Any] | None = None, **options: Any) -> str:
    """Give a command, and answer what was said to it."""
    before = len(stage.texts)
    stage.does(stage.door.command(command, of=of or {}, **options))
    (told,) = stage.texts[before:]
    return told


def agents(stage: Stage) -> tuple[str, ...]:
    session = stage.session()
    return () if session is None else session.agent_ids


def test_a_session_is_started_with_a_theme(talk: Stage) -> None:
    told = do(talk, "session start", agent="crab", theme="朝の**会**")
    assert told == "新しい会話を始めました。参加者: crab\nテーマ: 朝の\\*\\*会\\*\\*"
    session = talk.session()
    assert session is not None
    assert (session.theme, session.agent_ids) == ("朝の**会**", ("crab",))


def test_a_session_is_for_all_who_were_placed_in_the_channel(talk: Stage) -> None:
    talk.place("crab")
    talk.place("squid", CHANNEL, "111")
    talk.place("shrimp", "111")
    do(talk, "session start")
    assert agents(talk) == ("crab", "squid")


def test_without_an_agent_there_is_none_to_guess(talk: Stage) -> None:
    assert "shrimp" in do(talk, "session start")
    assert talk.session() is None


def test_a_new_session_ends_the_one_before(talk: Stage) -> None:
    do(talk, "session start", agent="crab")
    first = talk.session()
    do(talk, "session start", agent="crab")
    second = talk.session()
    assert first is not None
    assert second is not None
    assert first.id != second.id
    assert talk.house.home.sessions.get(first.id).status is SessionStatus.ENDED


def test_the_same_start_twice_is_one_session(any_stage: Stage) -> None:
    any_stage.agent("crab")
    raw = any_stage.door.command("session start", agent="crab")
    any_stage.does(raw)
    first = any_stage.session()
    any_stage.does(raw)
    assert any_stage.session() == first
    assert any_stage.texts[0] == any_stage.texts[1]
    assert len(any_stage.house.home.sessions.page(after=None, limit=10)) == 1


def test_a_theme_that_is_too_long_is_refused(talk: Stage) -> None:
    assert "500 文字以内" in do(talk, "session start", agent="crab", theme="あ" * 501)
    assert "At most 500" in do(
        talk, "session start", {"locale": "en-US"}, agent="crab", theme="a" * 501
    )
    assert talk.session() is None


def test_agents_join_and_leave(talk: Stage) -> None:
    assert do(talk, "session join", agent="crab").endswith("参加者: crab")
    assert do(talk, "session join", agent="squid").endswith("参加者: crab, squid")
    assert do(talk, "session leave", agent="crab") == "crab は退出しました。"
    assert agents(talk) == ("squid",)
    do(talk, "session leave", agent="squid")
    assert talk.session() is None


def test_joining_and_leaving_twice_changes_nothing_more(talk: Stage) -> None:
    joins = talk.door.command("session join", agent="crab")
    talk.does(joins)
    talk.does(joins)
    assert agents(talk) == ("crab",)
    leaves = talk.door.command("session leave", agent="crab")
    talk.does(leaves)
    talk.does(leaves)
    assert talk.texts[-1] == talk.texts[-2]


def test_a_leave_that_is_repeated_late_sends_nobody_away_who_came_back(talk: Stage) -> None:
    do(talk, "session join", agent="crab")
    leaves = talk.door.command("session leave", agent="crab")
    talk.does(leaves)
    do(talk, "session join", agent="crab")
    talk.does(leaves)
    assert agents(talk) == ("crab",)


def test_a_session_has_only_so_many_places(talk: Stage) -> None:
    names = [f"a{place}" for place in range(PARTICIPANTS + 1)]
    for name in names:
        talk.agent(name)
    told = [do(talk, "session join", agent=name) for name in names]
    assert "20 体まで" in told[-1]
    assert len(agents(talk)) == PARTICIPANTS


def test_the_status_tells_who_is_here_and_how_far_it_has_come(talk: Stage) -> None:
    assert "開いている会話はありません" in do(talk, "session status")
    do(talk, "session start", agent="crab", theme="雨の日")
    told = do(talk, "session status")
    assert told == "参加者: crab\nターン数: 0\nテーマ: 雨の日"
    english = do(talk, "session status", {"locale": "en-US"})
    assert english == "Participants: crab\nTurns: 0\nTopic: 雨の日"


def test_the_status_of_a_discussion_explains_its_phase(talk: Stage) -> None:
    for name in ("crab", "shrimp"):
        talk.place(name)
    do(talk, "session start", theme="雨の日")
    told = do(talk, "session status").splitlines()
    assert told[1] == "ターン数: 0 · 議論の段階: 発散(案を集める)"
    english = do(talk, "session status", {"locale": "en-US"}).splitlines()
    assert english[1] == "Turns: 0 · Phase of the discussion: divergent (gathering ideas)"


def test_who_opened_a_session_may_end_it(talk: Stage) -> None:
    do(talk, "session start", PUBLIC, agent="crab")
    assert do(talk, "session end", PUBLIC) == "会話を終了しました。"
    assert talk.session() is None


def test_the_owner_may_end_any_session_once(talk: Stage) -> None:
    do(talk, "session start", PUBLIC, agent="crab")
    ends = talk.door.command("session end")
    talk.does(ends)
    do(talk, "session start", PUBLIC, agent="crab")
    talk.does(ends)
    assert talk.session() is not None
    assert talk.texts[-1] == "会話を終了しました。"


def test_the_owner_of_all_its_agents_may_end_it_and_of_some_may_not(talk: Stage) -> None:
    talk.place("squid", owner_ids=(HANA,))
    do(talk, "session start", agent="crab")
    do(talk, "session join", agent="squid")
    assert "参加しているエージェント全員のオーナーだけ" in do(talk, "session end", {"user": HANA})
    do(talk, "session leave", agent="crab")
    assert do(talk, "session end", {"user": HANA}) == "会話を終了しました。"


def test_the_owner_of_one_agent_sends_no_other_away(talk: Stage) -> None:
    talk.place("squid", owner_ids=(HANA,))
    do(talk, "session start", agent="crab")
    do(talk, "session join", {"user": HANA}, agent="squid")
    told = do(talk, "session leave", {"user": HANA, "locale": "en-US"}, agent="crab")
    assert told == (
        "⚠️ Only the owner and known users of crab, or the person who opened this session, "
        "may remove crab."
    )
    do(talk, "session leave", {"user": HANA}, agent="squid")
    assert agents(talk) == ("crab",)


def test_who_opened_a_session_sends_agents_away(talk: Stage) -> None:
    do(talk, "session start", PUBLIC, agent="crab")
    do(talk, "session join", PUBLIC, agent="squid")
    do(talk, "session leave", PUBLIC, agent="crab")
    assert agents(talk) == ("squid",)


@pytest.mark.parametrize(
    ("locale", "says"),
    [
        ("ja", "⚠️ squid をこの会話に入れられるのは、squid のオーナーと許可された"),
        ("en-US", "⚠️ Only the owner and known users of squid may add squid to this session."),
    ],
)
def test_the_public_brings_nobody_into_the_session_of_others(
    talk: Stage, locale: str, says: str
) -> None:
    do(talk, "session start", agent="crab")
    told = do(talk, "session join", {**PUBLIC, "locale": locale}, agent="squid")
    assert told.startswith(says)
    assert agents(talk) == ("crab",)
    assert do(talk, "session join", PUBLIC, agent="crab").endswith("参加者: crab")
    do(talk, "session join", USER, agent="squid")
    assert agents(talk) == ("crab", "squid")


@pytest.mark.parametrize(
    ("locale", "says"),
    [
        (
            "ja",
            "⚠️ テーマを決められるのは、参加するエージェント全員について、"
            "オーナーか許可されたユーザーである人だけです。\n"
            "テーマなしで始められます。",
        ),
        (
            "en-US",
            "⚠️ Only the owner and known users of all agents in a session may set its topic.\n"
            "Start it without a topic.",
        ),
    ],
)
def test_the_public_gives_no_theme(talk: Stage, locale: str, says: str) -> None:
    told = do(talk, "session start", {**PUBLIC, "locale": locale}, agent="crab", theme="x\n# y")
    assert told == says
    assert talk.session() is None
    do(talk, "session start", PUBLIC, agent="crab", theme=" ")
    assert agents(talk) == ("crab",)


def test_a_theme_needs_the_trust_of_all_agents(talk: Stage) -> None:
    talk.place("crab")
    talk.place("squid", user_ids=(GUEST,))
    assert "参加するエージェント全員" in do(talk, "session start", PUBLIC, theme="海")
    assert "テーマ: 海" in do(talk, "session start", PUBLIC, agent="squid", theme="海")
    assert "crab をこの" in do(talk, "session join", PUBLIC, agent="crab")
    assert agents(talk) == ("squid",)


@pytest.mark.parametrize("first", ["crab", "squid"])
def test_a_session_of_several_is_heard_by_the_fewest(talk: Stage, first: str) -> None:
    second = {"crab": "squid", "squid": "crab"}[first]
    talk.place(first, spots=(Spot(channel_id=CHANNEL, hearing=Hearing.PUBLIC),))
    talk.place(second, spots=(Spot(channel_id=CHANNEL, hearing=Hearing.PRIVATE),))
    do(talk, "session start")
    session = talk.session()
    assert session is not None
    assert (session.agent_ids, session.hearing) == (("crab", "squid"), Hearing.PRIVATE)


def test_what_is_said_to_a_private_agent_is_not_heard_more_widely(talk: Stage) -> None:
    talk.place("crab", spots=(Spot(channel_id=CHANNEL, hearing=Hearing.PUBLIC),))
    talk.place("squid", spots=(Spot(channel_id=CHANNEL, hearing=Hearing.PRIVATE),))
    do(talk, "session start", agent="crab")
    assert do(talk, "session join", agent="squid").endswith("参加者: crab, squid")
    session = talk.session()
    assert session is not None
    assert (session.agent_ids, session.hearing) == (("crab", "squid"), Hearing.PRIVATE)


@pytest.mark.parametrize("who", [USER, PUBLIC])
@pytest.mark.parametrize("command", ["session end", "session start"])
def test_nobody_else_ends_it_or_starts_over(talk: Stage, command: str, who: dict[str, Any]) -> None:
    do(talk, "session start", agent="crab")
    before = talk.session()
    options = {"agent": "crab"} if command.endswith("start") else {}
    told = do(talk, command, {**who, "locale": "en-US"}, **options)
    assert told == (
        "⚠️ A session is open here. Only the person who opened it, an owner of OpenCrab, or an "
        "owner of all its agents may end it or start another."
    )
    assert talk.session() == before


def test_a_user_may_send_an_agent_away_and_the_public_may_not(talk: Stage) -> None:
    do(talk, "session start", agent="crab")
    do(talk, "session join", agent="squid")
    assert "許可されたユーザー" in do(talk, "session leave", PUBLIC, agent="crab")
    do(talk, "session leave", USER, agent="crab")
    assert agents(talk) == ("squid",)


def test_each_channel_has_its_own_session(talk: Stage) -> None:
    do(talk, "session start", agent="crab")
    do(talk, "session start", {"channel_id": "111"}, agent="squid")
    assert agents(talk) == ("crab",)
    other = talk.session("111")
    assert other is not None
    assert other.agent_ids == ("squid",)


def speaks_freely(talk: Stage) -> bool:
    session = talk.session()
    assert session is not None
    found = access_of_sessions(talk.house.home.facts, [session.id])
    return session.id in found and found[session.id].speaks_freely


@pytest.mark.parametrize(
    ("locale", "freely", "again"),
    [
        ("ja", "非公開の記憶も話します", "全員に見せてよいことだけ"),
        ("en-US", "use private memories", "only what everybody who reads here may know"),
    ],
)
def test_the_owner_lets_agents_speak_freely_and_ends_it(
    talk: Stage, locale: str, freely: str, again: str
) -> None:
    do(talk, "session start", PUBLIC, agent="crab")
    assert not speaks_freely(talk)
    assert freely in do(talk, "session speak-freely", {"locale": locale})
    assert speaks_freely(talk)
    assert freely in do(talk, "session speak-freely", {"locale": locale})
    assert again in do(talk, "session speak-freely", {"locale": locale}, off=True)
    assert not speaks_freely(talk)


@pytest.mark.parametrize("who", [PUBLIC, USER])
def test_nobody_but_an_owner_lets_agents_speak_freely(talk: Stage, who: dict[str, Any]) -> None:
    do(talk, "session start", who, agent="crab")
    assert "オーナーだけ" in do(talk, "session speak-freely", who)
    assert not speaks_freely(talk)


def test_the_owner_of_all_agents_of_a_session_lets_them_speak_freely(talk: Stage) -> None:
    talk.place("squid", owner_ids=(HANA,))
    do(talk, "session start", agent="squid")
    do(talk, "session speak-freely", {"user": HANA})
    assert speaks_freely(talk)
    do(talk, "session join", agent="crab")
    assert "オーナーだけ" in do(talk, "session speak-freely", {"user": HANA}, off=True)
    assert speaks_freely(talk)


def test_without_a_session_there_is_none_to_speak_freely_in(talk: Stage) -> None:
    assert "開いている会話はありません" in do(talk, "session speak-freely")
