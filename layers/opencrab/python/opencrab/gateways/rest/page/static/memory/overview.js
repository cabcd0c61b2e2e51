/** How much each agent remembers, for owners; for others the way to search in it. */

import { element, text } from "../lib/elements.js";
import { everyAgent, nothing } from "../lib/every_agent.js";

/**
 * @param {Page.Context} context
 * @param {Rest.AgentView[]} agents
 */
export function overview({ api, isOwner, signal }, agents) {
  const pathOf = (agent) => /** @type {`/agents/${string}`} */ (`/agents/${encodeURIComponent(agent.id)}`);
  const read = async (agent) => (isOwner ? api.getIfAllowed(`${pathOf(agent)}/memory/status`) : null);
  return everyAgent(agents, (agent) => `${pathOf(agent)}/memory`, read, (found) => {
    if (found === null) return nothing("memory_search_it");
    return element("span", { class: "hint" }, text("memory_so_much", { memories: found.memories, sessions: found.all_sessions }));
  }, signal);
}
