"""Approvals on LINE: an owner's press decides once; anybody else is told politely."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.value import Language
from tests.contract.homes import HOMES
from tests.crash.outside import Reply
from tests.e2e.line_house import LineHouse
from tests.line.fake import GROUP, GUEST, OWNER

RING = Reply(calls=(("ring_bell", {"tone": "ding"}),))


@pytest.fixture
def house(tmp_path: Path) -> Iterator[LineHouse]:
    made = LineHouse(HOMES[0], tmp_path)
    agent = made.agent("kani", (RING, Reply(text="鳴らしました")), Language.JA)
    made.home.agents.save(agent.replaced(policy=ApprovalPolicy.STRICT))
    yield made
    made.close()
    assert made.vendor.complaints == []
    assert made.problems == []


def test_an_owner_approves_and_the_call_runs_once(house: LineHouse) -> None:
    house.vendor.says("鳴らして")
    house.rest()
    assert house.bell.rings == []
    house.vendor.press("承認")
    house.rest()
    house.vendor.press("承認")
    house.rest()
    assert len(house.bell.rings) == 1
    told = f"✅ たろう (line-{OWNER}) が承認しました"
    assert sorted(house.vendor.texts()[2:]) == sorted([told, "鳴らしました", told])


def test_an_owner_rejects(house: LineHouse) -> None:
    house.vendor.says("鳴らして")
    house.rest()
    house.vendor.press("却下")
    house.rest()
    house.vendor.press("承認")
    house.rest()
    assert house.bell.rings == []
    told = f"⛔ たろう (line-{OWNER}) が却下しました"
    assert house.vendor.texts().count(told) == 2


def test_somebody_else_decides_nothing(house: LineHouse) -> None:
    house.vendor.mentions("鳴らして")
    house.rest()
    house.vendor.press("却下", GUEST, place=GROUP)
    house.rest()
    assert house.vendor.texts(GROUP)[-1].startswith("決定できるのは、エージェントのオーナーと")
    house.vendor.press("却下", OWNER, place=GROUP)
    house.rest()
    assert house.vendor.texts(GROUP).count(f"⛔ たろう (line-{OWNER}) が却下しました") == 1


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("oc:ap:01UNKNOWN:n", "この承認依頼はもうありません。"),
        ("oc:ap:{id}:y:0123456789abcdef", "表示されていた呼び出しとは違います。"),
        ("oc:ap:{id}", None),
        ("oc:fb:{id}:u", None),
        ("else", None),
    ],
)
def test_an_old_or_foreign_button_changes_nothing(
    house: LineHouse, data: str, told: str | None
) -> None:
    house.vendor.says("鳴らして")
    house.rest()
    before = len(house.vendor.texts())
    approval_id = house.vendor.shown[OWNER][-1].buttons[0]["data"].split(":")[2]
    house.vendor.send("postback", OWNER, postback={"data": data.format(id=approval_id)})
    house.rest()
    added = house.vendor.texts()[before:]
    assert house.bell.rings == []
    assert len(added) == (told is not None)
    assert told is None or added[0].startswith(told)
