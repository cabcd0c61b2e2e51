"""Every command that a text of the product names is one that help shows."""

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.architecture.source import modules
from tests.conftest import ROOT
from tests.docs.test_blocks import root

PACKAGE = ROOT / "layers" / "opencrab" / "python" / "opencrab"
_OPTIONS = re.compile(r" --(?:language|url|key|data)[ =]\S+| --[\w-]+")
_WORDS = r"((?: (?:--\w+(?:[ =]\S+)?|[a-z][a-z-]*))+)"
NAMED = re.compile(rf"\bopencrab{_WORDS}")
IN_CODE = re.compile(rf"(?:[`\"]|^ *(?:\$ )?|\$\()opencrab{_WORDS}", re.MULTILINE)
PAGES = ("README*.md", "SECURITY.md", "CONTRIBUTING.md", "docs/**/*.md", "skills/**/*.md")
OLDER = {"docs/adr"}
"""Decisions are records of their day; everything else names what help shows."""


def texts() -> Iterator[tuple[str, str]]:
    """Each text of the product with its place, and each page."""
    for path in PACKAGE.rglob("*.json"):
        for text in strings(json.loads(path.read_text(encoding="utf-8"))):
            yield path.name, text
    for module in modules():
        yield module.name, module.text
    for pattern in PAGES:
        for path in ROOT.glob(pattern):
            place = str(path.relative_to(ROOT))
            if not place.startswith(tuple(OLDER)):
                yield place, path.read_text(encoding="utf-8")
    for path in (*(ROOT / "config").glob("*.toml"), *PACKAGE.rglob("*.js")):
        yield path.name, path.read_text(encoding="utf-8")


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from strings(each)


def hidden_or_unknown(words: list[str]) -> str:
    """The first word that is no command, or one that help does not show; empty if all are."""
    command: Any = root()
    for word in words:
        below = getattr(command, "commands", None)
        if below is None:
            return ""
        if word not in below:
            # A group that lists its items may be followed by any word of a sentence.
            return "" if command is not root() and command.invoke_without_command else word
        command = below[word]
        if command.hidden:
            return word
    return ""


def commands_in(place: str, text: str) -> Iterator[list[str]]:
    """The commands that a text names: in backticks or quotes, or anywhere in texts for people."""
    pattern = NAMED if place.endswith(".json") else IN_CODE
    for found in pattern.findall(text):
        yield _OPTIONS.sub("", found).split()


def test_every_command_that_a_text_names_exists_and_is_shown() -> None:
    named = [(place, words) for place, text in texts() for words in commands_in(place, text)]
    assert len(named) > 300
    wrong = {
        f"{place}: opencrab {' '.join(words)}": word
        for place, words in named
        if (word := hidden_or_unknown(words))
    }
    assert wrong == {}


def test_an_older_name_in_a_text_is_noticed() -> None:
    (words,) = commands_in("en.json", "run opencrab task list AGENT now")
    assert hidden_or_unknown(words) == "task"
    (words,) = commands_in("doctor", 'cure = "opencrab providers"')
    assert hidden_or_unknown(words) == "providers"
    assert hidden_or_unknown(["admin", "nonsense"]) == "nonsense"
    assert hidden_or_unknown(["tasks", "list"]) == ""


WHOLE = re.compile(r"[`\"](opencrab [^`\"\n]+)[`\"]")
_ARGUMENT = re.compile(r"[\w.:/@~'-]+")


def does_not_fit(line: str) -> str:
    """What of a whole command line the command does not take: an option, or an argument."""
    command: Any = root()
    words, given = iter(line.split()[1:]), list[str]()
    for word in words:
        if word in getattr(command, "commands", {}):
            command = command.commands[word]
        elif word.startswith("--") and len(word) > 2:
            option, _, value = word.partition("=")
            known = {name: p for p in command.params for name in (*p.opts, *p.secondary_opts)}
            if option not in {*known, "--help"}:
                return option
            if not value and option in known and not known[option].is_flag:
                next(words, None)
        elif _ARGUMENT.fullmatch(word):
            given.append(word)
        else:  # the end of a command line in a sentence, or of one that is made at run time
            return ""
    return "" if hasattr(command, "commands") else _one_too_many(command, given)


def _one_too_many(command: Any, given: list[str]) -> str:
    most = [p.nargs for p in command.params if p.param_type_name == "argument"]
    return "" if min(most, default=0) < 0 else "".join(given[sum(most) :][:1])


def test_every_whole_command_line_in_a_text_fits_its_command() -> None:
    lines = {
        line: place for place, text in texts() for line in WHOLE.findall(text) if "{" not in line
    }
    assert len(lines) > 300
    assert {
        f"{place}: {line}": word for line, place in lines.items() if (word := does_not_fit(line))
    } == {}


def test_a_command_line_that_does_not_fit_is_noticed() -> None:
    assert does_not_fit("opencrab admin keys create NAME --scope chat") == "NAME"
    assert does_not_fit("opencrab skills list AGENT --agent x") == "--agent"
    assert does_not_fit("opencrab memory list --agent AGENT --limit 3") == "--limit"
    assert does_not_fit("opencrab sessions invite SESSION PERSON") == ""
