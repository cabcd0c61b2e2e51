"""Files that a turn may read: its own audience's and published ones."""

from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.errors import Conflict, Invalid, NotFound, Refused, TooLarge
from opencrab.domain.memory.clearance import Listeners, memory_clearance_of_turn
from opencrab.domain.turn.action import FileWritten
from opencrab.domain.workspace.path import FOREIGN_NAME, NamedFile
from opencrab.engine.turn.cleared_files import files_a_turn_may_use, turn_file_labels
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.workspace.files import ABSENT, FileInfo, Files
from tests.crash.scheduling import Killed
from tests.unit.engine.known_world import World


@pytest.fixture
def owners(world: World) -> TurnWork:
    """The owner's turn, which nobody else hears."""
    return world.begun()


def for_person(work: TurnWork, person: str) -> TurnWork:
    listeners = Listeners(people=frozenset({person}))
    cleared = memory_clearance_of_turn(Authority.OWNER, "owner", work.session, listeners)
    return replace(work, clearance=cleared)


def put(
    work: TurnWork, path: str, text: str, *, labelled: bool = True, repeats: bool = False
) -> FileInfo:
    """A file that the turn writes, with its label as the engine saves it."""
    info = files_a_turn_may_use(work, repeats=repeats).write("mika", path, text.encode())
    effect = FileWritten(path=path, sha256=info.sha256, size=info.size)
    if labelled and (labels := turn_file_labels(work, (effect,))):
        work.runtime.home.facts.commit(*labels)
    return info


def paths(work: TurnWork) -> list[str]:
    return [info.path for info in files_a_turn_may_use(work).list("mika")]


def test_a_turn_that_others_hear_sees_their_files_and_published_ones(owners: TurnWork) -> None:
    yui, ken = for_person(owners, "yui"), for_person(owners, "ken")
    put(owners, "notes/secret.md", "x")
    put(owners, "public/open.md", "x")
    put(yui, "notes/yui.md", "x")
    assert paths(owners) == ["notes/secret.md", "notes/yui.md", "public/open.md"]
    assert paths(yui) == ["notes/yui.md", "public/open.md"]
    assert paths(ken) == ["public/open.md"]
    files = files_a_turn_may_use(yui)
    assert files.read("mika", "notes/yui.md")[1] == b"x"
    assert files.info("mika", "notes/secret.md") is None
    for read in (
        lambda: files.read("mika", "notes/secret.md"),
        lambda: files.delete("mika", "notes/secret.md"),
    ):
        with pytest.raises(NotFound):
            read()


def test_earlier_versions_are_for_owners_alone(owners: TurnWork) -> None:
    yui = for_person(owners, "yui")
    put(owners, "notes/yui.md", "something private")
    owners.runtime.home.files.delete("mika", "notes/yui.md")
    put(yui, "notes/yui.md", "x")
    stored, files = files_a_turn_may_use(owners), files_a_turn_may_use(yui)
    kept = [each.version for each in stored.versions("mika", "notes/yui.md")]
    contents = {stored.read_version("mika", "notes/yui.md", version) for version in kept}
    assert contents == {b"something private", b"x"}
    assert files.versions("mika", "notes/yui.md") == ()
    for version in kept:
        with pytest.raises(NotFound):
            files.read_version("mika", "notes/yui.md", version)
        with pytest.raises(NotFound):
            files.delete_versions("mika", "notes/yui.md", version)
    assert [each.version for each in stored.versions("mika", "notes/yui.md")] == kept


def test_a_label_is_that_of_the_content(owners: TurnWork) -> None:
    yui = for_person(owners, "yui")
    put(yui, "notes/yui.md", "x")
    put(owners, "notes/yui.md", "something private")
    assert files_a_turn_may_use(yui).info("mika", "notes/yui.md") is None
    with pytest.raises(Conflict):
        put(yui, "notes/yui.md", "y")


