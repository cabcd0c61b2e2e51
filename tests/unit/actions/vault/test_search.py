"""Finding, reading and surveying notes, in Japanese and English."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from opencrab.actions.vault import lookup, search
from opencrab.adapters.local_files import LocalFiles
from opencrab.adapters.system_clock import FakeClock
from opencrab.ports.workspace.files import FileInfo
from tests.unit.actions.library import NOW, Library, library


def wide(text: str) -> str:
    """The same letters as wide as Japanese ones."""
    return "".join(chr(ord(letter) + 0xFEE0) for letter in text)


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Library]:
    """A few notes, all of them Mika's own."""
    with library(tmp_path) as opened:
        opened.data(
            "create_note", title="機械学習", content="教師あり学習と教師なし学習\n", folder="学習"
        )
        opened.data("create_note", title="日記", content="今日は機械学習を読んだ。\n- TODO 復習\n")
        opened.data(
            "create_note", title="Reading list", content=f"Machine Learning, {wide('TODO')}\n"
        )
        yield opened


def found(vault: Library, query: str, **more: object) -> list[str]:
    """The paths that a search finds, in order."""
    results = vault.data("search_notes", query=query, **more)["results"]
    return [result["path"] for result in results]


def test_titles_come_first_and_then_the_most_hits(vault: Library) -> None:
    assert found(vault, "機械学習") == ["vault/学習/機械学習.md", "vault/日記.md"]
    vault.data("update_note", path="日記", content="TODO TODO TODO", append=True)
    assert found(vault, "todo|なし") == [
        "vault/日記.md",
        "vault/Reading list.md",
        "vault/学習/機械学習.md",
    ]


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("ﾏﾁﾈ|machine LEARNING", ["vault/Reading list.md"]),
        (wide("READING"), ["vault/Reading list.md"]),
        ("学習/", ["vault/学習/機械学習.md"]),
        ("どこにもない", []),
    ],
)
def test_width_and_case_make_no_difference(query: str, paths: list[str], vault: Library) -> None:
    assert found(vault, query) == paths


def test_tags_are_searched_even_where_the_content_is_not(vault: Library) -> None:
    vault.data("create_note", title="x", content="---\ntags: ['#会議']\n---\n秘密の言葉")
    assert found(vault, "会議", include_content=False) == ["vault/x.md"]
    assert found(vault, "秘密", include_content=False) == []
    assert found(vault, "created") == []


def test_a_hit_shows_the_words_around_it(vault: Library) -> None:
    vault.data("create_note", title="長い", content=f"初め\n{'あ' * 300}蟹{'い' * 300}\n")
    (hit,) = vault.data("search_notes", query="蟹")["results"]
    assert "あ蟹い" in hit["excerpt"]
    assert len(hit["excerpt"]) <= 162


def test_a_search_says_how_many_it_does_not_show(vault: Library) -> None:
    answer = vault.data("search_notes", query="学習|todo", limit=1)
    assert (len(answer["results"]), answer["total"]) == (1, 3)
    assert "query" in vault.error("search_notes", query=" | ")


def test_templates_are_not_searched(vault: Library) -> None:
    vault.put("vault/templates/t.md", "機械学習")
    assert len(found(vault, "機械学習")) == 2


def test_a_note_is_read_with_its_links_and_backlinks(vault: Library) -> None:
    vault.data("update_note", path="日記", content="[[機械学習|ML]] [[なし]] `[[Reading list]]`")
    vault.put("vault/a/x.md", "[[日記]]")
    vault.put("vault/b/x.md", "")
    vault.put("vault/c.md", "[[x]]")
    read = vault.data("read_note", path="日記")
    assert read["links"] == {"機械学習": "vault/学習/機械学習.md"}
    assert read["broken_links"] == {"なし": []}
    assert read["backlinks"] == ["vault/a/x.md"]
    assert read["title"] == "日記"
    assert f"updated: {NOW}" in read["content"]
    unclear = vault.data("read_note", path="vault/c.md")["broken_links"]
    assert unclear == {"x": ["vault/a/x.md", "vault/b/x.md"]}


@pytest.mark.parametrize(
    "name", ["機械学習", "学習/機械学習", "vault/学習/機械学習.md", "学習/機械学習.md", "ML入門"]
)
def test_a_note_is_read_by_any_of_its_names(name: str, vault: Library) -> None:
    content = vault.text("vault/学習/機械学習.md").replace("title:", "aliases: [ml入門]\ntitle:")
    vault.put("vault/学習/機械学習.md", content)
    assert vault.data("read_note", path=name)["path"] == "vault/学習/機械学習.md"


@pytest.mark.parametrize("line", ["行{}\n", 'line "{}"\n'])
def test_a_long_note_is_read_in_pages(line: str, vault: Library) -> None:
    whole = "".join(line.format(n) for n in range(3_000))
    vault.put("vault/long.md", whole)
    pages, offset = list[str](), 1
    while offset:
        page = vault.data("read_note", path="long", offset=offset, limit=2_000)
        assert len(page["content"].encode()) <= search.PAGE_BYTES
        pages.append(page["content"])
        offset = page.get("next_offset", 0)
    assert "".join(pages) == whole
    assert "3000 lines" in vault.error("read_note", path="long", offset=3_001)


def test_a_line_longer_than_a_page_is_cut_and_that_is_said(vault: Library) -> None:
    vault.put("vault/long.md", f"{'海' * 9_000}\n終わり\n")
    page = vault.data("read_note", path="long")
    assert page["cut"]
    assert set(page["content"]) == {"海"}
    assert page["next_offset"] == 2


