/** What each agent works on: its open goals, or for other keys the tasks that they see. */

import { element, foreign, text } from "../lib/elements.js";
import { everyAgent, nothing } from "../lib/every_agent.js";

const OPEN = new Set(["pending", "active", "waiting", "paused"]);
const SHOWN = 3;

/**
 * @param {Page.Context} context
 * @param {Rest.AgentView[]} agents
 */
export function overview({ api, signal }, agents) {
  const pathOf = (agent) => /** @type {`/agents/${string}`} */ (`/agents/${encodeURIComponent(agent.id)}`);
  const read = async (agent) => {
    const found = await api.getIfAllowed(`${pathOf(agent)}/goals?limit=50`) ?? await api.getIfAllowed(`${pathOf(agent)}/tasks?limit=50`);
    return { open: (found?.items ?? []).filter((each) => OPEN.has(each.status)), hasMore: Boolean(found?.next_cursor) };
  };
  return everyAgent(agents, (agent) => `${pathOf(agent)}/goals`, read, ({ open, hasMore }) => {
    if (open.length === 0) return nothing("goals_none_open");
    const rest = open.length - SHOWN;
    return [element("ul", { class: "points" }, open.slice(0, SHOWN).map((each) => element("li", {}, foreign(each.name), ` · ${text("goals_completion", { percent: each.completion })}`))),
      rest > 0 ? element("span", { class: "hint" }, text(hasMore ? "goals_and_many" : "goals_and_more", { count: rest })) : null];
  }, signal);
}
