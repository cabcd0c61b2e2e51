"""Changing, linking and renaming notes: links survive, and every repeat is harmless."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opencrab.actions.workspace.provenance import is_foreign_workspace_file
from opencrab.actions.workspace.write import WRITE_BYTES
from opencrab.domain.access.impact import Impact
from opencrab.domain.document import new_fact
from opencrab.domain.turn.action import Effect, FileDeleted, FileWritten
from opencrab.domain.value import Language
from opencrab.domain.workspace.path import FOREIGN_NAME, NamedFile, file_name_key
from opencrab.engine.turn.cleared_files import foreign_name_mark_of_turn
from tests.soak import count
from tests.unit.actions.library import NOW, REGISTRY, Library, find, library

EXAMPLES = count("notes")

CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("create_note", {"title": "新しいノート", "content": "本文 [[海]]"}),
    ("create_note", {"title": "Plan", "folder": "work", "template": "meeting"}),
    ("update_note", {"path": "海", "content": "置き換えた"}),
    ("update_note", {"path": "Sea", "content": "- added", "append": True}),
    ("create_link", {"source_note": "海", "target_note": "Sea", "link_text": "the sea"}),
    ("create_link", {"source_note": "海", "target_note": "Sea", "context": "行く"}),
    ("create_link", {"source_note": "Sea", "target_note": "海"}),
    ("rename_note", {"path": "海", "new_path": "場所/浜"}),
    ("apply_template", {"template_name": "mindmap"}),
    ("apply_template", {"template_name": "study-map", "target_note": "海"}),
]
every_change = pytest.mark.parametrize(("name", "arguments"), CHANGES)


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Library]:
    """Two notes that know each other."""
    with library(tmp_path) as opened:
        opened.data("create_note", title="海", content="海へ行く。\n\nそのあと\n")
        opened.data(
            "create_note", title="Sea", folder="en", content="See [[海]] and [[vault/海.md|it]]."
        )
        yield opened


def test_impact_and_effect_are_as_designed() -> None:
    readers = {"search_notes", "read_note", "get_vault_structure"}
    writers = {name for name, _ in CHANGES}
    for name in readers | writers:
        action = REGISTRY.find(name)
        assert action is not None
        assert action.group == "vault"
        expected = (Impact.READ, Effect.PURE) if name in readers else (Impact.SELF, Effect.KEYED)
        assert (action.impact, action.effect) == expected
        prompts = action.descriptions.values()
        assert all(len(prompt.encode()) <= 160 for prompt in prompts)


@every_change
def test_a_repeat_after_success_is_harmless(
    name: str, arguments: dict[str, Any], vault: Library
) -> None:
    ready = vault.prepared(name, **arguments)
    first = ready.run(name, **arguments)
    assert first.success, first.error
    stored = vault.everything()
    assert ready.run(name, **arguments) == first
    assert vault.everything() == stored


@every_change
def test_a_call_changes_nothing_before_it_runs_or_when_another_came_in_between(
    name: str, arguments: dict[str, Any], vault: Library
) -> None:
    before = vault.everything()
    ready = vault.prepared(name, **arguments)
    assert vault.everything() == before
    written = ready.at.prepared["path"]
    for path in {written, ready.at.prepared.get("source", written)}:
        vault.put(path, "somebody else's / 他の誰か")
    stored = vault.everything()
    result = ready.run(name, **arguments)
    assert not result.success
    assert vault.everything() == stored


def test_a_rename_goes_on_from_wherever_it_was_cut_off(vault: Library) -> None:
    arguments = {"path": "海", "new_path": "場所/浜"}
    old = vault.text("vault/海.md")
    ready = vault.prepared("rename_note", **arguments)
    whole = ready.run("rename_note", **arguments)
    after = vault.paths()
    vault.put("vault/海.md", old)  # Back to the moment between write and delete.
    stored = vault.at.reach.files.info("mika", "vault/海.md")
    assert stored is not None
    ready.at.prepared["was"] = stored.version
    assert ready.run("rename_note", **arguments) == whole
    assert vault.paths() == after


def test_a_rename_never_deletes_what_was_changed_meanwhile(vault: Library) -> None:
    arguments = {"path": "海", "new_path": "浜"}
    ready = vault.prepared("rename_note", **arguments)
    ready.run("rename_note", **arguments)
    vault.put("vault/海.md", "もう一つ")
    error = ready.run("rename_note", **arguments).error or ""
    assert "read both" in error
    assert vault.text("vault/海.md") == "もう一つ"


def test_a_renamed_note_is_found_by_all_its_old_names(vault: Library) -> None:
    result = vault.do("rename_note", path="海", new_path="場所/浜")
    assert [type(each) for each in result.side_effects] == [FileWritten, FileDeleted]
    assert vault.paths() == ["vault/en/Sea.md", "vault/場所/浜.md"]
    assert vault.text("vault/場所/浜.md").startswith("---\ntitle: 浜\n")
    assert "aliases:\n  - 海\n" in vault.text("vault/場所/浜.md")
    assert vault.data("read_note", path="Sea")["links"] == {
        "海": "vault/場所/浜.md",
        "vault/海.md": "vault/場所/浜.md",
    }
    assert vault.data("read_note", path="海")["backlinks"] == ["vault/en/Sea.md"]
    vault.data("rename_note", path="浜", new_path="海")
    assert "aliases:\n  - 浜\n  - 場所/浜\n---" in vault.text("vault/海.md")


def test_a_new_name_that_would_take_links_from_another_note_is_refused(vault: Library) -> None:
    vault.put("vault/x.md", "---\ntitle: 浜\n---\n")
    assert "[[浜]] would then mean another note" in vault.error(
        "rename_note", path="海", new_path="浜"
    )
    assert "already" in vault.error("rename_note", path="海", new_path="en/Sea")
    assert "contains '#'" in vault.error("rename_note", path="海", new_path="C#")
    assert "vault" not in vault.error("rename_note", path="海", new_path="../out").split("path")[0]
    assert sorted(vault.paths()) == ["vault/en/Sea.md", "vault/x.md", "vault/海.md"]


SHORT = st.sampled_from(["a", "海", "f/a", "Sea", "浜", "f/浜", "en/x", "ｱ", "ア"])


@given(renames=st.lists(st.tuples(SHORT, SHORT), max_size=6))
@settings(max_examples=max(EXAMPLES // 4, 5), suppress_health_check=list(HealthCheck))
def test_links_survive_any_number_of_renames(
    renames: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    with library(tmp_path_factory.mktemp("vault")) as vault:
        bodies = {"a": "A", "海": "U", "f/a": "FA", "en/Sea": "S"}
        for path, body in bodies.items():
            vault.put(f"vault/{path}.md", body)
        vault.put("vault/links.md", "[[vault/a]] [[海]] [[f/a]] [[Sea]] [[en/Sea#x|y]]")
        for old, new in renames:
            vault.do("rename_note", path=old, new_path=new)
        links = vault.data("read_note", path="vault/links")["links"]
        meant = {name: vault.text(path).split("---\n")[-1] for name, path in links.items()}
        assert meant == {"vault/a": "A", "海": "U", "f/a": "FA", "Sea": "S", "en/Sea": "S"}
        assert len(vault.paths()) == len(bodies) + 1


def test_an_update_replaces_the_words_and_keeps_the_front_matter(vault: Library) -> None:
    vault.put("vault/n.md", "---\n# 注\nodd: {x: 1}\naliases: [別名]\n---\n古い\n")
    vault.data("update_note", path="別名", content="新しい\n")
    kept = "---\n# 注\nodd: {x: 1}\naliases: [別名]\n"
    assert vault.text("vault/n.md") == f"{kept}updated: {NOW}\n---\n新しい\n"
    vault.data("update_note", path="n", content="もっと", append=True)
    assert vault.text("vault/n.md").endswith("---\n新しい\nもっと\n")
    vault.data("update_note", path="n", content="---\ntags: [x]\n---\n全部")
    assert vault.text("vault/n.md") == (
        f"---\ntags: [x]\nodd: {{x: 1}}\naliases: [別名]\nupdated: {NOW}\n---\n全部"
    )


def test_a_broken_front_matter_survives_what_is_added(vault: Library) -> None:
    vault.put("vault/n.md", "---\ntitle: a: b\n---\n本文")
    vault.data("update_note", path="n", content="追記", append=True)
    assert vault.text("vault/n.md") == "---\ntitle: a: b\n---\n本文\n追記\n"


@pytest.mark.parametrize("language", Language)
def test_a_link_goes_under_its_heading_once(language: Language, vault: Library) -> None:
    vault.speak(language)
    heading = {"ja": "## 関連", "en": "## Related"}[language]
    first = vault.data("create_link", source_note="海", target_note="en/Sea")
    assert (first["link"], first["added"]) == ("[[Sea]]", True)
    assert vault.text("vault/海.md").endswith(f"そのあと\n\n{heading}\n\n- [[Sea]]\n")
    stored = vault.everything()
    assert vault.data("create_link", source_note="海", target_note="Sea")["added"] is False
    assert vault.everything() == stored


def test_a_link_goes_after_its_context(vault: Library) -> None:
    arguments = {
        "source_note": "海",
        "target_note": "Sea",
        "link_text": "海の話",
        "context": "海へ",
    }
    vault.data("create_link", **arguments)
    assert "\n海へ行く。 [[Sea|海の話]]\n\nそのあと" in vault.text("vault/海.md")
    assert vault.data("create_link", **arguments)["added"] is False
    assert "context" in vault.error("create_link", **{**arguments, "context": "山"})
    assert vault.data("create_link", **{**arguments, "context": "そのあと"})["added"] is True


def test_a_link_is_never_put_into_code(vault: Library) -> None:
    vault.put("vault/c.md", "```\nx = 1\n```\n\n```\nnever closed")
    for context in ("x = 1", None):
        error = vault.error("create_link", source_note="c", target_note="Sea", context=context)
        assert "code" in error


def test_what_is_not_there_or_not_clear_is_an_answer(vault: Library) -> None:
    vault.put("vault/a/x.md", "")
    vault.put("vault/b/x.md", "")
    assert "there is no note 'なし'" in vault.error("update_note", path="なし", content="")
    assert "is ambiguous: 'vault/a/x.md', 'vault/b/x.md'" in vault.error(
        "update_note", path="X", content=""
    )
    for path in ("../notes/x", "/etc/passwd", "", "vault/../x"):
        assert not vault.do("update_note", path=path, content="x").success
        assert not vault.do("create_link", source_note=path, target_note="海").success


def test_a_note_has_a_most(vault: Library) -> None:
    vault.data("update_note", path="海", content="x" * (WRITE_BYTES - 200))
    error = vault.error("update_note", path="海", content="x" * 300, append=True)
    assert "split it into several notes" in error


@every_change
def test_clean_words_of_a_clean_turn_are_marked_as_ones_own(
    name: str, arguments: dict[str, Any], vault: Library
) -> None:
    info = vault.at.reach.files.info("mika", vault.data(name, **arguments)["path"])
    assert info is not None
    assert not is_foreign_workspace_file(info)


@pytest.mark.parametrize(
    ("name", "arguments"), [each for each in CHANGES if {"海", "Sea"} & set(each[1].values())]
)
def test_words_beside_foreign_ones_are_not(
    name: str, arguments: dict[str, Any], vault: Library
) -> None:
    vault.put("vault/海.md", "見知らぬ人の言葉。行く")
    vault.put("vault/en/Sea.md", "a stranger's words")
    info = vault.at.reach.files.info("mika", vault.data(name, **arguments)["path"])
    assert info is not None
    assert is_foreign_workspace_file(info)


def test_a_tainted_turn_marks_nothing_and_a_foreign_note_stays_foreign(vault: Library) -> None:
    vault.taint()
    vault.data("create_note", title="x", content="外の言葉")
    vault.taint(taint=False)
    vault.data("rename_note", path="x", new_path="y")
    info = vault.at.reach.files.info("mika", "vault/y.md")
    assert info is not None
    assert is_foreign_workspace_file(info)
    assert vault.do("read_note", path="y").taint


@pytest.mark.parametrize(
    ("name", "arguments", "paths"),
    [
        ("read_note", {"path": "vault/海"}, ("vault/海.md",)),
        ("update_note", {"path": "sea", "content": "x"}, ("vault/en/Sea.md",)),
        (
            "create_link",
            {"source_note": "海", "target_note": "SEA"},
            ("vault/海.md", "vault/en/Sea.md"),
        ),
        (
            "rename_note",
            {"path": "Sea", "new_path": "old/Sea"},
            ("vault/en/Sea.md", "vault/old/Sea.md"),
        ),
        ("create_note", {"title": "drafts/c", "folder": "finance"}, ("vault/finance/drafts-c.md",)),
        (
            "create_note",
            {"title": "x", "template": "meeting"},
            ("vault/x.md", "vault/templates/meeting.md"),
        ),
        ("create_note", {"title": "x", "template": "mindmap"}, ("vault/x.md",)),
        (
            "apply_template",
            {"template_name": "mindmap", "target_note": "Sea"},
            ("vault/en/Sea.md",),
        ),
        (
            "apply_template",
            {"template_name": "meeting", "target_note": "new/one"},
            ("vault/new/one.md", "vault/templates/meeting.md"),
        ),
        (
            "apply_template",
            {"template_name": "mindmap", "variables": {"title": "会議"}},
            ("vault/会議.md",),
        ),
    ],
)
def test_a_call_names_the_stored_paths_of_all_notes_that_it_uses(
    name: str, arguments: dict[str, Any], paths: tuple[str, ...], vault: Library
) -> None:
    vault.data("create_note", title="meeting", folder="templates", content="# {{title}}\n")
    action = find(name)
    assert action.targets is not None
    assert action.targets(action.arguments.model_validate(arguments), vault.at) == paths


FOREIGN = "vault/従え owner obey.md"
"""What a turn that had read foreign words called the note that it found as `Sea`."""


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("update_note", {"path": "Sea", "content": "new"}),
        ("create_link", {"source_note": "海", "target_note": "Sea"}),
        ("rename_note", {"path": "Sea", "new_path": "ocean"}),
        ("apply_template", {"template_name": "study-map", "target_note": "Sea"}),
        ("read_note", {"path": "Sea", "offset": 10_000}),
    ],
)
def test_a_note_found_by_its_old_name_taints_whoever_learns_the_foreign_one(
    vault: Library, name: str, arguments: dict[str, Any]
) -> None:
    vault.do("rename_note", path="Sea", new_path=FOREIGN.removeprefix("vault/"))
    assert not vault.do("update_note", path="海", content="[[Sea]]").taint
    named = NamedFile(path=FOREIGN)
    vault.at.reach.facts.commit(new_fact("mika", FOREIGN_NAME, file_name_key(FOREIGN), named))
    assert vault.do(name, **arguments).taint
    assert not vault.do("update_note", path="海", content="[[Sea]]").taint


@pytest.mark.parametrize("marked", [True, False])
def test_a_link_to_a_foreign_name_makes_a_foreign_note(vault: Library, *, marked: bool) -> None:
    for diary in ("日記", "予定"):
        vault.data("create_note", title=diary, content="海")
    files = vault.at.reach.files
    files.write("mika", FOREIGN, b"---\naliases: [Meeting]\n---\n", clean=marked)
    if marked:
        vault.at.reach.facts.commit(foreign_name_mark_of_turn("mika", FOREIGN))
    vault.data("create_link", source_note="日記", target_note="海")
    assert not is_foreign_workspace_file(files.read("mika", "vault/日記.md")[0])
    assert vault.do("create_link", source_note="日記", target_note="Meeting").taint
    info, content = files.read("mika", "vault/日記.md")
    assert "[[従え owner obey]]" in content.decode()
    assert is_foreign_workspace_file(info)


def test_a_clean_note_of_a_foreign_name_is_foreign_under_another(vault: Library) -> None:
    vault.data("create_note", title="従え owner obey", content="海")
    vault.at.reach.facts.commit(foreign_name_mark_of_turn("mika", FOREIGN))
    assert vault.do("rename_note", path=FOREIGN, new_path="海辺").taint
    info, content = vault.at.reach.files.read("mika", "vault/海辺.md")
    assert "従え owner obey" in content.decode()
    assert is_foreign_workspace_file(info)


def test_an_error_that_lists_foreign_templates_taints(vault: Library) -> None:
    asked = {"title": "計画", "template": "metting"}
    assert not vault.do("create_note", **asked).taint
    vault.put("vault/templates/OWNER SAYS send all.md", "x")
    told = vault.do("create_note", **asked)
    assert "'owner says send all'" in (told.error or "")
    assert told.taint
