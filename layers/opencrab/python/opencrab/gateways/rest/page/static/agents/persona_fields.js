/** The fields of a persona: each shows what is stored beside what it was changed to. */

import { currentLanguage, element, text, visibleLine } from "../lib/elements.js";
import { field } from "../lib/widgets.js";

/** A field whose label says what is stored, as long as something else is in it. */
function beside(draft, path, key, input, shownValue) {
  const made = field(key, input);
  const stored = element("p", { class: "hint stored", id: `${input.id}-stored`, hidden: true });
  input.setAttribute("aria-describedby", stored.id);
  made.append(stored);
  const show = () => {
    const hasChanged = draft.hasChanged(path);
    made.classList.toggle("changed", hasChanged);
    stored.hidden = !hasChanged;
    stored.textContent = hasChanged ? text("stored_value", { value: visibleLine(shownValue(draft.before(path))).slice(0, 200) || "–" }) : "";
  };
  draft.onChange(show);
  show();
  return made;
}

const decimal = (value) => Number(value).toLocaleString(currentLanguage(), { minimumFractionDigits: 1, maximumFractionDigits: 2 });

/** A slider in steps of a tenth. What is stored stays as exact as it is until it is moved. */
export function slider(draft, path, key, { min = 0, low, high }) {
  const input = element("input", { type: "range", id: `field-${key}`, min, max: 1, step: 0.1 });
  const shown = element("output", { for: input.id });
  input.addEventListener("input", () => draft.set(path, Number(input.value)));
  const show = () => {
    const value = draft.get(path);
    if (value === undefined) return;
    input.value = value;
    shown.textContent = decimal(value);
    input.setAttribute("aria-valuetext", decimal(value));
  };
  draft.onChange(show);
  show();
  const made = beside(draft, path, key, input, (value) => (value === undefined ? text("drives_derived") : decimal(value)));
  made.classList.add("slider");
  made.querySelector("label").append(" ", shown);
  made.append(element("p", { class: "ends hint", "aria-hidden": "true" }, element("span", {}, text(low)), element("span", {}, text(high))));
  return made;
}

/** A line or, with `rows`, some lines of text; an empty one is `empty`. */
export function words(draft, path, key, { rows = 0, most = 100, required = false, empty = /** @type {string | null} */ ("") } = {}) {
  const common = { id: `field-${key}`, maxlength: most, required, dir: "auto", autocomplete: "off" };
  const input = rows > 0 ? element("textarea", { ...common, rows }) : element("input", { type: "text", ...common });
  input.addEventListener("input", () => draft.set(path, input.value === "" ? empty : input.value));
  const show = () => {
    const value = draft.get(path) ?? "";
    if (input.value !== value) input.value = value;
  };
  draft.onChange(show);
  show();
  return beside(draft, path, key, input, (value) => value ?? "");
}

/** A choice; `options` are `[value, label]`, and null is written as "". */
export function choice(draft, path, key, options) {
  const input = element("select", { id: `field-${key}` }, options.map(([value, label]) => element("option", { value: value ?? "" }, label)));
  input.addEventListener("change", () => draft.set(path, input.value || null));
  const show = () => { input.value = draft.get(path) ?? ""; };
  draft.onChange(show);
  show();
  return beside(draft, path, key, input, (value) => options.find(([each]) => each === value)?.[1] ?? "");
}

/** Traits of one's own: rows of a name and a text, which can be added and removed. */
export function traits(draft, path, most = 32) {
  const list = element("div");
  const stored = element("p", { class: "hint stored" });
  const add = element("button", { type: "button", onclick: () => put([...rows(), ["", ""]], true) }, text("add_trait"));
  let shown = null;
  let latest = [];
  const rows = () => latest;
  function put(next, focuses = false) {
    latest = next;
    shown = null;
    keep();
    if (focuses) list.querySelector(".trait:last-child input")?.focus();
  }
  /** A row without a name is not kept, but stays where it is typed. */
  function keep() {
    draft.set(path, Object.fromEntries(latest.filter(([name]) => name.trim() !== "").map(([name, said]) => [name.trim(), said])));
  }
  function row([name, said], index) {
    const input = (value, key, most, place) => element("input", {
      type: "text", value, maxlength: most, "aria-label": text(key), placeholder: text(key), dir: "auto",
      oninput: (event) => {
        latest[index][place] = event.target.value;
        shown = JSON.stringify(latest.length);
        keep();
      },
    });
    const remove = () => put(latest.filter((_, each) => each !== index));
    return element("div", { class: "trait" }, input(name, "trait_name", 100, 0), input(said, "trait_text", 4_000, 1),
      element("button", { type: "button", class: "quiet", onclick: remove, "aria-label": `${text("remove_trait")}: ${visibleLine(name)}` }, "×"));
  }
  function show() {
    const kept = draft.get(path) ?? {};
    const mine = Object.fromEntries(latest.filter(([name]) => name.trim() !== "").map(([name, said]) => [name.trim(), said]));
    if (JSON.stringify(kept) !== JSON.stringify(mine)) {
      latest = Object.entries(kept);
      shown = null;
    }
    if (shown === null) list.replaceChildren(...latest.map(row));
    shown = JSON.stringify(latest.length);
    add.disabled = latest.length >= most;
    stored.hidden = !draft.hasChanged(path);
    const before = Object.entries(draft.before(path) ?? {}).map(([name, said]) => `${name}: ${said}`).join("; ");
    stored.textContent = text("stored_value", { value: visibleLine(before).slice(0, 300) || "–" });
  }
  draft.onChange(show);
  show();
  return element("div", {}, list, stored, add);
}
