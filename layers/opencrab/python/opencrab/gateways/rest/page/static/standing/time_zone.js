/** The time zone of an agent: its days, its quiet hours and the times in its prompts. */

import { agentPath } from "../agents/badge.js";
import { element, foreign, text } from "../lib/elements.js";
import { action, field, form } from "../lib/widgets.js";
import { zoneInput } from "../schedules/frame.js";

/**
 * @param {Page.Context} context
 * @param {Rest.AgentView} agent
 */
export function timeZone({ api, isOwner }, agent) {
  const now = element("p");
  const show = () => now.replaceChildren(agent.time_zone === null ? text("standing_zone_shared")
    : element("span", {}, foreign(agent.time_zone), " · ", clockIn(agent.time_zone)));
  show();
  if (!isOwner) return now;
  const zone = zoneInput("agent-zone", agent.time_zone ?? "");
  const save = async (value) => {
    agent = await api.patch(agentPath(agent.id), { time_zone: value });
    zone.input.value = agent.time_zone ?? "";
    show();
  };
  return element("div", {}, now,
    form([field("standing_zone_name", zone.input, "standing_zone_hint"), zone.list], "save", () => save(zone.input.value.trim()), { class: "quiet" }),
    action("standing_zone_reset", () => save(null), { class: "quiet" }));
}

/** What the clock says there; nothing where this browser does not know the zone. */
function clockIn(zone) {
  try {
    return new Date().toLocaleTimeString(document.documentElement.lang, { timeZone: zone, hour: "2-digit", minute: "2-digit" });
  } catch {
    return "";
  }
}
