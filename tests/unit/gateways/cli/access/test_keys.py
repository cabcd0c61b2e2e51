"""API keys from the command line: a secret is shown once, and where a script finds it."""

import pytest

from opencrab.domain.access.authority import Scope
from tests.unit.gateways.cli.server import Program, Server, ok, page, problem
from tests.unit.gateways.cli.views import NOW, key_view

NEW = {**key_view("電話"), "secret": "oc_secret"}


@pytest.mark.parametrize(
    ("language", "around"), [("en", "it is not shown again"), ("ja", "二度と表示されません")]
)
def test_only_the_secret_is_on_standard_output(
    program: Program, server: Server, language: str, around: str
) -> None:
    server.on("POST /keys", ok(NEW, 201))
    made = program.run("--language", language, "keys", "create", "--name", "電話")
    assert made.out == "oc_secret\n"
    assert "電話" in made.err
    assert around in made.err
    assert "opencrab sessions invite SESSION k1" in made.err
    assert server.sent("POST") == [{"name": "電話", "scope": "chat"}]


def test_another_key_of_a_person_and_a_read_key_with_grants(
    program: Program, server: Server
) -> None:
    server.on("POST /keys", ok(NEW, 201), ok(NEW, 201))
    program.run("keys", "create", "--name", "新しい電話", "--principal", "k1")
    grants = ("--grant", "sessions:s1", "--grant", "metrics")
    program.run("keys", "create", "--name", "画面", "--scope", "read", *grants)
    assert server.sent("POST") == [
        {"name": "新しい電話", "scope": "chat", "principal_id": "k1"},
        {"name": "画面", "scope": "read", "grants": ["sessions:s1", "metrics"]},
    ]


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "all (key of an earlier release)"), ("ja", "すべて(以前のリリースのキー)")],
)
def test_a_read_key_of_an_earlier_release_is_shown_as_such(
    program: Program, server: Server, language: str, said: str
) -> None:
    server.on("GET /keys", page(key_view("電話", scope=Scope.READ, grants=("legacy",))))
    assert said in program.run("--language", language, "keys", "list").out


def test_a_script_gets_the_key_as_json(program: Program, server: Server) -> None:
    server.on("POST /keys", ok(NEW, 201))
    made = program.run("keys", "create", "--name", "電話", "--scope", "owner", "--json")
    assert (made.json, made.err) == (NEW, "")
    assert server.sent("POST")[0]["scope"] == "owner"


@pytest.mark.parametrize("args", [["--name", "x", "--scope", "king"], ["--scope", "read"]])
def test_a_key_needs_a_name_and_a_scope_that_exists(
    program: Program, server: Server, args: list[str]
) -> None:
    assert program.run("keys", "create", *args).code == 2
    assert server.requests == []


@pytest.mark.parametrize(
    ("language", "heads"),
    [
        ("en", ["id", "name", "scope", "principal", "grants", "created", "revoked"]),
        ("ja", ["ID", "名前", "スコープ", "プリンシパル", "閲覧範囲", "作成", "無効化"]),
    ],
)
def test_keys_are_listed_without_their_secrets(
    program: Program, server: Server, language: str, heads: list[str]
) -> None:
    old = key_view("old", id="k0", scope=Scope.OWNER, revoked_at=NOW)
    server.on("GET /keys", page(key_view("電話"), next_cursor="c"), page(old))
    listed = program.run("--language", language, "keys", "list")
    rows = [line.split() for line in listed.out.splitlines()]
    assert rows[0] == heads
    assert [row[:3] for row in rows[1:]] == [["k1", "電話", "chat"], ["k0", "old", "owner"]]
    assert [len(row) for row in rows[1:]] == [7, 9]


def test_the_list_is_json_for_a_script(program: Program, server: Server) -> None:
    server.on("GET /keys", page(key_view("電話")))
    assert program.run("keys", "list", "--json").json == [key_view("電話")]


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "revoked key 電話\n"), ("ja", "キー 電話 を無効にしました\n")],
)
def test_a_key_is_revoked(program: Program, server: Server, language: str, said: str) -> None:
    revoked = key_view("電話", revoked_at=NOW)
    server.on("DELETE /keys/k1", ok(revoked))
    assert program.run("--language", language, "keys", "revoke", "k1").out == said
    assert program.run("keys", "revoke", "k1", "--json").json == revoked


def test_the_last_owner_key_stays_and_the_server_says_why(program: Program, server: Server) -> None:
    server.on("DELETE /keys/k1", problem(409, "this is the last owner key", cure="make another"))
    refused = program.run("keys", "revoke", "k1")
    assert (refused.code, refused.out) == (6, "")
    assert refused.err == "opencrab: this is the last owner key\n  → make another\n"
