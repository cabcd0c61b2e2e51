"""A promise for which its agent asks another one: the answer helps, and is not the deed."""

import pytest

from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.goals.goal import GOAL, Goal, GoalStatus
from opencrab.domain.goals.promise import PromiseStatus
from opencrab.domain.peers.talk import PEER_TALK, PeerTalk
from opencrab.domain.value import Language
from opencrab.engine.agents.vital_signs import create_agent_vital_signs
from tests.e2e.house import House
from tests.e2e.players import Decision, wrapped
from tests.e2e.release import DUE, PASS, Release, past

ASKED = {Language.EN: "What has changed?", Language.JA: "何が変わりましたか。"}
TOLD = {Language.EN: "The tides are new.", Language.JA: "潮が新しくなりました。"}


def helped(house: House, language: Language, *, answers: bool = True) -> Release:
    """Nami asks Umi before she does what she promised, which she does once Umi has answered."""
    release = Release(house, language)
    before, asks = (
        release.decide,
        wrapped("talk_to_peer", peer="umi", purpose="v2", message=ASKED[language]),
    )

    def decide(name: str, shown: str) -> Decision:
        if name == "umi" and ASKED[language] in shown:
            return TOLD[language] if answers else PASS
        if name != "nami" or "G1" not in shown or "answer_task" in shown:
            return PASS if name == "nami" and ASKED[language] in shown else before(name, shown)
        talk = house.home.facts.get("nami", PEER_TALK, "umi")
        if talk is None:
            return asks
        return before(name, shown) if talk.read(PeerTalk).answer_turn else "…"

    release.players.decide = decide
    return release


def goal(house: House) -> Goal:
    (fact,) = house.home.facts.page("nami", GOAL)
    return fact.read(Goal)


@pytest.mark.parametrize("language", list(Language))
def test_an_answer_does_not_keep_a_promise_and_its_goal_goes_on_with_it(
    home: House, language: Language
) -> None:
    release = helped(home, language)
    release.play()
    done = goal(home)
    assert home.home.files.info("nami", "notes.md") is not None
    assert (done.status, done.runs) == (GoalStatus.COMPLETED, 2)
    kept = release.promise("nami")
    assert kept.status is PromiseStatus.KEPT
    assert any("ws_write notes.md" in each for each in kept.evidence)


def test_a_silent_peer_ends_no_promise_and_to_have_asked_it_keeps_none(home: House) -> None:
    release = helped(home, Language.EN, answers=False)
    release.play()
    assert goal(home).status is not GoalStatus.ABANDONED
    past(DUE, home)
    assert release.promise("nami").status is PromiseStatus.BROKEN


@pytest.mark.parametrize("language", list(Language))
def test_what_was_promised_and_is_there_in_time_was_kept_whatever_the_turn_said(
    home: House, language: Language
) -> None:
    release = Release(home, language, done_when="file:notes.md")
    before = release.decide

    def decide(name: str, shown: str) -> Decision:
        decided = before(name, shown)
        return PASS if name == "nami" and decided in ("Done.", "はい。") else decided

    release.players.decide = decide
    release.play()
    assert goal(home).status is GoalStatus.ABANDONED
    kept = release.promise("nami")
    assert (kept.status, kept.evidence) == (PromiseStatus.KEPT, ("file:notes.md",))


def test_a_promise_whose_judgement_the_release_before_did_away_with_is_judged_later(
    home: House,
) -> None:
    release = Release(home, Language.EN)
    release.play()
    for item in home.home.due.list_due(DUE, 99):
        home.home.due.remove(item.id)
    past(DUE, home)
    assert release.promise("kai").status is PromiseStatus.OPEN
    umi = home.home.agents.get("umi").agent
    home.home.agents.save(umi.replaced(heartbeat=Heartbeat(instructions="Plan.")))
    create_agent_vital_signs(home.runtime, home.home.agents.get("umi"))
    home.clock.advance(3_600)
    for _ in range(4):
        home.later(61)
    assert release.promise("kai").status is PromiseStatus.BROKEN
    assert release.trust("nami", "kai") == release.trust("umi", "kai") == (0, 2)
