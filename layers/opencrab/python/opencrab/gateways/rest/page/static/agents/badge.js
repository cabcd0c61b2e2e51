/** The one word that says how an agent is, and the menu of its pages. */

import { element, foreign, text } from "../lib/elements.js";
import { subpages } from "../lib/parts.js";
import { ROUTES } from "../lib/router.js";

const OF_TURNS = { waiting: "waiting", running: "working", queued: "working" };

export const BADGES = ["active", "working", "waiting", "dormant", "frozen", "retired"];

/**
 * How an agent is: its status, unless it is frozen or a turn of it is open.
 * @param {Rest.AgentView} agent
 * @param {string | null} turnStatus
 */
export function badgeOf(agent, turnStatus = null) {
  if (agent.status === "retired") return "retired";
  if (agent.frozen) return "frozen";
  return OF_TURNS[turnStatus ?? ""] ?? agent.status;
}

export const badge = (name) => element("span", { class: `badge ${name}` }, text(`badge_${name}`));

/**
 * The address of an agent's page, and of what the API tells about it.
 * @template {string} [S=""]
 * @param {string} id
 * @param {S} [page]
 * @returns {`/agents/${string}${S}`}
 */
export const agentPath = (id, page) => /** @type {any} */ (`/agents/${encodeURIComponent(id)}${page ?? ""}`);

/**
 * The head of each page of an agent: its name, how it is, and its other pages.
 * @param {Rest.AgentView} agent
 */
export function agentHead(agent, shownBadge, current, scope) {
  const start = "/agents/:id";
  const pages = ROUTES.filter(({ path, scopes }) => scopes.includes(scope) && (path === start || path.startsWith(`${start}/`)))
    .map(({ path }) => path.slice(start.length));
  return element("div", {},
    element("div", { class: "heading" }, element("h1", {}, foreign(agent.name)), shownBadge),
    subpages("agent_pages", pages.map((page) => [agentPath(agent.id, page), `agent_page_${page.slice(1) || "live"}`]),
      agentPath(agent.id, current)));
}
