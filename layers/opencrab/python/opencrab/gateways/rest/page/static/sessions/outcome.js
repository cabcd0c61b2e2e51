/** What came out of a discussion: decisions, open points, and who does what, with promises as code judged them. */

import { element, foreign, text, time, visibleText } from "../lib/elements.js";
import { card, facts, link, reading } from "../lib/widgets.js";

const REFRESH_MS = 20_000;

/**
 * The outcome of a session that has ended; it is read again, as it is written and judged later.
 * @param {Page.Context} context
 * @param {`/sessions/${string}`} path
 */
export function outcomeCard({ api, signal }, path) {
  const show = (found) => (found === null ? element("p", { class: "hint" }, text("sessions_no_outcome")) : outcome(found));
  return card("sessions_outcome", reading(() => api.getIfAllowed(`${path}/outcome`), show, { every: REFRESH_MS, signal }));
}

/** @param {Rest.OutcomeView} found */
function outcome(found) {
  if (found.state !== "written") {
    return [element("p", { class: "hint" }, text(`sessions_outcome_${found.state}`)), found.why ? element("p", { class: "hint" }, foreign(found.why)) : null];
  }
  const isEmpty = found.decisions.length + found.open_points.length + found.tasks.length === 0;
  return [
    points("sessions_decisions", found.decisions), points("sessions_open_points", found.open_points),
    found.tasks.length > 0 ? [element("h3", {}, text("sessions_tasks")), element("ul", { class: "agents" }, found.tasks.map(task))] : null,
    isEmpty ? element("p", { class: "hint" }, text("sessions_outcome_empty")) : null,
  ];
}

function points(key, texts) {
  if (texts.length === 0) return null;
  return [element("h3", {}, text(key)), element("ul", { class: "points" }, texts.map((each) => element("li", { dir: "auto" }, visibleText(each))))];
}

/** @param {Rest.OutcomeTaskView} each */
function task(each) {
  // A promise that is open says no more than that the task was taken over.
  const settled = each.promise !== null && each.promise !== "open";
  const state = settled ? `sessions_promise_${each.promise}` : `sessions_answer_${each.answer}`;
  return element("li", {},
    element("p", { class: "prose", dir: "auto" }, visibleText(each.what)),
    element("div", { class: "marks" }, element("strong", {}, foreign(each.name)), element("span", { class: `badge ${settled ? each.promise : each.answer}` }, text(state)),
      element("span", { class: "hint" }, text("sessions_due"), " ", time(each.due)),
      each.goal_id ? link(`/agents/${encodeURIComponent(each.agent_id)}/goals`, text("sessions_its_goal")) : null),
    facts([["sessions_done_when", each.done_when && foreign(each.done_when)], ["sessions_judged_by", each.evidence.length > 0 && foreign(each.evidence.join(" · "))],
      ["sessions_reason", each.reason && foreign(each.reason)]].map(([key, value]) => [key, value || null])));
}
