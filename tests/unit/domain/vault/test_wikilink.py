"""What links mean, what paths titles make, and that every link survives a new name."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.domain.errors import Invalid
from opencrab.domain.vault.note import ALIASES, TITLE, Note, parse_vault_note
from opencrab.domain.vault.wikilink import (
    NoteIndex,
    WikiLink,
    add_vault_wikilink_in_context,
    add_vault_wikilink_under_heading,
    is_note_template,
    require_vault_linkable_path,
    shadowed_vault_note_name,
    shortest_vault_wikilink,
    vault_folder_path_of_notes,
    vault_note_card,
    vault_note_file_name,
    vault_note_name_key,
    vault_note_path,
    vault_note_with_path,
    vault_path_for_note_title,
    wikilinks_in_vault_note,
)
from tests.soak import count

EXAMPLES = count("notes")
often = settings(max_examples=EXAMPLES)
letters = st.sampled_from(
    [*"ab/.#|[]: ", "..", "海", "ｶﾞ", "ガ", "\uff21", ".md", "vault/", "\u200b", "\n"]
)
inputs = st.lists(letters, max_size=8).map("".join) | st.text(max_size=20)
stems = st.sampled_from(["a", "A.x", "海", "ガ", "vault", "b.md", "C#", "\uff21"])
paths = st.tuples(st.sampled_from(["", "f/", "海/", "vault/"]), stems).map(
    lambda parts: f"vault/{parts[0]}{parts[1]}.md"
)
names = stems | paths | inputs


def note(title: str, aliases: tuple[str, ...]) -> Note:
    """A note that goes by these names."""
    made = Note("")
    made = made.with_value(TITLE, title) if title else made
    return made.with_value(ALIASES, aliases) if aliases else made


notes = st.builds(note, st.just("") | names, st.lists(names, max_size=2).map(tuple))


@given(inputs)
@often
def test_no_text_names_a_note_outside_the_vault(text: str) -> None:
    for make in (
        vault_note_path,
        vault_path_for_note_title,
        lambda folder: vault_path_for_note_title("x", folder),
    ):
        try:
            path = make(text)
        except Invalid:
            continue
        segments = path.split("/")
        assert segments[0] == "vault"
        assert len(segments) > 1
        assert not {"", ".", ".."} & set(segments)
        assert path.casefold().endswith(".md")
        assert vault_note_file_name(path)


@given(inputs)
@often
def test_a_new_note_can_be_linked_to(title: str) -> None:
    try:
        path = vault_path_for_note_title(title)
    except Invalid:
        return
    assert require_vault_linkable_path(path) == path
    link = shortest_vault_wikilink(path, NoteIndex([vault_note_card(path, parse_vault_note(""))]))
    assert [each.target for each in wikilinks_in_vault_note(link)] != []


@given(st.dictionaries(paths, notes, min_size=1, max_size=5), paths, st.data())
@often
def test_every_link_means_the_same_note_after_a_rename(
    vault: dict[str, Note], new: str, data: st.DataObject
) -> None:
    old = data.draw(st.sampled_from(sorted(vault)))
    if new in vault or vault_note_name_key(new) in map(vault_note_name_key, vault):
        return
    after = {path: each for path, each in vault.items() if path != old}
    after[new] = parse_vault_note(vault_note_with_path(vault[old], old, new).text)
    then = NoteIndex(vault_note_card(*each) for each in vault.items())
    now = NoteIndex(vault_note_card(*each) for each in after.items())
    lost = shadowed_vault_note_name(then, now, old, new)
    links = [WikiLink(name) for name in data.draw(st.lists(names, max_size=6))]
    links += [WikiLink(path) for path in vault] + [
        WikiLink(vault_note_file_name(path)) for path in vault
    ]
    aliases = (name for each in vault.values() for name in each.values(ALIASES))
    links += wikilinks_in_vault_note(" ".join(f"[[{name}]]" for name in aliases))
    for link in links:
        meant = then.follow(link)
        if lost is None and len(meant) == 1:
            assert now.follow(link) == ((new,) if meant == (old,) else meant)


@given(notes, paths, paths)
@often
def test_a_note_alone_is_always_renamed_and_goes_by_all_its_names(
    alone: Note, old: str, new: str
) -> None:
    before = NoteIndex([vault_note_card(old, alone)])
    after = NoteIndex([vault_note_card(new, vault_note_with_path(alone, old, new))])
    assert shadowed_vault_note_name(before, after, old, new) is None
    assert before.names() <= after.names() | {""}


def test_links_are_read_with_heading_and_text() -> None:
    body = "[[海]] ![[図.md]] [[ 蟹の家#二階|うち ]] [[Sea\\|in a table]] [[#here]] [[]] [[a\nb]]"
    assert wikilinks_in_vault_note(body) == (
        WikiLink("海"),
        WikiLink("図.md"),
        WikiLink("蟹の家", "うち", "蟹の家#二階"),
        WikiLink("Sea", "in a table"),
    )


@pytest.mark.parametrize(
    "body",
    [
        "`[[海]]`",
        "``[[海]] ` ``",
        "```\n[[海]]\n```\n",
        "~~~ text\n[[海]]\n```\n",
        "   ````\n```\n[[海]]\n````",
        "`two\nlines [[海]]`",
    ],
)
def test_what_stands_in_code_is_no_link(body: str) -> None:
    assert wikilinks_in_vault_note(body) == ()


@pytest.mark.parametrize(
    "body", ["` [[海]]", "`` [[海]] `", "`x\n\n[[海]]`", "`a`[[海]]`b`", "``` a`\n[[海]]"]
)
def test_what_only_looks_like_code_may_hold_links(body: str) -> None:
    assert wikilinks_in_vault_note(body) == (WikiLink("海"),)


def test_a_name_means_path_before_file_before_title() -> None:
    index = NoteIndex(
        [
            vault_note_card("vault/海.md", None),
            vault_note_card("vault/f/海.md", None),
            vault_note_card("vault/f/Sea.md", note("海", ("C# 入門", "ｶﾆ"))),
            vault_note_card("vault/Sea2.md", note("Sea", ("twice",))),
            vault_note_card("vault/f/b.md", note("twice", ())),
        ]
    )
    assert index.find("海") == ("vault/海.md",)
    assert index.find("F/海.MD") == ("vault/f/海.md",)
    assert index.find("sea") == ("vault/f/Sea.md",)
    assert index.find("カニ") == ("vault/f/Sea.md",)
    assert index.follow(WikiLink("C")) == ()
    assert index.follow(wikilinks_in_vault_note("[[C# 入門]]")[0]) == ("vault/f/Sea.md",)
    assert index.find("twice") == ("vault/Sea2.md", "vault/f/b.md")
    assert index.find("なし") == ()


@pytest.mark.parametrize(
    ("title", "path"),
    [
        ("日次レビュー_2024-06-26", "vault/日次レビュー_2024-06-26.md"),
        ("TCP/IP: what?", "vault/TCP-IP- what-.md"),
        ("C#", "vault/C-.md"),
        ("../../etc/passwd", "vault/-..-etc-passwd.md"),
        (" a\u200b\tb. ", "vault/a b.md"),
        ("蟹" * 100, f"vault/{'蟹' * 64}.md"),
        ("Note.md", "vault/Note.md"),
    ],
)
def test_a_title_makes_a_file_name(title: str, path: str) -> None:
    assert vault_path_for_note_title(title) == path


@pytest.mark.parametrize("title", ["", "..", "///", "\u200b", "con"])
def test_some_titles_make_none(title: str) -> None:
    with pytest.raises(Invalid):
        vault_path_for_note_title(title)


@pytest.mark.parametrize(
    "name", ["海/家", "vault/海/家", "海/家.md", "./vault/海/家.md", " 海/家 "]
)
def test_a_path_may_leave_out_what_is_the_same_for_all(name: str) -> None:
    assert vault_note_path(name) == "vault/海/家.md"


@pytest.mark.parametrize("name", ["", ".md", "vault/", "f/", "../x", "/etc/passwd", "a/../../b"])
def test_some_paths_are_none(name: str) -> None:
    with pytest.raises(Invalid):
        vault_note_path(name)


def test_folders_are_named_with_or_without_the_vault() -> None:
    assert (
        vault_folder_path_of_notes("")
        == vault_folder_path_of_notes("vault")
        == vault_folder_path_of_notes("vault/")
        == "vault"
    )
    assert vault_folder_path_of_notes("海/") == vault_folder_path_of_notes("vault/海") == "vault/海"
    with pytest.raises(Invalid):
        vault_folder_path_of_notes("../x")
    assert is_note_template("vault/Templates/x.md")
    assert not is_note_template("vault/templates.md")


def test_a_link_goes_where_no_other_note_is_meant() -> None:
    index = NoteIndex(
        vault_note_card(path, None) for path in ("vault/海.md", "vault/f/海.md", "vault/f/b.md")
    )
    assert shortest_vault_wikilink("vault/f/b.md", index, "次へ") == "[[b|次へ]]"
    assert shortest_vault_wikilink("vault/f/海.md", index) == "[[f/海]]"
    with pytest.raises(Invalid, match="link_text"):
        shortest_vault_wikilink("vault/f/b.md", index, "a]]b")
    odd = NoteIndex([vault_note_card("vault/C#.md", None)])
    with pytest.raises(Invalid, match="no unambiguous link"):
        shortest_vault_wikilink("vault/C#.md", odd)


def test_a_link_stands_in_its_context_or_under_its_heading() -> None:
    assert (
        add_vault_wikilink_in_context("海へ行く。  \n次\n", "[[海]]", "行く")
        == "海へ行く。 [[海]]  \n次\n"
    )
    with pytest.raises(Invalid, match="does not occur"):
        add_vault_wikilink_in_context("海", "[[海]]", "山")
    with pytest.raises(Invalid, match="does not occur"):
        add_vault_wikilink_in_context("海", "[[海]]", " ")
    headings = ("## 関連", "## Related")
    once = add_vault_wikilink_under_heading("文\n", "[[海]]", headings)
    assert once == "文\n\n## 関連\n\n- [[海]]\n"
    assert add_vault_wikilink_under_heading(once, "[[山]]", headings) == f"{once}- [[山]]\n"
    assert add_vault_wikilink_under_heading("", "[[海]]", headings) == "## 関連\n\n- [[海]]\n"
    between = "# T\n\n## Related\n\ntext\n\n## Next\n\n```\n## 関連\n```\n"
    assert add_vault_wikilink_under_heading(between, "[[海]]", headings) == between.replace(
        "text\n", "text\n\n- [[海]]\n"
    )
