/** Writing a skill for an agent. */

import { newId } from "../lib/api.js";
import { element, text } from "../lib/elements.js";
import { field, form } from "../lib/widgets.js";

/** The fields of a skill's text, filled with what it has; `value` is what they hold now. */
export function skillFields(skill, suffix) {
  const input = (name, key, attributes) => {
    const made = element(attributes.rows ? "textarea" : "input", { id: `${key}-${suffix}`, dir: "auto", autocomplete: "off", spellcheck: "false", ...attributes });
    made.value = skill[name] ?? "";
    return made;
  };
  const description = input("description", "skill_description", { maxlength: 1_024, required: true });
  const pattern = input("situation_pattern", "skill_pattern", { maxlength: 500 });
  const guidance = input("guidance", "skill_guidance", { rows: 12, maxlength: 8_192, required: true, class: "code" });
  return {
    elements: [field("skill_description", description), field("skill_pattern", pattern, "skill_pattern_hint"), field("skill_guidance", guidance)],
    get value() {
      return { description: description.value.trim(), situation_pattern: pattern.value.trim(), guidance: guidance.value };
    },
  };
}

export function creation(list) {
  const details = element("details", { class: "creation" });
  const build = () => {
    const name = element("input", { type: "text", id: "skill-name", maxlength: 100, required: true, autocomplete: "off" });
    const fields = skillFields({}, "new");
    const id = newId();
    return form([field("skill_name", name), ...fields.elements], "add_skill", async () => {
      await list.api.post(list.path, { name: name.value.trim(), ...fields.value }, id);
      await list.refresh();
      details.open = false;
      details.replaceChildren(summary, build());
    });
  };
  const summary = element("summary", {}, text("write_skill"));
  details.append(summary, build());
  return details;
}
