"""The page's own modules in Chromium: streams cut anywhere, lost connections, lines that repeat."""

import re
from typing import Any

import pytest

from tests.integration.browser.conftest import Installation
from tests.integration.browser.webdriver import Browser

pytestmark = pytest.mark.timeout(300)

PARSE = """
const {parseEvents} = await import(base + "lib/events.js");
const bytes = new TextEncoder().encode(input.text);
const chunks = new ReadableStream({start(controller) {
  for (let at = 0; at < bytes.length; at += input.size) {
    controller.enqueue(bytes.slice(at, at + input.size));
  }
  controller.close();
}});
const found = [];
for await (const event of parseEvents(chunks)) found.push([event.id, event.event, event.data]);
return found;
"""
FOLLOW = """
const {Conversation} = await import(base + "chat/conversation.js");
const {Follower} = await import(base + "chat/follow.js");
const asked = [];
const shown = [];
const conversation = new Conversation({
  onItem: (item, delta) => shown.push([item.id, delta, item.done]),
  onRemoved: (item) => shown.push([item.id, "removed"]),
  onRuns: (id, status) => shown.push([id, status]),
});
const api = {async *events(path, last, signal) {
  asked.push(last);
  const stream = input[asked.length - 1];
  if (!stream) {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return;
  }
  for (const event of stream) yield {id: null, event: "message", data: JSON.stringify(event)};
  throw new TypeError("connection lost");
}};
const follower = new Follower(api, "/events", conversation, {onConnected() {}, onRefused() {}});
while (asked.length <= input.length) await new Promise((resolve) => setTimeout(resolve, 20));
follower.stop();
const items = [...conversation.items.values()]
  .map((item) => [item.id, item.text, item.incomplete ?? null]);
return {asked, items, shown};
"""


def module(installation: Installation, window: Browser, body: str, given: Any) -> Any:
    """Run code in the page, with the address of its modules and an input.

    It changes nothing of the page, which is loaded once for all.
    """
    if window.run("return location.href") != installation.url:
        window.open(installation.url)
        window.shown(".brand")
    script = (
        'const base = document.querySelector("script[src]").src.replace("main.js", "");'
        f"return (async (input) => {{ {body} }})(arguments[0])"
    )
    return window.run(script, given)


def line(sequence: int, text: str, **more: Any) -> dict[str, Any]:
    """A line of an agent, as one AG-UI event."""
    metadata = {"threadId": "s", "runId": "t", "fromAgent": True, "sequence": sequence}
    shared = {"timestamp": 1, "role": "assistant", "name": "Kani", "metadata": metadata}
    return {
        "type": "TEXT_MESSAGE_CHUNK",
        "messageId": f"s-{sequence}",
        "delta": text,
        **shared,
        **more,
    }


def part(kind: str, text: str = "", **metadata: Any) -> dict[str, Any]:
    """An event of an answer that is still arriving."""
    shared = {"threadId": "s", "runId": "t", "agentId": "a", **metadata}
    event = {"type": f"TEXT_MESSAGE_{kind}", "messageId": "t-1-1", "timestamp": 1}
    return {**event, "metadata": shared, **({"delta": text} if text else {})}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_events_are_read_wherever_the_bytes_are_cut(
    installation: Installation, english: Browser, size: int, end: str
) -> None:
    rows = [
        "retry: 1000",
        "",
        "id: 7",
        "data: 蟹🦀",
        "",
        ": still here",
        "",
        "event: problem",
        "data: a",
    ]
    text = end.join([*rows, "data:b", "", "data: cut off"])
    found = module(installation, english, PARSE, {"text": text, "size": size})
    assert found == [["7", "message", "蟹🦀"], [None, "problem", "a\nb"]]


def test_a_lost_connection_goes_on_after_the_last_line_and_shows_each_once(
    installation: Installation, english: Browser
) -> None:
    first = [line(1, "one"), line(2, "two"), part("START"), part("CONTENT", "three so")]
    again = [
        line(2, "two"),
        part("START"),
        part("CONTENT", "three so far, "),
        part("CONTENT", "all"),
    ]
    end = [part("END", sequence=3, speakerName="Kani")]
    found = module(installation, english, FOLLOW, [first, again + end])
    assert found["asked"] == [0, 2, 3]
    assert [text for _, text, _ in found["items"]] == ["one", "two", "three so far, all"]


