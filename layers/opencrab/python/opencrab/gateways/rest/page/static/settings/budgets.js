/** Budgets: what was drawn today, and the limits that no model call passes. */

import { dollars, element, foreign, text } from "../lib/elements.js";
import { amount, amountOf } from "../lib/parts.js";
import { action, card, field, form, reading } from "../lib/widgets.js";
import { frame } from "./frame.js";

/** The limits in dollars; without a value a session has no limit. */
const AMOUNTS = ["installation_day", "agent_day", "session", "turn", "public_user_day", "block"];

/** @param {Page.Context} context */
export default async function page({ api, agentName, signal }) {
  let budgets = await api.get("/budgets");
  const drawn = reading(() => api.get("/budgets"), (found) => [
    found.drawn.map((each) => use(each, agentName)),
    found.unconfirmed_micro_usd > 0
      ? element("p", { class: "warning" }, text("budget_held", { amount: dollars(found.unconfirmed_micro_usd) })) : null,
  ], { every: 30_000, signal });
  const limits = element("div");
  const change = async (body) => {
    budgets = await api.put("/budgets", { limits: body });
    show();
    await drawn.refresh();
  };
  const show = () => limits.replaceChildren(limitsForm(budgets, change),
    budgets.changed.length === 0 ? "" : action("budgets_reset", () => change(null), { ask: "budgets_reset_question" }));
  show();
  return frame("/settings/budgets", card("part_drawn", drawn), card("part_limits", limits));
}

export function use({ scope, drawn_micro_usd: drawn, limit_micro_usd: limit }, agentName) {
  const [kind, id] = [scope.split(":")[0], scope.split(":").slice(1).join(":")];
  const said = text("budget_of", { drawn: dollars(drawn), limit: dollars(limit) });
  const name = kind === "installation" ? text("budget_all") : foreign(agentName(id) || scope);
  return element("div", { class: "budget" },
    element("div", { class: "line" }, element("span", {}, name), element("span", { class: "amount" }, said)),
    element("meter", { min: 0, max: 1, high: 0.8, optimum: 0, value: limit > 0 ? Math.min(drawn / limit, 1) : 1, "aria-label": said }));
}

/** @param {Rest.BudgetsView} budgets */
function limitsForm({ limits, configured, changed }, change) {
  const inputs = Object.fromEntries(AMOUNTS.map((name) => {
    const isOptional = name === "session";
    return [name, amount(limits[`${name}_micro_usd`], { id: `limit-${name}`, required: !isOptional })];
  }));
  const percent = element("input", { type: "number", id: "limit-percent", min: 0, max: 100, step: 1, required: true, value: limits.heartbeat_percent });
  const note = (name, configuredValue) => (changed.includes(name)
    ? element("p", { class: "hint" }, text("budget_configured", { value: configuredValue })) : "");
  const shown = (micro) => (micro === null ? text("budget_none") : dollars(micro));
  const fields = AMOUNTS.map((name) => element("div", {},
    field(`limit_${name}`, inputs[name], `limit_${name}_hint`), note(`${name}_micro_usd`, shown(configured[`${name}_micro_usd`]))));
  const share = element("div", {}, field("limit_percent", percent, "limit_percent_hint"), note("heartbeat_percent", `${configured.heartbeat_percent} %`));
  return form([element("div", { class: "fields" }, fields, share)], "save", () => {
    const wanted = Object.fromEntries(AMOUNTS.map((name) => [`${name}_micro_usd`, amountOf(inputs[name])]));
    wanted.session_micro_usd ??= 0;
    return change(onlyChanged({ ...wanted, heartbeat_percent: Number(percent.value) }, limits));
  });
}

/** What differs, so that a limit that somebody else changes meanwhile stays as they set it. */
function onlyChanged(wanted, before) {
  return Object.fromEntries(Object.entries(wanted).filter(([name, value]) => value !== (before[name] ?? 0)));
}
