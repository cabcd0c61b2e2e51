"""What OpenCrab itself says is there in both languages, with the same facts."""

from string import Formatter

import pytest

from opencrab.domain.value import MESSAGE_BYTES, Language
from opencrab.engine.phrases import _BUDGETS, _SENTENCES, budget_phrase, phrase
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
    said = phrase(key, language, **dict.fromkeys(told, "42"))
    assert said.replace("42", "").isascii() is (language is Language.EN)
    assert not told or "42" in said
    assert "{" not in said
    assert len(said.encode()) < MESSAGE_BYTES / 100


@pytest.mark.parametrize("fact", ["{braces}", "100%", "海 🦀"])
def test_a_fact_is_shown_as_it_is(fact: str) -> None:
    for language in Language:
        assert fact in phrase("failed", language, why=fact)


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("kind", sorted(_BUDGETS))
def test_when_money_ends_people_are_told_which_without_any_id(
    kind: str, language: Language
) -> None:
    said = budget_phrase(f"{kind}:secret-id", language)
    assert _BUDGETS[kind][language] in said
    assert "secret-id" not in said
    assert said.isascii() is (language is Language.EN)


@pytest.mark.parametrize("scope", [None, "", "nonsense:x"])
def test_money_of_an_unknown_kind_is_everybodys(scope: str | None) -> None:
    assert budget_phrase(scope, Language.EN) == budget_phrase("installation", Language.EN)
