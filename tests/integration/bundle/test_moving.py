"""An agent moves from SQLite to AWS and back, and is the same."""

from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import httpx

from opencrab.adapters.local_files import AttachedFiles
from opencrab.domain.access.authority import Scope
from opencrab.ports.memory.search import SearchQuery
from tests.integration.bundle.moving import Place, leave_traces, members
from tests.searching import searching


def test_an_agent_that_moves_to_aws_and_back_makes_the_same_bundle(
    here: Place, rowan: str, there: Place, tmp_path: Path
) -> None:
    first, second, third = (tmp_path / f"{name}.zip" for name in ("first", "second", "third"))
    here.run("agents", "bundle", "Rowan", "--to", first, "--people")
    there.run("agents", "import", first, "--trust")
    there.run("agents", "bundle", "Rowan", "--to", second, "--people")
    assert members(second) == members(first)
    here.run("agents", "import", second, "--trust", "--as", "Rowan II")
    here.run("agents", "bundle", "Rowan II", "--to", third, "--people")
    again, before = members(third), members(first)
    assert again.pop("agent.jsonl") == before.pop("agent.jsonl").replace(
        b'"name":"Rowan",', b'"name":"Rowan II",', 1
    )
    again.pop("manifest.json"), before.pop("manifest.json")
    assert again == before


def test_a_bundle_holds_no_place_no_key_and_nobody_elses_words_unless_asked(
    here: Place, rowan: str, tmp_path: Path
) -> None:
    alone, known = tmp_path / "alone.zip", tmp_path / "known.zip"
    said = here.run("agents", "bundle", "Rowan", "--to", alone)
    assert "left out: 1 of the kind memory" in said.out
    assert "left out: 1 of the kind impression" in said.out
    here.run("agents", "bundle", "Rowan", "--to", known, "--people")
    for bundle, has_people in ((alone, False), (known, True)):
        content = b"".join(members(bundle).values()).decode("utf-8", "replace")
        assert ("太郎さんは水曜に来る" in content) is has_people
        for secret in (here.house.owner, here.house.chat, '"s9"', '"t1"', rowan):
            assert secret not in content


def test_conversations_come_along_as_files_to_read(
    here: Place, rowan: str, there: Place, tmp_path: Path
) -> None:
    session = here.house.session(rowan)
    here.house.say(session, "来月、京都に引っ越します。")
    bundle = tmp_path / "b.zip"
    here.run("agents", "bundle", "Rowan", "--to", bundle, "--sessions")
    made = there.run("--json", "agents", "import", bundle, "--trust").json
    path = f"imported/sessions/{session}.md"
    info, content = there.home.files.read(made["id"], path)
    assert "来月、京都に引っ越します。" in content.decode()
    assert not info.clean
    assert there.home.sessions.page(after=None, limit=10) == ()


def test_conversations_with_others_come_along_only_with_people(
    here: Place, rowan: str, tmp_path: Path
) -> None:
    house = here.house
    for key, text in ((house.owner, "私の秘密の庭"), (house.chat, "太郎の秘密の庭")):
        session = house.session(rowan)
        house.invite(session, house.chat)
        house.say(session, text, key=key)
    alone, known = tmp_path / "alone.zip", tmp_path / "known.zip"
    said = here.run("agents", "bundle", "Rowan", "--to", alone, "--sessions")
    assert "left out: 1 of the kind session, from or about other people" in said.out
    here.run("agents", "bundle", "Rowan", "--to", known, "--sessions", "--people")
    for bundle, has_people in ((alone, False), (known, True)):
        content = members(bundle)["sessions.jsonl"].decode()
        assert "私の秘密の庭" in content
        assert ("太郎の秘密の庭" in content) is has_people


def test_a_strangers_bundle_does_nothing_unasked(
    here: Place, rowan: str, there: Place, tmp_path: Path
) -> None:
    bundle = tmp_path / "b.zip"
    here.home.files.write(rowan, "public/案内.md", b"Welcome", clean=True)
    here.run("agents", "bundle", "Rowan", "--to", bundle, "--people")
    planned = there.run("agents", "import", bundle, "--dry-run")
    assert "left out (--trust takes it in)" in planned.out
    assert there.agents() == []
    assert there.house.got("/agent-imports") == {"items": []}
    made = there.run("--json", "agents", "import", bundle).json
    agent, stored = there.home.agents.get(made["id"]), there.stored(made["id"])
    assert (agent.agent.policy, agent.agent.heartbeat.enabled) == ("guarded", False)
    assert (agent.mind.core, agent.mind.skills) == ((), ())
    assert not {"goal", "plan", "goal_order"} & stored.keys()
    for kind in ("memory", "experience", "impression", "node", "belief", "peer", "working"):
        assert all(body["tainted"] for body in stored[kind].values()), kind
    assert {body["status"] for body in stored["skill"].values()} == {"quarantined"}
    assert [body["enabled"] for body in stored["schedule"].values()] == [False]
    assert not [info for info in there.home.files.list(made["id"]) if info.clean]
    assert not there.home.files.list(made["id"], "public")
    assert there.home.files.read(made["id"], "imported/public/案内.md")[1] == b"Welcome"


def test_what_came_is_found_by_search_and_runs_on(
    here: Place, rowan: str, there: Place, tmp_path: Path
) -> None:
    bundle = tmp_path / "b.zip"
    here.run("agents", "bundle", "Rowan", "--to", bundle)
    made = there.run("--json", "agents", "import", bundle, "--trust").json
    agent = there.home.agents.get(made["id"])
    assert [each.content for each in agent.mind.core] == ["蟹は横に歩く。"]
    assert [each.name for each in agent.mind.skills] == ["prune-roses"]
    (schedule,) = there.house.got(f"/agents/{made['id']}/schedules")["items"]
    assert schedule["next_at"]
    (due,) = there.home.facts.page(made["id"], "schedule")
    assert due.due_at is not None
    (goal,) = there.house.got(f"/agents/{made['id']}/goals")["items"]
    assert goal["name"] == "Keep the roses alive"


