/** Editing a longer text: Tab indents, its size is told, and what others saved meanwhile is shown beside it. */

import { Problem } from "./api.js";
import { currentLanguage, element, text, visibleText } from "./elements.js";
import { Unsaved } from "./unsaved.js";
import { action, field, form } from "./widgets.js";

const NEAR = 0.8;
const PAUSE_MS = 400;
const MEASURES = {
  bytes: (value) => new TextEncoder().encode(value).length,
  characters: (value) => [...value].length,
};

/**
 * A box for a text, with its label: of `most` bytes or characters, which are counted as the API counts them.
 * A `maxlength` would cut off what is pasted, without a word.
 * @param {string} key
 * @param {{ most: number, unit?: "bytes" | "characters", hint?: string | null, [attribute: string]: any }} options
 */
export function textBox(key, { most, unit = "bytes", hint = null, ...attributes }) {
  const input = element("textarea", { class: "editor", spellcheck: "false", autocomplete: "off", dir: "auto", ...attributes });
  const made = field(key, input, hint);
  const keys = element("p", { class: "hint", id: `${input.id}-keys` }, text("editor_keys"));
  const said = element("p", { class: "hint", role: "status" });
  input.setAttribute("aria-describedby", [input.getAttribute("aria-describedby"), keys.id].filter(Boolean).join(" "));
  let timer = null;
  input.addEventListener("input", () => {
    const size = MEASURES[unit](input.value);
    const told = size < most * NEAR ? "" : sizeOf(unit, size, most);
    input.setCustomValidity(size > most ? told : "");
    said.classList.toggle("warning", size > most);
    // Somebody who listens hears it when the typing pauses.
    clearTimeout(timer);
    timer = setTimeout(() => { said.textContent = told; }, PAUSE_MS);
  });
  indents(input);
  made.append(said, keys);
  return { input, element: made };
}

function sizeOf(unit, size, most) {
  const [now, limit] = [size, most].map((each) => each.toLocaleString(currentLanguage()));
  const told = text(`editor_${unit}`, { size: now, most: limit });
  return size > most ? `${told} ${text("editor_too_long")}` : told;
}

/** Tab and Shift+Tab indent; after Esc they go on to what is next, so that the keyboard finds out again. */
function indents(input) {
  let isLeaving = false;
  input.addEventListener("blur", () => { isLeaving = false; });
  input.addEventListener("keydown", (event) => {
    // An input method has these keys for itself.
    if (event.isComposing || event.keyCode === 229 || event.key === "Shift") return;
    const isTab = event.key === "Tab" && !(event.ctrlKey || event.altKey || event.metaKey);
    if (isTab && !isLeaving) {
      event.preventDefault();
      indent(input, event.shiftKey);
    }
    isLeaving = event.key === "Escape";
  });
}

/** Indent at the cursor, or the lines of the selection; `isOut` takes an indent away. */
function indent(input, isOut) {
  const { value, selectionStart: from, selectionEnd: to } = input;
  const unit = /^\t/m.test(value) ? "\t" : "  ";
  if (from === to && !isOut) return replace(input, from, to, unit);
  const start = from === 0 ? 0 : value.lastIndexOf("\n", from - 1) + 1;
  // A selection that ends where a line begins leaves that line alone.
  const last = to > from && value[to - 1] === "\n" ? to - 1 : to;
  const end = value.indexOf("\n", last) === -1 ? value.length : value.indexOf("\n", last);
  const lines = value.slice(start, end);
  const changed = isOut ? lines.replace(/^(\t| {1,2})/gm, "") : lines.replace(/^(?=.)/gm, unit);
  if (changed === lines) return undefined;
  replace(input, start, end, changed);
  const cursor = Math.max(start, from - lines.length + changed.length);
  return from === to ? input.setSelectionRange(cursor, cursor) : input.setSelectionRange(start, start + changed.length);
}

/** As if it was typed, so that it can be undone. */
function replace(input, start, end, words) {
  input.setSelectionRange(start, end);
  if (!document.execCommand(words === "" ? "delete" : "insertText", false, words)) {
    input.setRangeText(words, start, end, "end");
    input.dispatchEvent(new Event("input"));
  }
}

const plain = (value) => String(value).replace(/\r\n?/g, "\n");

/**
 * A form that changes what is stored. `inputs` by name; `write(version)` saves what they hold over that
 * version, or as new without one; `read()` answers `{version, values}` as they are stored, null if it is
 * gone; `take()` shows what is stored instead, and `saved()` goes on when all is saved.
 */
export class Editor {
  constructor(fields, submit, { version, inputs, write, read, take, saved }) {
    this.version = version;
    this.inputs = inputs;
    this.write = write;
    this.read = read;
    this.take = take;
    this.saved = saved;
    this.base = this.#typed();
    this.unsaved = new Unsaved(Object.values(inputs));
    this.other = element("div", { class: "stored" });
    this.form = form(fields, submit, () => this.#save());
    this.element = element("div", { class: "editing" }, this.form, this.other);
  }

  #typed() {
    return Object.fromEntries(Object.entries(this.inputs).map(([name, input]) => [name, input.value]));
  }

  async #save() {
    await this.#write();
    this.other.replaceChildren();
    this.base = this.#typed();
    this.unsaved.keep();
    await this.saved();
  }

  async #write() {
    try {
      this.version = await this.write(this.version);
    } catch (/** @type {any} */ error) {
      if (error.status !== 409) throw error;
      await this.#resolve(error);
    }
  }

  /** Somebody was faster: what they wrote is shown, unless no text is in question. */
  async #resolve(error) {
    const stored = await this.read();
    if (stored !== null) {
      if (stored.version === this.version) throw error;
      const differs = (values) => Object.keys(values).some((name) => plain(values[name]) !== plain(stored.values[name]));
      const isOnlyState = !differs(this.base);
      const isSaved = !differs(this.#typed());
      if (isSaved || isOnlyState) this.version = stored.version;
      if (isSaved) return;
      if (isOnlyState) return void await this.#write();
    }
    this.#compare(stored);
    throw new Problem(409, { code: "conflict", detail: text(stored ? "conflict_changed" : "conflict_gone"), cure: text("conflict_cure") });
  }

  #compare(stored) {
    const mine = () => {
      this.version = stored?.version ?? null;
      this.base = stored?.values ?? this.#typed();
      this.form.requestSubmit();
    };
    this.other.replaceChildren(
      ...(stored ? this.#differing(stored.values) : []),
      element("div", { class: "buttons" },
        stored ? action("conflict_take", () => this.#take(), { ask: "conflict_take_question" }) : null,
        action(stored ? "conflict_mine" : "conflict_anew", mine)));
  }

  #differing(values) {
    return Object.entries(this.inputs).filter(([name, input]) => plain(input.value) !== plain(values[name])).flatMap(([name, input]) => {
      const option = input instanceof HTMLSelectElement ? [...input.options].find((each) => each.value === values[name]) : null;
      const label = `${input.labels[0]?.textContent ?? ""} · ${text("conflict_stored")}`;
      return [element("p", { class: "hint" }, label),
        element("pre", { tabindex: 0, role: "group", "aria-label": label }, visibleText(option?.text ?? values[name]))];
    });
  }

  async #take() {
    this.unsaved.keep();
    await this.take();
  }
}
