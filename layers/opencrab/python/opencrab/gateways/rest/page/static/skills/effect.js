/** The measured effect of a skill: a point with its interval, between -100 and 100 points. */

import { currentLanguage, element, text } from "../lib/elements.js";

const signed = (value) => Number(value).toLocaleString(currentLanguage(), { maximumFractionDigits: 0, signDisplay: "exceptZero" });
const place = (value) => `${(Math.max(-100, Math.min(100, value)) + 100) / 2}%`;

/** `effect` has `points`, `low` and `high`; `turns` is how many it was measured with. */
export function effectBar(effect, turns) {
  if (effect?.points === null || effect?.points === undefined) return element("p", { class: "hint" }, text("effect_unknown"));
  const { points, low, high } = effect;
  const said = text("effect_said", { points: signed(points), low: signed(low), high: signed(high), turns });
  const interval = element("span", { class: "interval" });
  interval.style.left = place(low);
  interval.style.right = `calc(100% - ${place(high)})`;
  const point = element("span", { class: "point" });
  point.style.left = place(points);
  const kind = low > 0 ? "helps" : high < 0 ? "harms" : "unclear";
  return element("div", { class: "effect" },
    element("div", { class: `scale ${kind}`, "aria-hidden": "true" }, element("span", { class: "zero" }), interval, point),
    element("p", { class: "hint" }, `${said} · ${text(`effect_${kind}`)}`));
}
