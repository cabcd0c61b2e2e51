/** Worlds: the agents that live in one, how they fare there, and whether the world is trusted. */

import { agentPath } from "../agents/badge.js";
import { button, element, foreign, loadWords, text, time, visibleLine } from "../lib/elements.js";
import { tick } from "../lib/parts.js";
import { facts, field, form, link, reading, table } from "../lib/widgets.js";
import { frame } from "../settings/frame.js";
import { events } from "./events.js";

const REFRESH_MS = 15_000;
const STEP = 20;

/** @param {Page.Context} context */
export default async function page(context) {
  await loadWords("worlds");
  const bound = (await context.readAgents()).filter((agent) => agent.world !== null);
  const list = element("div", { class: "cards" });
  const more = button("show_more", () => show(), { hidden: true });
  const show = () => {
    const shown = list.childElementCount;
    list.append(...bound.slice(shown, shown + STEP).map((agent) => citizen(context, agent)));
    more.hidden = list.childElementCount >= bound.length;
  };
  show();
  return frame("/settings/worlds", element("p", { class: "hint" }, text("worlds_hint")),
    bound.length > 0 ? [list, more] : element("p", { class: "empty" }, text("worlds_none"), " ", element("code", {}, "opencrab world bind")));
}

/**
 * One agent in its world.
 * @param {Page.Context} context
 * @param {Rest.AgentView} agent
 */
function citizen({ api, signal }, agent) {
  const path = agentPath(agent.id);
  const id = `world-of-${agent.id}`;
  const trust = element("div");
  const latest = events(api, path, signal);
  const show = (/** @type {Rest.WorldView} */ world) => {
    // A form is made once: what is typed in it stays when the figures are read again.
    if (!trust.firstChild) trust.append(trustForm(api, path, world, () => figures.refresh()));
    return worldFacts(world);
  };
  const figures = reading(() => api.get(`${path}/world`), show, { every: REFRESH_MS, signal });
  return element("section", { class: "card", "aria-labelledby": id },
    element("h2", { id }, link(path, foreign(agent.name))), figures, latest, trust);
}

/** @param {Rest.WorldView} world */
function worldFacts(world) {
  const { account, doubt, trust } = world;
  return [
    doubt === null ? null : element("p", { class: "warning" }, text(`worlds_doubt_${doubt.kind}`, { told: doubt.told, expected: doubt.expected }), " ", time(doubt.at)),
    facts([
      ["worlds_world", foreign(world.world_id)], ["worlds_role", text(`worlds_role_${world.genome.role}`)],
      ["worlds_status", world.status && text(`badge_${world.status}`)], ["worlds_cycle", number(world.cycle)],
      ["worlds_units", number(world.units)], ["worlds_balance", number(world.balance)],
      ["worlds_reputation", number(world.reputation)],
      ["worlds_entry", account && text(account.missing > 0 ? "worlds_entry_gaps" : "worlds_entry_whole", { entry: account.entry, balance: account.balance, missing: account.missing })],
      ["worlds_trust", trust === null ? text("worlds_asks") : text("worlds_trusted", { limit: trust.daily_limit, spent: trust.spent })],
      ["worlds_heard", world.heard_at ? time(world.heard_at) : text("worlds_never")],
      ["worlds_key", element("code", {}, foreign(world.key_id))],
    ]),
    prices(world.prices),
  ];
}

const number = (value) => (value === null ? null : value.toLocaleString());

function prices(found) {
  const rows = Object.entries(found);
  if (rows.length === 0) return null;
  return element("details", {}, element("summary", {}, text("worlds_prices", { count: rows.length })),
    table(["worlds_message", "worlds_price"], rows.map(([name, price]) => [element("code", {}, visibleLine(name)), number(price)]), { caption: "worlds_message" }));
}

/**
 * @param {Page.Api} api
 * @param {Page.Agent} path
 * @param {Rest.WorldView} world
 */
function trustForm(api, path, world, onChanged) {
  const trusted = tick("worlds_trust_it", world.trust !== null);
  const limit = element("input", { type: "number", id: `limit-${world.agent_id}`, min: 0, step: 1, required: true, inputmode: "numeric", value: world.trust?.daily_limit ?? 0 });
  const save = async () => {
    const isTrusted = trusted.input.checked;
    await api.put(`${path}/world/policy`, { trusted: isTrusted, daily_limit: isTrusted ? Number(limit.value) : 0 });
    await onChanged();
  };
  return element("details", {}, element("summary", {}, text("worlds_trust_change")),
    form([trusted.element, field("worlds_limit", limit, "worlds_limit_hint")], "save", save, { class: "quiet" }));
}
