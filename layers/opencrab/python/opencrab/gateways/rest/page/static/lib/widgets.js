/** What several pages are made of: parts that read themselves, lists by the page, forms, tables. */

import { explain } from "./api.js";
import { button, element, problem, text } from "./elements.js";

/** Do something again and again while somebody looks, until the page is left. */
export function repeat(work, every, signal) {
  const timer = setInterval(() => document.visibilityState === "visible" && work(), every);
  signal?.addEventListener("abort", () => clearInterval(timer));
}

/**
 * A part of a page that reads its data and shows it. What was shown stays until the next answer is
 * there; an error stands above it, with a way to try again. `every` milliseconds it reads again while
 * somebody looks, until `signal` is aborted.
 * @template T
 * @param {() => Promise<T> | T} read
 * @param {(found: T) => any} show
 * @param {{ every?: number, signal?: AbortSignal | null }} [options]
 */
export function reading(read, show, { every = 0, signal = null } = {}) {
  const errors = element("div");
  const content = element("div", { class: "reading", "aria-busy": "true" });
  const made = element("div", {}, errors, content);
  let latest = 0;
  made.refresh = async () => {
    latest += 1;
    const mine = latest;
    try {
      const found = await read();
      const shown = [await show(found)].flat(Infinity);
      if (mine !== latest) return;
      errors.replaceChildren();
      content.replaceChildren(...shown.filter((each) => each !== null && each !== undefined && each !== false));
    } catch (error) {
      if (signal?.aborted || mine !== latest) return;
      errors.replaceChildren(problem(explain(error)), button("try_again", made.refresh));
    }
    content.removeAttribute("aria-busy");
  };
  if (every > 0) repeat(made.refresh, every, signal);
  made.refresh();
  return made;
}

/**
 * A list that is read by the page, however long it is. `row(item)` makes an element of an item.
 * `paths` without a limit; `empty` is the key of what an empty list says.
 * @template {string} P
 * @param {Page.Api} api
 * @param {P} path
 * @param {(item: Rest.Item<P>) => any} row
 * @param {{ empty: string, tag?: string, size?: number, signal?: AbortSignal | null }} options
 */
export function pagedList(api, path, row, { empty, tag = "ul", size = 50, signal = null }) {
  const list = element(tag, { class: "paged" });
  const status = element("p", { class: "empty", role: "status" });
  const more = button("show_more", () => load(), { class: "more", hidden: true });
  const errors = element("div");
  const made = element("div", {}, list, status, errors, more);
  let cursor = null;
  let loading = 0;
  async function load() {
    loading += 1;
    const mine = loading;
    more.disabled = true;
    const after = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    try {
      const page = await api.get(/** @type {string} */ (`${path}${path.includes("?") ? "&" : "?"}limit=${size}${after}`));
      if (mine !== loading) return;
      if (cursor === null) list.replaceChildren();
      list.append(...page.items.map(row).filter((each) => each !== null));
      cursor = page.next_cursor;
      errors.replaceChildren();
      status.textContent = list.children.length === 0 && cursor === null ? text(empty) : "";
      more.hidden = cursor === null;
    } catch (error) {
      if (signal?.aborted || mine !== loading) return;
      errors.replaceChildren(problem(explain(error)), button("try_again", () => load()));
    }
    more.disabled = false;
  }
  made.refresh = () => {
    cursor = null;
    return load();
  };
  load();
  return made;
}

/** A link of this page. */
export function link(path, ...content) {
  return element("a", { href: path }, ...content);
}

/** A part of a page with a heading. */
export function card(key, ...content) {
  const id = `part-${key}`;
  return element("section", { class: "card", "aria-labelledby": id }, element("h2", { id }, text(key)), ...content);
}

/** The head of a page: its title, and what can be done with the whole. */
export function heading(title, ...actions) {
  return element("div", { class: "heading" }, element("h1", {}, title), ...actions);
}

/** Terms with their values; an empty value is left out. */
export function facts(rows) {
  const shown = rows.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return element("dl", { class: "facts" }, shown.flatMap(([key, value]) => [
    element("dt", {}, text(key)), element("dd", {}, value)]));
}

/**
 * A table that scrolls by itself where it is too wide. Cells are elements or text.
 * @param {string[]} headings
 * @param {any[][]} rows
 * @param {{ caption?: string }} [options]
 */
