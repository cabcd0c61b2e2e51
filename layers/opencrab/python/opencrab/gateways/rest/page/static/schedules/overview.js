/** The schedules of each agent, and for heartbeats its rhythm and its next beat. */

import { element, foreign, text, time } from "../lib/elements.js";
import { everyAgent, nothing } from "../lib/every_agent.js";
import { span } from "./frame.js";

/** @returns {Page.Agent} */
const pathOf = (agent) => `/agents/${encodeURIComponent(agent.id)}`;

/**
 * @param {Page.Context} context
 * @param {Rest.AgentView[]} agents
 */
export function everySchedule({ api, signal }, agents) {
  return everyAgent(agents, (agent) => `/schedules?agent=${encodeURIComponent(agent.id)}`,
    async (agent) => (await api.getIfAllowed(`${pathOf(agent)}/schedules?limit=50`))?.items ?? [],
    (schedules) => (schedules.length === 0 ? nothing("no_schedules") : element("ul", { class: "points" }, schedules.map((each) => element("li", {}, foreign(each.name), " · ",
      each.enabled && each.next_at ? [text("next_run"), " ", time(each.next_at)] : text("schedule_off"))))), signal);
}

/**
 * @param {Page.Context} context
 * @param {Rest.AgentView[]} agents
 */
export function everyBeat({ api, isOwner, signal }, agents) {
  const read = async (agent) => {
    const [found, beats] = await Promise.all([
      api.getIfAllowed(`${pathOf(agent)}/heartbeat`), isOwner ? api.getIfAllowed(`${pathOf(agent)}/heartbeats?limit=1`) : null]);
    return { found, totals: beats?.totals ?? null };
  };
  return everyAgent(agents, (agent) => `/heartbeats?agent=${encodeURIComponent(agent.id)}`, read, ({ found, totals }) => element("p", { class: "hint" },
    found === null ? "–" : rhythm(found),
    found?.enabled && totals?.next_beat_at ? [" · ", text("beat_next"), " ", time(totals.next_beat_at)] : null,
    totals === null ? null : ` · ${totalsSaid(totals)}`), signal);
}

export const rhythm = (found) => (found.enabled ? text("every", { span: span(found.interval_seconds) }) : text("rhythm_off"));

export const totalsSaid = ({ beats, idle, turns }) => text("beats_said", { beats: beats.toLocaleString(), idle: idle.toLocaleString(), turns: turns.toLocaleString() });
