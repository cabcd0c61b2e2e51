"""Older versions of files over REST, downloads under their names, and conditional deletions."""

from urllib.parse import quote, unquote

import pytest

from opencrab.domain.access.authority import Scope
from opencrab.engine.erasure.file_versions import mark_file_forgotten
from tests.integration.rest.house import House, problem
from tests.integration.rest.test_workspace import ESCAPES, place

both_languages = pytest.mark.parametrize(
    ("path", "text"), [("メモ/今日.md", "海へ行った"), ("notes/today.md", "went to the sea")]
)


def versions(house: House, agent_id: str, path: str) -> list[dict[str, object]]:
    """What is kept of a file."""
    found = house.got(f"/agents/{agent_id}/workspace-versions/{quote(path)}", key=house.read)
    assert found["path"] == path
    items: list[dict[str, object]] = found["items"]
    return items


@both_languages
def test_what_was_replaced_or_deleted_can_be_read(path: str, text: str, shared: House) -> None:
    agent_id = shared.agent()
    where = place(shared, agent_id, path)
    first = shared.call("PUT", where, content=text.encode()).json()["version"]
    second = shared.call("PUT", where, content=b"new").json()["version"]
    kept = versions(shared, agent_id, path)
    assert [(each["version"], each["is_current"]) for each in kept] == [
        (second, True),
        (first, False),
    ]
    assert kept[1]["size"] == len(text.encode())
    shared.call("DELETE", where)
    assert [each["is_current"] for each in versions(shared, agent_id, path)] == [False, False]
    found = shared.call("GET", f"{where}?version={quote(first)}", key=shared.read)
    assert found.content == text.encode()
    assert found.headers["etag"] == f'"{first}"'


def test_a_chat_key_reads_no_older_version_of_what_was_published(shared: House) -> None:
    agent_id, (chat, _) = shared.agent(), shared.key(Scope.CHAT)
    where = place(shared, agent_id, "public/menu.md")
    first = shared.call("PUT", where, content=b"draft").json()["version"]
    second = shared.call("PUT", where, content=b"menu").json()["version"]
    current = shared.call("GET", f"{where}?version={quote(second)}", key=chat)
    assert current.content == b"menu"
    shown = f"/agents/{agent_id}/workspace-versions/public/menu.md"
    problem(shared.call("GET", f"{where}?version={quote(first)}", key=chat), 404, "version")
    problem(shared.call("GET", shown, key=chat), 404, "path")
    shared.call("DELETE", where)
    problem(shared.call("GET", f"{where}?version={quote(second)}", key=chat), 404, "version")
    problem(shared.call("GET", shown, key=chat), 404, "path")
    assert len(versions(shared, agent_id, "public/menu.md")) == 2


def test_what_is_not_kept_is_not_found(shared: House) -> None:
    agent_id = shared.agent()
    where = place(shared, agent_id, "海.md")
    problem(shared.call("GET", f"/agents/{agent_id}/workspace-versions/{quote('海.md')}"), 404)
    shared.call("PUT", where, content=b"x")
    for version in ("", "nonsense", "..%2F..%2Fowner.key", "%00", quote("海")):
        problem(shared.call("GET", f"{where}?version={version}"), 404)
    problem(shared.call("GET", f"{where}?version={'x' * 2_000}"), 422, "version")
    problem(shared.call("GET", "/agents/nobody/workspace-versions/a.md"), 404)


def test_a_file_may_have_the_name_of_any_route(shared: House) -> None:
    agent_id = shared.agent()
    for path in ("workspace-versions", "versions/workspace-versions", "workspace/a"):
        shared.call("PUT", place(shared, agent_id, path), content=path.encode())
        assert shared.call("GET", place(shared, agent_id, path)).content == path.encode()
        assert len(versions(shared, agent_id, path)) == 1


