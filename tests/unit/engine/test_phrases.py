"""What OpenCrab itself says is there in both languages, with the same facts."""

import re
from string import Formatter

import pytest

from opencrab.domain.models.fault import Fault
from opencrab.domain.money.budget import Limits
from opencrab.domain.value import MESSAGE_BYTES, Language
from opencrab.engine.phrases import (
    _BUDGETS,
    _SENTENCES,
    phrase_for_failure,
    phrase_for_used_up_budget,
    system_phrase,
)
from tests.cases import for_each

every_phrase = for_each("key", sorted(_SENTENCES))


def facts(sentence: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentence) if name is not None}


def test_there_are_phrases() -> None:
    assert len(_SENTENCES) >= 9


@every_phrase
def test_a_phrase_exists_in_every_language_with_the_same_facts(key: str) -> None:
    told = {language: facts(_SENTENCES[key][language]) for language in Language}
    assert told[Language.JA] == told[Language.EN]


@every_phrase
@for_each("language", Language)
def test_a_phrase_is_a_short_sentence_of_its_language(key: str, language: Language) -> None:
    told = facts(_SENTENCES[key][language])
    said = system_phrase(key, language, **dict.fromkeys(told, "42"))
    assert said.replace("42", "").isascii() is (language is Language.EN)
    assert not told or "42" in said
    assert "{" not in said
    assert len(said.encode()) < MESSAGE_BYTES / 100


@pytest.mark.parametrize("fact", ["{braces}", "100%", "海 🦀"])
def test_a_fact_is_shown_as_it_is(fact: str) -> None:
    for language in Language:
        assert fact in system_phrase("failed", language, why=fact)


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("kind", sorted(_BUDGETS))
def test_when_money_ends_people_are_told_which_without_any_id(
    kind: str, language: Language
) -> None:
    said = phrase_for_used_up_budget(f"{kind}:secret-id", language)
    assert _BUDGETS[kind][language] in said
    assert "secret-id" not in said
    assert said.isascii() is (language is Language.EN)


@pytest.mark.parametrize(
    ("scope", "english"),
    [
        ("turn", "this answer ($0.25) is used up. Raise it: `opencrab costs set-budget turn=0.50`"),
        ("session:s", "($2.00) is used up. Raise it: `opencrab costs set-budget session=4.00`"),
        ("agent:a", "my day ($1.00) is used up. It is available again after midnight UTC. Raise"),
        ("agent:a", "`opencrab costs set-budget agent_day=2.00`"),
        ("heartbeat:a", "($0.60) is used up. It is available again after midnight UTC. Raise it"),
        ("heartbeat:a", "`opencrab costs set-budget heartbeat=100`"),
        ("public:p", "($0.000125) is used up. "),
        ("public:p", "`opencrab costs set-budget public_user_day=0.00025`"),
        ("installation", "`opencrab costs set-budget installation_day=10.00`"),
    ],
)
def test_who_may_know_is_told_how_much_it_was_and_how_to_raise_it(scope: str, english: str) -> None:
    limits = Limits(
        turn_micro_usd=250_000,
        session_micro_usd=2_000_000,
        heartbeat_percent=60,
        public_user_day_micro_usd=125,
    )
    assert english in phrase_for_used_up_budget(scope, Language.EN, limits)
    japanese = phrase_for_used_up_budget(scope, Language.JA, limits)
    assert japanese.rpartition("opencrab ")[2] in phrase_for_used_up_budget(
        scope, Language.EN, limits
    )
    assert "上限を上げるコマンド" in japanese


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize(
    ("scope", "drawn", "wanted"),
    [
        ("agent:a", 1_000_000, "agent_day=2.00"),
        ("agent:a", 2_345_678, "agent_day=3.35"),
        ("installation", 5_400_001, "installation_day=10.41"),
        ("turn", 700_000, "turn=1.20"),
        ("heartbeat:a", 300_000, "heartbeat=55"),
        ("heartbeat:a", 900_000, "heartbeat=100"),
    ],
)
def test_the_suggested_limit_leaves_room_above_what_was_drawn(
    scope: str, drawn: int, wanted: str, language: Language
) -> None:
    said = phrase_for_used_up_budget(scope, language, Limits(), drawn=drawn)
    assert f"`opencrab costs set-budget {wanted}`" in said


def test_an_agents_own_limit_is_raised_where_it_was_set() -> None:
    said = phrase_for_used_up_budget("agent:a", Language.EN, Limits(), 30_000)
    assert "my day ($0.03) is used up." in said
    assert "day_limit_micro_usd: `opencrab agents edit`" in said


@pytest.mark.parametrize("scope", [None, "", "nonsense:x"])
def test_money_of_an_unknown_kind_is_everybodys(scope: str | None) -> None:
    assert phrase_for_used_up_budget(scope, Language.EN) == phrase_for_used_up_budget(
        "installation", Language.EN
    )


@for_each("fault", Fault)
def test_a_failed_model_call_is_told_in_japanese_without_the_details(fault: Fault) -> None:
    japanese = phrase_for_failure("HTTP 429 from https://example.test", Language.JA, fault)
    assert "example.test" not in japanese
    assert japanese.startswith("申し訳ありません。この返答は失敗しました: ")
    english = phrase_for_failure("rate limited", Language.EN, fault)
    assert english == system_phrase("failed", Language.EN, why="rate limited")


def test_another_failure_is_told_in_the_agents_language_alone() -> None:
    """English has its message; Japanese what kind of failure it was."""
    assert "no such model" in phrase_for_failure("no such model", Language.EN, kind="Invalid")
    for kind in ("Invalid", "TooLarge", "Refused", "idle", "exhausted", "stopped", "plan", ""):
        told = phrase_for_failure("model 'x' is not known", Language.JA, kind=kind)
        assert not re.search("[A-Za-z]", told)
    assert "入力がモデルの上限" in phrase_for_failure("too long", Language.JA, kind="TooLarge")
    own = "承認されませんでした。"
    assert own in phrase_for_failure(own, Language.JA)
