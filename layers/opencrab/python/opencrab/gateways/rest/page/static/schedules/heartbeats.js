/** Heartbeats: when each agent wakes next, how one agent acts by itself, and what came of it. */

import { element, foreign, text, time } from "../lib/elements.js";
import { card, link, pagedList, reading, table } from "../lib/widgets.js";
import { frame } from "./frame.js";
import { heartbeatForm } from "./heartbeat_form.js";
import { everyBeat, rhythm, totalsSaid } from "./overview.js";

const MOST_AGENTS = 30;

/** @param {Page.Context} context */
export default async function page(context) {
  return frame(context, "/heartbeats", await context.readAgents(), (agent) => [
    settings(context, agent),
    context.isOwner ? card("beats_log", log(context, agent)) : null,
  ], (agents) => card("next_beats", agents.length > MOST_AGENTS ? everyBeat(context, agents) : nextBeats(context, agents)));
}

/** @returns {Page.Agent} */
const pathOf = (id) => `/agents/${encodeURIComponent(id)}`;

/**
 * @param {Page.Context} context
 * @param {Rest.AgentView} agent
 */
function settings({ api, isOwner, signal }, agent) {
  const path = `${pathOf(agent.id)}/heartbeat`;
  const show = (found) => (isOwner
    ? heartbeatForm(found, (change) => api.get(path).then((now) => api.put(path, { ...now, ...change })))
    : element("p", {}, rhythm(found)));
  return card("beat_settings", reading(() => api.get(path), show, { signal }));
}

/**
 * The next beat of every agent; the agents that beat first come first.
 * @param {Page.Context} context
 */
function nextBeats({ api, isOwner, signal }, agents) {
  const one = async (agent) => {
    const [found, beats] = await Promise.all([
      api.getIfAllowed(`${pathOf(agent.id)}/heartbeat`), isOwner ? api.getIfAllowed(`${pathOf(agent.id)}/heartbeats?limit=1`) : null]);
    return { agent, found, totals: beats?.totals ?? null };
  };
  const order = ({ found, totals }) => (found?.enabled && totals?.next_beat_at) || "9";
  return reading(() => Promise.all(agents.map(one)), (all) =>
    table(["beat_agent", "beat_rhythm", "beat_next", "beat_totals"], all.sort((a, b) => (order(a) < order(b) ? -1 : 1)).map(({ agent, found, totals }) => [
      link(`/heartbeats?agent=${encodeURIComponent(agent.id)}`, foreign(agent.name)),
      found === null ? "–" : rhythm(found),
      found?.enabled && totals?.next_beat_at ? time(totals.next_beat_at) : "–",
      totals === null ? "–" : totalsSaid(totals)]), { caption: "next_beats" }), { every: 60_000, signal });
}

/**
 * The beats that had a reason, with what came of each.
 * @param {Page.Context} context
 * @param {Rest.AgentView} agent
 */
function log({ api, signal }, agent) {
  const row = (beat) => element("li", { class: "line" },
    element("span", {}, time(beat.at), ` · ${beat.reasons.map((each) => text(`beat_because_${each}`)).join(", ")}`),
    outcome(beat), link(`/analytics/turns/${encodeURIComponent(beat.turn_id)}`, text("its_cost")));
  return element("div", {}, element("p", { class: "hint" }, text("beats_log_hint")),
    pagedList(api, `${pathOf(agent.id)}/heartbeats`, row, { empty: "no_beats", size: 20, signal }));
}

/**
 * What the agent decided, how its turn ended, and the tool calls that succeeded.
 * @param {Rest.BeatView} beat
 */
function outcome(beat) {
  if (beat.decision === null) return element("span", { class: "badge" }, "–");
  return element("span", {}, element("span", { class: "badge" }, text(`beat_did_${beat.decision}`)), ` ${text(`beat_turn_${beat.status}`)}`,
    beat.actions.length > 0 ? [" · ", foreign(beat.actions.join(", "))] : null);
}
