"""Commands: Discord takes them, they offer what the code knows, and everything is answered."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from opencrab.domain.models.routing import Use
from opencrab.domain.text.query import LONGEST_QUESTION
from opencrab.domain.usage.ledger import Period
from opencrab.domain.value import Language
from opencrab.gateways.discord.commands import COMMANDS
from opencrab.gateways.discord.interactions import acks
from opencrab.gateways.discord.interactions.worker import COMMANDS as ACTING
from opencrab.gateways.discord.interactions.worker import MENUS
from opencrab.gateways.discord.text.view_sentences import discord_term
from opencrab.gateways.discord.views.models import ALL_USES
from opencrab.gateways.discord.views.view_commands import ANSWERS
from tests.discord.command_rules import characters, check_commands, walk
from tests.discord.refusals import Refusal
from tests.discord.spec import judge

OVERWRITE = "/applications/{application_id}/commands"
TAKING_AGENTS = {
    *("ask", "task", "costs", "freeze", "unfreeze", "session start", "session join"),
    *("session leave", "agent show", "agent state", "agent goals", "memory search"),
    *("memory forget", "model list", "model set", "model reset"),
}


def named() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every command that can be given, with its subcommand, and what holds its options."""
    for command in COMMANDS:
        subcommands = [each for each in command.get("options", ()) if each["type"] == 1]
        for each in subcommands:
            yield f"{command['name']} {each['name']}", each
        if not subcommands:
            yield command["name"], command


def choices(command: str, option: str) -> list[tuple[str, str, str]]:
    """What one option of a command offers: value, English, Japanese."""
    (holder,) = (each for name, each in named() if name == command)
    (found,) = (each for each in holder["options"] if each["name"] == option)
    return [
        (each["value"], each["name"], each["name_localizations"]["ja"]) for each in found["choices"]
    ]


def known(*words: str) -> list[tuple[str, str, str]]:
    """Words of the code's own as choices."""
    return [
        (each, discord_term(Language.EN, each), discord_term(Language.JA, each)) for each in words
    ]


def test_the_choices_are_those_that_the_code_knows() -> None:
    uses = known(*Use)
    assert choices("model set", "use") == [*uses, (ALL_USES, "everything else", "そのほかすべて")]
    assert choices("model reset", "use") == [*uses, (ALL_USES, "everything", "すべて")]
    assert choices("costs", "period") == known(*Period)


def test_a_question_may_be_as_long_as_a_search_allows() -> None:
    (query,) = (
        option
        for name, holder in named()
        for option in holder.get("options", ())
        if (name, option["name"]) == ("memory search", "query")
    )
    assert query["max_length"] == LONGEST_QUESTION


@pytest.mark.usefixtures("wire")
def test_discord_takes_them_all_at_once() -> None:
    judge(OVERWRITE, "put", copy.deepcopy(list(COMMANDS)))


def test_they_keep_to_the_rules_that_the_description_does_not_have() -> None:
    check_commands(copy.deepcopy(list(COMMANDS)))
    assert max(map(characters, COMMANDS)) < 8_000


def test_the_rules_would_notice() -> None:
    broken = copy.deepcopy(list(COMMANDS))
    broken[0]["options"].reverse()
    broken[0]["options"][0]["required"] = False
    with pytest.raises(Refusal):
        check_commands(broken)


def test_every_command_is_answered_and_nothing_else_is() -> None:
    assert {name for name, _ in named()} == {*ANSWERS, *ACTING, *MENUS}
    assert all(ACTING[name] is answer for name, answer in ANSWERS.items())


def test_what_is_shown_is_shown_to_who_asked_only() -> None:
    assert acks.PUBLIC_COMMANDS.isdisjoint(name.partition(" ")[0] for name in ANSWERS)
    roots = {command["name"] for command in COMMANDS}
    assert roots >= acks.PUBLIC_COMMANDS


def test_they_can_be_given_everywhere_by_everybody() -> None:
    for command in COMMANDS:
        assert command["contexts"] == [0, 1, 2]
        assert command["integration_types"] == [0, 1]
        assert "default_member_permissions" not in command


def test_everything_is_said_in_japanese_too() -> None:
    for command in COMMANDS:
        for each in (command, *walk(command.get("options", []))):
            assert not each["name_localizations"]["ja"].isascii()
            if "description" in each:
                assert not each["description_localizations"]["ja"].isascii()
            for choice in each.get("choices", ()):
                assert not choice["name_localizations"]["ja"].isascii()


def test_no_two_names_of_one_place_are_the_same_in_japanese() -> None:
    holders: list[Any] = [{"options": list(COMMANDS)}, *COMMANDS]
    holders += [each for command in COMMANDS for each in walk(command.get("options", []))]
    for holder in holders:
        names = [each["name_localizations"]["ja"] for each in holder.get("options", ())]
        assert len(set(names)) == len(names)


def test_agents_and_models_are_completed_while_somebody_types() -> None:
    taking = set()
    for name, holder in named():
        for option in holder.get("options", ()):
            assert option.get("autocomplete", False) is (option["name"] in acks.OFFERED)
            if option["name"] == "agent":
                taking.add(name)
    assert taking == TAKING_AGENTS
