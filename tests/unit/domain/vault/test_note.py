"""Front matter and body survive every change; what is no front matter is text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.domain.vault.note import (
    ALIASES,
    SUMMARY_CHARACTERS,
    TAGS,
    TITLE,
    UPDATED,
    Note,
    parse_vault_note,
    vault_note_outside_code,
    vault_note_summary,
    vault_note_tags,
    vault_note_title,
)
from tests.soak import count

EXAMPLES = count("notes")
often = settings(max_examples=EXAMPLES)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
pieces = st.sampled_from(
    [
        *(
            "---\n",
            "---",
            "--- \r\n",
            "...\n",
            "\ufeff",
            "\n",
            " \n",
            "# 注\n",
            "- a\n",
            "  - 蟹\n",
        ),
        *("title: 海\n", "title: a: b\n", "aliases: [A, 'b, c']\n", "tags:\n", "tags: x # y\n"),
        *('"q": 1\n', "key: |\n  text\n", "created: {a: b}\n", "本文 [[A]]\n", "```\n", "色:青\n"),
    ]
)
files = st.lists(pieces | texts, max_size=12).map("".join)

JAPANESE = """---
title: 会議
# 覚え書き
aliases: [打合せ, "A, B"]   # 別名
tags:
  - 仕事
  - '日次'
nested:
  key: [1, 2]
broken but unknown: {a
updated: 2026-01-02
---
本文
"""


@given(files)
@often
def test_what_is_read_is_written_as_it_was(text: str) -> None:
    assert parse_vault_note(text).text == text


@given(files, st.sampled_from([TITLE, UPDATED, "色"]), texts)
@often
def test_a_changed_value_is_read_again_and_nothing_else_changes(
    text: str, key: str, value: str
) -> None:
    note = parse_vault_note(text)
    again = parse_vault_note(note.with_value(key, value).text)
    assert again.values(key) == (value,)
    assert again.body == note.body
    assert [field for field in again.fields if field.key != key] == [
        field for field in note.fields if field.key != key
    ]


@given(files, st.lists(texts, max_size=4).map(tuple))
@often
def test_a_changed_list_is_read_again(text: str, values: tuple[str, ...]) -> None:
    again = parse_vault_note(parse_vault_note(text).with_value(ALIASES, values).text)
    assert again.values(ALIASES) == values
    assert again.body == parse_vault_note(text).body


@given(files, files)
@often
def test_a_new_body_leaves_the_front_matter_as_it_is(text: str, body: str) -> None:
    note = parse_vault_note(text).with_value(TITLE, "海")
    again = parse_vault_note(note.with_body(body).text)
    assert (again.fields, again.body) == (note.fields, body)


def test_the_subset_of_yaml_is_read() -> None:
    note = parse_vault_note(JAPANESE)
    assert note.value(TITLE) == "会議"
    assert note.values(ALIASES) == ("打合せ", "A, B")
    assert note.values(TAGS) == ("仕事", "日次")
    assert note.value(UPDATED) == "2026-01-02"
    assert note.body == "本文\n"


def test_unknown_keys_and_comments_stay_word_for_word() -> None:
    changed = (
        parse_vault_note(JAPANESE)
        .with_value(TITLE, "改題")
        .with_value(UPDATED, "2026-02-17T09:00:00Z")
        .text
    )
    assert changed == JAPANESE.replace("会議", "改題").replace("2026-01-02", "2026-02-17T09:00:00Z")


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: a\n本文",
        "---\nただの文\n---\n本文",
        "---\ntitle: a: b\n---\n",
        "---\ntitle: x\ntitle: y\n---\n",
        '---\naliases: [a, "b\n---\n',
        "---\ntags: {a: b}\n---\n",
        "---\ntitle: |\n  long\n---\n",
        "---\n- a\n---\n",
    ],
)
def test_a_broken_front_matter_is_text_and_never_lost(text: str) -> None:
    note = parse_vault_note(text)
    assert (note.fields, note.body) == ((), text)
    again = parse_vault_note(note.with_value(TITLE, "新しい").text)
    assert (again.value(TITLE), again.body) == ("新しい", text)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("海の家", "海の家"),
        ("plain words", "plain words"),
        ("2026-02-17T09:00:00Z", "2026-02-17T09:00:00Z"),
        ("yes", '"yes"'),
        ("7", '"7"'),
        ("a: b", '"a: b"'),
        ("#tag", '"#tag"'),
        ("", '""'),
        ("two\nlines", '"two\\nlines"'),
    ],
)
def test_a_value_is_quoted_where_yaml_would_take_it_for_something_else(
    value: str, written: str
) -> None:
    assert Note("").with_value(TITLE, value).text == f"---\ntitle: {written}\n---\n"


def test_what_another_front_matter_has_is_added_but_replaces_nothing() -> None:
    note = parse_vault_note("---\ntitle: A\n---\nx").completed_by(parse_vault_note(JAPANESE))
    assert (note.value(TITLE), note.body) == ("A", "x")
    assert note.values(TAGS) == ("仕事", "日次")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: 題\n---\n# 見出し", "題"),
        ("文\n# 見出し ##\n", "見出し"),
        ("# C#\n", "C#"),
        ("```\n# code\n```\n", "file"),
        ("# \n", "file"),
    ],
)
def test_a_note_is_called_by_title_heading_or_file(text: str, title: str) -> None:
    assert vault_note_title(parse_vault_note(text), "file") == title


def test_tags_lose_their_hash_sign_and_may_be_one_line() -> None:
    assert vault_note_tags(parse_vault_note("---\ntags: '#仕事, daily,'\n---\n")) == (
        "仕事",
        "daily",
    )


@pytest.mark.parametrize(
    ("body", "summary"),
    [
        ("# 見出し\n\n- [ ] [[海の家|海]]へ行く\n次\n", "海へ行く"),
        ("```\ncode\n```\n> 1. Went to ![[Sea]]\n", "Went to Sea"),
        ("| a | b |\n---\n", ""),
        ("蟹" * 200, "蟹" * (SUMMARY_CHARACTERS - 1) + "…"),
        ("", ""),
    ],
)
def test_a_summary_is_the_first_line_of_prose(body: str, summary: str) -> None:
    assert vault_note_summary(body) == summary


@given(files)
@often
def test_code_is_left_out_line_by_line(body: str) -> None:
    shown = vault_note_outside_code(body).split("\n")
    assert all(line in {"", kept} for line, kept in zip(shown, body.split("\n"), strict=True))


@pytest.mark.parametrize("unit", ["# ", "#", " ", "`", "[[", "a ", "- ", "---\n", '"', "\\", "{{"])
def test_no_text_takes_long(unit: str) -> None:
    long = unit * (60_000 // len(unit))
    for text in (long, f"---\n{long}\n---\n", f"---\ntitle: {long}x\n---\n", f"{long}x"):
        note = parse_vault_note(text)
        assert note.text == text
        vault_note_summary(text)
        vault_note_title(note, "x")
