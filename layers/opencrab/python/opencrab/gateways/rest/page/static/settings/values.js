/** Every setting in effect, and what sets it: a file with its line, a variable, a parameter or the default. */

import { element, foreign, text } from "../lib/elements.js";
import { tick } from "../lib/parts.js";
import { field, reading, table } from "../lib/widgets.js";
import { frame } from "./frame.js";

/** @param {Page.Context} context */
export default async function page({ api, signal }) {
  const words = element("input", { type: "search", id: "values-words", autocomplete: "off", spellcheck: "false" });
  const own = tick("values_own", false, { id: "values-own" });
  const part = reading(() => api.get("/settings"), ({ settings }) => {
    const list = element("div");
    const count = element("p", { class: "hint", role: "status" });
    const show = () => {
      const wanted = words.value.trim().toLowerCase().split(/\s+/);
      const found = settings.filter((each) => (!own.input.checked || each.origin !== "default")
        && wanted.every((word) => `${each.name} ${valueOf(each)} ${each.from}`.toLowerCase().includes(word)));
      count.textContent = text("values_count", { count: found.length, all: settings.length });
      list.replaceChildren(found.length === 0 ? element("p", { class: "empty" }, text("values_none"))
        : table(["values_name", "values_from", "values_value"], found.map(row), { caption: "settings_values" }));
    };
    words.oninput = show;
    own.input.onchange = show;
    show();
    return [count, list];
  }, { signal });
  return frame("/settings/values", element("p", { class: "hint" }, text("values_hint")),
    element("div", { class: "filters" }, field("values_words", words), own.element), part);
}

const valueOf = ({ value }) => (typeof value === "string" ? value : JSON.stringify(value));

function row(each) {
  return [
    element("code", {}, foreign(each.name)),
    [element("span", { class: `badge ${each.origin === "default" ? "" : "active"}` }, text(`origin_${each.origin}`)), " ",
      each.origin === "default" ? "" : foreign(each.from)],
    element("code", { class: "wraps" }, foreign(valueOf(each))),
  ];
}
