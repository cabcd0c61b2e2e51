"""Help speaks the user's language wherever `--language` stands, and says what exit codes mean."""

import re

import pytest

from opencrab.gateways.cli.scripting.exit_code import ExitCode
from tests.unit.gateways.cli.server import Program


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help", "--language", "ja"),
        ("--help", "--language=ja"),
        ("--language", "ja", "--help"),
        ("chat", "--help", "--language", "ja"),
        ("agents", "list", "-h", "--language", "ja"),
    ],
)
def test_the_language_of_help_may_stand_after_help(
    program: Program, arguments: tuple[str, ...]
) -> None:
    assert program.run(*arguments).out.startswith("使い方: opencrab")


def test_help_in_a_language_that_does_not_exist_is_english(program: Program) -> None:
    assert program.run("-h", "--language", "xx").out.startswith("Usage: opencrab")


@pytest.mark.parametrize(
    ("locale", "begins", "page"),
    [
        ("en_US.UTF-8", "Exit codes:", "docs/reference/errors.md"),
        ("ja_JP.UTF-8", "終了コード:", "docs/reference/errors.ja.md"),
    ],
)
def test_help_says_what_the_exit_codes_mean_and_where_all_of_them_are(
    program: Program, locale: str, begins: str, page: str
) -> None:
    shown = program.run("--help", LANG=locale).out
    _, found, codes = shown.partition(begins)
    assert found
    assert codes.rstrip().endswith(page)
    named = {int(code) for code in re.findall(r"(?<!\d)(\d+) ", " ".join(codes.split()))}
    assert named == {int(code) for code in ExitCode if code < ExitCode.TERMINAL_CLOSED}


@pytest.mark.parametrize(
    ("arguments", "language", "hint"),
    [
        (
            ("memory", "list", "Ada"),
            "en",
            "Name the agent with --agent: `opencrab memory list --agent Ada`",
        ),
        (
            ("turns", "list", "Ada B"),
            "ja",
            "エージェントは --agent で指定します: `opencrab turns list --agent 'Ada B'`",
        ),
        (
            ("memory", "list", "--agent", "Ada", "B"),
            "en",
            "Run `opencrab memory list -h` for help.",
        ),
        (
            ("skills", "list", "--agent", "Ada"),
            "en",
            "Name the agent without --agent: `opencrab skills list AGENT`",
        ),
        (("goals", "list", "--agents"), "en", "Run `opencrab goals list -h` for help."),
        (
            ("memory", "search", "red", "crabs"),
            "en",
            "Put a text of several words in quotes, or name the agent with --agent: "
            "`opencrab memory search --agent red crabs`",
        ),
        (
            ("memory", "add", "葵", "好きな色は青"),
            "ja",
            "空白を含む文は引用符で囲んでください。エージェントは --agent で指定します: "
            "`opencrab memory add --agent '葵' '好きな色は青'`",
        ),
        (
            ("memory", "search", "--agent", "Ada", "red", "crabs"),
            "en",
            "Run `opencrab memory search -h` for help.",
        ),
        (
            ("agents", "create", "Ada"),
            "en",
            "Name it with --name: `opencrab agents create --name Ada`",
        ),
        (
            ("agents", "create", "葵"),
            "ja",
            "名前は --name で指定します: `opencrab agents create --name '葵'`",
        ),
        (("tasks", "Ada", "dive"), "en", "Did you mean `opencrab tasks run Ada …`?"),
        (("tasks", "葵", "潜る"), "ja", "`opencrab tasks run '葵' …` ではありませんか?"),
        (("tasks", "rn"), "en", "Run `opencrab tasks -h` for help."),
        (("memory", "Ada"), "en", "Run `opencrab memory -h` for help."),
        (("freeze", "a", "b"), "en", "Run `opencrab freeze -h` for help."),
        (("memory", "list", "--agnet", "Ada"), "en", "Run `opencrab memory list -h` for help."),
    ],
)
def test_a_name_without_its_option_is_told_how_to_give_it(
    program: Program, arguments: tuple[str, ...], language: str, hint: str
) -> None:
    said = program.run("--language", language, *arguments)
    assert said.code == ExitCode.USAGE
    assert hint in said.err.splitlines()


@pytest.mark.parametrize(
    ("arguments", "language", "said"),
    [
        (("ask", "Ada", "hi"), "en", "There is no command 'ask'. Did you mean 'chat'?"),
        (("ask", "葵"), "ja", "'ask' というコマンドはありません。'chat' ではありませんか?"),
        (("start",), "en", "There is no command 'start'. Did you mean 'up'?"),
        (("memory", "ask"), "en", "There is no command 'ask'."),
    ],
)
def test_who_types_the_word_of_another_program_is_told_ours(
    program: Program, arguments: tuple[str, ...], language: str, said: str
) -> None:
    assert said in program.run("--language", language, *arguments).err


def test_japanese_help_names_environment_variables_in_japanese(program: Program) -> None:
    shown = program.run("--help", LANG="ja_JP.UTF-8").out
    assert "[環境変数: OPENCRAB_URL]" in shown
    assert "env var" not in shown


@pytest.mark.parametrize(
    ("language", "required", "default"),
    [("en", "[required]", "[default: chat]"), ("ja", "[必須]", "[既定値: chat]")],
)
def test_help_marks_what_is_required_and_the_default(
    program: Program, language: str, required: str, default: str
) -> None:
    told = program.run("admin", "keys", "create", "-h", "--language", language).out
    shown = " ".join(told.split())
    assert required in shown
    assert default in shown
