/** The last events that a world told an agent of; they are read when somebody opens them. */

import { element, foreign, text, time, visibleText } from "../lib/elements.js";
import { pagedList } from "../lib/widgets.js";

/**
 * @param {Page.Api} api
 * @param {Page.Agent} path
 * @param {AbortSignal} signal
 */
export function events(api, path, signal) {
  /** @param {Rest.ReceivedEventView} each */
  const row = (each) => element("li", {},
    element("div", { class: "marks" }, element("code", {}, foreign(each.type)), element("span", { class: "hint" }, foreign(each.source), " · ", time(each.at)),
      each.opportunity ? element("span", { class: "badge active" }, text("worlds_opportunity")) : null,
      each.tainted ? element("span", { class: "badge waiting" }, text("worlds_untrusted")) : null),
    element("p", { class: "prose", dir: "auto" }, visibleText(each.text)));
  const made = element("details", {}, element("summary", {}, text("worlds_events")));
  made.addEventListener("toggle", () => {
    if (made.open && made.childElementCount === 1) {
      made.append(pagedList(api, `${path}/received-events`, row, { empty: "worlds_no_events", size: 10, signal }));
    }
  });
  return made;
}
