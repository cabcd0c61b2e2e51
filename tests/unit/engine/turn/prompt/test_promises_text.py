"""Promises in an own turn: names and due times always, the words of peers only where they taint."""

from datetime import UTC, datetime, timedelta

import pytest

from opencrab.domain.goals.promise import BriefPromise, PromiseBoard, PromiseStatus
from opencrab.domain.value import Language
from opencrab.engine.turn.prompt.promises_text import LISTED, prompt_text_of_promises

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)


def brief(number: int = 1, **fields: object) -> BriefPromise:
    return BriefPromise(
        id=f"promise-{number}",
        name="Nami",
        names=("Kai", "Umi"),
        what="リリースノートを書く",
        due=NOW + timedelta(hours=number),
        goal_id=f"G{number}",
        session_id="s",
        status=PromiseStatus.OPEN,
        at=NOW,
    ).replaced(**fields)


def told(board: PromiseBoard, language: Language, *, tainted: bool = True) -> list[str]:
    return prompt_text_of_promises(board, language, NOW, "Asia/Tokyo", tainted=tainted).splitlines()


@pytest.mark.parametrize(
    ("language", "own", "others"),
    [
        (Language.EN, "- G1 to Kai, Umi, by 02-17 19:00, open: ", "- Nami, by 02-17 19:00, open: "),
        (
            Language.JA,
            "- G1 相手: Kai, Umi 期限 02-17 19:00 未了: ",
            "- Nami 期限 02-17 19:00 未了: ",
        ),
    ],
)
def test_an_agent_is_told_what_it_promised_and_what_it_was_promised(
    language: Language, own: str, others: str
) -> None:
    board = PromiseBoard(made=(brief(),), received=(brief(),))
    rows = told(board, language)
    assert rows[1::2] == [f"{own}リリースノートを書く", f"{others}リリースノートを書く"]
    assert "withdraw_promise" in rows[0]
    clean = prompt_text_of_promises(board, language, NOW, "UTC", tainted=False)
    assert not clean.tainted
    assert "リリース" not in clean
    assert prompt_text_of_promises(board, language, NOW, "UTC", tainted=True).tainted


def test_a_settled_promise_is_told_for_a_day_and_a_few_in_all() -> None:
    kept = brief(status=PromiseStatus.KEPT, at=NOW - timedelta(hours=23))
    old = brief(2, status=PromiseStatus.BROKEN, at=NOW - timedelta(days=1))
    rows = told(PromiseBoard(received=(old, kept)), Language.EN)
    assert [row.split(": ")[0] for row in rows[1:]] == ["- Nami, by 02-17 19:00, kept"]
    many = PromiseBoard(made=tuple(brief(number) for number in range(9, 0, -1)))
    assert len(told(many, Language.EN)) == LISTED + 1
    assert told(many, Language.EN)[1].startswith("- G1 ")
    assert told(PromiseBoard(), Language.EN) == []
