"""What an agent thinks of others: one impression each, growing by what is said."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from opencrab.actions import speech
from opencrab.domain.access.authority import Authority
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Changed
from opencrab.domain.memory.memory import Impression
from tests.unit.actions.knowing import NOW, REGISTRY, Desk, desk


@pytest.fixture
def mika(tmp_path: Path) -> Iterator[Desk]:
    """Mika's place."""
    with desk(tmp_path) as place:
        yield place


def impression(mika: Desk, target: str = "ken") -> Impression:
    fact = mika.home.facts.get("mika", "impression", target)
    assert fact is not None
    return fact.read(Impression)


def test_what_is_left_out_stays_as_it_was(mika: Desk) -> None:
    first = mika.data("update_impression", target_id="ken", target_name="Ken", notes="猫が好き")
    assert first == {"target_id": "ken", "updated": ["notes", "target_name"]}
    mika.data("update_impression", target_id="ken", agreement="mostly agrees", personality="穏やか")
    kept = impression(mika)
    assert (kept.target_name, kept.notes) == ("Ken", "猫が好き")
    assert (kept.agreement, kept.personality) == ("mostly agrees", "穏やか")
    assert (kept.created_at, kept.session_id, kept.turn_id) == (NOW, "s1", "t1")
    assert kept.updated_at > kept.created_at
    assert len(mika.home.facts.page("mika", "impression")) == 1


def test_somebody_without_a_name_goes_by_their_id(mika: Desk) -> None:
    mika.data("update_impression", target_id="ken", communication_style="terse")
    assert impression(mika).target_name == "ken"


def test_somebody_who_spoke_here_is_called_as_they_were(mika: Desk) -> None:
    mika.hear("やあ", speaker_id="ken", speaker_name="健太#1234")
    mika.data("update_impression", target_id="ken", notes="静か")
    assert (impression(mika).target_name, impression(mika).agreement) == ("健太", "中立")


def test_what_was_noted_in_each_session_is_kept(mika: Desk) -> None:
    mika.data("update_impression", target_id="ken", notes="静か")
    elsewhere = mika.at.session.replaced(id="s2")
    mika.at = replace(mika.at, session=elsewhere)
    mika.data("update_impression", target_id="ken", notes="よく話す")
    kept = impression(mika)
    assert (kept.session_id, kept.notes) == ("s2", "よく話す")
    assert [(each.session_id, each.notes) for each in kept.history] == [("s1", "静か")]


def test_a_peer_may_cause_one_and_its_taint_stays(mika: Desk) -> None:
    mika.on_behalf_of(Authority.PEER, taint=True)
    routing = mika.at.reach.models.routing
    allowed = {
        authority: {each.name for each in REGISTRY.allowed(mika.at.agent, routing, authority)}
        for authority in Authority
    }
    assert "update_impression" in allowed[Authority.PEER]
    assert "update_impression" not in allowed[Authority.PUBLIC]
    mika.data("update_impression", target_id="ken", recent_behavior="親切だった")
    mika.on_behalf_of(Authority.OWNER)
    mika.data("update_impression", target_id="ken", notes="x")
    assert impression(mika).tainted


def test_of_two_at_once_one_is_told_to_look_again(mika: Desk) -> None:
    mika.data("update_impression", target_id="ken", notes="1")
    action = REGISTRY.find("update_impression")
    assert action is not None
    results = [
        action.run(action.arguments(target_id="ken", notes=notes), mika.at) for notes in ("2", "3")
    ]
    mika.home.facts.commit(*results[0].facts)
    with pytest.raises(Changed):
        mika.home.facts.commit(*results[1].facts)


def test_no_words_are_no_impression(mika: Desk) -> None:
    assert "the impression is empty" in str(mika.do("update_impression", target_id="ken").error)


@pytest.mark.parametrize("target", ["", "a b", "../x", "健", "x" * 65])
def test_nobody_has_such_an_id(mika: Desk, target: str) -> None:
    with pytest.raises(ValidationError, match="target_id"):
        mika.do("update_impression", target_id=target, notes="x")


def test_the_number_of_impressions_has_an_end(mika: Desk) -> None:
    for number in range(speech.IMPRESSIONS):
        target = f"p{number:03}"
        known = Impression(target_id=target, target_name=target, created_at=NOW, updated_at=NOW)
        mika.home.facts.commit(new_fact("mika", "impression", target, known))
    full = mika.do("update_impression", target_id="ken", notes="x")
    assert full.error == (
        "limit reached: 500 impressions: update the impression of somebody whom you know already"
    )
    assert mika.do("update_impression", target_id="p007", notes="x").success