def test_words_that_are_withdrawn_are_no_longer_shown(
    installation: Installation, english: Browser
) -> None:
    events = [part("START"), part("CONTENT", "a thought"), part("END", withdrawn=True)]
    found = module(installation, english, FOLLOW, [events])
    assert found["items"] == []
    assert found["shown"][-1] == ["t-1-1", "removed"]


def test_an_answer_whose_turn_is_stopped_is_incomplete(
    installation: Installation, english: Browser
) -> None:
    stopped = {"type": "RUN_FINISHED", "metadata": {"runId": "t", "status": "stopped"}}
    found = module(installation, english, FOLLOW, [[line(1, "half a"), stopped]])
    assert found["items"] == [["s-1", "half a", "stopped"]]


REFUSALS = """
const {Problem} = await import(base + "lib/api.js");
return input.map(([status, body]) => new Problem(status, body).isOfKey);
"""


def test_only_an_answer_about_the_key_ends_it(installation: Installation, english: Browser) -> None:
    answers = [
        [401, {}],
        [403, {"message": "Forbidden"}],
        [403, {"code": "refused", "detail": "x"}],
        [403, {}],
    ]
    assert module(installation, english, REFUSALS, answers) == [True, True, False, False]


MARKDOWN = """
const {markdown} = await import(base + "lib/markdown.js");
const started = performance.now();
const made = markdown(input);
return [made.innerHTML.slice(0, 5000), made.textContent.length, performance.now() - started];
"""


def test_markdown_becomes_simple_elements_and_no_link_or_picture(
    installation: Installation, english: Browser
) -> None:
    written = (
        "# 見出し Head\n\none **bold** `code`\ntwo\n\n- a\n  - b\n- [x](https://leak.example/)\n\n"
        "1. 一\n\n> quoted\n\n```js\n<b>**raw**</b>\n```\n![p](https://leak.example/p.png)"
        "<img src=x onerror=window.ran=1>\n\n|a|b|"
    )
    [made, _, _] = module(installation, english, MARKDOWN, written)
    assert made == (
        "<p><strong>見出し Head</strong></p>"
        '<p dir="auto">one <strong>bold</strong> <code>code</code>\ntwo</p>'
        '<ul><li dir="auto">a</li><li dir="auto" class="deep-1">b</li>'
        '<li dir="auto">x <code>https://leak.example/</code></li></ul>'
        '<ol><li dir="auto" value="1">一</li></ol><blockquote dir="auto">quoted</blockquote>'
        '<p class="hint">js</p><pre tabindex="0">&lt;b&gt;**raw**&lt;/b&gt;</pre>'
        '<p dir="auto">p <code>https://leak.example/p.png</code>'
        "&lt;img src=x onerror=window.ran=1&gt;</p>"
        '<pre tabindex="0">|a|b|</pre>'
    )


ORDER = """
const {goalOrder} = await import(base + "goals/order.js");
const {Problem} = await import(base + "lib/api.js");
const tick = () => new Promise((resolve) => setTimeout(resolve));
const goals = (ids) => ({goals: [...ids].map((id) => ({id, name: id}))});
const log = [];
let open = 0;
let stored = "abc";
const api = {
  async get() {
    log.push("get");
    return goals(stored);
  },
  async put(_path, body) {
    const ids = body.goals.join("");
    log.push(`put ${ids}${open > 0 ? " at once" : ""}`);
    open += 1;
    // The first one takes longest.
    for (let wait = 10 - log.length; wait > 0; wait -= 1) await tick();
    open -= 1;
    if (input !== null) {
      stored = "xa";
      throw new Problem(input, {});
    }
    stored = ids;
    return goals(ids);
  },
};
const order = goalOrder(api, "/agents/a", new AbortController().signal);
while (order.list.children.length === 0) await tick();
const down = (place) => order.list.children[place].querySelector(".down").click();
down(0);
down(1);
for (let wait = 0; wait < 60; wait += 1) await tick();
const shown = [...order.list.querySelectorAll("bdi")].map((each) => each.textContent).join("");
return {log, stored, shown, failed: order.errors.childElementCount};
"""


