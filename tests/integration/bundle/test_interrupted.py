"""Imports that are interrupted anywhere: nobody sees half an agent; each is continued or undone."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from opencrab.domain.document import new_fact
from opencrab.domain.errors import Unavailable
from opencrab.domain.skills.skill import SKILL, AcquiredSkill, SourceType
from opencrab.engine.bundle.importing import list_agent_imports
from opencrab.engine.bundle.undo import undo_agent_import
from tests.integration.bundle.conftest import NOW
from tests.integration.bundle.moving import Place, members
from tests.soak import SOAK


@pytest.fixture
def bundle(here: Place, rowan: str, tmp_path: Path) -> Path:
    """The bundle of an agent."""
    target = tmp_path / "rowan.zip"
    here.run("agents", "bundle", "Rowan", "--to", target, "--people")
    return target


def _failing_at(
    number: int, *, after: bool, place: Place
) -> Callable[[httpx.Request], Exception | None]:
    """Lose the connection once, at a request that writes: before it, or before its answer."""
    seen = 0

    def breaks(request: httpx.Request) -> Exception | None:
        nonlocal seen
        if request.method == "GET":
            return None
        seen += 1
        if seen != number:
            return None
        if after:
            place.server.breaks = lambda _: None
            place.server.handle(request)
        return httpx.ReadError("connection reset", request=request)

    return breaks


def _writes(place: Place) -> int:
    return sum(request.method != "GET" for request in place.server.requests)


@pytest.mark.parametrize("after", [False, True])
def test_a_connection_lost_at_any_request_is_continued_by_the_same_command(
    here: Place, bundle: Path, there: Place, tmp_path: Path, *, after: bool
) -> None:
    there.run("agents", "import", bundle, "--trust", "--as", "All at once")
    count = _writes(there)
    again = tmp_path / "again.zip"
    for number in range(2, count + 1, 1 if SOAK else 3):
        name = f"Rowan {number}{after}"
        there.server.breaks = _failing_at(number, after=after, place=there)
        said = there.program.run("agents", "import", str(bundle), "--trust", "--as", name)
        there.server.breaks = lambda _: None
        assert said.code != 0, said.out
        assert "--undo" in said.err or number == 2
        is_there = name in there.agents()
        assert not is_there or (after and number == count)
        if is_there:
            continue
        there.run("agents", "import", bundle, "--trust", "--as", name)
        there.run("agents", "bundle", name, "--to", again, "--people", "--force")
        found, wanted = members(again), members(bundle)
        del found["agent.jsonl"], wanted["agent.jsonl"]
        del found["manifest.json"], wanted["manifest.json"]
        assert found == wanted
    assert there.house.got("/agent-imports") == {"items": []}


def test_an_interrupted_import_can_be_undone_at_each_request(bundle: Path, here: Place) -> None:
    here.run("agents", "import", bundle, "--trust", "--as", "All at once")
    for number in range(3, _writes(here), 1 if SOAK else 3):
        here.server.breaks = _failing_at(number, after=True, place=here)
        here.program.run("agents", "import", str(bundle), "--trust", "--as", "Half")
        here.server.breaks = lambda _: None
        (left,) = here.house.got("/agent-imports")["items"]
        here.run("agents", "import", bundle, "--undo")
        assert here.stored(left["agent_id"]) == {}
        assert here.home.files.list(left["agent_id"]) == ()
        assert here.house.got("/agent-imports") == {"items": []}
    assert sorted(here.agents()) == ["All at once", "Rowan"]


@pytest.mark.parametrize("home", ["here", "there"])
def test_a_store_that_fails_at_any_write_leaves_nothing_half_done(
    bundle: Path, home: str, request: pytest.FixtureRequest
) -> None:
    place: Place = request.getfixturevalue(home)
    whole = _Failing(place, 10**9)
    place.run("agents", "import", bundle, "--trust", "--as", "All at once")
    count = whole.stop()
    assert count > 20
    for number in range(1, count + 1, 1 if SOAK else 7):
        name = f"Rowan {number}"
        failing = _Failing(place, number)
        said = place.program.run("agents", "import", str(bundle), "--trust", "--as", name)
        failing.stop()
        if said.code == 0:
            continue
        assert name not in place.agents() or number > count - 6
        place.run("agents", "import", bundle, "--trust", "--as", name)
        assert name in place.agents()
    assert place.house.got("/agent-imports") == {"items": []}


class _Failing:
    """Makes the n-th write of documents or files fail, as a full disk or a throttled table."""

    def __init__(self, place: Place, number: int) -> None:
        self._place, self._left, self.seen = place, number, 0
        self._before = place.house.runtime
        home = self._before.home
        outer = self

        class Facts:
            def __getattr__(self, name: str) -> Any:
                return getattr(home.facts, name)

            def commit(self, *facts: Any, **more: Any) -> None:
                outer.count()
                home.facts.commit(*facts, **more)

        class Files:
            def __getattr__(self, name: str) -> Any:
                return getattr(home.files, name)

            def write(self, *given: Any, **more: Any) -> Any:
                outer.count()
                return home.files.write(*given, **more)

        facts, files = cast("Any", Facts()), cast("Any", Files())
        place.house.furnish(home=replace(home, facts=facts, files=files))

    def count(self) -> None:
        """Fail at the write that was asked for."""
        self.seen += 1
        if self.seen == self._left:
            raise Unavailable("the disk is full", cure="make room")

    def stop(self) -> int:
        """Work again; the number of writes that were seen."""
        self._place.house.furnish(home=self._before.home)
        return self.seen


def test_what_the_server_refuses_is_undone_at_once(here: Place, rowan: str, tmp_path: Path) -> None:
    taken = AcquiredSkill(
        name="ws-write",
        description="x",
        guidance="x",
        source_type=SourceType.EXPERIENCE,
        created_at=NOW,
        updated_at=NOW,
    )
    here.home.facts.commit(new_fact(rowan, SKILL, taken.name, taken))
    bundle = tmp_path / "b.zip"
    here.run("agents", "bundle", "Rowan", "--to", bundle)
    said = here.program.run("agents", "import", str(bundle), "--trust", "--as", "Other")
    assert said.code != 0
    assert "ws-write" in said.err
    assert here.agents() == ["Rowan"]
    assert here.house.got("/agent-imports") == {"items": []}


def test_what_stopped_after_the_agent_was_there_is_finished_however_it_lived_since(
    here: Place, bundle: Path
) -> None:
    home = here.home
    whole = here.house.runtime

    class Facts:
        def __getattr__(self, name: str) -> Any:
            return getattr(home.facts, name)

        def commit(self, *facts: Any, **more: Any) -> None:
            if any(fact.kind == "agent_import" and fact.body is None for fact in facts):
                raise Unavailable("the computer stopped", cure="start it")
            home.facts.commit(*facts, **more)

    here.house.furnish(home=replace(home, facts=cast("Any", Facts())))
    said = here.program.run("agents", "import", str(bundle), "--trust", "--as", "Copy")
    here.house.furnish(home=whole.home)
    assert said.code != 0
    (left,) = here.house.got("/agent-imports")["items"]
    assert "Copy" in here.agents()
    home.files.write(left["agent_id"], "notes/new.md", b"since then", clean=True)
    here.run("agents", "edit", "Copy", "--purpose", "別の目的")
    here.run("agents", "import", bundle, "--trust", "--as", "Copy")
    assert here.house.got("/agent-imports") == {"items": []}
    assert home.agents.get(left["agent_id"]).agent.purpose == "別の目的"
    assert home.files.read(left["agent_id"], "notes/new.md")[1] == b"since then"


class _Between:
    """Undoes an import once, right before a given write of it; other calls pass."""

    def __init__(self, place: Place, port: str, method: str, kind: str = "") -> None:
        self._place, self._whole = place, place.house.runtime
        self._method, self._kind, self.undone = method, kind, 0
        self._target: Any = getattr(self._whole.home, port)
        ports: dict[str, Any] = {port: self}
        place.house.furnish(home=replace(self._whole.home, **ports))

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self._target, name)
        if name != self._method:
            return inner

        def call(*arguments: Any, **named: Any) -> Any:
            kinds = {getattr(each, "kind", "") for each in arguments}
            if not self.undone and (not self._kind or self._kind in kinds):
                self.undone += 1
                for each in tuple(list_agent_imports(self._whole)):
                    undo_agent_import(self._whole, each.id)
            return inner(*arguments, **named)

        return call


@pytest.mark.parametrize("write", [("facts", "commit", "memory"), ("files", "write", "")])
@pytest.mark.parametrize("home", ["here", "there"])
def test_what_comes_while_an_import_is_undone_leaves_no_rows(
    bundle: Path, home: str, write: tuple[str, str, str], request: pytest.FixtureRequest
) -> None:
    place: Place = request.getfixturevalue(home)
    whole = place.house.runtime
    began = list[str]()

    def begun(_request: httpx.Request) -> None:
        began.extend(each.agent_id for each in list_agent_imports(whole))

    place.server.breaks = begun
    between = _Between(place, *write)
    said = place.program.run("agents", "import", str(bundle), "--trust", "--as", "Half")
    place.house.furnish(home=whole.home)
    assert between.undone
    assert said.code != 0
    assert "Half" not in place.agents()
    assert place.house.got("/agent-imports") == {"items": []}
    assert set(began)
    for agent_id in set(began):
        assert place.stored(agent_id) == {}


@pytest.mark.parametrize(
    ("language", "words"), [("en", ("begun", "no import is")), ("ja", ("開始", "途中で終わった"))]
)
def test_an_import_that_nobody_continues_is_listed_and_removed(
    bundle: Path, here: Place, language: str, words: tuple[str, str]
) -> None:
    here.server.breaks = _failing_at(4, after=True, place=here)
    here.program.run("agents", "import", str(bundle), "--trust", "--as", "半分")
    here.server.breaks = lambda _: None
    (left,) = here.house.got("/agent-imports")["items"]
    listed = here.run("--language", language, "agents", "imports").out
    assert words[0] in listed
    assert "半分" in listed
    assert left["id"] in listed
    bundle.unlink()
    here.run("agents", "imports", "--remove", left["id"][:8])
    assert here.stored(left["agent_id"]) == {}
    assert words[1] in here.run("--language", language, "agents", "imports").out
    assert here.run("--json", "agents", "imports").json == []
