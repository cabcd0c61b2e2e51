"""New notes: named safely, dated, and made from templates that evaluate nothing."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from opencrab.actions.vault.create import SHIPPED
from opencrab.actions.workspace.provenance import is_foreign_workspace_file
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.agents.heartbeat import agent_heartbeat_in_zone
from opencrab.domain.value import Language
from opencrab.domain.vault.note import parse_vault_note
from tests.unit.actions.library import NOW, Library, library

HEAD = f"created: {NOW}\nupdated: {NOW}\n"


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Library]:
    """Nothing yet."""
    with library(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize(
    ("title", "folder", "path"),
    [
        ("日次レビュー_2024-06-26", None, "vault/日次レビュー_2024-06-26.md"),
        ("TCP/IP: 入門", "vault/技術/", "vault/技術/TCP-IP- 入門.md"),
        ("Machine learning", "study", "vault/study/Machine learning.md"),
    ],
)
def test_a_note_is_named_after_its_title(
    title: str, folder: str | None, path: str, vault: Library
) -> None:
    assert vault.data("create_note", title=title, content="本文", folder=folder)["path"] == path
    note = parse_vault_note(vault.text(path))
    assert (note.value("title"), note.value("created"), note.body) == (title, NOW, "本文\n")
    assert vault.data("read_note", path=title)["path"] == path


def test_a_note_that_exists_is_not_replaced(vault: Library) -> None:
    vault.data("create_note", title="海", content="一")
    assert "update_note" in vault.error("create_note", title="海", content="二")
    assert "differs from the existing" in (
        vault.data("create_note", title="Sea") and vault.error("create_note", title="SEA")
    )


@pytest.mark.parametrize("folder", ["../x", "/etc", "a/../../b"])
def test_no_folder_leads_out_of_the_vault(folder: str, vault: Library) -> None:
    result = vault.do("create_note", title="x", folder=folder)
    assert not result.success or (result.data or {})["path"].startswith("vault/")
    assert all(path.startswith("vault/") for path in vault.paths())


def test_the_front_matter_of_the_content_is_kept_under_ones_own(vault: Library) -> None:
    vault.data("create_note", title="海", content="---\ntitle: 別\ntags: [a]\n---\n本文\n")
    assert vault.text("vault/海.md") == f"---\ntitle: 海\n{HEAD}tags: [a]\n---\n本文\n"


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_template_is_filled_in_in_the_agents_language(
    name: str, language: Language, vault: Library
) -> None:
    vault.speak(language)
    path = vault.data("create_note", title="機械学習", template=name)["path"]
    note = parse_vault_note(vault.text(path))
    assert (note.value("title"), note.values("tags")) != ("", ())
    assert "# 機械学習\n" in note.body
    assert "{{" not in note.body
    assert ("関連" in note.body) is (language is Language.JA)


def test_the_vaults_own_template_comes_before_the_shipped_one(vault: Library) -> None:
    own = "---\ntags: [自作]\n---\n{{title}} {{date}} {{誰}} {{content}}|"
    assert vault.data("create_note", title="Meeting", folder="templates", content=own)["path"] == (
        "vault/templates/Meeting.md"
    )
    assert vault.text("vault/templates/Meeting.md") == own
    vault.data("create_note", title="{{date}}", template="meeting", content="{{title}}")
    assert vault.text("vault/{{date}}.md") == (
        f'---\ntitle: "{{{{date}}}}"\n{HEAD}tags: [自作]\n---\n'
        "{{date}} 2026-02-17 {{誰}} {{title}}|\n"
    )


@pytest.mark.parametrize(
    ("zone", "here"), [("Etc/GMT+12", "2026-02-16 21:00"), ("Etc/GMT-14", "2026-02-17 23:00")]
)
def test_date_and_time_in_a_template_are_of_the_agents_time_zone(
    vault: Library, zone: str, here: str
) -> None:
    heartbeat = agent_heartbeat_in_zone(vault.at.agent.heartbeat, zone, "UTC")
    here_now = replace(vault.at, agent=vault.at.agent.replaced(heartbeat=heartbeat))
    away = Library(here_now, vault.folder)
    away.put("vault/templates/t.md", "{{date}} {{time}}")
    away.data("create_note", title="海", template="t")
    assert parse_vault_note(away.text("vault/海.md")).body == f"{here}\n"


def test_content_without_a_place_in_the_template_follows_it(vault: Library) -> None:
    vault.put("vault/templates/t.md", "# {{title}}")
    vault.data("create_note", title="海", template="t", content="本文")
    assert parse_vault_note(vault.text("vault/海.md")).body == "# 海\n本文\n"


def test_a_foreign_template_makes_a_foreign_note(vault: Library) -> None:
    vault.put("vault/templates/t.md", "他人の言葉")
    for name, arguments in (
        ("create_note", {"title": "a", "template": "t"}),
        ("apply_template", {"template_name": "t", "variables": {"title": "b"}}),
    ):
        info = vault.at.reach.files.info("mika", vault.data(name, **arguments)["path"])
        assert info is not None
        assert is_foreign_workspace_file(info)


def test_a_template_that_changed_since_the_intent_changes_nothing(vault: Library) -> None:
    vault.put("vault/templates/t.md", "一")
    ready = vault.prepared("create_note", title="a", template="t")
    vault.put("vault/templates/t.md", "二")
    assert not ready.run("create_note", title="a", template="t").success
    assert vault.paths() == ["vault/templates/t.md"]


def test_applying_a_template_makes_a_note_or_adds_to_one(vault: Library) -> None:
    made = vault.data("apply_template", template_name="meeting", variables={"title": "定例"})
    assert (made["path"], made["created"]) == ("vault/定例.md", True)
    dated = vault.data("apply_template", template_name="daily-review")
    assert dated["path"] == "vault/daily-review 2026-02-17.md"
    assert "already" in vault.error("apply_template", template_name="daily-review")
    named = vault.data("apply_template", template_name="mindmap", target_note="図/地図")
    assert (named["path"], named["created"]) == ("vault/図/地図.md", True)
    vault.put("vault/x.md", "---\nodd: 1\n---\n本文")
    added = vault.data("apply_template", template_name="mindmap", target_note="x")
    assert (added["path"], added["created"]) == ("vault/x.md", False)
    note = parse_vault_note(vault.text("vault/x.md"))
    assert note.body.startswith("本文\n# x\n")
    assert (note.values("odd"), note.values("tags")) == (("1",), ("マインドマップ",))


def test_values_of_any_kind_are_put_in_as_they_are(vault: Library) -> None:
    vault.put("vault/templates/t.md", "{{a}} {{b}} {{c}}")
    variables = {"a": "{{b}}", "b": ["海", 1], "c": "x\x00\ud83e"}
    vault.data("apply_template", template_name="t", variables=variables, target_note="n")
    assert parse_vault_note(vault.text("vault/n.md")).body == '{{b}} ["海", 1] x\ufffd\n'


def test_a_template_that_is_not_there_is_answered_with_those_that_are(vault: Library) -> None:
    vault.put("vault/templates/自作.md", "x")
    error = vault.error("apply_template", template_name="../meeting")
    assert "use one of 'daily-review', 'meeting', 'mindmap', 'study-map', '自作'" in error
    assert "omit it" in vault.error(
        "create_note", title="x", folder="templates", template="meeting"
    )
    assert "use the path of a note" in vault.error(
        "apply_template", template_name="meeting", target_note="templates/自作"
    )
    assert "templates keep their paths" in vault.error(
        "rename_note", path="templates/自作", new_path="y"
    )
    vault.put("vault/ノート.md", "y")
    assert "no other note becomes one" in vault.error(
        "rename_note", path="ノート", new_path="templates/別"
    )
    vault.data("update_note", path="templates/自作", content="y", append=True)
    assert vault.text("vault/templates/自作.md") == "x\ny\n"


def test_a_template_has_the_day_where_the_agent_lives(vault: Library) -> None:
    """At 08:00 in Tokyo it is still yesterday in UTC."""
    vault.live_in("Asia/Tokyo")
    vault.at = replace(vault.at, clock=FakeClock(datetime(2026, 2, 16, 23, 0, tzinfo=UTC)))
    made = vault.data("apply_template", template_name="daily-review")
    assert made["path"] == "vault/daily-review 2026-02-17.md"
    assert "2026-02-17" in vault.text(made["path"]).split("---")[2]
