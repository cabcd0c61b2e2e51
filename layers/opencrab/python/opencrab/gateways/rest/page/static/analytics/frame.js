/** What the pages of the figures have in common: the agent, the period, and how figures are written. */

import { percent } from "../lib/charts.js";
import { element, foreign, hasText, text, visibleLine } from "../lib/elements.js";
import { agentChoice, choice, subpages } from "../lib/parts.js";
import { heading } from "../lib/widgets.js";

const PERIODS = ["last_day", "last_week", "last_month", "all"];

/**
 * The page of one agent with the way to its others; what only an owner sees is not offered to others.
 * @param {Page.Context & { agents: Rest.AgentView[] }} context
 */
export function agentFrame({ params, agentName, isOwner, agents, go }, part, ...content) {
  const base = `/analytics/${encodeURIComponent(params.agent)}`;
  const pages = [[base, "agent_use"], [`${base}/models`, "agent_models"]];
  if (isOwner) pages.push([`${base}/learning`, "agent_learning"], [`${base}/relations`, "agent_relations"]);
  const options = [{ id: "", name: text("all_agents") }, ...agents];
  const choose = (id) => go(id === "" ? "/analytics" : `/analytics/${encodeURIComponent(id)}${part}`);
  return element("section", { class: "figures" },
    heading(foreign(agentName(params.agent)), agentChoice(options, params.agent, choose, { "aria-label": text("choose_agent"), class: "short" })),
    subpages("analytics", pages, base + part), content.flat(Infinity));
}

/** The period that the figures are of. */
export const periodChoice = (chosen, onchange) =>
  choice(PERIODS.map((each) => [each, text(`period_${each}`)]), chosen, onchange, { "aria-label": text("choose_period"), class: "short" });

/** What may be missing of figures: those of a night that has not come, and why there are none. */
export function asOf(found) {
  const notes = [];
  if (found.reason) notes.push(element("p", { class: "hint" }, why(found.reason)));
  return notes;
}

/** Why something is not known or was decided; a reason without a text is shown as it is. */
export const why = (reason) => (hasText(`why_${reason}`) ? text(`why_${reason}`) : visibleLine(reason));

/** A mean with its interval: what is known, and how well. */
export function estimate(found) {
  if (found === null || found === undefined) return "–";
  return text("estimate", { mean: percent(found.mean), low: percent(found.low), high: percent(found.high), n: found.n.toLocaleString() });
}

/** An effect in points of 100 with its interval. */
export function effect(found) {
  if (!found || found.points === null) return text("figure_effect_unknown", { given: found?.given ?? 0, held: found?.held ?? 0 });
  const signed = (value) => (value === null ? "?" : `${value > 0 ? "+" : ""}${value.toFixed(1)}`);
  return text("effect_is", { points: signed(found.points), low: signed(found.low), high: signed(found.high), given: found.given, held: found.held });
}

/** Milliseconds as a person says them. */
export const duration = (ms) => (ms === null || ms === undefined ? "–" : ms >= 1_000 ? text("seconds", { n: (ms / 1_000).toFixed(1) }) : text("milliseconds", { n: Math.round(ms) }));

/** A row of a name with a bar of its share. */
export function share(name, part, said) {
  return element("div", { class: "budget" },
    element("div", { class: "line" }, element("span", {}, foreign(name)), element("span", { class: "amount" }, said)),
    element("meter", { min: 0, max: 1, value: Math.min(1, part), "aria-label": said }));
}

/** Days without a gap, so that a day on which nothing happened is seen as such. */
export function everyDay(days, most = 62) {
  if (days.length === 0) return [];
  const known = new Map(days.map((each) => [each.day, each]));
  const names = [...known.keys()].sort();
  const found = [];
  const last = new Date(`${names.at(-1)}T00:00:00Z`);
  for (let at = last; found.length < most; at = new Date(at.getTime() - 86_400_000)) {
    const day = at.toISOString().slice(0, 10);
    found.unshift(known.get(day) ?? { day, cost_micro_usd: 0, calls: 0, failed: 0, turns: 0, spoke: 0 });
    if (day === names[0]) break;
  }
  return found;
}
