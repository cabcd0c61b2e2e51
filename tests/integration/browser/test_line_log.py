"""The lines of a live session in Chromium: those that come quickly are shown together."""

import pytest

from tests.integration.browser.conftest import Installation
from tests.integration.browser.test_modules import module
from tests.integration.browser.webdriver import Browser

pytestmark = pytest.mark.timeout(300)

QUICK = """
const {LineLog} = await import(base + "sessions/line_log.js");
const {element, loadWords} = await import(base + "lib/elements.js");
await loadWords("sessions");
const log = new LineLog({
  read: async () => ({items: [], next_cursor: null}), arrivingRow: () => element("p"),
  row: (line) => element("p", {}, line.text), onError() {}, onNews() {},
});
document.body.append(log.element);
await log.open();
let changes = 0;
new MutationObserver(() => { changes += 1; }).observe(log.rows, {childList: true});
const begun = performance.now();
for (let sequence = 1; sequence <= input; sequence += 1) {
  log.apply({sequence, text: `行 ${sequence}`});
  await new Promise((resolve) => setTimeout(resolve, 4));
}
while (log.rows.querySelectorAll("p:not(.empty)").length < input) {
  await new Promise((resolve) => setTimeout(resolve, 10));
}
const most = 2 + (performance.now() - begun) / 80;
log.element.scrollTop = 0;
log.element.dispatchEvent(new Event("scroll"));
await new Promise((resolve) => setTimeout(resolve, 50));
const shown = [...log.rows.children].map((each) => each.textContent);
return {changes, most, shown};
"""


def test_many_lines_change_the_page_only_some_times_a_second(
    installation: Installation, english: Browser
) -> None:
    found = module(installation, english, QUICK, 150)
    assert found["changes"] <= found["most"], found
    # Each once, and that nothing was said is not said any more.
    assert found["shown"] == [f"行 {number}" for number in range(1, 151)]
