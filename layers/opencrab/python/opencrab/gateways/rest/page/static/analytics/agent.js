/** What one agent used: cost by day and week, models, how often it spoke, and its latest turns. */

import { bars, percent } from "../lib/charts.js";
import { dollars, element, text, time } from "../lib/elements.js";
import { card, facts, link, pagedList, reading, table } from "../lib/widgets.js";
import { agentFrame, duration, everyDay, periodChoice } from "./frame.js";
import { modelShare } from "./page.js";

/** What is said where a chart would show nothing but zeros. */
const EMPTY = { cost_micro_usd: "chart_no_costs", spoke: "chart_no_speeches", calls: "figures_no_calls" };

/** @param {Page.Context} context */
export default async function page(context) {
  const { api, params, isOwner, readAgents, signal } = context;
  const id = encodeURIComponent(params.agent);
  let period = "last_month";
  const part = reading(() => api.get(`/agents/${id}/analytics/usage?period=${period}`), usage, { every: 120_000, signal });
  const choose = (chosen) => {
    period = chosen;
    part.refresh();
  };
  const turns = pagedList(api, `/turns?agent_id=${id}`, (each) => turnRow(each, isOwner), { empty: "figures_no_turns", size: 20, signal });
  return agentFrame({ ...context, agents: await readAgents() }, "",
    element("p", { class: "period" }, periodChoice(period, choose)), part, card("figures_turns", turns));
}

/** @param {Rest.UsageAnalytics} found */
function usage(found) {
  const { totals, turns } = found;
  const days = everyDay(found.days);
  const by = (key, format, name) => bars(text(name), days.map((each) => ({ name: each.day.slice(5), value: each[key] ?? 0 })),
    { format, isCount: format !== dollars, empty: text(EMPTY[key]), headings: [text("figure_day"), text(key === "cost_micro_usd" ? "figure_cost" : `figure_${key}`)] });
  const count = (value) => Math.round(value).toLocaleString();
  if (totals.calls === 0 && turns.turns === 0) return element("p", { class: "empty" }, text("figures_no_calls"));
  return [
    card("figures_costs",
      facts([["figure_cost", dollars(totals.cost_micro_usd)], ["figure_calls", text("calls_failed", { calls: totals.calls.toLocaleString(), failed: totals.failed.toLocaleString() })],
        ["figure_tokens", text("tokens_of", { input: totals.input_tokens.toLocaleString(), output: totals.output_tokens.toLocaleString() })],
        ["figure_mean_time", duration(totals.mean_latency_ms)]]),
      days.length ? by("cost_micro_usd", dollars, "cost_by_day") : null,
      found.weeks.length ? bars(text("cost_by_week"), found.weeks.map((each) => ({ name: each.week, value: each.cost_micro_usd })), { format: dollars, empty: text(EMPTY.cost_micro_usd), headings: [text("figure_week"), text("figure_cost")] }) : null),
    card("figures_models", found.models.map((each) => modelShare(each, totals.cost_micro_usd, totals.calls))),
    card("figures_speeches",
      facts([["figure_turns", turns.turns.toLocaleString()], ["figure_spoke", turns.spoke.toLocaleString()],
        ["figure_spoke_a_day", turns.spoke_a_day === null ? null : turns.spoke_a_day.toFixed(1)]]),
      turns.complete ? null : element("p", { class: "hint" }, text("turns_since"), " ", time(turns.since)),
      days.length ? by("spoke", count, "speeches_by_day") : null,
      days.length ? by("calls", count, "calls_by_day") : null),
    card("figures_reasons", element("div", { class: "fields" },
      counted("acted_because", turns.triggers, (each) => text(`by_trigger_${each}`), turns.turns),
      counted("ended_as", turns.statuses, (each) => text(`turn_was_${each}`), turns.turns))),
  ];
}

/** How many turns there were of each kind. */
function counted(title, counts, name, all) {
  return table([title, "figure_turns", "part_of_all"], Object.entries(counts).sort(([, a], [, b]) => b - a)
    .map(([key, count]) => [name(key), count.toLocaleString(), percent(count / Math.max(1, all))]), { caption: title });
}

/** @param {Rest.TurnView} turn */
function turnRow(turn, isOwner) {
  const spent = dollars(turn.spent_micro_usd);
  return element("li", { class: "line" },
    element("span", {}, time(turn.created_at), ` · ${text(`by_trigger_${turn.trigger}`)} · ${text(`turn_was_${turn.status}`)}`),
    element("span", { class: "amount" }, spent),
    isOwner ? link(`/analytics/turns/${encodeURIComponent(turn.id)}`, text("explain_cost")) : "");
}
