/** The form of a schedule: every so often, or at times that a cron expression names. */

import { element, text } from "../lib/elements.js";
import { choice, tick } from "../lib/parts.js";
import { field, form } from "../lib/widgets.js";
import { ownZone, zoneInput } from "./frame.js";

/** A form for a new schedule, or for one that is there; `save(draft)` gets what was typed. */
export function scheduleForm(schedule, save) {
  const id = schedule?.id ?? "new";
  const input = (name, attributes) => element("input", { type: "text", id: `schedule-${name}-${id}`, required: true, autocomplete: "off", ...attributes });
  const name = input("name", { value: schedule?.name ?? "", maxlength: 100 });
  const instructions = element("textarea", { id: `schedule-instructions-${id}`, rows: 4, required: true }, schedule?.instructions ?? "");
  const enabled = tick("schedule_enabled", schedule?.enabled ?? true);
  const when = whenFields(schedule, id, input);
  const send = async () => {
    await save({ name: name.value.trim(), instructions: instructions.value, enabled: enabled.input.checked, ...when.value() });
    if (schedule !== null) return;
    name.value = "";
    instructions.value = "";
  };
  return form([field("schedule_name", name), when.element, field("schedule_instructions", instructions, "schedule_instructions_hint"), enabled.element],
    schedule === null ? "schedule_create" : "save", send, { done: schedule === null ? "schedule_created" : "saved", class: "schedule" });
}

function whenFields(schedule, id, input) {
  const every = /^@every (\d+)([mhd])$/.exec(schedule?.when ?? "@every 1d");
  const kind = choice([["every", text("when_every")], ["cron", text("when_cron")]], every ? "every" : "cron", show, { id: `schedule-kind-${id}` });
  const count = input("count", { type: "number", min: 1, max: 9_999, value: every?.[1] ?? 1 });
  const unit = choice([["m", text("unit_minutes")], ["h", text("unit_hours")], ["d", text("unit_days")]], every?.[2] ?? "d", null, { id: `schedule-unit-${id}` });
  const cron = input("cron", { value: every ? "0 9 * * *" : schedule.when, maxlength: 200, spellcheck: "false" });
  const zone = zoneInput(`schedule-zone-${id}`, every ? ownZone() : schedule.zone);
  const parts = {
    every: element("div", { class: "fields" }, field("when_count", count), field("when_unit", unit)),
    cron: element("div", { class: "fields" }, field("when_fields", cron, "when_fields_hint"), field("when_zone", zone.input), zone.list),
  };
  function show() {
    for (const [each, part] of Object.entries(parts)) {
      part.hidden = each !== kind.value;
      // What is not shown must not keep the form from being sent.
      for (const one of part.querySelectorAll("input, select")) one.disabled = part.hidden;
    }
  }
  show();
  const value = () => (kind.value === "every"
    ? { when: `@every ${count.value}${unit.value}`, zone: schedule?.zone ?? "UTC" } : { when: cron.value.trim(), zone: zone.input.value.trim() });
  return { element: element("div", {}, field("when_kind", kind), parts.every, parts.cron), value };
}
