/** The switch that stops everything, and the agents that are stopped by themselves. */

import { element, foreign, text } from "./elements.js";
import { action, reading } from "./widgets.js";

const REFRESH_MS = 30_000;

/**
 * The switch, which reads itself and calls `onChanged` after a change.
 * @param {Page.Context} context
 */
export function freezeSwitch({ api, agentName, signal }, onChanged = () => {}) {
  const set = async (body) => {
    await api.put("/system/state", body);
    await part.refresh();
    await onChanged();
  };
  const part = reading(() => api.get("/system/state"), ({ state, frozen_agents: agents }) => {
    const isFrozen = state === "frozen";
    return [
      element("div", { class: "switch" },
        element("p", { class: isFrozen ? "warning" : "hint" }, text(isFrozen ? "is_frozen" : "is_running")),
        isFrozen
          ? action("unfreeze", () => set({ state: "running" }))
          : action("freeze", () => set({ state: "frozen" }), { ask: "freeze_question", class: "stop" })),
      agents.length === 0 ? null : element("ul", { class: "agents" }, agents.map((id) => element("li", { class: "line" },
        element("span", {}, foreign(agentName(id)), ` · ${text("one_frozen")}`),
        action("unfreeze", () => set({ state: "running", agent_id: id }))))),
    ];
  }, { every: REFRESH_MS, signal });
  return part;
}
