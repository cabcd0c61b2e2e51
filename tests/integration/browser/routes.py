"""Every page of the application, as its router knows them, so that a new page is tested as well."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.integration.browser.conftest import Installation
from tests.integration.browser.webdriver import Browser

_WATCH = """
(() => {
  const real = window.fetch;
  window.openRequests = 0;
  window.fetch = async (url, options) => {
    // A stream of events has no end.
    const isStream = String(options?.headers?.Accept).includes("event-stream");
    if (!isStream) window.openRequests += 1;
    try {
      const answer = await real(url, options);
      const read = answer.json.bind(answer);
      answer.json = () => read().finally(() => { window.lastRead = performance.now(); });
      return answer;
    } finally {
      if (!isStream) window.openRequests -= 1;
      window.lastRead = performance.now();
    }
  };
})();
"""
_STILL = """
return document.querySelector("main h1, main .lines") !== null
  && document.querySelector("[aria-busy=true]") === null
  && window.openRequests === 0 && performance.now() - (window.lastRead ?? 0) > 250
  && document.getAnimations().every((each) => each.playState !== "running"
    || each.effect.getComputedTiming().iterations === Infinity);
"""
_FOLLOW = """
window.leftPage = document.querySelector("main").firstElementChild;
const link = document.createElement("a");
link.href = arguments[0];
document.body.append(link);
link.click();
link.remove();
"""
_HAS_MOVED = "return document.querySelector('main').firstElementChild !== window.leftPage"
_ROUTES = """
const base = document.querySelector("script[src]").src.replace("main.js", "");
return import(base + "lib/router.js")
  .then(({ROUTES}) => ROUTES.map(({path, scopes}) => [path, scopes]));
"""
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def watch_requests(window: Browser) -> None:
    """Count the requests of every page that this window opens from now on, for `settle`."""
    window.devtools("Page.addScriptToEvaluateOnNewDocument", source=_WATCH)


def settle(window: Browser) -> None:
    """Wait until a page has read and shown what it shows."""
    window.until(lambda: window.run(_STILL), "the page does not come to rest")


def routes_of(window: Browser) -> dict[str, list[str]]:
    """The scopes that may open each route of the page that is shown, by its pattern."""
    return dict(window.run(_ROUTES))


def address_of(pattern: str, ids: Mapping[str, str]) -> str:
    """The address of a route. `ids` has what stands for a `:name`, by the part before it.

    A new kind of id must be told in `furnishing.py`.
    """
    parts = pattern.split("/")
    filled = [
        ids["agents" if part == ":agent" else parts[number - 1]] if part.startswith(":") else part
        for number, part in enumerate(parts)
    ]
    return "/".join(filled)


def go_to(installation: Installation, window: Browser, path: str) -> None:
    """Open a page of the application and wait until it shows all that it shows."""
    installation.go(window, path)
    settle(window)


def move_to(_installation: Installation, window: Browser, path: str) -> None:
    """Follow a link to a page of the application that is open, and wait for all that it shows."""
    window.run(_FOLLOW, path)
    window.until(lambda: window.run(_HAS_MOVED), f"the link to {path} leads nowhere")
    settle(window)


def each_view(window: Browser) -> Iterator[str]:
    """Open all that is folded, then one tab after the other, and name what is shown."""
    window.run("document.querySelectorAll('main details').forEach((each) => { each.open = true; })")
    settle(window)
    yield "as it opens"
    tabs = "[...document.querySelectorAll('main [role=tab]')]"
    for number in range(1, window.run(f"return {tabs}.length")):
        name = window.run(
            f"const tab = {tabs}[arguments[0]]; tab?.click(); return tab?.textContent", number
        )
        settle(window)
        yield str(name)


def show_all(window: Browser, most: int = 5) -> None:
    """Open further pages of the lists that are shown."""
    more = "[...document.querySelectorAll('main .more')].filter((each) => each.checkVisibility())"
    for _ in range(most):
        if not window.run(
            f"const all = {more}; all.forEach((each) => each.click()); return all[0]"
        ):
            return
        settle(window)


def run_axe(window: Browser, source: str, rules: Sequence[str] = ()) -> list[dict[str, Any]]:
    """What axe-core finds wrong with the page that is shown; by these rules, or by all."""
    if not window.run("return 'axe' in window"):
        window.devtools("Runtime.evaluate", expression=source)
    found: list[dict[str, Any]] = window.run(
        "return axe.run(document, {runOnly: arguments[0], resultTypes: ['violations']})"
        ".then((found) => found.violations.map(({id, help, nodes}) =>"
        "({id, help, nodes: nodes.map(({target, failureSummary}) =>"
        "`${target.join(' ')}: ${failureSummary}`)})))",
        {"type": "rule", "values": rules} if rules else _TAGS,
    )
    return found
