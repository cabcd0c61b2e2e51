"""An agent watched and exported by the real command, from a real installation."""

import json

from tests.integration.cli.house import House


def test_what_was_said_is_seen_and_exported_once(house: House) -> None:
    agent, text, locale = "さくら", "海よ、こんにちは", "ja_JP.UTF-8"
    house.run("chat", agent, "--say", text)
    seen = house.run("watch", agent, LANG=locale)
    panes = {pane["pane"]: pane["data"] for pane in map(json.loads, seen.out.splitlines())}
    assert text in panes["cli"]
    assert set(panes["vitals"]["machine"]) >= {"cpu_percent", "memory_total_bytes", "sent_bytes"}
    for _ in range(2):
        said = house.run("export", "state", agent, LANG=locale)
        assert (said.code, said.err) == (0, "")
    logs = house.folder / "logs"
    state = json.loads((logs / "state.json").read_text(encoding="utf-8"))
    assert (state["input"]["source"], state["input"]["text"]) == ("cli", text)
    lines = (logs / "events.jsonl").read_text(encoding="utf-8").splitlines()
    assert sum(json.loads(line).get("text") == text for line in lines) == 1
