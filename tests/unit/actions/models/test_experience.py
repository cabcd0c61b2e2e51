"""What was found out about models: kept with its model, found again by whoever may hear it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.memory.memory import EXPERIENCE, Experience
from opencrab.domain.value import Language
from tests.unit.actions.metering import Office, office


@pytest.fixture
def mika(tmp_path: Path) -> Iterator[Office]:
    with office(tmp_path) as there:
        yield there


def insight(mika: Office, observation: str = "途中で切れた", model: str = "fast") -> str:
    told = mika.data(
        "save_model_insight",
        situation="長い要約",
        observation=observation,
        recommendation="smart を使う",
        model=model,
    )
    return str(told["experience_id"])


def lived(mika: Office, experience_id: str) -> Experience:
    fact = mika.desk.home.facts.get("mika", EXPERIENCE, experience_id)
    assert fact is not None
    return fact.read(Experience)


def test_an_insight_is_an_experience_with_its_model_and_no_opinion_about_a_turn(
    mika: Office,
) -> None:
    kept = lived(mika, insight(mika))
    assert (kept.model, kept.lesson, kept.tainted) == ("openai:mini", "smart を使う", False)
    assert kept.experience == "長い要約\n途中で切れた"
    assert (kept.about_turn, kept.from_person) == ("t1", "")
    assert lived(mika, insight(mika, model="")).model == "openai:gpt"
    assert lived(mika, insight(mika, model="どこかの\u202eモデル")).model == "どこかのモデル"


def test_words_that_nobody_sees_are_no_insight(mika: Office) -> None:
    told = mika.error(
        "save_model_insight", situation="a", observation="b", recommendation="\u200b\u202e"
    )
    assert "visible" in told


def test_insights_are_recalled_newest_first_by_model_and_by_the_words_of_a_task(
    mika: Office,
) -> None:
    first, second = insight(mika), insight(mika, "翻訳が速い")
    third = insight(mika, "翻訳が正確", model="smart")

    def ids(**arguments: object) -> list[str]:
        found = mika.data("recall_model_experiences", **arguments)["experiences"]
        return [each["id"] for each in found]

    assert ids() == [third, second, first]
    assert ids(model="fast") == ids(model="openai:mini") == [second, first]
    assert ids(task="翻訳") == [third, second]
    assert ids(model="smart", task="海") == []
    page = mika.data("recall_model_experiences", limit=2)
    assert ids(limit=2, before=page["next_before"]) == [first]
    assert "invalid ID" in mika.error("recall_model_experiences", before="../x")


def test_a_retired_insight_is_recalled_no_more(mika: Office) -> None:
    first, second = insight(mika), insight(mika, "翻訳が速い")
    fact = mika.desk.home.facts.get("mika", EXPERIENCE, first)
    assert fact is not None
    retired = fact.read(Experience).replaced(retired_at=mika.desk.clock.now())
    mika.desk.home.facts.commit(fact.with_body(retired))
    told = mika.data("recall_model_experiences")["experiences"]
    assert [each["id"] for each in told] == [second]


@pytest.mark.parametrize(
    ("language", "told"), [(Language.JA, "まだありません"), (Language.EN, "no experience")]
)
def test_where_nothing_fits_it_is_said(mika: Office, language: Language, told: str) -> None:
    mika.owned(language)
    assert told in mika.data("recall_model_experiences")["note"]


def test_what_foreign_words_taught_taints_whoever_recalls_it(mika: Office) -> None:
    mika.desk.on_behalf_of(Authority.OWNER, taint=True)
    assert lived(mika, insight(mika)).tainted
    mika.desk.on_behalf_of(Authority.OWNER)
    assert mika.do("recall_model_experiences").taint
    assert not mika.do("recall_model_experiences", model="smart").taint


@pytest.mark.parametrize("authority", [Authority.USER, Authority.PUBLIC, Authority.PEER])
def test_others_do_not_hear_of_what_the_agent_lived_through(
    mika: Office, authority: Authority
) -> None:
    insight(mika)
    mika.desk.on_behalf_of(authority, person="taro")
    assert mika.data("recall_model_experiences")["experiences"] == []


def test_a_long_list_is_cut_where_an_answer_is_full(mika: Office) -> None:
    for n in range(8):
        insight(mika, f"{n}{'長' * 800}")
    first = mika.data("recall_model_experiences", limit=50)
    assert 1 < len(first["experiences"]) < 8
    rest = mika.data("recall_model_experiences", limit=50, before=first["next_before"])
    assert len(first["experiences"]) + len(rest["experiences"]) == 8
