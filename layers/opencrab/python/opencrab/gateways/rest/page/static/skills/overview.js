/** The acquired skills of each agent, those that wait for an approval first. */

import { element, foreign, text } from "../lib/elements.js";
import { everyAgent, nothing } from "../lib/every_agent.js";
import { agentPath } from "../agents/badge.js";

const ORDER = ["quarantined", "candidate", "active", "disabled"];

/**
 * @param {Page.Context} context
 * @param {Rest.AgentView[]} agents
 */
export function overview({ api, signal }, agents) {
  const read = async (agent) => (await api.list(agentPath(agent.id, "/skills"))).filter((each) => each.kind === "acquired" && ORDER.includes(each.status));
  return everyAgent(agents, (agent) => `/skills?agent=${encodeURIComponent(agent.id)}`, read, (skills) => {
    if (skills.length === 0) return nothing("no_acquired_skill");
    const sorted = skills.sort((one, other) => ORDER.indexOf(one.status) - ORDER.indexOf(other.status));
    return element("div", { class: "marks" }, sorted.map((each) => element("span", { class: `badge ${each.status}` }, foreign(each.title), ` · ${text(`skill_is_${each.status}`)}`)));
  }, signal);
}
