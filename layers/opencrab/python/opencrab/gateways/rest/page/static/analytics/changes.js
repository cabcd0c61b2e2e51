/** What learning proposed or changed because of its measurements, to apply and to undo. */

import { element, foreign, text, time, visibleText } from "../lib/elements.js";
import { action, pagedList } from "../lib/widgets.js";

/**
 * The changes of some kinds, newest first.
 * @param {Page.Context} context
 */
export function changes({ api, signal }, agentId, kinds) {
  /** @type {`/agents/${string}/changes`} */
  const path = `/agents/${encodeURIComponent(agentId)}/changes`;
  const list = pagedList(api, path, (each) => (kinds.includes(each.kind) ? row(each) : null), { empty: "figures_no_changes", size: 50, signal });
  const decide = (change, what) => async () => {
    await api.post(`${path}/${encodeURIComponent(change.id)}/${what}`);
    await list.refresh();
  };
  function row(change) {
    const named = (key) => ({ "aria-label": `${text(key)}: ${change.subject}` });
    return element("li", {},
      element("div", { class: "line" },
        element("span", {}, element("span", { class: `badge ${change.state === "proposed" ? "waiting" : ""}` }, text(`change_${change.state}`)), " ",
          text(`change_of_${change.kind}`), " ", element("strong", {}, foreign(change.subject))),
        change.state === "proposed" ? action("change_apply", decide(change, "apply"), { class: "approve", ...named("change_apply") }) : "",
        change.state === "applied" ? action("change_undo", decide(change, "undo"), { ask: "change_undo_question", ...named("change_undo") }) : ""),
      change.says.map((each) => element("p", {}, visibleText(each))),
      element("p", { class: "hint" }, time(change.at), change.ended_at ? [" · ", text("ended"), " ", time(change.ended_at)] : ""),
      element("details", {}, element("summary", {}, text("evidence")),
        element("pre", { tabindex: 0 }, visibleText(JSON.stringify({ before: change.before, after: change.after, evidence: change.evidence }, null, 2)))));
  }
  return list;
}
