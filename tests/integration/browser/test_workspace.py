"""A workspace in Chromium before a real `opencrab up`: read, edit, compare and save files."""

import httpx
import pytest

from tests.integration.browser.conftest import Installation
from tests.integration.browser.harm import HOSTILE, NAME, nothing_ran
from tests.integration.browser.test_page import nothing_was_forbidden
from tests.integration.browser.test_sessions import SAVED, saved_names
from tests.integration.browser.webdriver import Browser
from tests.running import KEY

pytestmark = pytest.mark.timeout(300)


def file(installation: Installation, agent: str, path: str, content: bytes | None = None) -> bytes:
    """Write a file if there is a content, and read it."""
    url = f"{installation.url}api/agents/{agent}/workspace/{path}"
    headers = {"authorization": f"Bearer {KEY}"}
    if content is not None:
        assert httpx.put(url, content=content, headers=headers).status_code == 200
    return httpx.get(url, headers=headers).content


def test_a_file_is_edited_compared_restored_saved_and_deleted(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent("Writer")
    file(installation, agent, "notes/計画.md", "one\n二\nthree\n".encode())
    installation.sign_in(window, at=f"/agents/{agent}/workspace")
    window.click(".entry")
    window.says("二", ".file pre.content")
    window.click(".file .buttons button")
    window.run("document.querySelector('.editor').value = arguments[0]", "one\n弐\nthree\n")
    window.click(".file .send")
    window.says("弐", ".file pre.content")
    assert file(installation, agent, "notes/計画.md") == "one\n弐\nthree\n".encode()
    window.click(".versions summary")
    window.click(".versions .send")
    window.says("- 二", ".versions del")
    window.says("+ 弐", ".versions ins")
    window.run("window.confirm = () => true")
    window.click(".versions .action button")
    window.says("二", ".file pre.content")
    window.run(SAVED)
    window.click(".file .buttons > button:nth-of-type(2)")
    window.until(lambda: saved_names(window), "the file is saved")
    assert saved_names(window) == ["計画.md"]
    text = window.run("return fetch(saved[0][1]).then((a) => a.text(), (e) => String(e))")
    # Scripts of the page may not even read it: it is only for saving.
    assert "TypeError" in text
    window.click(".file .stop")
    window.until(lambda: not window.count(".entry"), "the file is deleted")
    window.logged()


def test_markdown_is_formatted_and_can_be_read_as_it_is(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent("Formatter")
    written = "# 見出し\n\n- **one** ![p](https://leak.example/p.png)\n"
    file(installation, agent, "plan.md", written.encode())
    installation.sign_in(window, at=f"/agents/{agent}/workspace?file=plan.md")
    window.says("one", ".markdown li strong")
    window.says("https://leak.example/p.png", ".markdown li code")
    window.click(".plain")
    window.until(lambda: window.text(".as-written") == written, "it is not as it was written")
    window.click(".plain")
    window.shown(".markdown")
    assert nothing_was_forbidden(window)


def test_the_browser_really_saves_a_file(
    installation: Installation, window: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("saved")
    agent = installation.agent("Saver")
    file(installation, agent, "a.bin", b"\xff\x00crab")
    window.devtools("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    installation.sign_in(window, at=f"/agents/{agent}/workspace?file=a.bin")
    window.click(".file .buttons > button")
    window.until((folder / "a.bin").exists, "a.bin is there")
    assert (folder / "a.bin").read_bytes() == b"\xff\x00crab"
    assert nothing_was_forbidden(window)


def test_what_somebody_else_wrote_meanwhile_is_not_overwritten(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent("Second")
    file(installation, agent, "a.txt", b"before")
    installation.sign_in(window, at=f"/agents/{agent}/workspace?file=a.txt")
    window.click(".file .buttons button")
    window.run("document.querySelector('.editor').value = 'mine 私の'")
    file(installation, agent, "a.txt", b"theirs")
    window.click(".file .send")
    window.shown(".file .problem")
    assert file(installation, agent, "a.txt") == b"theirs"
    assert window.run("return document.querySelector('.editor').value") == "mine 私の"
    window.logged()


def test_hostile_files_stay_text(installation: Installation, window: Browser) -> None:
    agent = installation.agent(f"{NAME} files")
    file(
        installation,
        agent,
        "&lt;img onerror='window.ran=1'&gt;.html",
        "\n".join(HOSTILE).encode(),
    )
    installation.sign_in(window, at=f"/agents/{agent}/workspace")
    window.says("&lt;img onerror='window.ran=1'&gt;.html", ".entry")
    window.click(".entry")
    window.says("⟨U+202E⟩esrever", ".file pre.content")
    assert f"{NAME} files" in window.text("#view-workspace h1")
    nothing_ran(window)


def test_files_are_listed_by_the_day_of_their_change(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent("Diary")
    for name in ("b/new.md", "a/日記.md"):
        file(installation, agent, name, b"x")
    installation.sign_in(window, at=f"/agents/{agent}/workspace")
    installation.choose(window, "#workspace-order", "day")
    window.until(lambda: window.count(".days .entry") == 2, "no two files")
    today = "new Intl.DateTimeFormat(document.documentElement.lang, {dateStyle: 'full'})"
    day = window.run(f"return {today}.format(new Date())")
    window.says(day, ".days h3")
    window.click(".days .entry")
    window.until(lambda: "by=day" in window.run("return location.search"), "the order is lost")
    assert "file=" in window.run("return location.search")
    assert nothing_was_forbidden(window)
