/** The form of how an agent acts by itself. */

import { element, foreign, text } from "../lib/elements.js";
import { tick } from "../lib/parts.js";
import { field, form } from "../lib/widgets.js";
import { ownZone, zoneInput } from "./frame.js";

/** A form for heartbeat settings; `save(change)` gets only what the form shows. */
export function heartbeatForm(found, save) {
  const enabled = tick("beat_enabled", found.enabled, { id: "beat-enabled" });
  const initiative = tick("beat_initiative", found.initiative);
  const interval = number("beat-interval", found.interval_seconds, 29, 86_399);
  const cooldown = number("beat-cooldown", found.cooldown_seconds, 0, 86_400);
  const instructions = element("textarea", { id: "beat-instructions", rows: 3, maxlength: 4_000 }, found.instructions);
  const hours = activeHours(found.active_hours);
  const change = () => save({
    enabled: enabled.input.checked, initiative: initiative.input.checked, interval_seconds: Number(interval.value),
    cooldown_seconds: Number(cooldown.value), instructions: instructions.value, active_hours: hours.value(),
  });
  return form([
    enabled.element, initiative.element,
    element("div", { class: "fields" }, field("beat_interval", interval, "beat_interval_hint"), field("beat_cooldown", cooldown, "beat_cooldown_hint")),
    hours.element, field("beat_instructions", instructions, "beat_instructions_hint"),
    found.subscriptions.length === 0 ? "" : element("p", { class: "hint" }, text("beat_events"), " ",
      found.subscriptions.flatMap((each) => [element("code", {}, foreign(each.type)), " "])),
  ], "save", change, { id: "heartbeat" });
}

const number = (id, value, min, max) => element("input", { type: "number", id, value, min, max, step: 1, required: true, inputmode: "numeric" });

/** The hours of the day when an agent is awake; all day where nothing is set. */
function activeHours(found) {
  // Hours that begin when they end are the whole day: only their time zone counts.
  const quiet = found !== null && found.start !== found.end;
  const limited = tick("beat_hours", quiet, { id: "beat-hours" });
  const [start, end] = [["start", "08:00"], ["end", "22:00"]].map(([name, usual]) =>
    element("input", { type: "time", id: `beat-${name}`, value: quiet ? found[name] : usual, required: true }));
  const zone = zoneInput("beat-zone", found?.zone ?? ownZone());
  const fields = element("div", { class: "fields" }, field("beat_start", start), field("beat_end", end), field("beat_zone", zone.input), zone.list);
  const show = () => {
    fields.hidden = !limited.input.checked;
    for (const each of [start, end, zone.input]) each.disabled = fields.hidden;
  };
  limited.input.addEventListener("change", show);
  show();
  const value = () => (limited.input.checked ? { start: start.value, end: end.value, zone: zone.input.value.trim() } : found && { start: "00:00", end: "00:00", zone: found.zone });
  return { element: element("div", {}, limited.element, fields), value };
}
