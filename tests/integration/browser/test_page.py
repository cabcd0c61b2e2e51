"""The page in Chromium before a real `opencrab up`: what people do there, in both languages."""

import pytest

from tests.integration.browser.conftest import Installation
from tests.integration.browser.webdriver import Browser
from tests.running import KEY

pytestmark = pytest.mark.timeout(300)

ENTER = "\ue007"
SAID = ("Words ことば ", "come 🦀 ", "one by one.")
WORDS = {
    "en": {
        "refused": "This key is not accepted.",
        "stopped": "Stopped. This answer is incomplete.",
    },
    "ja": {
        "refused": "このキーは使えません。",
        "stopped": "停止しました。この回答は途中までです。",
    },
}
ANSWER = ".lines .message.theirs:last-child .text"


def words_of(window: Browser) -> dict[str, str]:
    """What this window's page says."""
    return WORDS[window.run("return document.documentElement.lang")]


def nothing_was_forbidden(window: Browser) -> bool:
    """Check that no script failed, and that the policy had to forbid nothing."""
    return not [line for line in window.logged() if "401" not in line]


def test_a_key_opens_the_page_and_stays_in_the_tab(
    installation: Installation, window: Browser
) -> None:
    window.open(installation.url)
    window.type("#key", f"wrong-key-0123456789{ENTER}")
    window.says(words_of(window)["refused"], ".problem")
    window.type("#key", KEY)
    window.click("form button")
    window.shown("main h1")
    assert KEY not in window.run("return location.href + document.cookie")
    assert window.run("return Object.values(localStorage).join()") == ""
    window.until(
        lambda: KEY in window.run("return Object.values(sessionStorage)"), "the key is not kept"
    )
    window.call("POST", "/refresh")
    window.shown("main h1")
    window.click("header > button:last-child")
    window.shown("#key")
    assert window.run("return sessionStorage.length") == 0
    assert nothing_was_forbidden(window)


def test_the_language_can_be_switched(installation: Installation, window: Browser) -> None:
    window.open(installation.url)
    before = window.text("h1")
    window.click(".language")
    window.until(lambda: window.text("h1") not in {"", before}, "the other language")
    window.click(".language")
    window.says(before, "h1")


def test_an_answer_is_seen_while_the_vendor_still_speaks(
    installation: Installation, window: Browser
) -> None:
    installation.talk(window, installation.agent("蟹", "vllm:slow"))
    window.type("#message", f"こんにちは hello{ENTER}")
    seen = ""
    for words in SAID[:2]:
        installation.vendor.words.put(words)
        seen += words
        window.says(seen.strip(), ".message.arriving .text")
    assert window.shown(".composer .stop")
    # Whole sentences are read aloud, not fragments.
    assert "Words" not in window.text("#announcer")
    installation.vendor.words.put(SAID[2])
    installation.vendor.words.put(None)
    window.says("".join(SAID), ".message.theirs:not(.arriving) .text")
    window.says("".join(SAID), "#announcer")
    assert window.text(ANSWER) == "".join(SAID)
    window.until(lambda: not window.run("return !document.querySelector('.stop').hidden"), "no end")
    assert (window.count(".message.theirs"), window.count(".message.mine")) == (1, 1)
    window.call("POST", "/refresh")
    window.says("".join(SAID), ANSWER)
    assert (window.count(".message.theirs"), window.count(".message.mine")) == (1, 1)
    assert nothing_was_forbidden(window)


def test_stop_hangs_up_on_the_vendor_and_marks_what_was_said(
    installation: Installation, window: Browser
) -> None:
    installation.talk(window, installation.agent("Rowan", "vllm:slow"))
    window.type("#message", f"go on 続けて{ENTER}")
    installation.vendor.words.put(SAID[0])
    window.says(SAID[0].strip(), ".message.arriving .text")
    window.click(".composer .stop")
    window.says(words_of(window)["stopped"], ".message.theirs .incomplete:not([hidden])")
    assert installation.vendor.hung_up.wait(60)
    assert window.text(".message.theirs .text").strip() == SAID[0].strip()
    window.call("POST", "/refresh")
    window.says(words_of(window)["stopped"], ".message.theirs .incomplete:not([hidden])")
    assert nothing_was_forbidden(window)