def test_only_foreign_words_taint(vault: Library) -> None:
    calls: list[tuple[str, dict[str, object]]] = [
        ("search_notes", {"query": "学習"}),
        ("read_note", {"path": "機械学習"}),
        ("get_vault_structure", {"include_content_summary": True}),
    ]
    assert not any(vault.do(name, **arguments).taint for name, arguments in calls)
    vault.put("vault/学習/機械学習.md", "他人の学習")
    assert all(vault.do(name, **arguments).taint for name, arguments in calls)
    # Whoever wrote a file may have named it, so a list of names taints as well.
    assert vault.do("get_vault_structure").taint
    assert not vault.do("read_note", path="日記").taint


def test_what_is_no_text_is_left_out_and_counted(vault: Library) -> None:
    vault.at.reach.files.write("mika", "vault/bin.md", b"\xff\x00")
    assert vault.data("search_notes", query="学習")["unread"] == 1
    assert "not text" in vault.error("read_note", path="bin")


def test_a_call_reads_no_more_than_its_share_of_a_large_vault(vault: Library) -> None:
    files = vault.at.reach.files
    assert lookup.SCAN_NOTES == 500
    listed = lookup.vault_note_files(vault.at)
    reading = lookup.read_vault_notes(vault.at, [listed[0]] * 502)
    assert (len(reading.stored), reading.unread) == (500, 2)
    assert files.info("mika", listed[0].path)


def test_the_structure_is_a_tree_of_folders_with_times_and_summaries(vault: Library) -> None:
    vault.put("vault/学習/a/b/深い.md", "x")
    vault.put("vault/学習/a/b/c/もっと.md", "x")
    vault.put("vault/odd.md", "---\nupdated: いつか\n---\n")
    vault.put("vault/image.png", "x")
    vault.changed("vault/odd.md", datetime(2026, 2, 16, 15, 30, tzinfo=UTC))
    vault.changed("vault/学習/機械学習.md", datetime(2026, 2, 17, 9, tzinfo=UTC))
    tree = vault.data("get_vault_structure", max_depth=3, include_content_summary=True)
    assert [folder["folder"] for folder in tree["folders"]] == [
        "vault",
        "vault/学習",
        "vault/学習/a",
        "vault/学習/a/b",
    ]
    root, learning, empty, deep = tree["folders"]
    assert root["notes"][1] == {"name": "odd.md", "modified": "2026-02-16 15:30"}
    assert learning["notes"] == [
        {
            "name": "機械学習.md",
            "modified": "2026-02-17 09:00",
            "summary": "教師あり学習と教師なし学習",
        }
    ]
    assert empty == {"folder": "vault/学習/a"}
    assert deep == {"folder": "vault/学習/a/b", "deeper": 2}
    assert tree["total"] == 6
    flat = vault.data("get_vault_structure", max_depth=1)["folders"]
    assert flat[1] == {"folder": "vault/学習", "deeper": 3}


def test_an_empty_vault_is_an_answer(tmp_path: Path) -> None:
    with library(tmp_path / "other") as empty:
        assert empty.data("get_vault_structure") == {"folders": [{"folder": "vault"}], "total": 0}
        assert empty.data("search_notes", query="x") == {"results": [], "total": 0}


def test_notes_of_a_day_are_those_of_the_day_where_the_agent_lives(vault: Library) -> None:
    """At 08:00 in Tokyo it is still yesterday in UTC."""
    vault.live_in("Asia/Tokyo")
    clock = FakeClock(datetime(2026, 2, 16, 23, 0, tzinfo=UTC))
    vault.at = replace(vault.at, clock=clock)
    vault.changed("vault/学習/機械学習.md", datetime(2026, 2, 16, 14, 59, 59, tzinfo=UTC))
    vault.changed("vault/日記.md", datetime(2026, 2, 16, 15, 0, tzinfo=UTC))
    vault.changed("vault/Reading list.md", datetime(2026, 2, 15, tzinfo=UTC))
    for said in ("today", "2026-02-17", "2026-02-16T15:00:00+00:00"):
        (hit,) = vault.data("search_notes", query="", modified_after=said)["results"]
        assert (hit["path"], hit["modified"]) == ("vault/日記.md", "2026-02-17 00:00")
        assert hit["excerpt"] == "今日は機械学習を読んだ。"
    assert len(found(vault, "", modified_after="2026-02-16 23:59")) == 2
    assert found(vault, "教師", modified_after="today") == []
    for wrong in ("昨日", "99999-01-01", "0001-01-01T00:00:00+00:00 x"):
        assert "no day or time" in vault.error("search_notes", query="", modified_after=wrong)
    assert "query is empty" in vault.error("search_notes", query=" ")


def test_where_files_have_no_date_the_front_matter_has_one(vault: Library) -> None:
    """As in a list of a store that tells none; what is no time is left out."""
    vault.put("vault/odd.md", "---\nupdated: いつか\n---\n")
    vault.at = replace(vault.at, reach=replace(vault.at.reach, files=_Undated(vault.folder)))
    root = vault.data("get_vault_structure", max_depth=1)["folders"][0]
    assert root["notes"][1:] == [{"name": "odd.md"}, {"name": "日記.md", "updated": NOW}]


class _Undated(LocalFiles):
    """Files without dates."""

    def list(self, agent_id: str, prefix: str = "") -> tuple[FileInfo, ...]:
        return tuple(replace(info, modified_at=None) for info in super().list(agent_id, prefix))
