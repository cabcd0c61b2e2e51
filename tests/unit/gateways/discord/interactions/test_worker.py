"""Interactions are done once, retried while nobody knows, and given up with a word."""

import json
import logging
from typing import Any

import pytest

from opencrab.domain.discord.community import Community
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.errors import Invalid, NeverSent, NotFound, Refused, Unavailable
from opencrab.engine.goals.instructions import page_of_goals
from opencrab.gateways.discord.interactions.acks import CHOICES_ID, CHOICES_KIND
from opencrab.gateways.discord.interactions.worker import TRIES, handle_interaction
from opencrab.ports.turn.queue import Delivery, MessageOutcome
from tests.unit.gateways.discord.stage import Stage


def dead(stage: Stage) -> tuple[tuple[str, str], ...]:
    queue = stage.house.home.interactions
    assert queue is not None
    return queue.list_dead_letters(10)


@pytest.mark.parametrize("body", ["{}", "[]", "no json", '{"type": 2}', "蟹"])
def test_what_is_no_interaction_is_put_aside(
    stage: Stage, body: str, caplog: pytest.LogCaptureFixture
) -> None:
    delivery = Delivery(body=body, group="g", receipt="r", count=1)
    with caplog.at_level(logging.WARNING):
        assert handle_interaction(stage.runtime, delivery) is MessageOutcome.FINISHED
    assert "moved to the dead-letter queue" in caplog.text
    assert [letter for letter, _ in dead(stage)] == [body]
    assert stage.texts == []


def test_nothing_is_done_where_discord_is_switched_off(stage: Stage) -> None:
    stage.agent("crab")
    stage.house.runtime = stage.replaced(discord=None)
    raw = stage.door.command("ask", agent="crab", text="元気?")
    assert stage.does(raw) is MessageOutcome.FINISHED
    assert stage.session() is None


@pytest.mark.parametrize(
    ("locale", "says"), [("ja", "このコマンドはありません"), ("en-US", "Unknown command")]
)
def test_an_unknown_command_is_told_so(stage: Stage, locale: str, says: str) -> None:
    for name in ("dance", "session dance", "session", ""):
        stage.does(stage.door.command(name, of={"locale": locale}))
    assert all(says in text for text in stage.texts)
    assert len(stage.texts) == 4


def test_a_menu_without_its_message_is_told_so(stage: Stage) -> None:
    raw = stage.door.menu("Ask about this", "x")
    raw["data"]["type"] = 1
    stage.does(raw)
    assert len(stage.texts) == 1


@pytest.mark.parametrize("command", ["session status", "task"])
def test_what_cannot_be_answered_now_comes_again_and_is_answered_once(
    stage: Stage, command: str
) -> None:
    raw = stage.door.command(command)
    stage.discord.failing += [NeverSent("10015"), Unavailable("503")]
    outcomes = [stage.does(raw, count=count) for count in (1, 2, 3)]
    assert outcomes == [MessageOutcome.CONTINUE, MessageOutcome.CONTINUE, MessageOutcome.FINISHED]
    assert len(stage.texts) == 1
    assert dead(stage) == ()


def test_it_comes_again_for_half_a_minute(stage: Stage) -> None:
    queue = stage.house.home.interactions
    assert queue is not None
    raw = stage.door.command("session status")
    queue.send(json.dumps(raw), group="g", deduplication="1")
    began, seen = stage.house.clock.now(), 0
    stage.discord.failing += [NeverSent("10015")] * (TRIES - 1)
    while not stage.texts:
        taken = queue.receive(visibility_seconds=60, wait_seconds=0)
        if taken is None:
            stage.house.clock.advance(1)
            continue
        seen += 1
        if handle_interaction(stage.runtime, taken) is MessageOutcome.FINISHED:
            queue.acknowledge(taken.receipt)
    assert seen == TRIES
    assert 15 <= (stage.house.clock.now() - began).total_seconds() <= 60


