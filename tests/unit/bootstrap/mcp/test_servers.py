"""MCP servers from the settings: what is wrong with them is said with the setting's name."""

from typing import Any, cast

import pytest

from opencrab.bootstrap.mcp.servers import configured_mcp_link, configured_mcp_servers
from opencrab.domain.errors import Invalid
from opencrab.settings import EffectiveSetting, OwnerSettings, Settings, load_settings

SECRET = "sk-KANARI"


def configured(variables: dict[str, str] | None = None, **servers: dict[str, Any]) -> Settings:
    """The settings with these servers."""
    return load_settings({}, variables or {}, own=OwnerSettings(_own(**servers)))


def _own(**servers: dict[str, Any]) -> dict[str, EffectiveSetting]:
    return {
        f"mcp.servers.{name}.{key}": EffectiveSetting(value, "config.toml:1")
        for name, given in servers.items()
        for key, value in given.items()
    }


def test_without_servers_there_are_none() -> None:
    assert configured_mcp_servers(configured(), is_local=True) == ()


def test_servers_are_read_with_their_secrets_which_no_text_shows() -> None:
    found = configured_mcp_servers(
        configured(
            {"TOKEN": SECRET},
            web={"url": "https://example.org/mcp", "headers.Authorization": "Bearer ${TOKEN}"},
            files={"command": "npx", "args": ["-y", "x"], "env.KEY": "${TOKEN}", "agents": ["蟹"]},
            off={"command": "npx", "enabled": False},
        ),
        is_local=True,
    )
    files, web = found
    assert (files.command, files.args, files.env) == ("npx", ("-y", "x"), {"KEY": SECRET})
    assert (files.agents, files.timeout_seconds, files.max_result_kb) == (("蟹",), 60, 256)
    assert web.headers == {"Authorization": f"Bearer {SECRET}"}
    assert SECRET not in repr(found)
    assert {each.problem for each in found} == {""}


def test_a_server_that_lacks_a_variable_is_named_and_not_used() -> None:
    web = {"url": "${ADDRESS}", "headers.Authorization": "Bearer ${TOKEN}"}
    (found,) = configured_mcp_servers(configured(web=web), is_local=True)
    assert found.problem == "the variable ADDRESS is not set"
    assert found.cure == "set ADDRESS, or store it as a secret"


def test_a_secret_may_end_with_a_line_break() -> None:
    web = {"url": "https://example.org/mcp", "headers.Authorization": "Bearer ${TOKEN}"}
    (found,) = configured_mcp_servers(configured({"TOKEN": f"{SECRET}\n"}, web=web), is_local=True)
    assert found.headers == {"Authorization": f"Bearer {SECRET}"}
    assert found.problem == ""


@pytest.mark.parametrize(
    ("header", "secret"), [("Authorization", f"{SECRET}\nX: 1"), ("認証", SECRET), ("X y", SECRET)]
)
def test_a_header_that_cannot_be_sent_is_named_without_its_secret(header: str, secret: str) -> None:
    web = {"url": "https://example.org/mcp", f"headers.{header}": "${TOKEN}"}
    (found,) = configured_mcp_servers(configured({"TOKEN": secret}, web=web), is_local=True)
    assert found.problem == f"the header {header} has characters that no header may have"
    assert f"mcp.servers.web.headers.{header}" in found.cure
    assert SECRET not in found.problem + found.cure


@pytest.mark.parametrize(
    ("url", "told", "cure"),
    [
        ("https://me:pw@example.org/mcp", "the url of the MCP server web", "correct url"),
        ("http://example.org/mcp", "must use https", "correct url"),
    ],
)
def test_an_agent_elsewhere_is_checked_as_any_address(url: str, told: str, cure: str) -> None:
    with pytest.raises(Invalid) as caught:
        configured_mcp_servers(configured(web={"a2a": url}), is_local=True)
    assert caught.value.field == "mcp.servers.web.a2a"
    assert told.replace("the url of", "the a2a of") in str(caught.value.message)
    assert cure.replace("url", "a2a") in str(caught.value.cure)
    (found,) = configured_mcp_servers(
        configured(web={"a2a": "https://tides.example.org"}), is_local=False
    )
    assert found.problem == ""


@pytest.mark.parametrize(
    ("url", "told", "cure"),
    [
        ("https://me:pw@example.org/mcp", "the url of the MCP server web", "correct url"),
        ("http://example.org/mcp", "must use https", "correct url"),
    ],
)
def test_a_wrong_address_is_told_by_the_name_of_its_setting(url: str, told: str, cure: str) -> None:
    with pytest.raises(Invalid, match=told) as caught:
        configured_mcp_servers(configured(web={"url": url}), is_local=True)
    assert caught.value.field == "mcp.servers.web.url"
    assert cure in str(caught.value.cure)
    assert "base_url" not in f"{caught.value.message}{caught.value.cure}"
    assert "api_key" not in caught.value.message


