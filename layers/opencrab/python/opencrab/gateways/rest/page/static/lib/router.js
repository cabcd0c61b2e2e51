/** Which page an address shows. Each page is a module that is loaded when somebody first opens it. */

const EVERYBODY = ["owner", "chat", "read"];
const OWNER = ["owner"];
const OWNER_AND_READ = ["owner", "read"];
/** Those who may see counts and settings; a chat key only talks. */
const OVERSEERS = ["owner", "read"];

/**
 * `path` is the address, with `:name` for what varies; `area` names the page's texts and its entry of
 * the navigation; `scopes` are the keys that may open it.
 */
export const ROUTES = [
  { path: "/", area: "home", module: "../home/home.js", scopes: EVERYBODY },
  { path: "/chat", area: "chat", module: "../chat/page.js", scopes: EVERYBODY },
  { path: "/agents", area: "agents", module: "../agents/list.js", scopes: EVERYBODY },
  { path: "/agents/:id", area: "agents", module: "../agents/agent.js", scopes: EVERYBODY },
  { path: "/agents/:id/persona", area: "agents", module: "../agents/persona.js", scopes: OWNER },
  { path: "/agents/:id/standing", area: "agents", module: "../standing/page.js", scopes: OWNER_AND_READ },
  { path: "/skills", area: "skills", module: "../skills/page.js", scopes: OWNER_AND_READ },
  { path: "/agents/:id/skills", area: "skills", module: "../skills/agent_skills.js", scopes: OWNER_AND_READ },
  { path: "/sessions", area: "sessions", module: "../sessions/list.js", scopes: EVERYBODY },
  { path: "/sessions/:id", area: "sessions", module: "../sessions/session.js", scopes: EVERYBODY },
  { path: "/sessions/:id/turns/:turn", area: "sessions", module: "../sessions/turn.js", scopes: EVERYBODY },
  { path: "/memory", area: "memory", module: "../memory/memory.js", scopes: ["owner", "chat"] },
  { path: "/agents/:id/memory", area: "memory", module: "../memory/memory.js", scopes: ["owner", "chat"] },
  { path: "/agents/:id/workspace", area: "agents", module: "../workspace/workspace.js", scopes: EVERYBODY },
  { path: "/goals", area: "goals", module: "../goals/goals.js", scopes: EVERYBODY },
  { path: "/agents/:id/goals", area: "goals", module: "../goals/goals.js", scopes: EVERYBODY },
  { path: "/approvals", area: "approvals", module: "../approvals/page.js", scopes: EVERYBODY },
  { path: "/schedules", area: "schedules", module: "../schedules/page.js", scopes: OVERSEERS },
  { path: "/heartbeats", area: "schedules", module: "../schedules/heartbeats.js", scopes: OVERSEERS },
  { path: "/analytics", area: "analytics", module: "../analytics/page.js", scopes: OVERSEERS },
  { path: "/analytics/turns/:turn", area: "analytics", module: "../analytics/turn.js", scopes: OWNER },
  { path: "/analytics/:agent", area: "analytics", module: "../analytics/agent.js", scopes: OVERSEERS },
  { path: "/analytics/:agent/models", area: "analytics", module: "../analytics/models.js", scopes: OVERSEERS },
  { path: "/analytics/:agent/learning", area: "analytics", module: "../analytics/learning.js", scopes: OWNER },
  { path: "/analytics/:agent/relations", area: "analytics", module: "../analytics/relations.js", scopes: OWNER },
  { path: "/settings", area: "settings", module: "../settings/page.js", scopes: OWNER },
  { path: "/settings/providers", area: "settings", module: "../settings/providers.js", scopes: OWNER },
  { path: "/settings/models", area: "settings", module: "../settings/models.js", scopes: OWNER },
  { path: "/settings/agents", area: "settings", module: "../settings/agent_models.js", scopes: OWNER },
  { path: "/settings/budgets", area: "settings", module: "../settings/budgets.js", scopes: OWNER },
  { path: "/settings/keys", area: "settings", module: "../settings/keys.js", scopes: OWNER },
  { path: "/settings/worlds", area: "settings", module: "../worlds/page.js", scopes: OWNER },
  { path: "/settings/discord", area: "settings", module: "../settings/discord.js", scopes: OWNER },
  { path: "/settings/values", area: "settings", module: "../settings/values.js", scopes: OWNER },
];

/** The areas that the navigation shows, in its order. */
export const AREAS = ["home", "chat", "agents", "sessions", "goals", "approvals", "schedules", "skills", "memory", "analytics", "settings"];

/** The route of an address with the values of its parts, or null. */
export function routeOf(path) {
  for (const route of ROUTES) {
    const params = match(route.path, path);
    if (params !== null) return { route, params };
  }
  return null;
}

/** Whether a key may open an area of the navigation. */
export function mayOpen(area, scope) {
  return ROUTES.some((route) => route.area === area && route.scopes.includes(scope));
}

/** The address of an area: that of its first route. */
export const addressOf = (area) => ROUTES.find((route) => route.area === area)?.path ?? "/";

function match(pattern, path) {
  const wanted = pattern.split("/");
  const given = path.replace(/(?<=.)\/$/, "").split("/");
  if (wanted.length !== given.length) return null;
  const params = {};
  for (const [index, part] of wanted.entries()) {
    if (part.startsWith(":")) params[part.slice(1)] = decoded(given[index]);
    else if (part !== given[index]) return null;
  }
  return params;
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
