"""A furnished installation for the pictures: agents that talked, worked, wait and want things."""

import json
from pathlib import Path
from typing import Any

import httpx

from tests.running import KEY, Server

TEXTS: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text())
_PRICE = {"input_per_million": 2_000_000, "output_per_million": 8_000_000}


def furnish_demo(server: Server, language: str) -> dict[str, str]:
    """Put something on every page that is shown, and return the ids in the addresses."""
    texts = TEXTS[language]
    with httpx.Client(
        base_url=f"http://127.0.0.1:{server.port}/api",
        headers={"Authorization": f"Bearer {KEY}", "Accept-Language": language},
        timeout=60,
        trust_env=False,
    ) as client:
        return _furnish(client, texts)


def _made(client: httpx.Client, path: str, body: Any, **sent: Any) -> Any:
    answer = client.post(path, json=body, **sent)
    assert answer.is_success, answer.text
    return answer.json()


def _say(client: httpx.Client, session: str, text: str) -> Any:
    wait = {"Prefer": "wait=25"}
    return _made(client, f"/sessions/{session}/messages", {"text": text}, headers=wait)


def _furnish(client: httpx.Client, texts: dict[str, Any]) -> dict[str, str]:
    # The stand-in costs nothing; with a price the pages have something to show.
    priced = {"price": _PRICE, "as_of": "2026-11-01"}
    client.put("/llm/prices", json={"prices": {"scripted:rules": priced}}).raise_for_status()
    soul = {"personality": {"openness": 0.8, "conscientiousness": 0.9, "extraversion": 0.4}}
    heartbeat = {"enabled": False}
    body = {"name": texts["name"], "purpose": texts["purpose"], "soul": soul, "policy": "open"}
    agent = _made(client, "/agents", body | {"heartbeat": heartbeat})["id"]
    presets = client.get("/presets").json()["presets"]
    for each in [preset for preset in presets if preset["is_founder"]][:5]:
        _made(client, "/agents", each["agent"] | {"heartbeat": heartbeat})
    base = f"/agents/{agent}"
    session = _made(client, "/sessions", {"participants": [agent]})["id"]
    for text in texts["said"]:
        _say(client, session, text)
    for text in texts["memories"]:
        _made(client, f"{base}/memory/curated", {"content": text})
    for number, name in enumerate(texts["goals"]):
        _made(client, f"{base}/goals", {"name": name, "expected_reward": 0.2 - number / 20})
    _made(client, f"{base}/tasks", {"instruction": texts["task"]})
    when = {"name": texts["schedule"], "when": "0 7 * * *", "instructions": texts["schedule"]}
    _made(client, f"{base}/schedules", when)
    other = ""
    for name in texts["others"]:
        careful = {"name": name, "policy": "strict", "heartbeat": heartbeat}
        other = _made(client, "/agents", careful)["id"]
        asked = _made(client, "/sessions", {"participants": [other]})["id"]
        _say(client, asked, texts["ask"])
    listed = client.get("/turns", params={"session_id": session}).json()["items"]
    # The second message wrote a file.
    turn = sorted(listed, key=lambda each: each["created_at"])[1]["id"]
    return {"agent": agent, "waiting": other, "session": session, "turn": turn}