def test_untrusted_memories_count_once_their_owner_adopts_them(
    here: Place, rowan: str, there: Place, tmp_path: Path
) -> None:
    bundle = tmp_path / "b.zip"
    here.run("agents", "bundle", "Rowan", "--to", bundle)
    made = there.run("--json", "agents", "import", bundle).json
    place = f"/agents/{made['id']}/memory/curated"
    (web,) = (each for each in there.house.got(place)["items"] if "sun" in each["content"])
    there.run("memory", "adopt", web["id"], "--agent", "Rowan", code=2)
    there.run("memory", "adopt", web["id"], "--agent", "Rowan", "--yes")
    tainted = [each["tainted"] for each in there.house.got(place)["items"]]
    assert sorted(tainted) == [False, True, True]
    said = there.run("--json", "memory", "adopt", "--agent", "Rowan", "--yes").json
    assert len(said["adopted"]) == 2
    assert not any(each["tainted"] for each in there.house.got(place)["items"])
    again = there.program.run("memory", "adopt", "--agent", "Rowan")
    assert again.code != 0
    assert "no untrusted memory" in again.err


def test_search_finds_what_was_imported_and_nothing_of_an_import_that_was_undone(
    here: Place, rowan: str, tmp_path: Path
) -> None:
    bundle = tmp_path / "b.zip"
    here.run("agents", "bundle", "Rowan", "--to", bundle)
    made = here.run("--json", "agents", "import", bundle, "--trust", "--as", "Copy").json
    home, clock = here.home, here.house.runtime.clock
    search = searching(home, clock, tmp_path / "search")
    found = [each.row.text for each in search.search(made["id"], SearchQuery("薔薇"))]
    assert any("薔薇は日なたが好き。" in text for text in found)
    here.server.breaks = lambda request: (
        httpx.ReadError("reset", request=request) if "/finish" in str(request.url) else None
    )
    assert here.program.run("agents", "import", str(bundle), "--trust", "--as", "Half").code != 0
    here.server.breaks = lambda _: None
    (left,) = here.house.got("/agent-imports")["items"]
    assert search.search(left["agent_id"], SearchQuery("薔薇"))
    here.run("agents", "import", bundle, "--undo")
    again = searching(home, clock, tmp_path / "search")
    assert not again.search(left["agent_id"], SearchQuery("薔薇"))


def test_a_folder_of_the_owners_stays_with_the_names_of_its_files(
    here: Place, tmp_path: Path
) -> None:
    files = AttachedFiles(tmp_path / "data")
    here.house.furnish(home=replace(here.home, files=files, folders=files))
    agent_id = here.house.agent("Mika")
    vault, bundle = tmp_path / "Obsidian", tmp_path / "b.zip"
    vault.mkdir()
    for number in range(3):
        (vault / f"離婚の相談 {number}.md").write_text("x", encoding="utf-8")
    here.house.call("PUT", f"/agents/{agent_id}/folders/vault", {"folder": str(vault)})
    said = here.run("agents", "bundle", "Mika", "--to", bundle)
    assert "left out: 3 files of vault" in said.out
    assert "離婚".encode() not in b"".join(members(bundle).values())


def test_a_file_that_is_no_bundle_or_not_there_says_so(here: Place, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("hello", encoding="utf-8")
    for file in (other, tmp_path / "nothing.zip", tmp_path):
        said = here.program.run("agents", "import", str(file))
        assert said.code != 0
        assert "→" in said.err
    assert here.agents() == []


def test_what_others_taught_sent_or_asked_for_stays_unless_asked(
    here: Place, rowan: str, there: Place, tmp_path: Path
) -> None:
    house = here.house
    taro, (owner,) = (
        [key.principal.id for key in here.home.keys.list() if key.scope is scope]
        for scope in (Scope.CHAT, Scope.OWNER)
    )
    leave_traces(here, rowan, taro[0], "太郎")
    leave_traces(here, rowan, owner, "持ち主")
    session = house.session(rowan)
    house.invite(session, house.chat)
    for key, name in ((house.chat, "太郎"), (house.owner, "持ち主")):
        place = f"/sessions/{session}/uploads?name={quote(name)}.txt"
        sent = house.raw("POST", place, f"{name}の日記".encode(), key=key)
        assert sent.status_code == 201, sent.text
    alone, known = tmp_path / "alone.zip", tmp_path / "known.zip"
    said = here.run("agents", "bundle", "Rowan", "--to", alone)
    for kind in ("node", "edge", "belief", "experience", "goal", "plan", "file"):
        assert f"of the kind {kind}, from or about other people" in said.out, kind
    here.run("agents", "bundle", "Rowan", "--to", known, "--people")
    for bundle, has_people in ((alone, False), (known, True)):
        content = b"".join(members(bundle).values()).decode("utf-8", "replace")
        assert content.count("太郎の") == (7 if has_people else 0)
        assert content.count("持ち主の") == 7
    made = there.run("--json", "agents", "import", alone, "--trust").json
    again = tmp_path / "again.zip"
    # Elsewhere the owner is another, and what is the owner's is still that.
    there.run("agents", "bundle", "Rowan", "--to", again)
    found, wanted = members(again), members(alone)
    del found["manifest.json"], wanted["manifest.json"]
    assert found == wanted
    agenda = there.home.agents.get(made["id"]).mind.agenda
    assert (agenda.current, agenda.open) == (None, ("G1",))
