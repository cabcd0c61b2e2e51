"""Three agents plan a release: the outcome is written, two promise their tasks, one breaks it."""

from datetime import timedelta
from typing import Any

import pytest

from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.conversation.message import Channel, LineKind
from opencrab.domain.conversation.session import Mode
from opencrab.domain.discussion.outcome import OutcomeState
from opencrab.domain.memory.memory import MEMORY
from opencrab.domain.value import Language
from tests.e2e.house import START, House
from tests.e2e.players import Decision, wrapped
from tests.e2e.release import DUE, PASS, WORDS, Release, errors


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"who": "Ghost"}, "is not in this discussion; they are: Kai (kai)"),
        ({"due": (START - timedelta(days=1)).isoformat()}, "is in the past"),
        ({"due": "2026-02-17T18:00:00"}, "has no time zone"),
        ({"done_when": "file:../secret"}, "'../secret'"),
        ({"what": "x" * 301}, "tasks.0.what"),
    ],
)
def test_a_writer_is_told_what_is_wrong_with_its_outcome(
    home: House, wrong: dict[str, Any], why: str
) -> None:
    release = Release(home, Language.EN)
    tasks = [{"who": "Nami", "what": "notes", "due": DUE.isoformat()} | wrong]
    release.outcome = wrapped("write_outcome", tasks=tasks)
    release.play()
    assert any(why in error for error in errors(home))
    assert (release.stored.state, release.stored.tasks) == (OutcomeState.UNKNOWN, ())
    notices = [line.text for line in home.lines(LineKind.SYSTEM)]
    assert "The discussion ended without an outcome: none was written." in notices


def test_a_hundred_points_are_too_many(home: House) -> None:
    release = Release(home, Language.EN)
    release.outcome = wrapped("write_outcome", decisions=[f"point {n}" for n in range(100)])
    release.play()
    assert any("at most 20 items" in error for error in errors(home))
    assert release.stored.state is OutcomeState.UNKNOWN


@pytest.mark.parametrize(
    ("language", "said"),
    [
        (Language.EN, "The discussion ended without an outcome: none was written."),
        (Language.JA, "議論の結果は書かれませんでした。結果は不明です。"),
    ],
)
def test_without_an_outcome_the_discussion_says_so(
    home: House, language: Language, said: str
) -> None:
    release = Release(home, language)
    release.outcome = PASS
    release.play()
    assert (release.stored.state, release.stored.why) == (OutcomeState.UNKNOWN, "idle")
    assert said in [line.text for line in home.lines(LineKind.SYSTEM)]
    assert home.home.facts.page("umi", MEMORY) == ()


def test_an_outcome_is_written_once_and_only_when_asked_for(home: House) -> None:
    release = Release(home, Language.EN)
    asked = release.decide

    def eager(name: str, shown: str) -> Decision:
        if name == "kai" and "ahead" not in shown:
            return release.outcome if len(release.players.heard) == 1 else "ahead"
        return asked(name, shown)

    release.players.decide = eager
    release.play()
    assert any("nobody asked you for an outcome" in error for error in errors(home))
    assert release.stored.state is OutcomeState.WRITTEN


def test_nobody_is_asked_for_an_outcome_after_a_person_ended_it(home: House) -> None:
    release = Release(home, Language.EN)
    home.say("Plan it.")
    home.work()
    home.home.sessions.end("s", home.clock.now())
    for _ in range(5):
        home.later(61)
    assert all("write_outcome" not in shown for _, shown in release.players.heard)


def test_nobody_is_asked_for_an_outcome_when_the_money_is_spent(home: House) -> None:
    release = Release(home, Language.EN, budget_micro_usd=8)
    release.play()
    assert (release.stored.state, release.stored.why) == (OutcomeState.UNKNOWN, "budget")
    assert all("write_outcome" not in shown for _, shown in release.players.heard)


def test_the_facilitator_writes_the_outcome(home: House) -> None:
    release = Release(home, Language.EN, mode=Mode.FACILITATED, facilitator_id="kai")
    release.play()
    assert release.stored.writer_id == "kai"


@pytest.mark.parametrize(
    ("language", "said"),
    [
        (Language.EN, "A discussion has an outcome: opencrab sessions outcome s"),
        (Language.JA, "議論の結果がまとまりました: opencrab sessions outcome s"),
    ],
)
def test_the_writers_owner_is_told_and_a_channel_of_others_hears_no_word_of_it(
    home: House, language: Language, said: str
) -> None:
    release = Release(home, language, mode=Mode.FACILITATED, facilitator_id="kai")
    kai = home.home.agents.get("kai").agent
    place = Channel(kind="wall", address="room")
    home.home.agents.save(kai.replaced(heartbeat=Heartbeat(channel=place)))
    release.play()
    assert said in [text for _, text in home.wall.shown]
    assert all(WORDS[language][0] not in text for _, text in home.wall.shown)


def test_an_outcome_goes_to_the_channel_of_its_discussion(home: House) -> None:
    release = Release(home, Language.JA)
    home.say("リリースの計画を立てて", "m1", channel="wall")
    home.work()
    for _ in range(14):
        home.later(61)
    assert release.stored.state is OutcomeState.WRITTEN
    assert home.wall.shown[-1][1].startswith("議論の結果\n決まったこと:")
