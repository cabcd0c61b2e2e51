/** What schedules and heartbeats have in common: the agent that is chosen, and time zones. */

import { currentLanguage, element, text } from "../lib/elements.js";
import { agentChoice, subpages } from "../lib/parts.js";
import { field, heading } from "../lib/widgets.js";

/** The two pages of what agents do by themselves, of one agent by the address or of all: `content(agent)`, `ofAll(agents)`. */
export function frame({ query, go }, path, agents, content, ofAll) {
  const active = agents.filter((each) => each.status !== "retired");
  const wanted = query.get("agent");
  const agent = active.find((each) => each.id === wanted) ?? (active.length === 1 ? active[0] : null);
  const asked = wanted === null ? "" : `?agent=${encodeURIComponent(wanted)}`;
  const pages = [[`/schedules${asked}`, "schedules"], [`/heartbeats${asked}`, "heartbeats"]];
  const choose = (id) => go(id === "" ? path : `${path}?agent=${encodeURIComponent(id)}`);
  const all = { id: "", name: text("every_agent") };
  return element("section", { class: "figures" },
    heading(text(path.slice(1))), subpages("schedules", pages, path + asked),
    active.length === 0 ? element("p", { class: "empty" }, text("nobody_to_wake")) : [
      field("scheduled_agent", agentChoice([all, ...active], agent?.id ?? "", choose, { id: "scheduled-agent" })),
      agent === null ? ofAll(active) : content(agent)].flat(Infinity));
}

export const ownZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

/** An input for a time zone, with those that the browser knows. */
export function zoneInput(id, value) {
  const zones = typeof Intl.supportedValuesOf === "function" ? Intl.supportedValuesOf("timeZone") : [];
  const list = element("datalist", { id: `${id}-zones` }, ["UTC", ...zones].map((each) => element("option", { value: each })));
  const input = element("input", { type: "text", id, value, list: `${id}-zones`, required: true, maxlength: 64, spellcheck: "false", autocomplete: "off" });
  return { input, list };
}

/** A span of seconds as a person says it. */
export function span(seconds) {
  const [unit, size] = /** @type {[string, number][]} */ ([["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]]).find(([, each]) => seconds % each === 0) ?? ["second", 1];
  const shown = seconds / size;
  return shown.toLocaleString(currentLanguage(), { style: "unit", unit, unitDisplay: "long", maximumFractionDigits: 1 });
}