def test_a_page_that_is_loaded_in_the_middle_shows_the_words_and_can_stop(
    installation: Installation, window: Browser
) -> None:
    installation.talk(window, installation.agent("Midway", "vllm:slow"))
    window.type("#message", f"long 長く{ENTER}")
    installation.vendor.words.put(SAID[0])
    window.says(SAID[0].strip(), ".message.arriving .text")
    window.call("POST", "/refresh")
    window.says(SAID[0].strip(), ".message.arriving .text")
    window.click(".composer .stop")
    window.says(words_of(window)["stopped"], ".message.theirs .incomplete:not([hidden])")
    assert window.count(".message.theirs") == 1


def test_enter_that_chooses_characters_sends_nothing(
    installation: Installation, window: Browser
) -> None:
    installation.talk(window, installation.agent("IME"))
    window.type("#message", "かな")
    window.run(
        "document.querySelector('#message').dispatchEvent(new KeyboardEvent('keydown',"
        "{key: 'Enter', isComposing: true, bubbles: true, cancelable: true}))"
    )
    assert window.run("return document.querySelector('#message').value") == "かな"
    assert window.count(".message") == 0


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_an_approval_is_decided_where_it_is_asked(
    installation: Installation, window: Browser, decision: str
) -> None:
    agent = installation.agent("Careful", policy="strict")
    installation.talk(window, agent)
    window.type("#message", f"write memo.txt: a{ENTER}")
    window.says('"content": "a"', ".lines .approval pre")
    assert window.text(".lines .approval .hash code") == _hash_of_open_approval(installation)
    window.says("1", "#menu .count")
    window.click(f".lines .approval .{decision}")
    window.shown(f".lines .approval .decision.{decision.removesuffix('e')}ed")
    window.until(lambda: window.count(".lines .theirs, .lines .notice"), "no end of the turn")
    files = installation.server.call("GET", f"/agents/{agent}/workspace")["items"]
    assert [each["path"] for each in files] == (["memo.txt"] if decision == "approve" else [])
    assert nothing_was_forbidden(window)


