/** Curated memories: what an agent keeps as true, which its owner can add to, correct and forget. */

import { forgetting } from "../forgetting/forgetting.js";
import { explain } from "../lib/api.js";
import { Editor, textBox } from "../lib/editor.js";
import { button, element, foreign, problem, text, time, visibleText } from "../lib/elements.js";
import { Unsaved, mayLeave } from "../lib/unsaved.js";
import { field, form, pagedList } from "../lib/widgets.js";

const MOST = 4_000;
const HEARINGS = ["private", "public"];

/** @param {Page.Part} context */
export function curated(context) {
  const { api, path, signal } = context;
  const shown = new Map();
  // A memory in which somebody types stays as it is when the list is read again.
  const row = (memory) => {
    if (!shown.get(memory.id)?.editor?.unsaved.isThere) shown.set(memory.id, new Memory(context, memory));
    return shown.get(memory.id).element;
  };
  const list = pagedList(api, `${path}/memory/curated`, row, { empty: "memory_none", signal });
  const inputs = new Inputs({ content: "", category: "fact", importance: 0.5, confidence: 0.9, hearing: "private" });
  const unsaved = new Unsaved(Object.values(inputs.all));
  const add = async () => {
    await api.post(`${path}/memory/curated`, inputs.values);
    inputs.content.value = "";
    unsaved.keep();
    await list.refresh();
  };
  return element("div", {},
    element("details", { class: "card creation-form" }, element("summary", {}, text("memory_add")),
      form(inputs.fields, "memory_add_now", add)),
    list);
}

/** The fields of a memory; an id of their own keeps several forms apart. */
class Inputs {
  static #count = 0;

  constructor(memory) {
    Inputs.#count += 1;
    const id = (name) => `memory-${name}-${Inputs.#count}`;
    this.box = textBox("memory_content", { id: id("content"), rows: 3, required: true, most: MOST, unit: "characters", hint: "memory_content_hint" });
    this.content = this.box.input;
    this.content.value = memory.content;
    this.category = element("input", { id: id("category"), type: "text", required: true, maxlength: 64 });
    this.category.value = memory.category;
    const share = (name, value) => element("input", { id: id(name), type: "number", min: 0, max: 1, step: 0.05, required: true, value });
    this.importance = share("importance", memory.importance);
    this.confidence = share("confidence", memory.confidence);
    this.hearing = element("select", { id: id("hearing") }, hearingsOf(memory).map((each) => element("option", { value: each }, text(`memory_hearing_${each}`))));
    this.hearing.value = memory.hearing;
  }

  get fields() {
    return [this.box.element,
      element("div", { class: "grid" }, field("memory_category", this.category, "memory_category_hint"), field("memory_hearing", this.hearing),
        field("memory_importance", this.importance), field("memory_confidence", this.confidence))];
  }

  get all() {
    const { content, category, hearing, importance, confidence } = this;
    return { content, category, hearing, importance, confidence };
  }

  get values() {
    return {
      content: this.content.value.trim(), category: this.category.value.trim(), hearing: this.hearing.value,
      importance: Number(this.importance.value), confidence: Number(this.confidence.value),
    };
  }
}

/** Who may hear it: what it is now, and what can be said without naming a session. */
const hearingsOf = ({ hearing }) => [...new Set([hearing, ...HEARINGS])];

class Memory {
  /**
   * @param {Page.Part} context
   * @param {Rest.MemorySummary} memory
   */
  constructor(context, memory) {
    this.context = context;
    this.memory = memory;
    this.api = context.api;
    /** @type {`/agents/${string}/memory/curated/${string}`} */
    this.path = `${context.path}/memory/curated/${encodeURIComponent(memory.id)}`;
    this.element = element("li");
    this.#show();
  }

  #show(focus = false) {
    const { memory } = this;
    const change = button("memory_edit", () => this.#edit());
    this.element.replaceChildren(
      element("p", { class: "prose", dir: "auto" }, visibleText(memory.content)),
      element("div", { class: "marks" }, element("span", { class: "badge" }, foreign(memory.category)),
        memory.tainted ? element("span", { class: "badge waiting" }, text("memory_tainted")) : null,
        element("span", { class: "hint" }, text(`memory_from_${memory.provenance}`), " · ", text(`memory_hearing_${memory.hearing}`), " · ",
          text("memory_weights", { importance: memory.importance.toFixed(2), confidence: memory.confidence.toFixed(2) }), " · ", time(memory.updated_at)),
        change, button("memory_forget", () => this.#forget())));
    if (focus) change.focus();
  }

  async #edit() {
    try {
      const read = async () => {
        const answer = await this.api.file(this.path);
        const values = await answer.json();
        this.memory = values;
        return { version: answer.headers.get("ETag"), values };
      };
      const { version, values: whole } = await read();
      const inputs = new Inputs(whole);
      const write = async (over) => {
        this.memory = await this.api.patch(this.path, inputs.values, over);
      };
      this.editor = new Editor(inputs.fields, "memory_save", {
        version, inputs: inputs.all, write, read, take: () => this.#edit(), saved: () => this.#show(true),
      });
      const cancel = () => mayLeave(this.element) && this.#show(true);
      this.element.replaceChildren(this.editor.element, history(whole.earlier), button("memory_cancel", cancel));
      inputs.content.focus();
    } catch (error) {
      this.element.append(problem(explain(error)));
    }
  }

  #forget() {
    this.element.append(forgetting(this.context, this.context.agentId, { scope: "memory", id: this.memory.id }, {
      onDone: () => this.element.remove(), onBack: () => this.#show(true),
    }));
  }
}

function history(earlier) {
  if (earlier.length === 0) return "";
  return element("details", {}, element("summary", {}, text("memory_earlier", { count: earlier.length })),
    element("ul", {}, earlier.map((each) => element("li", {}, time(each.at), " · ", foreign(each.content), " (", foreign(each.reason), ")"))));
}
