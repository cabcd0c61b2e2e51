/** How an agent's models make answers: temperature, top_p, length and reasoning effort of each use. */

import { element, text } from "../lib/elements.js";
import { choice } from "../lib/parts.js";
import { field } from "../lib/widgets.js";

const USES = ["conversation", "thinking", "analysis", "tool_calling", "creative"];
const NUMBERS = {
  temperature: { min: 0, max: 2, step: 0.05 },
  top_p: { min: 0.05, max: 1, step: 0.05 },
  max_output_tokens: { min: 16, max: 1000000, step: 1 },
};
const EFFORTS = ["low", "medium", "high"];

/** The fields of all uses, each folded away unless something is set; `value` leaves empty ones out. */
export function samplingFields(sampling) {
  const uses = USES.map((use) => ({ use, ...useFields(use, sampling[use] ?? {}) }));
  const made = element("fieldset", {}, element("legend", {}, text("config_sampling")),
    element("p", { class: "hint" }, text("config_sampling_hint")), uses.map((one) => one.element));
  const value = () => Object.fromEntries(uses.map((one) => [one.use, one.value()]).filter(([, own]) => Object.keys(own).length > 0));
  return { element: made, value };
}

function useFields(use, own) {
  const numbers = Object.entries(NUMBERS).map(([name, limits]) => [name, element("input", {
    type: "number", id: `sampling-${use}-${name}`, value: own[name] ?? "", placeholder: text("as_installation"), ...limits,
  })]);
  const efforts = [["", text("as_installation")], ...EFFORTS.map((each) => [each, text(`effort_${each}`)])];
  const effort = choice(efforts, own.reasoning_effort ?? "", null, { id: `sampling-${use}-effort` });
  const inputs = [...numbers.map(([name, input]) => field(`sampling_${name}`, input)), field("sampling_reasoning_effort", effort)];
  const isSet = Object.values(own).some((each) => each !== null);
  const made = element("details", { open: isSet }, element("summary", {}, text(`use_${use}`)), element("div", { class: "fields" }, inputs));
  const value = () => {
    const told = Object.fromEntries(numbers.filter(([, input]) => input.value !== "").map(([name, input]) => [name, Number(input.value)]));
    return effort.value === "" ? told : { ...told, reasoning_effort: effort.value };
  };
  return { element: made, value };
}