def test_at_the_last_try_people_are_told_and_a_copy_is_kept(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    raw = stage.door.command("session status")
    stage.discord.failing += [Unavailable("503")]
    with caplog.at_level(logging.WARNING):
        assert stage.does(raw, count=TRIES) is MessageOutcome.FINISHED
    assert stage.texts == [
        "⚠️ 処理できませんでした。反映されたかどうかを確認し、"
        "反映されていなければもう一度お試しください。"
    ]
    assert dead(stage)[0][1] == f"failed after {TRIES} deliveries"
    assert raw["token"] not in caplog.text


def test_who_cannot_be_told_either_leaves_a_copy(stage: Stage) -> None:
    stage.discord.failing += [Unavailable("503"), Unavailable("503")]
    assert stage.does(stage.door.command("session status"), count=TRIES) is MessageOutcome.FINISHED
    assert len(dead(stage)) == 1


def test_what_kills_its_workers_is_given_up_unread(stage: Stage) -> None:
    stage.agent("crab")
    raw = stage.door.command("task", agent="crab", instruction="x", of={"locale": "en-US"})
    assert stage.does(raw, count=TRIES + 1) is MessageOutcome.FINISHED
    assert "try again" in stage.texts[0]
    assert page_of_goals(stage.runtime.home, "crab") == ()


def test_a_button_that_is_given_up_is_told_beside_its_message(stage: Stage) -> None:
    assert stage.does(stage.door.press("oc:fb:t:u"), count=TRIES + 1) is MessageOutcome.FINISHED
    assert stage.discord.told[0].how == "follow_up"


@pytest.mark.parametrize("error", [NotFound("10008"), Refused("50013")])
def test_who_can_be_answered_no_more_is_left(
    stage: Stage, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    stage.discord.failing.append(error)  # type: ignore[arg-type]
    with caplog.at_level(logging.WARNING):
        assert stage.does(stage.door.command("session status")) is MessageOutcome.FINISHED
    assert "cannot reply to an interaction" in caplog.text


def test_an_answer_that_discord_does_not_take_is_followed_by_a_plain_one(stage: Stage) -> None:
    stage.discord.failing.append(Invalid("50035"))
    assert stage.does(stage.door.command("session status")) is MessageOutcome.FINISHED
    assert stage.discord.told[0].how == "edit_reply"
    assert len(stage.texts) == 1


def test_one_command_is_one_call_to_discord_at_most(stage: Stage) -> None:
    stage.agent("crab")
    for raw in _everything(stage):
        before = len(stage.discord.told)
        stage.does(raw)
        assert len(stage.discord.told) - before <= 1


def _everything(stage: Stage) -> list[dict[str, Any]]:
    door = stage.door
    return [
        door.command("ask", agent="crab", text="元気?"),
        door.command("task", agent="crab", instruction="掃除"),
        *(door.command(f"session {verb}", agent="crab") for verb in ("start", "join", "leave")),
        *(door.command(f"session {verb}") for verb in ("status", "end")),
        door.menu("Ask about this", "おはよう"),
        door.menu("Remember this", "会議は月曜"),
        door.press("oc:pa:crab:G1"),
        door.form("oc:sm:crab:G1", "急いで"),
        *(door.command(name) for name in ("costs", "approve", "model list")),
        *(door.command(f"agent {name}", agent="crab") for name in ("show", "state", "goals")),
    ]


def test_everything_repeated_at_once_is_answered_the_same(any_stage: Stage) -> None:
    stage = any_stage
    stage.agent("crab")
    for raw in _everything(stage):
        before = len(stage.discord.told)
        stage.does(raw)
        half = len(stage.discord.told)
        stage.does(raw)
        told = stage.discord.told
        assert told[before:half] == told[half:], raw["data"]


def test_other_servers_get_nothing_done(stage: Stage) -> None:
    stage.agent("crab")
    community = Community(guild_ids=("1",), owner_ids=stage.runtime.community.owner_ids)
    stage.house.runtime = stage.replaced(community=community)
    for raw in _everything(stage):
        stage.does(raw)
    assert all("このサーバー" in text for text in stage.texts)
    assert len(stage.texts) == len(_everything(stage))
    assert stage.session() is None


def test_what_people_may_choose_is_offered_anew_after_an_answer(stage: Stage) -> None:
    stage.agent("crab")
    stage.does(stage.door.command("session status"))
    kept = stage.house.home.facts.get(INSTALLATION_FACTS, CHOICES_KIND, CHOICES_ID)
    assert kept is not None
    assert kept.body is not None
    assert [each["id"] for each in kept.body["agents"]] == ["crab"]


def test_a_command_that_shows_something_is_answered_too(stage: Stage) -> None:
    stage.agent("crab")
    for name in ("agent show", "agent goals"):
        stage.does(stage.door.command(name, agent="crab"))
    assert [each.how for each in stage.discord.told] == ["edit_reply"] * 2
    assert all(each.message["embeds"] for each in stage.discord.told)
