"""Memory at the terminal, with a real server: told, found again in both languages, forgotten."""

import json

from tests.integration.cli.house import House

MEMORY = "オーナーは毎週月曜に打ち合わせをする。"


def test_what_an_agent_is_told_is_found_again_and_forgotten(house: House) -> None:
    agent = ("--agent", "さくら")
    said = house.run("chat", "さくら", "--say", "来月、京都に引っ越します。")
    assert (said.code, said.err) == (0, "")
    added = house.run("memory", "add", *agent, "--category", "core", typed=MEMORY)
    assert (added.code, added.err) == (0, "")
    found = house.run(
        "memory", "search", "いつ京都に引っ越す?", *agent, "--why", LANG="ja_JP.UTF-8"
    )
    hits = [line for line in found.out.splitlines() if line.startswith("> ")]
    assert hits[0].endswith(": 来月、京都に引っ越します。"), found.out
    assert "理由: 言葉の一致" in found.out
    (kept,) = json.loads(house.run("memory", "list", *agent, "--json").out)
    assert (kept["content"], kept["category"]) == (MEMORY, "core")
    assert MEMORY in house.run("memory", "search", "月曜の打ち合わせ", *agent).out
    status = json.loads(house.run("memory", "status", *agent, "--json").out)
    assert (status["memories"], status["core"]) == (1, 1)
    gone = house.run("memory", "forget", kept["id"], *agent, "--yes", LANG="ja_JP.UTF-8")
    assert gone.out.startswith("忘れました\n")
    assert MEMORY not in house.run("memory", "search", "月曜の打ち合わせ", *agent).out
    nobody = house.run("memory", "search", "京都", "--agent", "Ada")
    assert (nobody.code, nobody.out) == (0, "no matches\n")