export function table(headings, rows, { caption } = {}) {
  const head = element("tr", {}, headings.map((key) => element("th", { scope: "col" }, text(key))));
  const body = rows.map((cells) => element("tr", {}, cells.map((cell) => element("td", {}, cell ?? "–"))));
  return element("div", { class: "scrolls", tabindex: 0, role: "group", "aria-label": text(caption ?? headings[0]) },
    element("table", {}, element("thead", {}, head), element("tbody", {}, body)));
}

/**
 * A label with its input; the hint is read with it.
 * @param {string} key
 * @param {HTMLElement & { id: string }} input
 * @param {string | null} hint
 */
export function field(key, input, hint = null) {
  const id = input.id || `field-${key}`;
  input.id = id;
  if (hint === null) return element("div", { class: "field" }, element("label", { for: id }, text(key)), input);
  input.setAttribute("aria-describedby", `${id}-hint`);
  return element("div", { class: "field" }, element("label", { for: id }, text(key)), input,
    element("p", { class: "hint", id: `${id}-hint` }, text(hint)));
}

/**
 * A form whose button is off while it is sent. What was typed stays when it fails, and the error is
 * shown above the button; `done` is what it says when it is saved.
 * @param {any} fields
 * @param {string} submit
 * @param {() => any} save
 * @param {{ done?: string, [attribute: string]: any }} [options]
 */
export function form(fields, submit, save, { done = "saved", ...attributes } = {}) {
  const said = element("div", { role: "status" });
  const send = element("button", { type: "submit", class: "send" }, text(submit));
  const onsubmit = async (event) => {
    event.preventDefault();
    send.disabled = true;
    said.replaceChildren();
    try {
      await save();
      said.replaceChildren(element("p", { class: "good" }, text(done)));
    } catch (error) {
      said.replaceChildren(problem(explain(error)));
    }
    send.disabled = false;
  };
  return element("form", { onsubmit, ...attributes }, fields, said, element("div", { class: "buttons" }, send));
}

/**
 * A button that does something and says what went wrong beside itself; `ask` is asked first.
 * @param {string} key
 * @param {() => any} work
 * @param {{ ask?: string | null, [attribute: string]: any }} [options]
 */
export function action(key, work, { ask = null, ...attributes } = {}) {
  const said = element("span", { role: "status", class: "said" });
  const made = button(key, async () => {
    if (ask !== null && !confirm(text(ask))) return;
    made.disabled = true;
    said.replaceChildren();
    try {
      await work();
    } catch (error) {
      said.replaceChildren(problem(explain(error)));
    }
    made.disabled = false;
  }, attributes);
  return element("span", { class: "action" }, made, said);
}

/**
 * The heads of tabs, between which arrow keys move as in ARIA's tabs pattern. `names` are `[key, text]`,
 * `show(index)` shows the panel `PREFIX-KEY` of the chosen one.
 */
export function tabHeads(label, names, prefix, show) {
  const heads = names.map(([key, name], index) => element("button", {
    type: "button", role: "tab", id: `tab-${key}`, "aria-controls": `${prefix}-${key}`,
    onclick: () => choose(index), onkeydown: (event) => move(event, index),
  }, text(name)));
  function choose(index) {
    for (const [each, head] of heads.entries()) {
      head.setAttribute("aria-selected", String(each === index));
      head.tabIndex = each === index ? 0 : -1;
    }
    show(index);
  }
  function move(event, index) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = (index + step + heads.length) % heads.length;
    choose(next);
    heads[next].focus();
  }
  return { list: element("div", { role: "tablist", "aria-label": text(label) }, heads), choose };
}

/** A group of parts of which one is shown; a part is made when it is first chosen. */
export function tabs(label, parts) {
  const panels = parts.map(([key]) => element("div", { role: "tabpanel", id: `panel-${key}`, "aria-labelledby": `tab-${key}`, hidden: true, tabindex: 0 }));
  const { list, choose } = tabHeads(label, parts.map(([key]) => [key, key]), "panel", (index) => {
    for (const [each, panel] of panels.entries()) panel.hidden = each !== index;
    if (panels[index].childElementCount === 0) panels[index].append(parts[index][1]());
  });
  choose(0);
  return element("div", { class: "tabs" }, list, panels);
}
