"""The words of the learning report."""

from string import Formatter

import pytest

from opencrab.domain.learning.change import AdjustmentKind, AdjustmentState
from opencrab.domain.learning.review_period import Remark
from opencrab.domain.skills.skill import SkillStatus
from opencrab.domain.value import Language
from opencrab.engine.learning.report.phrases import (
    _SENTENCES,
    ReportPhrases,
    learning_report_usd,
)
from tests.cases import for_each


def _parts(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@for_each("key", _SENTENCES)
def test_both_languages_tell_the_same_parts(key: str) -> None:
    english, japanese = (_SENTENCES[key][language] for language in (Language.EN, Language.JA))
    assert _parts(english) == _parts(japanese)
    assert english.isascii() or "→" in english
    assert japanese != english


def test_whatever_a_change_can_be_has_words() -> None:
    kinds = {f"{kind.value}_subject" for kind in AdjustmentKind}
    words = {each.value for each in (*AdjustmentState, *Remark, *SkillStatus)}
    assert kinds | words <= _SENTENCES.keys()
    told = ReportPhrases(Language.EN)("merge", other="x")
    assert told == "merge it with `x`: their texts are the same"


def test_a_reason_without_words_is_told_as_it_is() -> None:
    assert ReportPhrases(Language.JA).reason("harms") == "悪影響がある"
    assert ReportPhrases(Language.EN).reason("asked_for") == "asked for"


@pytest.mark.parametrize(
    ("micro_usd", "shown"),
    [(0, "0.00"), (3, "0.000003"), (12_345, "0.0123"), (2_500_000, "2.50"), (-1_500_000, "-1.50")],
)
def test_amounts_are_told_with_as_many_places_as_they_need(micro_usd: int, shown: str) -> None:
    assert learning_report_usd(micro_usd) == f"{shown} USD"
