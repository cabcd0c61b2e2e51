"""What the tutorials (tests/docs) do not show of the first minutes, in English and Japanese."""

import json
from dataclasses import dataclass

import pytest

from tests.integration.cli.house import House


@dataclass(frozen=True)
class Guide:
    """What somebody types in one language, and what they read."""

    locale: str
    name: str
    persona: str
    write: str
    read: str
    kept: str
    story: str
    did: str


ENGLISH = Guide(
    locale="en_US.UTF-8",
    name="Grace",
    persona="a curious researcher",
    write="write memo.txt: crabs walk sideways",
    read="read memo.txt",
    kept="crabs walk sideways",
    story="message through cli, on behalf of owner",
    did="✓ Write memo.txt",
)
JAPANESE = Guide(
    locale="ja_JP.UTF-8",
    name="かに",
    persona="好奇心旺盛な研究者",
    write="memo.txtに『蟹は横に歩く』と書いて",
    read="memo.txtを読んで",
    kept="蟹は横に歩く",
    story="きっかけ: メッセージ(cli、権限: オーナー",
    did="✓ 「memo.txt」を書く",
)


@pytest.mark.parametrize("guide", [ENGLISH, JAPANESE], ids=["en", "ja"])
def test_a_conversation_is_scripted_looked_at_and_ended(house: House, guide: Guide) -> None:
    def opencrab(*args: str, typed: str = "") -> str:
        said = house.run(*args, typed=typed, LANG=guide.locale)
        assert (said.code, said.err) == (0, "")
        return said.out

    create = ["agents", "create", "--name", guide.name, "--persona", guide.persona]
    opencrab(*create, "--purpose", guide.persona, "--traits", "openness=0.9,hobby=将棋")
    assert guide.name in opencrab("agents", "list", "--json")
    shown = opencrab("agents", "show", guide.name)
    for text in (guide.persona, "━━━━━━━━━╌ 0.9", "将棋"):
        assert text in shown

    report = json.loads(opencrab("chat", guide.name, "--say", guide.write, "--json"))
    assert (report["pending"], len(report["replies"])) == ([], 1)
    assert guide.kept in opencrab("chat", guide.name, typed=f"{guide.read}\n")

    session, turn = report["session_id"], report["turn_ids"][0]
    lines = opencrab("sessions", "show", session, "--all")
    assert guide.write in lines
    assert guide.did in lines
    assert session in opencrab("sessions", "list")
    fairness = opencrab("sessions", "show", session, "--fairness")
    assert "100%" in fairness
    assert "1.00" in fairness
    story = opencrab("turns", "show", turn)
    assert guide.story in story
    assert "✓ ws_write" in story
    assert opencrab("mentor", session, guide.persona)
    assert session in opencrab("sessions", "end", session)


@pytest.mark.parametrize(
    ("locale", "heard"), [("en_US.UTF-8", "I received"), ("ja_JP.UTF-8", "と受け取りました")]
)
def test_a_pipe_is_answered_line_by_line(house: House, locale: str, heard: str) -> None:
    lines = (
        ("Send one message, print the answer and exit.", "another")
        if locale.startswith("en")
        else ("ひとつ", "もうひとつ")
    )
    said = house.run("chat", "Ada", typed="\n".join(lines), LANG=locale)
    assert said.code == 0
    assert said.out.count(heard) == 2
    assert said.out.index(lines[0]) < said.out.rindex(lines[1])


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_key_is_made_used_and_revoked(house: House, language: str) -> None:
    made = house.run("--language", language, "keys", "create", "--name", "電話", "--scope", "chat")
    secret = made.out.strip()
    assert (made.code, made.out) == (0, f"{secret}\n")

    assert house.run("--key", secret, "chat", "Ada", "--say", "hello").code == 0
    refused = house.run("--key", secret, "agents", "create", "--name", "Eve")
    assert refused.code == 4
    assert "  → " in refused.err

    keys = json.loads(house.run("keys", "list", "--json").out)
    assert not any("secret" in key for key in keys)
    newest = keys[-1]
    assert newest["name"] == "電話"
    assert "電話" in house.run("--language", language, "keys", "revoke", newest["id"]).out
    assert house.run("--key", secret, "agents", "list").code == 4


@pytest.mark.parametrize(("language", "server"), [("en", "✓ server: "), ("ja", "✓ サーバー: ")])
def test_the_doctor_finds_all_well_and_says_that_the_model_is_none(
    house: House, language: str, server: str
) -> None:
    said = house.run("--language", language, "doctor")
    assert (said.code, "✗" in said.out) == (0, False)
    assert server in said.out
    assert "opencrab setup" in said.out
    findings = json.loads(house.run("doctor", "--json").out)
    assert {finding["verdict"] for finding in findings} == {"well", "note", "warning"}


def test_an_agent_is_changed_and_retired(house: House) -> None:
    house.run("agents", "create", "--name", "Temp")
    changed = house.run("agents", "edit", "Temp", "--name", "臨時", "--traits", "openness=0.1")
    assert changed.out == "updated 臨時\n"
    agent = json.loads(house.run("agents", "show", "臨時", "--json").out)
    assert agent["identity"]["name"] == agent["soul"]["persona_name"] == "臨時"
    assert agent["soul"]["personality"]["openness"] == 0.1
    assert house.run("agents", "retire", "臨時", "--yes").out == "retired 臨時\n"
    assert "臨時" not in house.run("agents", "list").out