class Stored:
    """Secrets that tell who asked for what."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def get(self, name: str) -> str | None:
        self.asked.append(name)
        return {"TOKEN": SECRET, "ADDRESS": "https://example.org/mcp"}.get(name)


def test_stored_secrets_are_looked_up_and_only_those_that_servers_name() -> None:
    web = {"url": "${ADDRESS}", "headers.Authorization": "Bearer ${TOKEN}"}
    lacking = {"command": "npx", "env.KEY": "${NOWHERE}"}
    values = configured(web=web, lacking=lacking)
    stored: Any = Stored()

    def load(_overrides: dict[str, Any], *, secret: Any) -> Settings:
        return load_settings(
            {}, {}, own=OwnerSettings(_own(web=web, lacking=lacking)), secret=secret
        )

    link = configured_mcp_link(values, load, stored, cast(Any, None), is_local=True)
    assert link.servers[0].problem == "the variable NOWHERE is not set"
    assert link.servers[1].headers == {"Authorization": f"Bearer {SECRET}"}
    assert set(stored.asked) == {"TOKEN", "ADDRESS", "NOWHERE"}
    assert link.sign_ins is None, "nobody signs in where the settings have a token"
    link.client.close()  # type: ignore[attr-defined]


def test_a_call_on_aws_ends_before_another_worker_takes_the_turn() -> None:
    web = {"url": "https://example.org/mcp", "timeout_seconds": 200}
    for is_local, seconds in ((True, 200), (False, 60)):
        (found,) = configured_mcp_servers(configured(web=web), is_local=is_local)
        assert found.timeout_seconds == seconds


def test_commands_are_not_run_on_aws() -> None:
    (found,) = configured_mcp_servers(configured(files={"command": "npx"}), is_local=False)
    assert found.problem == "on AWS no commands are run"


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        (
            "files",
            {"agents": ["蟹"]},
            r"needs a command or a url \(or openapi, or a2a\), and not both",
        ),
        ("api", {"command": "x", "openapi": "https://example.org/a.json"}, "and not both"),
        ("api", {"openapi": "http://example.org/a.json"}, "must use https"),
        ("files", {"command": "x", "url": "https://example.org"}, "and not both"),
        ("My-Files", {"command": "x"}, "cannot be the name of an MCP server"),
        ("a__b", {"command": "x"}, "cannot be the name of an MCP server"),
        ("web", {"url": "http://example.org/mcp"}, "must use https"),
        ("web", {"url": "http://169.254.169.254/mcp"}, "must not be the cloud's metadata address"),
        ("web", {"url": "https://me:x@example.org"}, "must not contain a user name"),
    ],
)
def test_settings_that_cannot_be_are_refused(name: str, given: dict[str, Any], told: str) -> None:
    with pytest.raises(Invalid, match=told) as caught:
        configured_mcp_servers(configured(**{name: given}), is_local=True)
    assert (caught.value.field or "").startswith(f"mcp.servers.{name}")
    assert caught.value.cure


def test_a_description_in_a_file_is_for_this_computer_and_needs_the_apis_address() -> None:
    api = {"openapi": "~/api.json", "url": "https://example.org/v1"}
    (here,) = configured_mcp_servers(configured(api=api), is_local=True)
    (there,) = configured_mcp_servers(configured(api=api), is_local=False)
    assert (here.problem, there.problem) == ("", "on AWS its description must have an address")
    (found,) = configured_mcp_servers(configured(api={"openapi": "api.json"}), is_local=True)
    assert (found.problem, found.cure) == (
        "the address of the API is missing",
        "write mcp.servers.api.url",
    )


def test_trust_is_bound_to_the_description_too() -> None:
    plain = {"url": "https://example.org/v1"}
    (before,) = configured_mcp_servers(configured(api=plain), is_local=True)
    described = {**plain, "openapi": "https://example.org/a.json"}
    (after,) = configured_mcp_servers(configured(api=described), is_local=True)
    assert before.identity != after.identity


def test_an_app_of_the_owners_is_read_for_a_sign_in() -> None:
    oauth = {"oauth.client_id": "abc", "oauth.client_secret": "${TOKEN}", "oauth.scope": "a b"}
    web = {"url": "https://example.org/mcp", **oauth}
    (found,) = configured_mcp_servers(configured({"TOKEN": f"{SECRET}\n"}, web=web), is_local=False)
    assert (found.oauth.client_id, found.oauth.client_secret) == ("abc", SECRET)
    assert (found.problem, found.may_sign_in) == ("", True)
    assert SECRET not in repr(found)
    (found,) = configured_mcp_servers(configured({"TOKEN": "蟹\udc80"}, web=web), is_local=True)
    assert (
        found.problem == "its oauth.client_secret has other characters than visible ones of ASCII"
    )
    issuer = {**web, "oauth.issuer": "http://login.example.org"}
    with pytest.raises(Invalid, match="must use https") as caught:
        configured_mcp_servers(configured({"TOKEN": SECRET}, web=issuer), is_local=True)
    assert caught.value.field == "mcp.servers.web.oauth.issuer"
