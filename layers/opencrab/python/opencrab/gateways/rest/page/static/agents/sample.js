/** A sample conversation with a persona that is not saved yet, and what it cost. */

import { dollars, element, foreign, text, visibleText } from "../lib/elements.js";
import { card } from "../lib/widgets.js";

export function sampleOf({ model, answers }) {
  const cost = answers.reduce((sum, each) => sum + each.cost_micro_usd, 0);
  return card("sample_conversation",
    element("p", { class: "hint" }, foreign(model), " · ", text("sample_cost", { cost: dollars(cost) })),
    element("dl", { class: "sample" }, answers.flatMap((each) => [
      element("dt", { dir: "auto" }, visibleText(each.question)),
      element("dd", { class: "prose", dir: "auto" }, each.text ? visibleText(each.text) : text("sample_silent")),
    ])));
}
