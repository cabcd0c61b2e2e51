/** The short names of models, and the order of those that answer when one fails. */

import { button, element, foreign, text } from "../lib/elements.js";
import { action, field, form, reading } from "../lib/widgets.js";

const MODEL = "[A-Za-z0-9_.\\-]+(:\\S+)?";

const modelInput = (value, attributes) => element("input", {
  type: "text", list: "known-models", value, required: true, maxlength: 264, spellcheck: "false", autocomplete: "off", pattern: MODEL, ...attributes,
});

/** @param {Page.Api} api */
export function aliases(api, signal) {
  const part = reading(() => api.get("/llm/aliases"), (found) => {
    const rows = element("div", { class: "rows" });
    const add = (name = "", model = "") => rows.append(aliasRow(name, model, found.selectable.includes(name)));
    for (const [name, model] of Object.entries(found.aliases)) add(name, model);
    const save = async () => {
      const wanted = [...rows.children].map((row) => [...row.querySelectorAll("input")].map((each) => each.value.trim()));
      await api.put("/llm/aliases", { aliases: Object.fromEntries(wanted) });
    };
    return [
      element("p", { class: "hint" }, text("aliases_hint")),
      element("details", {}, element("summary", {}, text("aliases_count", { count: Object.keys(found.aliases).length })),
        form([rows, element("div", { class: "buttons" }, button("alias_add", () => add()))], "save", save, { id: "aliases" })),
      found.configured ? null : action("as_configured", async () => {
        await api.put("/llm/aliases", { aliases: null });
        await part.refresh();
      }, { ask: "as_configured_question" }),
    ];
  }, { signal });
  return part;
}

function aliasRow(name, model, isSelectable) {
  const row = element("div", { class: "row" },
    element("input", { type: "text", value: name, required: true, maxlength: 40, pattern: "[a-z][a-z0-9_]*", spellcheck: "false", "aria-label": text("alias_name") }),
    modelInput(model, { "aria-label": text("alias_model") }),
    button("take_away", () => row.remove(), { "aria-label": `${text("take_away")}: ${name}` }),
    isSelectable ? element("p", { class: "hint" }, text("alias_selectable")) : null);
  return row;
}

/** @param {Page.Api} api */
export function fallback(api, providers, signal) {
  const part = reading(() => api.get("/llm/fallback"), (found) => {
    let order = [...found.fallback];
    const list = element("ol", { class: "order" });
    const show = () => list.replaceChildren(...order.map((name, index) => step(name, index)));
    const step = (name, index) => element("li", { class: "line" },
      element("span", {}, foreign(name), found.usable.includes(name) ? "" : element("span", { class: "hint" }, ` · ${text("not_usable")}`)),
      button("move_up", () => move(index, index - 1), { disabled: index === 0, "aria-label": `${text("move_up")}: ${name}` }),
      button("move_down", () => move(index, index + 1), { disabled: index === order.length - 1, "aria-label": `${text("move_down")}: ${name}` }),
      button("take_away", () => change(order.filter((_, each) => each !== index)), { "aria-label": `${text("take_away")}: ${name}` }));
    const change = (wanted) => {
      order = wanted;
      show();
    };
    const move = (from, to) => {
      const [moved] = order.splice(from, 1);
      order.splice(to, 0, moved);
      show();
      // The moved one keeps the focus, so that it can be moved on with the same key.
      const buttons = list.children[to].querySelectorAll("button");
      (buttons[from > to ? 0 : 1].disabled ? buttons[from > to ? 1 : 0] : buttons[from > to ? 0 : 1]).focus();
    };
    show();
    return [
      element("p", { class: "hint" }, text("fallback_hint")),
      order.length === 0 ? element("p", { class: "empty" }, text("no_fallback")) : null,
      fallbackForm({ api, list, providers, added: (name) => change([...order, name]), order: () => order }),
      found.configured ? null : action("as_configured", async () => {
        await api.put("/llm/fallback", { fallback: null });
        await part.refresh();
      }, { ask: "as_configured_question" }),
    ];
  }, { signal });
  return part;
}

/** @param {{ api: Page.Api, [more: string]: any }} context */
function fallbackForm({ api, list, providers, added, order }) {
  const names = element("datalist", { id: "fallbacks" }, providers.map((each) => element("option", { value: each.name })));
  const more = element("input", { type: "text", id: "fallback-more", list: "fallbacks", maxlength: 264, spellcheck: "false", autocomplete: "off", pattern: MODEL });
  const add = () => {
    if (more.value.trim() === "" || !more.reportValidity()) return;
    added(more.value.trim());
    more.value = "";
  };
  return form([list, names, element("div", { class: "beside" }, field("fallback_more", more), button("fallback_add", add))],
    "save", () => api.put("/llm/fallback", { fallback: order() }), { id: "fallback" });
}
