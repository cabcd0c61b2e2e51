"""What a webhook receives is said once in its session, as words of the public."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.conversation.message import Line
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Language
from opencrab.domain.webhooks.webhook import WEBHOOK, WEBHOOKS, Webhook
from opencrab.engine.runtime import Runtime
from opencrab.engine.webhooks.received import receive_webhook_event
from tests.contract.example import NOW, profile
from tests.contract.homes import DISTINCT_HOMES
from tests.crash.outside import Bell, Provider, registry

PUSH = {"user": {"name": "海"}, "text": "蟹が来ました", "room": "7"}


@pytest.fixture(params=DISTINCT_HOMES, ids=lambda opens: opens.__name__)
def runtime(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Runtime]:
    clock = FakeClock(NOW)
    with request.param(tmp_path, clock) as home:
        for name, language in (("hana", Language.JA), ("rose", Language.EN)):
            made = profile(name, name)
            home.agents.create(made.replaced(agent=made.agent.replaced(language=language)))
        yield Runtime(
            home=home,
            clock=clock,
            models=Provider({}),
            actions=registry(Bell()),
            consequences=CONSEQUENCES,
            jobs=JOBS,
        )


def add(runtime: Runtime, name: str = "ci", **fields: Any) -> None:
    given = {"secrets": ("x",), "agent_id": "hana", "created_by": "taro", "created_at": NOW}
    hook = Webhook.model_validate(given | fields)
    runtime.home.facts.commit(new_fact(WEBHOOKS, WEBHOOK, name, hook))


def receive(
    runtime: Runtime,
    body: Any = PUSH,
    *,
    name: str = "ci",
    event_id: str = "m1",
    notes: Mapping[str, str] | None = None,
) -> None:
    receive_webhook_event(runtime, name, event_id, json.dumps(body), notes or {})


def turns(runtime: Runtime) -> list[Turn]:
    found, queue = [], runtime.home.turns
    while (delivery := queue.receive(visibility_seconds=60, wait_seconds=0)) is not None:
        found.append(runtime.home.journal.header(json.loads(delivery.body)["turn"]))
        queue.acknowledge(delivery.receipt)
    return found


def line(runtime: Runtime, turn: Turn) -> Line:
    (found,) = runtime.home.journal.lines(turn.session_id, after=0, limit=1)
    return found


def test_an_event_is_said_as_a_message_of_the_public(runtime: Runtime) -> None:
    add(runtime, template="{{ user.name }}: {{ text }} {{ age }}")
    receive(runtime)
    (turn,) = turns(runtime)
    assert (turn.source, turn.authority, turn.principal_id, turn.agent_id, turn.taint) == (
        Source.WEBHOOK,
        Authority.PUBLIC,
        "webhook-ci",
        "hana",
        True,
    )
    said = line(runtime, turn)
    assert said.text == "海: 蟹が来ました [本文に項目 age はありません]"
    assert (said.speaker_name, said.taint) == ("ci", True)
    assert turn.channel is None


def test_without_a_template_the_agent_gets_a_summary_in_its_language(runtime: Runtime) -> None:
    add(runtime)
    add(runtime, "en", agent_id="rose")
    receive(runtime, notes={"event": "push"})
    receive(runtime, list(range(200)), name="en", event_id="m2")
    both = sorted(turns(runtime), key=lambda each: each.agent_id)
    japanese, english = (line(runtime, turn).text for turn in both)
    assert japanese.splitlines() == [
        "webhook ci が受け取った内容: push",
        "user.name: 海",
        "text: 蟹が来ました",
        "room: 7",
    ]
    assert english.startswith("Webhook en received:\n0: 0\n")
    assert english.endswith("[more was sent; it is left out here]")


def test_the_same_event_is_one_turn_whatever_happened_since(runtime: Runtime) -> None:
    add(runtime)
    receive(runtime)
    (turn,) = turns(runtime)
    receive(runtime)
    runtime.home.sessions.end(turn.session_id, NOW)
    with pytest.raises(Conflict):
        receive(runtime, {"another": "body"})
    assert {each.id for each in turns(runtime)} <= {turn.id}
    receive(runtime, event_id="m2")
    (second,) = turns(runtime)
    assert second.session_id != turn.session_id


def test_the_key_chooses_the_session(runtime: Runtime) -> None:
    add(runtime, session="{{ room }}")
    for number, room in enumerate(("1", "2", "1")):
        receive(runtime, {"room": room}, event_id=f"m{number}")
    heard = [turn.session_id for turn in turns(runtime)]
    assert len(heard) == 3
    assert len({*heard}) == 2
    name = runtime.home.sessions.get(heard[0]).name or ""
    assert name.startswith("ci ")


def test_long_keys_that_begin_alike_choose_different_sessions(runtime: Runtime) -> None:
    add(runtime, session="{{ room }}")
    for number in range(2):
        receive(runtime, {"room": f"{'蟹' * 300}{number}"}, event_id=f"m{number}")
    assert len({turn.session_id for turn in turns(runtime)}) == 2


def test_authority_and_answer_are_as_its_owner_set_them_and_the_words_stay_foreign(
    runtime: Runtime,
) -> None:
    add(runtime, authority="user", reply_to="discord:42")
    receive(runtime)
    (turn,) = turns(runtime)
    assert (turn.authority, turn.taint) == (Authority.USER, True)
    assert turn.channel is not None
    assert turn.channel.target == "discord:42"


def test_words_without_end_are_cut_and_it_says_so(runtime: Runtime) -> None:
    add(runtime, template="{{text}}")
    receive(runtime, {"text": "海" * 60_000})
    receive(runtime, {"text": "  "}, event_id="m2")
    (turn, *_) = turns(runtime)
    lines = runtime.home.journal.lines(turn.session_id, after=0, limit=9)
    long, empty = (each.text for each in lines)
    assert long.endswith("[この続きもありましたが、ここでは省きました]")
    assert empty == "webhook ci が呼ばれましたが、内容はありませんでした。"


def test_what_is_gone_is_named(runtime: Runtime) -> None:
    with pytest.raises(NotFound, match="no webhook 'ci'"):
        receive(runtime)
    add(runtime, agent_id="gone")
    with pytest.raises(NotFound, match="gone"):
        receive(runtime)
