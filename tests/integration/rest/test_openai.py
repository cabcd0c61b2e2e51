"""Agents as models of OpenAI's API: what its clients send, and what they get."""

import asyncio
import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from opencrab.adapters.answer_hub import AnswerHub
from opencrab.adapters.providers.scripted.model import Scripted
from opencrab.adapters.providers.scripted.script import ScriptedAnswer, ScriptedCall
from opencrab.domain.access.authority import Scope
from opencrab.domain.value import Language
from opencrab.gateways.rest.app import create_rest_app
from opencrab.gateways.rest.http.access import identify_http_caller
from opencrab.gateways.rest.http.polling import PollingWatch
from opencrab.gateways.rest.openai.answer import CompletionAnswer
from opencrab.gateways.rest.openai.stream import CompletionStream
from tests.integration.rest.house import SETUP, House
from tests.integration.rest.thinking import PRICE

CHAT = "/v1/chat/completions"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


@pytest.fixture
def working(house: House) -> Iterator[House]:
    """A house whose turns run by themselves."""
    with house.worker():
        yield house


def ask(house: House, path: str, body: Any = None, **headers: str) -> httpx.Response:
    """A request of a client: a POST if it has a body."""
    sent = {"Authorization": f"Bearer {house.owner}", "Content-Type": "application/json"} | headers

    content = None if body is None else json.dumps(body).encode()

    async def one(client: httpx.AsyncClient) -> httpx.Response:
        method = "GET" if body is None else "POST"
        return await client.request(method, path, content=content, headers=sent)

    (answer,) = house.many(one)
    return answer  # type: ignore[no-any-return]


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def picture(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def chat(house: House, model: str, *messages: dict[str, Any], **more: Any) -> Any:
    """A completion as JSON."""
    answer = ask(house, CHAT, {"model": model, "messages": messages, **more})
    assert answer.status_code == 200, answer.text
    return answer


def said(answer: httpx.Response) -> dict[str, Any]:
    """The message of a completion."""
    message: dict[str, Any] = answer.json()["choices"][0]["message"]
    return message


def error(answer: httpx.Response, status: int) -> dict[str, Any]:
    """The error of an answer, in OpenAI's form."""
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()["error"]
    assert set(found) == {"message", "type", "param", "code"}
    return found


def test_agents_are_models_by_name_and_by_id_where_names_are_equal(house: House) -> None:
    first, second = house.agent("花子"), house.agent("花子")
    house.agent("Ken")
    listed = ask(house, "/v1/models").json()
    assert listed["object"] == "list"
    assert {each["id"] for each in listed["data"]} == {first, second, "Ken"}
    assert ask(house, "/v1/models/Ken").json()["object"] == "model"
    assert error(ask(house, "/v1/models/Nobody"), 404)["param"] == "model"
    assert (
        "called"
        in error(ask(house, CHAT, {"model": "花子", "messages": [user("hi")]}), 422)["message"]
    )


@pytest.mark.parametrize(("first", "second"), [("hello", "and now?"), ("こんにちは", "それから？")])
def test_a_conversation_goes_on_in_its_session(working: House, first: str, second: str) -> None:
    house = working
    house.agent("Mika")
    opened = chat(house, "Mika", user(first))
    assert opened.json()["object"] == "chat.completion"
    assert opened.json()["usage"]["total_tokens"] > 0
    again = chat(house, "Mika", user(first), said(opened), user(second))
    session = opened.headers["X-OpenCrab-Session"]
    assert again.headers["X-OpenCrab-Session"] == session
    assert [text for text in house.lines(session) if text in {first, second}] == [first, second]
    assert opened.headers["X-OpenCrab-Turn"] != again.headers["X-OpenCrab-Turn"]


def test_instructions_are_told_once_and_again_when_they_change(working: House) -> None:
    house = working
    house.agent("Mika")
    system = {"role": "system", "content": "Answer in rhymes"}
    opened = chat(house, "Mika", system, user("hello"))
    second = chat(house, "Mika", system, user("hello"), said(opened), user("more"))
    other = {"role": "developer", "content": "No rhymes"}
    heard = [user("hello"), said(opened), user("more"), said(second), user("third")]
    third = chat(house, "Mika", other, *heard)
    session = opened.headers["X-OpenCrab-Session"]
    assert third.headers["X-OpenCrab-Session"] == session
    mine = [text for text in house.lines(session) if text.endswith(("hello", "more", "third"))]
    assert mine == [
        "[Instructions of the client]\n\nAnswer in rhymes\n\n[Now]\n\nhello",
        "more",
        "[Instructions of the client]\n\nNo rhymes\n\n[Now]\n\nthird",
    ]


def test_an_edited_message_opens_a_session_that_knows_what_came_before(working: House) -> None:
    house = working
    house.agent("美香", language="ja")
    opened = chat(house, "美香", user("こんにちは"))
    chat(house, "美香", user("こんにちは"), said(opened), user("赤い船"))
    edited = chat(house, "美香", user("こんにちは"), said(opened), user("青い船"))
    session = edited.headers["X-OpenCrab-Session"]
    assert session != opened.headers["X-OpenCrab-Session"]
    told = house.lines(session)[0]
    answer = said(opened)["content"]
    assert told == (
        "[クライアントが記録しているこれまでの会話]\n\nユーザー: こんにちは\n\n"
        f"アシスタント: {answer}\n\n[今回のメッセージ]\n\n青い船"
    )
    # The old way and the new one go on side by side.
    tale = [user("こんにちは"), said(opened), user("青い船"), said(edited), user("続けて")]
    assert chat(house, "美香", *tale).headers["X-OpenCrab-Session"] == session


def test_a_key_that_is_revoked_while_it_waits_gets_no_answer(house: House) -> None:
    agent = house.agent("蟹")
    secret, kept = house.key(Scope.CHAT)
    with house.revoking(kept, agent):
        body = {"model": "蟹", "messages": [user("say 満潮🦀")]}
        answer = ask(house, CHAT, body, Authorization=f"Bearer {secret}")
    assert error(answer, 401)["type"] == "authentication_error"
    assert "満潮" not in answer.text


def test_a_stream_breaks_off_when_its_key_is_revoked(house: House) -> None:
    house.agent("蟹")
    secret, kept = house.key(Scope.CHAT)
    caller = identify_http_caller(house.runtime.home.keys, (), secret)
    with house.worker():
        body = {"model": "蟹", "messages": [user("say 満潮🦀")]}
        done = ask(house, CHAT, body, Authorization=f"Bearer {secret}")
    turn = house.runtime.home.journal.header(done.headers["X-OpenCrab-Turn"])

    async def read() -> list[str]:
        answer = CompletionAnswer.of(house.runtime, turn, Language.EN)
        stream = CompletionStream(answer, "蟹", usage=False)
        stream.check_seconds = 0.0
        return [event async for event in stream.events(PollingWatch(0.02), 9, caller.key_hash)]

    assert "満潮" in "".join(asyncio.run(read()))
    assert house.call("DELETE", f"/keys/{kept.id}").status_code < 300
    assert asyncio.run(read()) == []


def test_the_same_request_is_answered_once_while_it_runs_and_anew_after_that(house: House) -> None:
    house.agent("Mika")
    with house.worker():
        first = chat(house, "Mika", user("hello"))
        again = chat(house, "Mika", user("hello"))
    assert first.headers["X-OpenCrab-Turn"] != again.headers["X-OpenCrab-Turn"]
    # Nobody works: both wait for one turn, as a client that sends again what it had no answer to.
    limited(house)
    turns = [
        error(ask(house, CHAT, {"model": "Mika", "messages": [user("slow")]}), 503)
        for _ in range(2)
    ]
    assert turns[0] == turns[1]
    queued = []
    while delivery := house.runtime.home.turns.receive(visibility_seconds=60, wait_seconds=0):
        queued.append(delivery)
    assert len(queued) == 1


def test_a_key_makes_a_request_repeatable_for_good(working: House) -> None:
    house = working
    house.agent("Mika")
    body = {"model": "Mika", "messages": [user("hello")]}
    first, again = (ask(house, CHAT, body, **{"Idempotency-Key": "k1"}) for _ in range(2))
    assert first.json() == again.json()
    other = {"model": "Mika", "messages": [user("another")]}
    assert error(ask(house, CHAT, other, **{"Idempotency-Key": "k1"}), 409)["code"] == "conflict"


def limited(house: House) -> None:
    """Serve as a function does, which may not wait for long."""
    house.app = create_rest_app(
        house.runtime, watch=PollingWatch(0.02), setup=lambda _: SETUP, longest_seconds=1
    )


def late_answer(house: House, body: dict[str, Any]) -> str:
    """The turn of an answer; somebody works by now."""
    with house.worker():
        answer = ask(house, CHAT, {**body, "stream": True})
    assert words(chunks(answer))
    return answer.headers["X-OpenCrab-Turn"]


def test_who_may_not_wait_is_told_to_ask_again(house: House) -> None:
    house.agent("Mika")
    limited(house)
    body = {"model": "Mika", "messages": [user("hello")]}
    late = ask(house, CHAT, body)
    assert "send the same request again" in error(late, 503)["message"]
    assert late.headers["x-should-retry"] == "true"
    assert late.headers["retry-after"] == "2"
    house.work()
    turn_id = late_answer(house, body)
    assert late_answer(house, body) != turn_id


def chunks(answer: httpx.Response) -> list[dict[str, Any]]:
    """The chunks of a streamed completion, which ends as it should."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    rows = [row.removeprefix("data: ") for row in answer.text.split("\n\n") if "data: " in row]
    assert rows[-1] == "[DONE]"
    return [json.loads(row) for row in rows[:-1]]


def words(found: list[dict[str, Any]]) -> str:
    return "".join(
        choice["delta"].get("content", "") for each in found for choice in each["choices"]
    )


@pytest.mark.parametrize("is_limited", [False, True], ids=["here", "on Lambda"])
@pytest.mark.parametrize("text", ["The tide is in", "潮が満ちました"])
def test_a_streamed_answer_is_the_same(
    house: House,
    text: str,
    is_limited: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    house.agent("Mika")
    house.furnish(answers=AnswerHub())
    if is_limited:
        limited(house)
    both = (ScriptedCall("send_speech", {"content": text, "more": True}),)
    house.script(ScriptedAnswer(calls=both), ScriptedAnswer(text="2"))
    asked = {"stream": True, "stream_options": {"include_usage": True}}
    with house.worker():
        found = chunks(chat(house, "Mika", user("say it"), **asked))
    assert words(found) == f"{text}\n\n2"
    assert found[0]["choices"][0]["delta"]["role"] == "assistant"
    assert [each["choices"][0]["finish_reason"] for each in found[:-1]][-1] == "stop"
    assert found[-1]["choices"] == []
    assert found[-1]["usage"]["total_tokens"] > 0
    assert len({each["id"] for each in found}) == 1


@pytest.mark.parametrize(
    ("content", "ending"), [(PNG, "png"), (b"\xff\xd8\xff" + bytes(40), "jpeg")]
)
def test_a_picture_is_shown_to_the_agent(working: House, content: bytes, ending: str) -> None:
    house = working
    agent = house.agent("Mika")
    # Clients name another kind now and then: the content tells.
    url = "data:image/png;base64," + base64.b64encode(content).decode()
    parts = [{"type": "text", "text": "look"}, picture(url)]
    opened = chat(house, "Mika", user(parts))
    first = house.lines(opened.headers["X-OpenCrab-Session"])[0]
    assert first.startswith("look\n[image workspace:uploads/")
    assert first.endswith(f"/picture.{ending}]")
    assert "uploads" in str(house.got(f"/agents/{agent}/workspace"))
    chat(house, "Mika", user(parts), said(opened), user("and?"))


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"n": 2}, "n"),
        ({"tools": [{"type": "function", "function": {"name": "f g"}}]}, "tools"),
        ({"functions": [{"name": "f"}]}, "functions"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"messages": []}, "messages"),
        ({"messages": [user(" ")]}, "messages"),
        ({"messages": [user("a"), {"role": "assistant", "content": "b"}]}, "messages"),
        ({"messages": [{"role": "tool", "content": "b"}, user("a")]}, "messages"),
        ({"messages": [user([{"type": "input_audio"}])]}, "messages"),
        ({"messages": [user([picture("https://a/b.png")])]}, "messages"),
        ({"messages": [user([picture("data:image/png;base64,é")])]}, "messages"),
        ({"messages": [user([picture("data:image/png;base64," + "A" * 40)])]}, "body"),
        ({"messages": [user("a" * 70_000)]}, "messages"),
        ({"messages": [user("\udce9")]}, "body"),
        ({"model": "Nobody"}, "model"),
        ({"model": 7}, "model"),
        ({"user": "\n"}, "user"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_refused_in_openais_form(
    house: House, wrong: dict[str, Any], field: str | None
) -> None:
    house.agent("Mika")
    body = {"model": "Mika", "messages": [user("hello")], **wrong}
    found = error(ask(house, CHAT, body), 404 if wrong.get("model") == "Nobody" else 422)
    assert found["type"] == "invalid_request_error"
    assert str(found["param"]).split(".")[0] == field, found


def test_keys_are_asked_for_and_hold(house: House) -> None:
    house.agent("Mika")
    body = {"model": "Mika", "messages": [user("hello")]}
    assert error(ask(house, CHAT, body, Authorization="Bearer no"), 401)["type"] == (
        "authentication_error"
    )
    refused = error(ask(house, CHAT, body, Authorization=f"Bearer {house.read}"), 403)
    assert refused["type"] == "permission_error"
    with house.worker():
        mine = ask(house, CHAT, body)
        theirs = ask(house, CHAT, body, Authorization=f"Bearer {house.chat}")
    assert mine.headers["X-OpenCrab-Session"] != theirs.headers["X-OpenCrab-Session"]


def test_a_turn_without_an_answer_is_an_error_that_is_not_asked_again(working: House) -> None:
    house = working
    house.agent("Mika", day_limit_micro_usd=0)
    house.thinking.model = Scripted(price=PRICE)
    body = {"model": "Mika", "messages": [user("hello")]}
    spent = ask(house, CHAT, body)
    assert error(spent, 429)["type"] == "insufficient_quota"
    assert spent.headers["x-should-retry"] == "false"
    streamed = ask(house, CHAT, {**body, "stream": True})
    assert '"insufficient_quota"' in streamed.text
    assert "[DONE]" not in streamed.text


def test_a_long_history_is_cut_at_its_beginning(working: House) -> None:
    house = working
    house.agent("Mika")
    tale = [
        each
        for number in range(40)
        for each in (user(f"{number} " + "x" * 2_000), {"role": "assistant", "content": "yes"})
    ]
    opened = chat(house, "Mika", *tale, user("go on"))
    told = house.lines(opened.headers["X-OpenCrab-Session"])[0]
    assert len(told.encode()) <= 65_536
    assert "(older messages are left out)" in told
    assert "User: 39 xxx" in told
    assert "User: 1 xxx" not in told
