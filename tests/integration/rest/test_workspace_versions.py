"""Older versions of files over REST, downloads under their names, and conditional deletions."""

from urllib.parse import quote, unquote

import pytest

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
