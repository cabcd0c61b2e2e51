/** Writing a skill for an agent. */

import { newId } from "../lib/api.js";
import { textBox } from "../lib/editor.js";
import { element, text } from "../lib/elements.js";
import { Unsaved } from "../lib/unsaved.js";
import { field, form } from "../lib/widgets.js";

/** The fields of a skill's text, filled with what it has; `value` is what they hold now. */
export function skillFields(skill, suffix) {
  const input = (name, key, attributes) => {
    const made = element("input", { id: `${key}-${suffix}`, dir: "auto", autocomplete: "off", spellcheck: "false", ...attributes });
    made.value = skill[name] ?? "";
    return made;
  };
  const description = input("description", "skill_description", { maxlength: 1_024, required: true });
  const pattern = input("situation_pattern", "skill_pattern", { maxlength: 500 });
  const box = textBox("skill_guidance", { id: `skill_guidance-${suffix}`, rows: 12, required: true, most: 8_192 });
  const guidance = box.input;
  guidance.value = skill.guidance ?? "";
  return {
    elements: [field("skill_description", description), field("skill_pattern", pattern, "skill_pattern_hint"), box.element],
    inputs: { description, situation_pattern: pattern, guidance },
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
    const unsaved = new Unsaved([name, ...Object.values(fields.inputs)]);
    return form([field("skill_name", name), ...fields.elements], "add_skill", async () => {
      await list.api.post(list.path, { name: name.value.trim(), ...fields.value }, id);
      unsaved.keep();
      await list.refresh();
      details.open = false;
      details.replaceChildren(summary, build());
    });
  };
  const summary = element("summary", {}, text("write_skill"));
  details.append(summary, build());
  return details;
}
