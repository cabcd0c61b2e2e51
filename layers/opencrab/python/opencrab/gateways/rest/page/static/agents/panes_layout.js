/** Parts side by side where there is room, and as tabs where there is none. */

import { element, text } from "../lib/elements.js";

const NARROW = matchMedia("(max-width: 60rem)");

/** `columns` are lists of `[key, content]`; each part has a heading, or a tab on a narrow screen. */
export function panes(label, columns, signal) {
  const parts = columns.flat();
  let chosen = 0;
  const heads = parts.map(([key], index) => element("button", {
    type: "button", role: "tab", id: `tab-${key}`, "aria-controls": `pane-${key}`,
    onclick: () => choose(index), onkeydown: (event) => move(event, index),
  }, text(`pane_${key}`)));
  const panels = parts.map(([key, content]) => element("section", { class: "card pane", id: `pane-${key}` },
    element("h2", { id: `head-${key}` }, text(`pane_${key}`)), content));
  const list = element("div", { role: "tablist", "aria-label": text(label) }, heads);

  function choose(index) {
    chosen = index;
    list.hidden = !NARROW.matches;
    for (const [each, panel] of panels.entries()) {
      const key = parts[each][0];
      panel.hidden = NARROW.matches && each !== index;
      panel.setAttribute("aria-labelledby", NARROW.matches ? `tab-${key}` : `head-${key}`);
      panel.setAttribute("role", NARROW.matches ? "tabpanel" : "region");
      heads[each].setAttribute("aria-selected", String(each === index));
      heads[each].tabIndex = each === index ? 0 : -1;
    }
  }
  function move(event, index) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = (index + step + parts.length) % parts.length;
    choose(next);
    heads[next].focus();
  }
  NARROW.addEventListener("change", () => choose(chosen), { signal });
  choose(parts.indexOf(columns[1][0]));
  const sides = columns.map((column) => element("div", {}, column.map((part) => panels[parts.indexOf(part)])));
  return element("div", {}, list, element("div", { class: "panes" }, sides));
}