def test_what_hides_in_a_call_is_visible_before_it_is_approved(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent("Hidden", policy="strict")
    session = installation.server.call("POST", "/sessions", {"participants": [agent]})["id"]
    text = "write memo.txt: invoice\u202egpj.exe <script>x</script>"
    installation.server.call("POST", f"/sessions/{session}/messages", {"text": text}, wait=25)
    installation.sign_in(window, at="/approvals")
    window.says("⟨U+202E⟩", "#view-approvals .approval pre mark")
    assert "<script>x</script>" in window.text("#view-approvals .approval pre")
    window.click("#view-approvals .approval .reject")
    window.shown("#view-approvals .decision.rejected")


def _hash_of_open_approval(installation: Installation) -> str:
    *_, newest = installation.server.call("GET", "/approvals")["items"]
    return str(newest["argument_hash"])


def test_the_home_page_shows_agents_costs_and_models(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent("Thrifty")
    installation.sign_in(window)
    window.says("Thrifty", "ul.agents")
    window.says("$5.00", ".budget")
    window.says("scripted:rules", "#view-home")
    installation.server.call("PUT", "/system/state", {"state": "frozen", "agent_id": agent})
    window.click("#view-home .heading button")
    window.shown(".badge.frozen")
    installation.server.call("PUT", "/system/state", {"state": "running", "agent_id": agent})
    assert nothing_was_forbidden(window)


def test_a_new_agent_is_created_and_spoken_to(installation: Installation, window: Browser) -> None:
    installation.sign_in(window)
    window.click(".creation summary")
    window.type("#new-agent", f"新人 New{ENTER}")
    window.shown("#view-chat")
    chosen = "return document.querySelector('#agent').selectedOptions[0]?.text"
    window.until(lambda: window.run(chosen) == "新人 New", "the new agent")
    window.type("#message", f"hello{ENTER}")
    window.until(lambda: window.count(".message.theirs") == 1, "no answer")


def test_keys_see_what_they_may_do(installation: Installation, window: Browser) -> None:
    installation.agent("Seen")
    for scope, boxes, switches in (("read", 0, 0), ("chat", 1, 0), ("owner", 1, 1)):
        body = {"name": f"{scope} key", "scope": scope}
        if scope == "read":
            body["grants"] = ["all"]  # type: ignore[assignment]
        made = installation.server.call("POST", "/keys", body)
        installation.sign_in(window, made["secret"])
        window.says("key", ".who")
        installation.go(window, "/")
        window.says("Seen", "ul.agents")
        window.says(":", "#view-home > .hint")
        assert window.count(".switch button") == switches
        assert window.count(".creation") == switches
        installation.go(window, "/chat")
        assert window.count("#message") == boxes


def test_a_revoked_key_signs_out(installation: Installation, window: Browser) -> None:
    made = installation.server.call("POST", "/keys", {"name": "gone", "scope": "chat"})
    installation.sign_in(window, made["secret"])
    window.shown("main h1")
    installation.server.call("DELETE", f"/keys/{made['id']}")
    installation.go(window, "/")
    window.says(words_of(window)["refused"], ".problem")
    assert window.run("return sessionStorage.length") == 0


def test_a_message_that_did_not_arrive_is_sent_again_once(
    installation: Installation, window: Browser
) -> None:
    installation.talk(window, installation.agent("Patient"))
    # The request arrives, and its answer is lost.
    window.run(
        "const real = window.fetch; let lost = 0; window.fetch = async (url, options) => {"
        "const answer = await real(url, options);"
        "if (options?.method === 'POST' && url.endsWith('/messages') && lost++ === 0)"
        "throw new TypeError('lost'); return answer; }"
    )
    window.type("#message", f"once 一度{ENTER}")
    window.click(".retry button")
    window.until(lambda: window.count(".message.theirs") == 1, "no answer")
    window.until(lambda: window.count(".message.mine") == 1, "the message is there twice")
    said = [each for each in _lines(installation) if each == "once 一度"]
    assert len(said) == 1


def test_a_conversation_is_called_by_its_first_message(
    installation: Installation, window: Browser
) -> None:
    installation.talk(window, installation.agent("Namer"))
    window.type("#message", f"plan 明日の予定{ENTER}")
    window.until(lambda: window.count(".message.theirs") == 1, "no answer")
    window.run("location.reload()")
    window.says("plan 明日の予定 ·", "#conversation")


def _lines(installation: Installation) -> list[str]:
    sessions = installation.server.call("GET", "/sessions?limit=200")["items"]
    newest = max(sessions, key=lambda session: session["created_at"])["id"]
    items = installation.server.call("GET", f"/sessions/{newest}/messages")["items"]
    return [line["text"] for line in items]


def test_a_message_goes_to_the_agent_that_was_chosen_before_it(
    installation: Installation, window: Browser
) -> None:
    first, second = installation.agent("First"), installation.agent("Second")
    installation.talk(window, first)
    # The list of conversations comes late; the person types at once.
    window.run(
        "const real = window.fetch; window.fetch = async (url, options) => {"
        "if (options?.method === 'GET' && url.startsWith('/api/sessions?'))"
        "await new Promise((resolve) => { window.listed = resolve; });"
        "return real(url, options); }"
    )
    installation.choose(window, "#agent", second)
    window.type("#message", f"for the second{ENTER}")
    window.run("window.listed()")
    window.until(lambda: window.count(".message.theirs") == 1, "no answer")
    sessions = installation.server.call("GET", "/sessions?limit=200")["items"]
    heard = [each["participants"][0]["agent_id"] for each in sessions]
    assert (heard.count(first), heard.count(second)) == (0, 1)
