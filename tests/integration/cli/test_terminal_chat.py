"""A person in a real terminal: prompts, commands, many lines, history, Ctrl-C and Ctrl-D."""

import pytest

from tests.integration.cli.house import CTRL_C, CTRL_D, House, seat

UP = b"\x1b[A"


@pytest.mark.parametrize(
    ("language", "prompt", "text", "heard"),
    [
        ("en", "you> ", "good morning", "I received: “good morning”"),
        ("ja", "あなた> ", "おはよう", "「おはよう」と受け取りました"),
    ],
)
def test_a_person_talks_and_leaves_with_ctrl_d(
    house: House, language: str, prompt: str, text: str, heard: str
) -> None:
    agent = "Ada" if language == "en" else "さくら"
    with seat(house, "--language", language, "chat", agent) as person:
        person.see(prompt)
        person.type(f"{text}\n")
        person.see(heard)
        person.see(prompt)
        person.type(CTRL_D)
        person.see("opencrab chat --session")
        assert person.leave() == 0


@pytest.mark.parametrize(
    ("language", "helped", "status", "listed"),
    [
        ("en", "/retry         fetch the last", "active", "✓ List"),
        ("ja", "終了(", "活動中", "の中を見る"),
    ],
)
def test_commands_answer_in_a_terminal(
    house: House, language: str, helped: str, status: str, listed: str
) -> None:
    with seat(house, "--language", language, "chat", "Ada") as person:
        person.see("> ")
        person.type("/help\n")
        person.see(helped)
        person.type("/state\n")
        person.see(status)
        person.see("http://127.0.0.1:")
        person.see("> ")
        person.type("list files\n")
        person.see(listed)
        person.see("> ")
        person.type("/history\n")
        person.see("owner")
        person.see("list files")
        person.see("> ")
        person.type("/quit\n")
        assert person.leave() == 0


def test_many_lines_are_one_message(house: House) -> None:
    with seat(house, "chat", "Ada") as person:
        person.see("you> ")
        person.type("first\\\n")
        person.see("… ")
        person.type("二行目\n")
        person.see("「first 二行目」と受け取りました")
        person.see("you> ")
        person.type('"""\nblock one\n\nblock two\n"""\n')
        person.see("I received: “block one block two”")
        person.see("you> ")
        person.type(CTRL_D)
        assert person.leave() == 0


def test_the_up_arrow_recalls_what_was_typed_another_time(house: House) -> None:
    with seat(house, "chat", "Ada") as person:
        person.see("you> ")
        person.type("この前の話\n")
        person.see("受け取りました")
        person.see("you> ")
        person.type(CTRL_D)
        assert person.leave() == 0
    history = house.folder / ".local" / "state" / "opencrab" / "chat_history"
    assert history.stat().st_mode & 0o777 == 0o600
    with seat(house, "chat", "Ada") as person:
        person.see("you> ")
        person.type(UP)
        person.see("この前の話")
        person.type("\n")
        person.see("「この前の話」")
        person.see("you> ")
        person.type(CTRL_D)
        assert person.leave() == 0


@pytest.mark.parametrize(
    ("language", "thinking", "stopping"),
    [
        ("en", "is thinking", "stopping …"),
        ("ja", "が考えています", "停止しています"),
    ],
)
def test_ctrl_c_stops_the_turn_and_the_conversation_goes_on(
    slow: House, language: str, thinking: str, stopping: str
) -> None:
    with seat(slow, "--language", language, "chat", "Ada") as person:
        person.see("> ")
        person.type("slow\n")
        person.see(thinking)
        person.type(CTRL_C)
        person.see(stopping)
        assert "never said" not in person.see("> ")
        person.type("/state\n")
        person.see("stopped" if language == "en" else "(停止)")
        person.type("again\n")
        person.see("quick")
        person.see("> ")
        person.type(CTRL_D)
        assert person.leave() == 0


def test_ctrl_c_twice_while_waiting_leaves(slow: House) -> None:
    with seat(slow, "chat", "Ada") as person:
        person.see("you> ")
        person.type("forever\n")
        person.see("is thinking")
        person.type(CTRL_C)
        person.see("stopping")
        person.type(CTRL_C)
        person.see("continue with:")
        assert person.leave() == 0


def test_ctrl_c_twice_at_the_prompt_leaves(house: House) -> None:
    with seat(house, "chat", "Ada") as person:
        person.see("you> ")
        person.settle()
        person.type(CTRL_C)
        person.see("Ctrl-C again")
        person.see("you> ")
        person.settle()
        person.type(CTRL_C)
        person.see("continue with:")
        assert person.leave() == 0


def test_an_agent_is_created_by_a_dialogue(house: House) -> None:
    with seat(house, "agents", "create") as person:
        for question, answer in (
            ("言語 [en]: ", "ja"),
            ("名前: ", "対話"),
            ("省略): ", "詩人"),
            ("省略): ", ""),
        ):
            person.see(question)
            person.type(f"{answer}\n")
        person.see("created 対話 (")
        assert person.leave() == 0
    assert "詩人" in house.run("agents", "show", "対話").out
