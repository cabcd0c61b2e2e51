"""The rules for commands, and how they are replaced all at once."""

from typing import Any

import pytest

from tests.discord.calling import Caller
from tests.discord.fake import APPLICATION_ID, GUILD_ID, SERVER_CHANNEL, FakeDiscord

PATH = f"/applications/{APPLICATION_ID}/commands"
LOCAL = f"/applications/{APPLICATION_ID}/guilds/{GUILD_ID}/commands"


def option(name: str = "text", **changes: Any) -> dict[str, Any]:
    """An option that Discord takes, unless the changes spoil it."""
    return {"type": 3, "name": name, "description": "d", **changes}


def command(**changes: Any) -> dict[str, Any]:
    """A command that Discord takes, unless the changes spoil it."""
    return {
        "name": "ask",
        "description": "Ask an agent",
        "name_localizations": {"ja": "質問"},
        "description_localizations": {"ja": "エージェントに質問する"},
        **changes,
    }


REFUSED: dict[str, Any] = {
    "an upper-case name": [command(name="Ask")],
    "a name with a space": [command(name="ask me")],
    "a long name": [command(name="a" * 33)],
    "a localised name in capitals": [command(name_localizations={"fr": "Demander"})],
    "an unknown locale": [command(name_localizations={"jp": "質問"})],
    "a locale unknown in an option": [
        command(options=[option(description_localizations={"en": "x"})])
    ],
    "no description": [command(description="")],
    "a long description": [command(description="d" * 101)],
    "required after optional": [command(options=[option("a"), option("b", required=True)])],
    "an option twice": [command(options=[option(), option()])],
    "26 options": [command(options=[option(f"o{i}") for i in range(26)])],
    "26 choices": [
        command(options=[option(choices=[{"name": f"c{i}", "value": "v"} for i in range(26)])])
    ],
    "choices and autocomplete": [
        command(options=[option(choices=[{"name": "c", "value": "v"}], autocomplete=True)])
    ],
    "a subcommand beside an option": [command(options=[option("a", type=1), option("b")])],
    "an unknown type of option": [command(options=[option(type=99)])],
    "a menu with a description": [{"name": "Ask about this", "type": 3, "description": "x"}],
    "an unknown context": [command(contexts=[7])],
    "a name twice": [command(), command()],
    "101 commands": [command(name=f"c{i}") for i in range(101)],
    "over 8,000 characters": [
        command(
            options=[
                option(
                    f"o{i}",
                    choices=[{"name": f"{j}" * 20, "value": "v" * 80} for j in range(25)],
                )
                for i in range(4)
            ]
        )
    ],
    "no list": {"name": "ask"},
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_command_that_breaks_a_rule_is_refused(
    discord: FakeDiscord, call: Caller, name: str
) -> None:
    heard = call("PUT", PATH, REFUSED[name], as_bot=True)
    assert (heard.status, heard.code) == (400, 50035)
    assert len(discord.complaints) == 1
    assert discord.commands.is_empty


def test_commands_in_two_languages_and_menus_are_taken(discord: FakeDiscord, call: Caller) -> None:
    group = [option("list", type=1), option("set", type=1, options=[option(required=True)])]
    told = [
        command(options=[option("agent", required=True, autocomplete=True), option()]),
        command(name="モデル", options=group),
        {"name": "Ask about this", "type": 3, "name_localizations": {"ja": "これについて聞く"}},
    ]
    heard = call("PUT", PATH, told, as_bot=True)
    assert heard.status == 200, heard.json
    assert not discord.complaints


def test_localised_names_are_told_to_those_who_ask_for_them(call: Caller) -> None:
    call("PUT", PATH, [command()], as_bot=True)
    assert "name_localizations" not in call("GET", PATH, as_bot=True).json[0]
    spelt = call("GET", f"{PATH}?with_localizations=true", as_bot=True)
    assert spelt.json[0]["name_localizations"] == {"ja": "質問"}


def test_a_command_that_is_written_over_keeps_its_id_and_others_go(call: Caller) -> None:
    first = call("PUT", PATH, [command(), command(name="old")], as_bot=True).json
    again = call("PUT", PATH, [command(description="Other words")], as_bot=True).json
    assert [each["id"] for each in again] == [first[0]["id"]]
    assert [each["name"] for each in call("GET", PATH, as_bot=True).json] == ["ask"]


def test_a_servers_commands_are_its_own(call: Caller) -> None:
    call("PUT", LOCAL, [command()], as_bot=True)
    assert call("GET", PATH, as_bot=True).json == []
    assert call("GET", LOCAL, as_bot=True).json[0]["guild_id"] == GUILD_ID


def test_200_new_commands_a_day_are_enough(discord: FakeDiscord, call: Caller) -> None:
    for day in range(2):
        call("PUT", LOCAL, [command(name=f"c{i}") for i in range(100)], as_bot=True)
        call("PUT", LOCAL, [command(name=f"d{i}") for i in range(100)], as_bot=True)
        heard = call("PUT", LOCAL, [command(name="one-more")], as_bot=True)
        assert heard.code == 30034, day
        discord.wait(86_400)


def test_a_user_is_offered_what_is_registered_and_nothing_else(
    discord: FakeDiscord, call: Caller
) -> None:
    assert discord.command("anything").payload["data"]["name"] == "anything"
    told = command(options=[option("agent", required=True), option()])
    registered = call("PUT", PATH, [told], as_bot=True).json[0]
    interaction = discord.command("ask", {"agent": "kani"}, place=SERVER_CHANNEL)
    assert interaction.payload["data"]["id"] == registered["id"]
    for name, options in (("tell", {}), ("ask", {}), ("ask", {"agent": "kani", "x": "y"})):
        with pytest.raises(AssertionError):
            discord.command(name, options)
