/** Where the time and the tokens of a turn went, step by step. */

import { element, text } from "../lib/elements.js";
import { bars } from "../lib/charts.js";

/**
 * Charts of a turn with several steps; one step says it all in its line.
 * @param {Rest.StepView[]} steps
 */
export function turnCharts(steps) {
  const called = steps.filter((step) => step.usage !== null || step.latency_ms !== null);
  if (called.length < 2) return [];
  const each = (value) => called.map((step) => ({ name: String(step.number), value: value(step) }));
  const seconds = (value) => text("sessions_seconds", { seconds: value.toFixed(1) });
  const fresh = (step) => (step.usage ? step.usage.input_tokens - step.usage.cached_tokens : 0);
  // A chart of nothing but zeros says nothing.
  const chart = (key, value, format) => called.some((step) => value(step) > 0) && bars(text(key), each(value), { format, headings: [text("sessions_step_number"), text(key)] });
  return [element("details", { class: "card" }, element("summary", {}, text("sessions_where")),
    [chart("sessions_model_seconds", (step) => (step.latency_ms ?? 0) / 1_000, seconds),
    chart("sessions_tokens_fresh", fresh, (value) => value.toLocaleString())].filter(Boolean))];
}