def test_orders_of_goals_are_saved_one_after_the_other(
    installation: Installation, english: Browser
) -> None:
    assert module(installation, english, ORDER, None) == {
        "log": ["get", "put bac", "put bca"],
        "stored": "bca",
        "shown": "bca",
        "failed": 0,
    }


@pytest.mark.parametrize("status", [409, 422])
def test_goals_that_have_changed_are_read_again(
    installation: Installation, english: Browser, status: int
) -> None:
    found = module(installation, english, ORDER, status)
    assert found == {
        "log": ["get", "put bac", "put bca", "get"],
        "stored": "xa",
        "shown": "xa",
        "failed": 1,
    }


SEEN = """
const {markdown} = await import(base + "lib/markdown.js");
return input.map((each) => markdown(each).textContent);
"""


def test_markdown_shows_every_word_of_a_text(installation: Installation, english: Browser) -> None:
    written = [
        "```I will wire money```\nok",
        "``` hidden words\ncode\n``` more hidden\nafter",
        "~~~送金します 百万円\nはい\n~~~ 了解\nend",
        "```python\nprint(1)\n```\nlast",
        "``` js\none\n```` \nlast",
        "````\n```sh\nrm\n```\n````\nout",
        "text\n```not a fence\nmore\n```open",
        "```\ncode\n~~~ other\n~~~\nstill code",
        "> ```quoted words\n> in\n\n- ```item words\n\n# ```head words",
        "```a`b`c\n```\u2028seen\n```",
    ]
    shown = module(installation, english, SEEN, written)
    for source, seen in zip(written, shown, strict=True):
        lost = [word for word in re.findall(r"\w+", source) if word not in seen]
        assert lost == [], (source, seen)
    # Code still ends where its fence does.
    assert module(installation, english, MARKDOWN, "```py\na b\n```\nlast")[0] == (
        '<p class="hint">py</p><pre tabindex="0">a b</pre><p dir="auto">last</p>'
    )


ITEMS = """
const {markdown} = await import(base + "lib/markdown.js");
return input.map((each) => [...markdown(each).querySelectorAll("ol, ul")].map((list) =>
  [list.localName, ...[...list.children].map((item) =>
    [item.getAttribute("value"), item.className, item.textContent].filter(Boolean).join(" "))]));
"""


@pytest.mark.parametrize(
    ("written", "lists"),
    [
        ("3. three\n4. 四\n7) seven", [["ol", "3 three", "4 四", "7 seven"]]),
        ("1. a\n\n2. b\n\n \n3. c\n\nend", [["ol", "1 a", "2 b", "3 c"]]),
        ("1. a\n1. b\n1. c", [["ol", "1 a", "2 b", "3 c"]]),
        ("1. a\n\n文\n\n2. b", [["ol", "1 a"], ["ol", "2 b"]]),
        (
            "1. a\n   - x\n   - y\n2. b",
            [["ol", "1 a", "deep-1 bulleted x", "deep-1 bulleted y", "2 b"]],
        ),
        (
            "- a\n  1. x\n  2. y\n\n- b\n  1. z",
            [["ul", "a", "1 deep-1 numbered x", "2 deep-1 numbered y", "b", "1 deep-1 numbered z"]],
        ),
        ("- a\n\n0. b", [["ul", "a"], ["ol", "0 b"]]),
    ],
)
def test_numbers_of_a_list_stay_as_written(
    installation: Installation, english: Browser, written: str, lists: list[list[str]]
) -> None:
    assert module(installation, english, ITEMS, [written]) == [lists]


@pytest.mark.parametrize(
    "bomb",
    [
        "[",
        "*",
        "**a ",
        "`1` ",
        "**1** ",
        "`",
        "> ",
        "- ",
        "![](",
        "[a](",
        "  " * 6 + "- ",
        "1. \n\n",
        "_ ",
        "#",
        "|",
        "```\n",
        "```",
        "\n",
    ],
)
def test_no_markdown_takes_long(installation: Installation, english: Browser, bomb: str) -> None:
    text = (bomb * 60_000)[:60_000]
    twice = (bomb * 120_000)[:120_000]
    for each in (text, twice, text.replace(bomb, f"{bomb}\n")[:60_000]):
        # A text that took quadratic time would take minutes, and this call ends after one.
        assert module(installation, english, MARKDOWN, each)[1] >= 0
