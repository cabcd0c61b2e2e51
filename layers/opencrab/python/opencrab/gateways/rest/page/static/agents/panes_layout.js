/** Parts side by side where there is room, and as tabs where there is none. */

import { element, text } from "../lib/elements.js";
import { tabHeads } from "../lib/widgets.js";

const NARROW = matchMedia("(max-width: 60rem)");

/** `columns` are lists of `[key, content]`; each part has a heading, or a tab on a narrow screen. */
export function panes(label, columns, signal) {
  const parts = columns.flat();
  let chosen = 0;
  const panels = parts.map(([key, content]) => element("section", { class: "card pane", id: `pane-${key}` },
    element("h2", { id: `head-${key}` }, text(`pane_${key}`)), content));
  const { list, choose } = tabHeads(label, parts.map(([key]) => [key, `pane_${key}`]), "pane", (index) => {
    chosen = index;
    arrange();
  });
  function arrange() {
    for (const [index, panel] of panels.entries()) {
      const [key] = parts[index];
      panel.hidden = NARROW.matches && index !== chosen;
      panel.setAttribute("aria-labelledby", NARROW.matches ? `tab-${key}` : `head-${key}`);
      panel.setAttribute("role", NARROW.matches ? "tabpanel" : "region");
    }
    list.hidden = !NARROW.matches;
  }
  NARROW.addEventListener("change", arrange, { signal });
  choose(parts.indexOf(columns[1][0]));
  const sides = columns.map((column) => element("div", {}, column.map((part) => panels[parts.indexOf(part)])));
  return element("div", {}, list, element("div", { class: "panes" }, sides));
}
