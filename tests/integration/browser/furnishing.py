"""An installation with something in everything that a page shows: each text in every field."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx

from tests.integration.browser.conftest import Installation
from tests.integration.browser.life import furnish_life
from tests.integration.browser.routes import address_of
from tests.running import KEY

_TOGETHER = 12
"""So many texts are in one message: each message is a turn."""

_WAIT = {"Prefer": "wait=25"}


@dataclass(frozen=True)
class Furnished:
    """What an address of a page may name, by the part of the path before it."""

    ids: dict[str, str]
    stored: dict[str, int]
    """How many texts each kind of thing took: some are refused, as a name of a file with a line."""
    more: tuple[str, ...] = ()
    """Further addresses, of what a route shows only for some ids."""

    def addresses(self, patterns: Iterable[str]) -> list[str]:
        """The addresses of these routes, and the further ones."""
        return [*(address_of(each, self.ids) for each in patterns), *self.more]


def furnish(installation: Installation, texts: Sequence[str]) -> Furnished:
    """Put each text wherever the API takes one, and return where that is seen."""
    stored: dict[str, int] = {}
    with httpx.Client(
        base_url=f"{installation.url}api",
        headers={"Authorization": f"Bearer {KEY}"},
        timeout=60,
        trust_env=False,
    ) as client:
        agent = _agent(client, texts)
        base = f"/agents/{agent}"
        for name, (most, put) in _FIELDS.items():
            together = -(-len(texts) // most)
            stored[name] = 0
            for number, some in enumerate(_batched(texts, together)):
                answer = put(client, base, " ".join(some), number)
                stored[name] += len(some) if answer.status_code < 300 else 0
        _approvals(client, texts)
        session = _conversation(client, agent, texts)
        more = furnish_life(client, installation.data, agent, texts)
        turns = client.get("/turns", params={"limit": 1}).json()["items"]
        skills = client.get(f"{base}/skills").json()["items"]
        goals = client.get(f"{base}/goals").json()["items"]
        tasks = client.get(f"{base}/tasks").json()["items"]
    ids = {
        "agents": agent,
        "sessions": session,
        "turns": turns[0]["id"],
        "skills": skills[-1]["name"],
        "goals": goals[0]["id"],
        "tasks": tasks[0]["id"] if tasks else goals[0]["id"],
    }
    return Furnished(ids, stored, tuple(more))


def _line(text: str) -> str:
    """What is left of a text as a name: one line, in which nothing hides."""
    return "".join(each for each in text if each.isprintable())[:100]


def _batched(texts: Sequence[str], size: int = _TOGETHER) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), size):
        yield texts[start : start + size]


def _agent(client: httpx.Client, texts: Sequence[str]) -> str:
    """The agent with everything: of its own texts it has as many as fit."""
    whole = " ".join(texts)[:4_000]
    body = {
        "name": _line(texts[0]),
        "purpose": whole,
        "model": "scripted:rules",
        "soul": {
            "persona_name": _line(texts[0]),
            "custom_traits": {_line(text): text for text in texts[:32]},
            "thinking_style": {"description": whole[:500]},
        },
        "identity": {
            "job_title": _line(texts[0]),
            "organization": _line(texts[0]),
            "image_url": "https://leak.example/face.png",
            "metadata": {_line(text): text for text in texts[:32]},
        },
        "heartbeat": {"instructions": whole, "enabled": False},
    }
    made = client.post("/agents", json=body)
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


def _conversation(client: httpx.Client, agent: str, texts: Sequence[str]) -> str:
    """One session for each text as its name and theme, and the newest with all as messages."""
    for text in texts:
        named = {"participants": [agent], "name": _line(text), "theme": text[:500]}
        client.post("/sessions", json=named)
    session = str(client.post("/sessions", json={"participants": [agent]}).json()["id"])
    for some in _batched(texts):
        message = {"text": "\n".join(some), "sender_name": _line(some[0])}
        said = client.post(f"/sessions/{session}/messages", json=message, headers=_WAIT)
        assert said.status_code == 200, said.text
    client.post(f"/sessions/{session}/mentor", json={"text": "\n".join(texts[:20])})
    return session


def _approvals(client: httpx.Client, texts: Sequence[str]) -> None:
    """Calls that wait for an approval, and one that was refused with a reason."""
    body = {"name": _line(texts[-1]), "model": "scripted:rules", "policy": "strict"}
    agent = client.post("/agents", json=body).json()["id"]
    for some in (texts[:1], *_batched(texts)):
        session = client.post("/sessions", json={"participants": [agent]}).json()["id"]
        said = {"text": f"write memo.txt: {' '.join(some)}"}
        client.post(f"/sessions/{session}/messages", json=said, headers=_WAIT)
    first = client.get("/approvals").json()["items"][0]["id"]
    reason = {"approved": False, "reason": texts[0][:200]}
    client.post(f"/approvals/{first}/decide", json=reason)


Put = Callable[[httpx.Client, str, str, int], httpx.Response]


def _posts(path: str, body: Callable[[str, int], dict[str, Any]]) -> Put:
    """A POST below the agent."""

    def put(client: httpx.Client, base: str, text: str, number: int) -> httpx.Response:
        return client.post(f"{base}{path}", json=body(text, number))

    return put


def _put_file(client: httpx.Client, base: str, text: str, number: int) -> httpx.Response:
    """A file by the name of its text; most may be no name, and are in a file all the same."""
    name = quote(_line(text).replace("/", "-"), safe="")
    found = client.put(f"{base}/workspace/notes/{number}-{name}.md", content=text.encode())
    if found.status_code < 300:
        return found
    return client.put(f"{base}/workspace/notes/{number}.md", content=text.encode())


def _put_key(client: httpx.Client, _base: str, text: str, _number: int) -> httpx.Response:
    return client.post("/keys", json={"name": _line(text), "scope": "read"})


def _put_agent(client: httpx.Client, _base: str, text: str, _number: int) -> httpx.Response:
    body = {"name": _line(text), "purpose": text, "model": "scripted:rules"}
    return client.post("/agents", json=body)


_MANY = 1_000
_FIELDS: dict[str, tuple[int, Put]] = {
    "agents": (_MANY, _put_agent),
    "files": (_MANY, _put_file),
    "keys": (_MANY, _put_key),
    "memories": (_MANY, _posts("/memory/curated", lambda text, _: {"content": text})),
    "goals": (20, _posts("/goals", lambda text, _: {"name": text[:300], "description": text})),
    "schedules": (
        50,
        _posts(
            "/schedules",
            lambda text, _: {
                "name": _line(text),
                "when": "0 4 1 1 *",
                "instructions": text,
                "enabled": False,
            },
        ),
    ),
    "skills": (
        50,
        _posts(
            "/skills",
            lambda text, number: {
                "name": f"skill-{number}",
                "description": text[:1_024],
                "guidance": f"# {text}\n\n{text}",
            },
        ),
    ),
    "grants": (
        50,
        _posts(
            "/grants",
            lambda text, _: {
                "actions": ["ws_write"],
                "calls": 1,
                "hours": 1,
                "touches": text[:300],
            },
        ),
    ),
    "events": (
        _MANY,
        _posts("/events", lambda text, _: {"type": "news", "source": "test", "text": text}),
    ),
}
"""Where a text goes: how many things of a kind there may be, so that several texts share one."""