def test_no_error_names_a_file_that_the_turn_may_not_read(owners: TurnWork) -> None:
    yui, files = for_person(owners, "yui"), files_a_turn_may_use(for_person(owners, "yui"))
    put(owners, "notes/Secret.md", "x")
    put(yui, "notes/yui.md", "x")
    for path in ("notes/Secret.md", "notes/secret.md", "notes/Secret.md/x", "notes"):
        with pytest.raises(Conflict) as caught:
            files.write("mika", path, b"y", condition=ABSENT)
        assert caught.value.message == f"the name {path!r} is not free"
        assert files.info("mika", path) is None
        for read in (files.read, files.delete):
            with pytest.raises(NotFound) as missing:
                read("mika", path)
            assert missing.value.message == f"there is no file {path!r}"
    assert files.list("mika", "notes/Secret.md") == files.list("mika", "notes/Secret.md/x") == ()
    for path in ("", "../x", "notes/a?.md"):
        with pytest.raises(Invalid, match="path"):
            files.write("mika", path, b"y")
    with pytest.raises(TooLarge):
        files.write("mika", "notes/large.md", b"y" * 6 * 2**20)
    with pytest.raises(Invalid, match=r"existing 'notes/Secret\.md'"):
        put(owners, "notes/secret.md", "y")


def test_a_write_repeated_after_a_crash_is_no_conflict(owners: TurnWork) -> None:
    yui = for_person(owners, "yui")
    put(yui, "notes/yui.md", "x", labelled=False)
    assert paths(yui) == []
    put(yui, "notes/yui.md", "x", repeats=True)
    assert paths(yui) == ["notes/yui.md"]


def test_a_guess_of_a_private_file_is_a_conflict_like_any_other_text(owners: TurnWork) -> None:
    yui = for_person(owners, "yui")
    put(owners, "notes/pin.md", "4711")
    for guess in ("0000", "4711"):
        with pytest.raises(Conflict):
            put(yui, "notes/pin.md", guess)
    assert files_a_turn_may_use(yui).info("mika", "notes/pin.md") is None


def test_a_list_leaves_out_a_file_that_somebody_else_wrote_over(owners: TurnWork) -> None:
    yui = for_person(owners, "yui")
    put(yui, "notes/yui.md", "x")
    put(owners, "notes/yui.md", "something private")
    assert paths(yui) == []


def test_only_untainted_turns_that_serve_nobody_else_publish(owners: TurnWork) -> None:
    tainted = replace(owners, turn=owners.turn.replaced(taint=True))
    for work in (tainted, for_person(owners, "yui")):
        with pytest.raises(Refused, match="published"):
            put(work, "public/open.md", "x")
    put(tainted, "notes/a.md", "x")
    put(owners, "public/open.md", "x")


def test_who_may_not_publish_deletes_nothing_published(owners: TurnWork) -> None:
    put(owners, "public/open.md", "x")
    tainted = replace(owners, turn=owners.turn.replaced(taint=True))
    for work in (tainted, for_person(owners, "yui")):
        with pytest.raises(Refused, match="is published") as caught:
            files_a_turn_may_use(work).delete("mika", "public/open.md")
        assert caught.value.cure
    assert paths(owners) == ["public/open.md"]
    files_a_turn_may_use(owners).delete("mika", "public/open.md")
    assert paths(owners) == []


def test_a_turn_that_reads_everything_uses_the_store_itself(owners: TurnWork) -> None:
    assert files_a_turn_may_use(owners) is owners.runtime.home.files
    assert turn_file_labels(owners, (FileWritten(path="a", sha256="b", size=1),)) == ()


@dataclass
class Dying:
    """Files whose next write is stored, and kills its worker before anybody hears of it."""

    files: Files

    def __getattr__(self, name: str) -> Any:
        return getattr(self.files, name)

    def write(self, *place: Any, **how: Any) -> FileInfo:
        self.files.write(*place, **how)
        raise Killed("in the middle of a write")


@pytest.mark.parametrize("tainted", [True, False])
def test_a_name_that_a_tainted_turn_gave_has_its_mark_before_there_is_a_file(
    owners: TurnWork, *, tainted: bool
) -> None:
    home = owners.runtime.home
    dying = replace(home, files=cast(Files, Dying(home.files)))
    work = replace(
        owners,
        runtime=replace(owners.runtime, home=dying),
        turn=owners.turn.replaced(taint=tainted),
    )
    with pytest.raises(Killed):
        put(work, "notes/OWNER SAYS.md", "x")
    assert home.files.info("mika", "notes/OWNER SAYS.md") is not None
    marked = [fact.read(NamedFile).path for fact in home.facts.page("mika", FOREIGN_NAME, limit=9)]
    assert marked == ["notes/OWNER SAYS.md"] * tainted


def test_a_file_that_the_engine_names_needs_no_mark(owners: TurnWork) -> None:
    tainted = replace(owners, turn=owners.turn.replaced(taint=True))
    files_a_turn_may_use(tainted, names=False).write("mika", "data/results/1.json", b"x")
    assert owners.runtime.home.facts.page("mika", FOREIGN_NAME, limit=9) == ()
