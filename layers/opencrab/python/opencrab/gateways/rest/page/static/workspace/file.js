/** One file: its text, an editor that never overwrites what somebody else wrote, and its versions. */

import { explain } from "../lib/api.js";
import { save } from "../lib/download.js";
import { Editor, textBox } from "../lib/editor.js";
import { button, element, foreign, problem, text, visibleText } from "../lib/elements.js";
import { formatted, hasMarkup } from "../lib/markdown.js";
import { mayLeave } from "../lib/unsaved.js";
import { action } from "../lib/widgets.js";
import { size } from "./tree.js";
import { fileAddress } from "./upload.js";
import { versions } from "./versions.js";

const MOST_SHOWN = 200_000;

export class FileView {
  /** @type {any} */
  blob;

  /** @param {Page.Part} context */
  constructor({ api, path, isOwner }, name, { onChanged, onGone }) {
    this.api = api;
    this.path = path;
    this.isOwner = isOwner;
    this.name = name;
    this.onChanged = onChanged;
    this.onGone = onGone;
    this.address = fileAddress(path, name);
    this.element = element("article", { class: "card" });
  }

  async read() {
    try {
      const answer = await this.api.file(this.address);
      this.tag = answer.headers.get("ETag");
      this.blob = await answer.blob();
      this.isText = (answer.headers.get("Content-Type") ?? "").startsWith("text/plain");
      await this.#show();
    } catch (/** @type {any} */ error) {
      this.element.replaceChildren(element("h2", {}, foreign(this.name)), problem(explain(error)), versions(this));
    }
  }

  async #show() {
    const content = this.isText && this.blob.size <= MOST_SHOWN ? await this.blob.text() : null;
    const download = button("workspace_download", () => save(this.blob, this.name.split("/").at(-1)));
    const remove = async () => {
      await this.api.delete(this.address, this.tag);
      this.onGone();
    };
    this.element.replaceChildren(
      element("h2", {}, foreign(this.name)), element("p", { class: "hint" }, size(this.blob.size)),
      element("div", { class: "buttons" },
        this.isOwner && content !== null ? button("workspace_edit", () => this.#edit(content)) : "",
        download, this.isOwner ? action("workspace_delete", remove, { ask: "workspace_delete_question", class: "stop" }) : ""),
      content === null ? element("p", { class: "hint" }, text(this.isText ? "workspace_too_long" : "workspace_no_text"))
        : this.name.endsWith(".md") && hasMarkup(content) ? formatted(content) : element("pre", { class: "content", tabindex: 0, role: "group", "aria-label": text("workspace_content") }, visibleText(content)),
      this.isOwner ? versions(this) : "");
  }

  #edit(content) {
    const box = textBox("workspace_content", { rows: 20, most: MOST_SHOWN });
    box.input.value = content;
    const write = async (version) => {
      // A text keeps its kind of line ends; an editor of the browser has only line feeds.
      const written = content.includes("\r\n") ? box.input.value.replace(/\n/g, "\r\n") : box.input.value;
      await this.api.putFile(this.address, written, version === null ? { "If-None-Match": "*" } : { "If-Match": version });
    };
    const saved = async () => {
      await this.read();
      this.onChanged();
    };
    const editor = new Editor([box.element], "workspace_save", {
      version: this.tag, inputs: { content: box.input }, write, saved, read: () => this.#stored(),
      take: async () => {
        await saved();
        this.element.querySelector("button")?.focus();
      },
    });
    const hidden = /[\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]/.test(content) ? element("p", { class: "warning" }, text("workspace_hidden")) : "";
    this.element.replaceChildren(element("h2", {}, foreign(this.name)), hidden,
      editor.element, button("workspace_cancel", () => mayLeave(this.element) && this.#show()));
    box.input.focus();
  }

  /** What is stored now, null if the file is gone. */
  async #stored() {
    try {
      const answer = await this.api.file(this.address);
      return { version: answer.headers.get("ETag"), values: { content: await answer.text() } };
    } catch (/** @type {any} */ error) {
      if (error.status === 404) return null;
      throw error;
    }
  }

  /** Make an older version the current one. */
  async restore(version) {
    const answer = await this.api.file(`${this.address}?version=${encodeURIComponent(version)}`);
    await this.api.putFile(this.address, await answer.blob(), this.tag ? { "If-Match": this.tag } : { "If-None-Match": "*" });
    await this.read();
    this.onChanged();
  }
}
