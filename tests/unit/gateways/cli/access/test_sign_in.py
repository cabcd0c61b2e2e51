"""`opencrab open`: a link for the browser, or for whoever has none."""

import pytest

from tests.unit.gateways.cli.server import Program, Server, ok, problem

MADE = {"code": "c0de", "expires_at": "2026-11-29T09:10:00Z"}


@pytest.fixture
def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser that draws in the terminal is none."""
    monkeypatch.setattr("webbrowser._tryorder", [])


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The links that the browser was given."""
    links: list[str] = []

    class Window:
        name = "chromium"

        @staticmethod
        def open(link: str) -> bool:
            links.append(link)
            return True

    monkeypatch.setattr("webbrowser._tryorder", ["window"])
    monkeypatch.setattr("webbrowser._browsers", {"window": (None, Window)})
    return links


@pytest.mark.parametrize(("language", "said"), [("en", "once, within"), ("ja", "10分以内に1回")])
@pytest.mark.usefixtures("no_browser")
def test_without_a_browser_the_link_is_printed(
    program: Program, server: Server, language: str, said: str
) -> None:
    server.on("POST /sign-in/codes", ok(MADE, 201))
    run = program.run("--language", language, "open")
    assert run.out.startswith("http://")
    assert run.out.endswith("/#sign-in=c0de\n")
    assert said in run.err


def test_the_browser_gets_the_link_and_the_terminal_does_not(
    program: Program, server: Server, opened: list[str]
) -> None:
    server.on("POST /sign-in/codes", ok(MADE, 201))
    run = program.run("open")
    assert "c0de" not in run.out + run.err
    assert [link.endswith("/#sign-in=c0de") for link in opened] == [True]


def test_a_script_gets_the_link_and_no_browser(
    program: Program, server: Server, opened: list[str]
) -> None:
    server.on("POST /sign-in/codes", ok(MADE, 201))
    assert program.run("--json", "open").json["url"].endswith("/#sign-in=c0de")
    assert program.run("open", "--print").out.endswith("/#sign-in=c0de\n")
    assert opened == []


@pytest.mark.usefixtures("no_browser")
def test_where_there_are_no_links_it_says_how_to_sign_in(program: Program, server: Server) -> None:
    server.on("POST /sign-in/codes", problem(404, "this installation has no sign-in links"))
    run = program.run("open")
    assert run.out.endswith("/\n")
    assert "API key" in run.err
