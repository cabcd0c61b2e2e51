/** Smaller parts of pages: choices, copies of a text, and the addresses within an area. */

import { button, element, foreign, text, visibleLine } from "./elements.js";

/** Links to the pages of an area, of which one is shown. Entries are `[path, key]`. */
export function subpages(label, entries, current) {
  return element("nav", { class: "subpages", "aria-label": text(label) }, entries.map(([path, key]) =>
    element("a", { href: path, "aria-current": path === current ? "page" : null }, text(key))));
}

/**
 * A list to choose from. Options are `[value, text]`; their text may be foreign.
 * @param {any[][]} options
 * @param {any} chosen
 * @param {((value: any) => any) | null} onchange
 */
export function choice(options, chosen, onchange = null, attributes = {}) {
  return element("select", { onchange: onchange && ((event) => onchange(event.target.value)), ...attributes },
    options.map(([value, shown]) => element("option", { value, selected: value === chosen }, visibleLine(shown))));
}

/**
 * The agents to choose from, by name.
 * @param {{ id: string, name: string }[]} agents
 * @param {string} chosen
 * @param {((id: string) => any) | null} onchange
 */
export function agentChoice(agents, chosen, onchange = null, attributes = {}) {
  return choice(agents.map((each) => [each.id, each.name]), chosen, onchange, attributes);
}

/** A box to tick, with its label beside it. */
export function tick(key, checked, attributes = {}) {
  const input = element("input", { type: "checkbox", checked, ...attributes });
  return { input, element: element("label", { class: "tick" }, input, element("span", {}, text(key))) };
}

/** A text to copy. Where the browser keeps its clipboard closed, the text is selected instead. */
export function copyable(value, attributes = {}) {
  const shown = element("code", { class: "copyable", ...attributes }, foreign(value));
  const said = element("span", { role: "status", class: "hint" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(value);
      said.textContent = text("copied");
    } catch {
      getSelection()?.selectAllChildren(shown);
      said.textContent = text("copy_yourself");
    }
  };
  return element("span", { class: "action" }, shown, button("copy", copy), said);
}

/** Where a model or another text is typed and known ones are suggested. */
export function suggestions(id, values) {
  return element("datalist", { id }, values.map((value) => element("option", { value: visibleLine(value) })));
}

/** An amount in dollars that is typed; null where nothing is. */
export function amountOf(input) {
  return input.value.trim() === "" ? null : Math.round(Number(input.value) * 1_000_000);
}

/** An input for an amount of micro-dollars, in dollars. */
export function amount(micro, attributes = {}) {
  const value = micro === null || micro === undefined ? "" : micro / 1_000_000;
  return element("input", { type: "number", min: 0, step: "any", inputmode: "decimal", value, ...attributes });
}
