"""Changes of one value leave every other character of a TOML file as it was."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.configuration.toml_text import (
    TomlLines,
    TomlStatement,
    set_toml_value,
    toml_literal,
    toml_statements,
    unset_toml_value,
)
from opencrab.domain.errors import Invalid

TEXT = '''# 設定 of mine
[budget]  # money
turn_usd = 0.50  # not much
agent_day_usd = 1

[llm.models]
thinking = { provider = "anthropic", model = "claude" }  # thinks
# the end of the models

[llm]
"default_provider" = 'ope#nai'
fallback.chain = [
  "openai",  # first ]
  """an
thropic = 3""",
]
'''


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        ("budget.turn_usd", 2, "turn_usd = 0.50  #", "turn_usd = 2  #"),
        ("llm.default_provider", "ollama", "'ope#nai'", '"ollama"'),
        ("llm.models.thinking", "fast", '{ provider = "anthropic", model = "claude" }', '"fast"'),
        ("llm.models.thinking.model", "蟹", 'model = "claude"', 'model = "蟹"'),
        (
            "budget.session_usd",
            0.5,
            "agent_day_usd = 1\n",
            "agent_day_usd = 1\nsession_usd = 0.5\n",
        ),
        ("llm.models.creative", "a:b", "# thinks\n", '# thinks\ncreative = "a:b"\n'),
        ("agent.max_steps", 3, "\n]\n", "\n]\n\n[agent]\nmax_steps = 3\n"),
        ("llm.fallback.chain", ["蟹"], TEXT[TEXT.index("[\n  ") :].rstrip(), '["蟹"]'),
        ("owner.a b", "x", "\n]\n", '\n]\n\n[owner]\n"a b" = "x"\n'),
    ],
)
def test_a_value_is_set_and_nothing_else_changes(
    path: str, value: object, old: str, new: str
) -> None:
    assert set_toml_value(TEXT, tuple(path.split(".")), value) == TEXT.replace(old, new, 1)


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("budget.turn_usd", "turn_usd = 0.50  # not much\n", ""),
        ("llm.models.thinking.model", ', model = "claude"', ""),
        ("llm.fallback.chain", TEXT[TEXT.index("fallback") :], ""),
        ("budget", TEXT[TEXT.index("[budget]") : TEXT.index("\n[llm.models]")], ""),
        ("budget.none", "", ""),
        ("none.at.all", "", ""),
    ],
)
def test_a_value_is_removed_with_its_line(path: str, old: str, new: str) -> None:
    assert unset_toml_value(TEXT, tuple(path.split("."))) == TEXT.replace(old, new, 1)


def test_an_empty_file_and_windows_line_ends_are_kept() -> None:
    assert set_toml_value("", ("a", "b"), 1) == "[a]\nb = 1\n"
    assert set_toml_value("[a]\r\nb = 2\r\nc = 3\r\n", ("a", "b"), 1) == "[a]\r\nb = 1\r\nc = 3\r\n"


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("budget.turn_usd", 3),
        ("llm.models.thinking", 7),
        ("llm.models.thinking.model", 7),
        ("llm.default_provider", 11),
        ("llm.fallback.chain", 12),
        ("llm.models", 6),
        ("budget", 2),
        ("budget.unknown", 2),
        ("nothing", 1),
    ],
)
def test_the_line_of_a_setting_is_found(path: str, line: int) -> None:
    assert TomlLines(toml_statements(TEXT)).line(tuple(path.split("."))) == line


def test_what_cannot_be_set_is_refused_and_not_broken() -> None:
    with pytest.raises(Invalid, match=r"a\.b"):
        set_toml_value("[[a]]\nc = 1\n", ("a", "b"), 1)


KEYS = st.from_regex(r"[a-z_]{1,4}", fullmatch=True)
VALUES: Any = (
    st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.lists(st.text(max_size=5), max_size=3)
)
DOCUMENTS: Any = st.dictionaries(KEYS, st.dictionaries(KEYS, VALUES, max_size=4), max_size=3)


@given(document=DOCUMENTS, section=KEYS, key=KEYS, value=VALUES)
def test_whatever_is_set_is_read_again(
    document: dict[str, dict[str, Any]], section: str, key: str, value: Any
) -> None:
    text = "".join(
        f"[{name}] # {name}\n" + "".join(f"{k} = {toml_literal(v)} # é\n" for k, v in table.items())
        for name, table in document.items()
    )
    assert tomllib.loads(text) == document
    changed = set_toml_value(text, (section, key), value)
    expected = {**document, section: {**document.get(section, {}), key: value}}
    assert tomllib.loads(changed) == expected
    back = tomllib.loads(unset_toml_value(changed, (section, key)))
    assert key not in back.get(section, {})


class Counted(str):
    """A part of a name that counts how often it is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str(self) == other

    def __hash__(self) -> int:
        return super().__hash__()


def test_finding_lines_reads_the_statements_once() -> None:
    names = [(Counted("llm"), Counted("aliases"), Counted(f"a{n}")) for n in range(2_000)]
    at = TomlLines([TomlStatement(path, path[:2], n, 0, 0) for n, path in enumerate(names)])
    Counted.compared = 0
    assert [at.line(path) for path in names] == list(range(2_000))
    assert Counted.compared < 20 * len(names)
