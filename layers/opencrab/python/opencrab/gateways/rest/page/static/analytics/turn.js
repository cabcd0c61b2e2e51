/** The money of one turn: what it reserved, what each of its calls cost, and why. */

import { dollars, element, foreign, text, time } from "../lib/elements.js";
import { card, facts, heading, link, reading, table } from "../lib/widgets.js";

/** @param {Page.Context} context */
export default async function page({ api, params, agentName, signal }) {
  const path = `/costs/explain?turn=${encodeURIComponent(params.turn)}`;
  return element("section", { class: "figures" }, heading(text("turn_cost")),
    reading(() => api.get(path), (found) => shown(found, agentName), { signal }));
}

/** @param {Rest.Explanation} found */
function shown(found, agentName) {
  return [
    element("p", {}, link(`/analytics/${encodeURIComponent(found.agent_id)}`, foreign(agentName(found.agent_id))), ` · ${text(`turn_was_${found.status}`)}`),
    card("figures_sum",
      facts([["figure_drawn", dollars(found.drawn_micro_usd)], ["figure_spent", dollars(found.spent_micro_usd)],
        ["figure_held", dollars(found.held_micro_usd)], ["figure_returned", dollars(found.returned_micro_usd)]]),
      element("p", { class: found.adds_up ? "hint" : "warning" }, text(found.adds_up ? "adds_up" : "adds_not_up")),
      found.complete ? null : element("p", { class: "warning" }, text("calls_missing"))),
    card("figures_calls", found.calls.length === 0 ? element("p", { class: "empty" }, text("figures_no_calls"))
      : table(["call_at", "call_model", "call_for", "call_by", "figure_reserved", "figure_cost", "figure_ground"], found.calls.map(call), { caption: "figures_calls" })),
  ];
}

function call(each) {
  const shares = each.shares.map((part) => element("div", { class: "hint" }, foreign(part.kind), " ", text("tokens_at", {
    n: part.tokens.toLocaleString(), cost: dollars(part.micro_usd) })));
  return [
    each.at ? time(each.at) : "–", element("code", {}, foreign(`${each.provider}:${each.model}`)),
    element("span", {}, text(`purpose_${each.purpose}`), " · ", foreign(each.task_type)), foreign(each.chosen_by),
    dollars(each.reserved_micro_usd), element("div", {}, dollars(each.cost_micro_usd), shares),
    element("span", {}, text(`ground_${each.ground}`), each.fault ? [" · ", foreign(each.fault)] : ""),
  ];
}