@pytest.mark.parametrize("path", ESCAPES)
def test_no_path_of_a_version_leads_out_of_a_workspace(shared: House, path: str) -> None:
    answer = shared.raw("GET", f"/agents/{shared.agent()}/workspace-versions/{path}")
    assert answer.status_code in {404, 405, 422}, answer.text


@pytest.mark.parametrize(
    ("path", "plain"),
    [
        ("写真/蟹 1.png", "_ 1.png"),
        ("notes/today.md", "today.md"),
        ("a;b'c,100%.txt", "a;b'c,100_.txt"),
    ],
)
def test_a_download_has_a_name_to_save_it_under(path: str, plain: str, shared: House) -> None:
    where = place(shared, shared.agent(), path)
    shared.call("PUT", where, content=b"\x89PNG")
    assert "content-disposition" not in shared.call("GET", where).headers
    found = shared.call("GET", f"{where}?download=true")
    kind, simple, exact = found.headers["content-disposition"].split("; filename")
    assert (kind, simple) == ("attachment", f'="{plain}"')
    language, _, name = exact.removeprefix("*=").partition("''")
    assert (language, unquote(name)) == ("UTF-8", path.rpartition("/")[2])
    assert found.content == b"\x89PNG"


def test_if_match_deletes_only_that_version(shared: House) -> None:
    where = place(shared, shared.agent(), "共有.md")
    first = shared.call("PUT", where, content=b"one").json()["version"]
    second = shared.call("PUT", where, content=b"two").json()["version"]
    problem(shared.call("DELETE", where, headers={"If-Match": f'"{first}"'}), 409)
    assert shared.call("GET", where).content == b"two"
    deleted = shared.call("DELETE", where, headers={"If-Match": f'"{second}"'})
    assert deleted.status_code == 204


@both_languages
def test_the_owner_deletes_versions_also_of_a_deleted_file(
    path: str, text: str, shared: House
) -> None:
    agent_id = shared.agent()
    where, kept = (
        place(shared, agent_id, path),
        f"/agents/{agent_id}/workspace-versions/{quote(path)}",
    )
    first, second, third = (
        shared.call("PUT", where, content=f"{text}{n}".encode()).json()["version"] for n in range(3)
    )
    problem(shared.call("DELETE", kept, key=shared.read), 403)
    assert len(versions(shared, agent_id, path)) == 3
    answer = shared.call("DELETE", f"{kept}?version={quote(first)}")
    assert (answer.status_code, answer.json()) == (200, {"path": path, "deleted": 1})
    problem(shared.call("DELETE", f"{kept}?version={quote(first)}"), 404, "version")
    problem(shared.call("DELETE", f"{kept}?version={quote(third)}"), 409)
    shared.call("DELETE", where)
    assert shared.call("DELETE", kept).json() == {"path": path, "deleted": 2}
    problem(shared.call("GET", kept), 404)
    problem(shared.call("GET", f"{where}?version={quote(second)}"), 404)
    problem(shared.call("DELETE", kept), 404, "path")


def test_a_file_without_older_versions_loses_none(shared: House) -> None:
    agent_id = shared.agent()
    shared.call("PUT", place(shared, agent_id, "a.md"), content=b"1")
    kept = f"/agents/{agent_id}/workspace-versions/a.md"
    assert shared.call("DELETE", kept).json() == {"path": "a.md", "deleted": 0}
    assert len(versions(shared, agent_id, "a.md")) == 1


def test_a_file_under_a_forgetting_request_leaves_no_versions(shared: House) -> None:
    agent_id = shared.agent()
    where = place(shared, agent_id, "海.md")
    shared.call("PUT", where, content=b"1")
    mark_file_forgotten(shared.runtime, agent_id, "海.md")
    shared.call("PUT", where, content=b"2")
    assert [each["is_current"] for each in versions(shared, agent_id, "海.md")] == [True]
    shared.call("DELETE", where)
    problem(shared.call("GET", f"/agents/{agent_id}/workspace-versions/{quote('海.md')}"), 404)
