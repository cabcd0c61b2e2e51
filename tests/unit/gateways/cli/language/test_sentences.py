"""Every sentence and every help text exists in English and in Japanese, and somebody says it."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
from typer.main import get_command

from opencrab.domain.models.routing import Use
from opencrab.domain.turn.task_type import TaskType
from opencrab.gateways import cli
from opencrab.gateways.cli.app import build_cli_app
from opencrab.gateways.cli.language.sentences import (
    EN,
    JA,
    CliLanguage,
    SentenceCatalog,
    cli_languages,
    sentences_of_language,
)
from opencrab.ports.erasure import RemainingCopy
from tests.cases import for_each
from tests.unit.gateways.cli.server import Program

PACKAGE = Path(str(cli.__file__)).parent
JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
ALIKE = {
    "head_id",
    "head_top_p",
    "story_title",
    "server_ok",
    "ask_language",
    "change_is",
    "skill_is",
    "task_title",
}
"""Sentences of names and marks only, and the question which language it shall be."""

ENGLISH = sentences_of_language(EN)["sentences"]
JAPANESE_TEXTS = sentences_of_language(JA)
SENTENCES = JAPANESE_TEXTS["sentences"]
HELP_OF_HELP = "Show this message and exit."
OPAQUE = (
    " asleep",
    " beats",
    "turned away",
    "stays as it is",
    "is told",
    "in its own words",
    "taken back",
    "gives leave",
    "nothing followed",
    "asked too often",
    "goes on",
    "unasked",
)
"""What earlier texts said, and nobody would search for."""
KEYS_AT = {
    "say": 0,
    "note": 0,
    "words": 0,
    "_words": 0,
    "_unavailable": 0,
    "answer": 1,
    "show_list": 2,
}
"""Which argument of what says a sentence is its key."""


def sources() -> Iterator[tuple[Path, ast.Module]]:
    for path in PACKAGE.rglob("*.py"):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def names_of(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


def helps_of(page: Any) -> list[str]:
    helps = [page.help, *(option.help for option in page.params if not option.hidden)]
    return [*helps, *(inner.help for inner in getattr(page, "commands", {}).values())]


PAGES = dict(commands(get_command(build_cli_app(lambda _: 0))))


def test_each_sentence_exists_in_both_languages_once() -> None:
    assert list(ENGLISH) == list(SENTENCES)
    for tongue in cli_languages():
        raw = (PACKAGE / "language" / f"{tongue}.json").read_text(encoding="utf-8")
        for texts in json.loads(raw, object_pairs_hook=list):
            keys = [key for key, _ in texts[1]]
            assert len(set(keys)) == len(keys)


def test_no_english_is_left_in_a_japanese_text() -> None:
    texts = [
        text for kind in ("sentences", "terms", "help") for text in JAPANESE_TEXTS[kind].values()
    ]
    prose = [re.sub(r"`[^`]*`|\{[^}]*\}|opencrab .*|aws ssm .*", "", text) for text in texts]
    assert [
        text for text in prose if re.search(r"\b[A-Za-z]+ (?!API|SSM)[a-z]+ [a-z]+\b", text)
    ] == []


@for_each("phrase", OPAQUE)
def test_no_sentence_speaks_a_private_language(phrase: str) -> None:
    english = [*ENGLISH.values(), *(text for page in PAGES.values() for text in helps_of(page))]
    assert [text for text in english if phrase in f" {text} ".lower()] == []


def test_another_language_is_another_file(tmp_path: Path) -> None:
    (tmp_path / "fr.json").write_text(
        '{"sentences": {"down": "pas de réponse de {url}"}, "terms": {"idle": "inactif"}}'
    )
    assert cli_languages(tmp_path) == ("fr",)
    words = SentenceCatalog(CliLanguage("fr"), tmp_path)
    assert words("down", url="http://a") == "pas de réponse de http://a"
    assert words("timeout", url="http://a") == ENGLISH["timeout"].format(url="http://a")
    assert (words.term("idle"), words.term("by_hand")) == ("inactif", "by hand")
    assert words.help("A turn's id.") == "A turn's id."


@pytest.mark.parametrize(
    ("args", "english", "japanese"),
    [
        (("nope",), "There is no command 'nope'.", "'nope' というコマンドはありません。"),
        (("chat", "--nope"), "There is no option --nope.", "--nope というオプションはありません。"),
        (("costs", "--agnt", "1"), "Did you mean --agent, ", "--agent, --data ではありませんか?"),
        (("turns", "show"), "The argument ID is missing.", "引数 ID を指定してください。"),
        (("budgets", "--set"), "The option --set needs a value.", "--set には値が必要です。"),
        (
            ("chat", "--json=1"),
            "The option --json takes no value.",
            "--json に値は指定できません。",
        ),
        (("chat", "a", "b", "c"), "Too many arguments: b c", "引数が多すぎます: b c"),
        (("up", "--port", "x"), "--port: a whole number", "--port の値が正しくありません: 整数"),
        (("up", "--port", "0"), "--port: at least 1 is", "--port の値が正しくありません: 1 以上"),
        (("up", "--port", "70000"), "at most 65535", "65535 以下"),
        (("costs", "--by", "x"), "'x' is not one of 'model'", "'x' は 'model', "),
        (("--language", "fr", "up"), "'fr' is not one of en, ja", "'fr' は en, ja のどれでも"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_wrong_command_line_is_explained(
    program: Program, args: tuple[str, ...], english: str, japanese: str
) -> None:
    for locale, expected in (("en_US.UTF-8", english), ("ja_JP.UTF-8", japanese)):
        wrong = program.run(*args, LANG=locale)
        assert (wrong.code, expected in wrong.err) == (2, True), wrong.err
        assert JAPANESE.search(wrong.err) if locale[:2] == "ja" else "Run `opencrab" in wrong.err
        assert "Error:" not in wrong.err or locale[:2] == "en"


def test_headings_of_help_are_in_the_users_language(program: Program) -> None:
    page = program.run("workspace", "--help", LANG="ja_JP.UTF-8").out
    assert [word for word in ("Usage:", "Options:", "Commands:") if word in page] == []
    assert all(word in page for word in ("使い方: ", "オプション:", "コマンド:"))


def test_english_help_is_written_at_the_commands() -> None:
    assert set(sentences_of_language(EN)) == {"sentences", "terms"}
    assert set(JAPANESE_TEXTS) == {"sentences", "terms", "help"}


@for_each("key", sorted(ENGLISH))
def test_a_sentence_says_the_same_in_both_languages(key: str) -> None:
    english, japanese = ENGLISH[key], SENTENCES[key]
    assert english.strip()
    assert not JAPANESE.search(english) or key in ALIKE
    assert JAPANESE.search(japanese) or key in ALIKE
    facts = [sorted(name for _, name, _, _ in Formatter().parse(text) if name is not None)
             for text in (english, japanese)]  # fmt: skip
    assert facts[0] == facts[1]


def test_every_sentence_that_a_command_says_exists() -> None:
    said = {
        (path.name, key.value)
        for path, tree in sources()
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and names_of(call) in KEYS_AT
        for key in call.args[KEYS_AT[names_of(call)] :][:1]
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }
    assert len(said) > 50
    assert {(path, key) for path, key in said if key not in SENTENCES} == set()


def test_every_sentence_is_said_by_somebody() -> None:
    texts = [
        node.value
        for path, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    whole = set(texts) | {f"{text}_cure" for text in texts}
    heads = {f"{start}{text}" for start in ("head_", "story_", "ground_") for text in texts}
    heads |= {f"out_of_reach_{each}" for each in RemainingCopy}
    assert sorted(set(SENTENCES) - whole - heads) == []


def test_a_word_of_opencrab_is_shown_as_a_word() -> None:
    assert SentenceCatalog(EN).term("risk_tolerance") == "risk tolerance"
    assert SentenceCatalog(JA).term("risk_tolerance") == "リスク許容度"
    assert SentenceCatalog(JA).term("something new") == "something new"


def test_every_task_type_and_use_has_its_japanese_word() -> None:
    words = SentenceCatalog(JA)
    assert not [each for each in (*TaskType, *Use) if words.term(each) == each]


@for_each("path", sorted(PAGES))
def test_help_speaks_english_and_japanese(program: Program, path: tuple[str, ...]) -> None:
    page = PAGES[path]
    helps = helps_of(page)
    english = program.run(*path, "--help")
    japanese = program.run(*path, "--help", LANG="ja_JP.UTF-8")
    assert (english.code, japanese.code) == (0, 0)
    assert not JAPANESE.search(english.out)
    shown = joined(japanese.out)
    assert [text for text in helps if text and joined(text) in shown] == []


def test_every_help_text_in_japanese_is_one_of_a_command() -> None:
    shown = {text for page in PAGES.values() for text in helps_of(page)} | {HELP_OF_HELP}
    assert sorted(set(JAPANESE_TEXTS["help"]) - shown) == []
    assert (
        sorted(text for text in JAPANESE_TEXTS["help"].values() if not JAPANESE.search(text)) == []
    )


def test_even_the_line_about_help_itself_is_translated(program: Program) -> None:
    for path in ((), ("agents",), ("chat",)):
        assert "Show this message" not in program.run(*path, "--help", LANG="ja_JP.UTF-8").out


@pytest.mark.parametrize(
    "args",
    [
        ("--language", "ja", "--help"),
        ("--language", "ja", "chat", "--help"),
        ("chat", "--language", "ja", "--help"),
    ],
    ids=" ".join,
)
def test_help_listens_to_the_language_option(program: Program, args: tuple[str, ...]) -> None:
    assert JAPANESE.search(program.run(*args).out)


@pytest.mark.parametrize(
    ("locale", "japanese"),
    [("ja_JP.UTF-8", True), ("ja", True), ("en_US.UTF-8", False), ("C", False), ("", False)],
)
def test_the_language_is_that_of_the_environment(
    program: Program, locale: str, *, japanese: bool
) -> None:
    page = program.run("--help", LANG=locale)
    assert bool(JAPANESE.search(page.out)) is japanese
    assert bool(JAPANESE.search(program.run("agents", "--help", LC_ALL=locale).out)) is japanese


def joined(text: str) -> str:
    """A text without what wrapping puts into it."""
    return re.sub(r"\s+", "", text)
