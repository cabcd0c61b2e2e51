/** The figures of the installation: what it cost, by whom and by which model, and who knows whom. */

import { bars, graph, percent } from "../lib/charts.js";
import { dollars, element, foreign, text } from "../lib/elements.js";
import { card, heading, link, reading, table } from "../lib/widgets.js";
import { everyDay, periodChoice, share } from "./frame.js";

const MOST_AGENTS = 30;
const WARN = 0.8;

/** @param {Page.Context} context */
export default async function page({ api, readAgents, isOwner, agentName, signal }) {
  const agents = (await readAgents()).filter((each) => each.status !== "retired");
  const shown = agents.slice(0, MOST_AGENTS);
  let period = "last_month";
  const read = async () => {
    const one = ({ id }) => api.getIfAllowed(`/agents/${encodeURIComponent(id)}/analytics/usage?period=${period}`);
    const [budgets, ...usages] = await Promise.all([api.getIfAllowed("/budgets"), ...shown.map(one)]);
    return { budgets, usages: usages.filter((each) => each !== null) };
  };
  const costs = reading(read, ({ budgets, usages }) => [
    warnings(budgets, agentName), ...whole(usages, agentName),
    agents.length > shown.length ? element("p", { class: "hint" }, text("agents_left_out", { count: agents.length - shown.length })) : null,
  ], { every: 120_000, signal });
  const choose = (chosen) => {
    period = chosen;
    costs.refresh();
  };
  return element("section", { class: "figures" },
    heading(text("analytics"), periodChoice(period, choose)), costs,
    isOwner ? card("figures_relations", relations(api, shown, signal)) : null);
}

/** Budgets of which much is drawn. */
function warnings(budgets, agentName) {
  if (budgets === null) return null;
  const near = budgets.drawn.filter((each) => each.drawn_micro_usd >= WARN * each.limit_micro_usd);
  const rows = near.map((each) => element("p", { class: "warning", role: "status" }, text("budget_near", {
    part: percent(each.limit_micro_usd > 0 ? each.drawn_micro_usd / each.limit_micro_usd : 1), limit: dollars(each.limit_micro_usd),
  }), " ", each.scope === "installation" ? text("whole_installation") : foreign(agentName(each.scope.split(":")[1]))));
  const [all] = budgets.drawn;
  const said = all ? text("today_of", { drawn: dollars(all.drawn_micro_usd), limit: dollars(all.limit_micro_usd) }) : "";
  return [rows, all ? element("p", { class: "hint" }, said) : null];
}

function whole(usages, agentName) {
  const days = everyDay(summed(usages.flatMap((each) => each.days), "day"));
  const weeks = summed(usages.flatMap((each) => each.weeks), "week");
  const models = summed(usages.flatMap((each) => each.models), "model").sort((a, b) => b.cost_micro_usd - a.cost_micro_usd || b.calls - a.calls);
  const [cost, calls] = [total(models, "cost_micro_usd"), total(models, "calls")];
  if (calls === 0) return [element("p", { class: "empty" }, text("figures_no_calls"))];
  return [
    card("figures_costs",
      element("p", {}, text("cost_of_calls", { cost: dollars(cost), calls: calls.toLocaleString() })),
      bars(text("cost_by_day"), days.map((each) => ({ name: each.day.slice(5), value: each.cost_micro_usd })), { format: dollars, empty: text("chart_no_costs"), headings: [text("figure_day"), text("figure_cost")] }),
      bars(text("cost_by_week"), weeks.map((each) => ({ name: each.week, value: each.cost_micro_usd })), { format: dollars, empty: text("chart_no_costs"), headings: [text("figure_week"), text("figure_cost")] })),
    card("figures_models", models.map((each) => modelShare(each, cost, calls))),
    card("figures_agents", table(["figure_agent", "figure_cost", "figure_calls", "figure_turns", "figure_spoke_a_day"], usages
      .sort((a, b) => b.totals.cost_micro_usd - a.totals.cost_micro_usd || b.totals.calls - a.totals.calls).map((each) => [
        link(`/analytics/${encodeURIComponent(each.agent_id)}`, foreign(agentName(each.agent_id))),
        dollars(each.totals.cost_micro_usd), each.totals.calls.toLocaleString(), each.turns.turns.toLocaleString(),
        each.turns.spoke_a_day === null ? "–" : each.turns.spoke_a_day.toFixed(1)]), { caption: "figures_agents" })),
  ];
}

/** The share of a model: of the cost, or of the calls where nothing cost anything. */
export function modelShare({ model, cost_micro_usd: cost, calls }, allCost, allCalls) {
  const part = allCost > 0 ? cost / allCost : calls / Math.max(1, allCalls);
  const said = text("share_of", { part: percent(part), cost: dollars(cost), calls: calls.toLocaleString() });
  return share(model, part, said);
}

const total = (rows, key) => rows.reduce((sum, each) => sum + (each[key] ?? 0), 0);

/** Rows of the same name, added up. */
function summed(rows, name) {
  const found = new Map();
  for (const row of rows) {
    const sum = found.get(row[name]) ?? { [name]: row[name], cost_micro_usd: 0, calls: 0 };
    sum.cost_micro_usd += row.cost_micro_usd;
    sum.calls += row.calls;
    found.set(row[name], sum);
  }
  return [...found.values()].sort((a, b) => (a[name] < b[name] ? -1 : 1));
}

/**
 * Who of the agents knows whom, and how far it trusts them.
 * @param {Page.Api} api
 */
function relations(api, agents, signal) {
  const read = () => Promise.all(agents.map(async ({ id }) => ({ id, page: await api.getIfAllowed(`/agents/${encodeURIComponent(id)}/peers?limit=100`) })));
  return reading(read, (found) => {
    const edges = found.flatMap(({ id, page }) => (page?.items ?? []).map((peer) => ({ from: id, to: peer.agent_id, weight: peer.trust, said: trustOf(peer) })));
    const known = new Set(edges.flatMap(({ from, to }) => [from, to]));
    const nodes = agents.filter(({ id }) => known.has(id));
    if (nodes.length === 0) return element("p", { class: "empty" }, text("figures_no_relations"));
    return graph(text("who_trusts_whom"), nodes, edges.filter(({ to }) => nodes.some(({ id }) => id === to)),
      { headings: [text("figure_agent"), text("figure_knows"), text("figure_trust")] });
  }, { signal });
}

export const trustOf = (peer) => text("trust_of", { trust: percent(peer.trust), n: peer.interactions, successes: peer.successes });
