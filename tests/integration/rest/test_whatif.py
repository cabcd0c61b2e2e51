"""What-if over REST: real turns, replayed with a model that costs money and one nobody priced."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.document import new_fact
from opencrab.domain.learning.evidence import EVIDENCE, Evidence, ModelEvidence
from opencrab.domain.statistics.confidence import MomentSums
from opencrab.domain.usage.ledger import Period
from opencrab.engine.insight.what_if import what_if
from tests.integration.rest.house import House, problem
from tests.integration.rest.learning import USAGE, School
from tests.integration.rest.thinking import PRICE

TURNS = 3
EACH = PRICE.cost(USAGE)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[School, str]]:
    """An agent that talked with a free model, and what is known of that and of a dear one."""
    school = School(tmp_path_factory.mktemp("school"))
    agent, session = school.pupil("葵", explore=0.0)
    school.lesson(agent, session, TURNS)
    known = {
        f"conversation/conversation/{name}": ModelEvidence(
            quality=MomentSums(n=40, total=total, squares=total), turns=41, failed=1
        )
        for name, total in (("scripted:rules", 20.0), ("openai:dear", 36.0))
    }
    fact = new_fact(agent, EVIDENCE, "2026-11-15", Evidence(turns=82, models=known))
    school.runtime.home.facts.commit(fact)
    yield school, agent
    school.close()


def asked(house: House, agent: str, aliases: dict[str, str], **more: Any) -> Any:
    body = {"aliases": aliases, "period": "last_week", **more}
    return house.call("POST", f"/agents/{agent}/whatif", body)


def test_a_dearer_model_costs_more_and_is_expected_to_be_better(
    lived: tuple[School, str],
) -> None:
    found = asked(*lived, {"fast": "openai:dear"}).json()
    assert found["meant"][0] == {
        "alias": "fast",
        "model": "scripted:rules",
        "other": "openai:dear",
        "price": PRICE.model_dump(mode="json"),
    }
    assert (found["calls"], found["moved"], found["uncounted"]) == (TURNS, TURNS, 0)
    assert (found["complete"], found["as_of"]) == (True, "2026-11-16")
    assert (found["now"]["cost_micro_usd"], found["then"]["cost_micro_usd"]) == (0, TURNS * EACH)
    assert found["saved_micro_usd"] == -TURNS * EACH
    now, then = found["now"]["quality"], found["then"]["quality"]
    # What was said of today's turns counts as well. Each was given the skill on trial, which is
    # withheld from 14 % of turns before its first night, and was liked for it.
    assert (now["mean"], then["mean"]) == (pytest.approx((20 + TURNS) / 44), pytest.approx(36 / 41))
    assert now["high"] < then["high"]
    assert then["low"] < then["mean"] < then["high"] <= 1
    (task,) = found["tasks"]
    assert (task["purpose"], task["model"], task["other"]) == (
        "conversation",
        "scripted:rules",
        "openai:dear",
    )
    assert (task["then"]["latency_ms"], found["latency_share"]) == (None, 0.0)
    assert found["quality_share"] == 1.0


def test_what_nobody_knows_of_a_model_is_null_and_other_models_stay(
    lived: tuple[School, str],
) -> None:
    found = asked(*lived, {"scripted:rules": "local"}).json()
    assert (found["saved_micro_usd"], found["then"]["quality"], found["quality_share"]) == (
        0,
        None,
        0.0,
    )
    other = asked(*lived, {"smart": "fast"}, period="all").json()
    assert (other["calls"], other["moved"], other["tasks"]) == (TURNS, 0, [])


@pytest.mark.parametrize(
    ("aliases", "field", "says"),
    [
        ({"fast": "openai:new"}, "aliases.fast", "the price of 'openai:new' is unknown"),
        ({"nobody": "openai:dear"}, "aliases.nobody", "'nobody' is not a known model"),
        (
            {"fast": "openai:dear", "scripted:rules": "local"},
            "aliases.scripted:rules",
            "'fast' and 'scripted:rules' both mean 'scripted:rules' now",
        ),
        ({}, "aliases", "too few"),
    ],
)
def test_what_cannot_be_replayed_is_named(
    lived: tuple[School, str], aliases: dict[str, str], field: str, says: str
) -> None:
    found = problem(asked(*lived, aliases), 422, field)
    assert says in found["detail"]


def test_a_period_without_calls_is_told_as_such_and_a_repeat_is_answered_alike(
    lived: tuple[School, str],
) -> None:
    school, _ = lived
    agent = school.agent("Ben")
    body = {"aliases": {"fast": "openai:dear"}}
    sent = {"headers": {"Idempotency-Key": "once"}}
    first, again = (school.call("POST", f"/agents/{agent}/whatif", body, **sent) for _ in "ab")
    assert first.json() == again.json()
    assert (first.json()["calls"], first.json()["period"], first.json()["as_of"]) == (
        0,
        "last_week",
        None,
    )
    problem(asked(school, "nobody", {"fast": "openai:dear"}), 404)
    problem(asked(school, agent, {"fast": "openai:dear"}, period="ever"), 422, "period")


def test_all_calls_are_those_that_were_not_deleted_by_age(lived: tuple[School, str]) -> None:
    school, agent = lived
    later = school.runtime.clock.now() + timedelta(days=50)

    def since(kept: timedelta | None) -> datetime | None:
        rules = replace(school.runtime.rules, calls_kept=kept)
        runtime = replace(school.runtime, clock=FakeClock(later), rules=rules)
        return what_if(runtime, agent, {"fast": "openai:dear"}, Period.ALL).since

    midnight = later.replace(hour=0, minute=0, second=0, microsecond=0)
    assert since(timedelta(days=40)) == midnight - timedelta(days=40)
    assert since(timedelta(days=60)) is None
    assert since(None) is None
