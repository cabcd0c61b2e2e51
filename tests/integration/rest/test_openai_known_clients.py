"""What known clients of OpenAI's API send for three messages of one conversation.

LibreChat's requests are those of its own library (`@librechat/agents` 3.2.21), recorded; Open
WebUI's (0.12) follow its source, since it needs a browser.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.integration.rest.house import House
from tests.integration.rest.test_openai import CHAT, ask, chunks, said, user, words

SYSTEM = {"role": "system", "content": "Answer politely."}


@pytest.fixture
def working(house: House) -> Iterator[House]:
    """A house whose turns run by themselves."""
    with house.worker():
        yield house


def librechat(model: str, told: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, str]]:
    """A request of LibreChat, with its user's id and the prompt of its preset."""
    body = {
        "model": model,
        "user": "64f0c0ffee0123456789abcd",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [SYSTEM, *told],
    }
    return body, {"accept": "application/json", "user-agent": "langchainjs-openai/1.0.0"}


def open_webui(model: str, told: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, str]]:
    """A request of Open WebUI, with the headers by which it can name its user and chat."""
    headers = {
        "X-OpenWebUI-User-Name": "%E8%8A%B1",
        "X-OpenWebUI-User-Id": "4f0c",
        "X-OpenWebUI-User-Email": "hana@example.com",
        "X-OpenWebUI-User-Role": "admin",
        "X-OpenWebUI-Chat-Id": "7d1e",
    }
    return {"stream": True, "model": model, "messages": told}, headers


@pytest.mark.parametrize("client", [librechat, open_webui])
@pytest.mark.parametrize(
    "messages", [("hello there", "and now?", "bye"), ("おはようございます", "それから？", "またね")]
)
def test_a_conversation_of_a_known_client_is_one_session_named_by_its_first_words(
    working: House,
    client: Callable[..., tuple[dict[str, Any], dict[str, str]]],
    messages: tuple[str, ...],
) -> None:
    working.agent("蟹")
    told, sessions = list[dict[str, Any]](), set[str]()
    for text in messages:
        told.append(user(text))
        body, headers = client("蟹", told)
        answer = ask(working, CHAT, body, **headers)
        sessions.add(answer.headers["X-OpenCrab-Session"])
        found = chunks(answer)
        usage = [each["usage"] for each in found if each.get("usage")]
        assert len(usage) == ("stream_options" in body)
        told.append({"role": "assistant", "content": words(found)})
    (session,) = sessions
    listed = ask(working, "/api/sessions").json()["items"]
    assert [(each["id"], each["title"]) for each in listed] == [(session, messages[0])]


def test_a_client_that_asks_for_a_title_is_answered_apart_from_the_conversation(
    working: House,
) -> None:
    working.agent("蟹")
    first = ask(working, CHAT, {"model": "蟹", "stream": True, "messages": [user("hello")]})
    task = "### Task:\nGenerate a concise title.\n\n### Chat History:\nUSER: hello"
    body = {"model": "蟹", "messages": [user(task)], "stream": False, "max_tokens": 1000}
    title = ask(working, CHAT, body)
    assert said(title)["content"]
    assert title.headers["X-OpenCrab-Session"] != first.headers["X-OpenCrab-Session"]
