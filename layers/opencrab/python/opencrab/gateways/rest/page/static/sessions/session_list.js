/** A list of sessions that shows what was read at once, the newest first as far as all are known. */

import { explain } from "../lib/api.js";
import { button, element, problem, text } from "../lib/elements.js";

const PAGE = 100;

export class SessionList {
  /** @type {any} */
  items;

  /** @param {Page.Api} api */
  constructor(api, row) {
    this.api = api;
    this.row = row;
    this.reading = 0;
    this.list = element("ul", { class: "paged" });
    this.said = element("p", { class: "empty", role: "status" });
    this.errors = element("div");
    this.more = button("show_more", () => this.#next(), { class: "more", hidden: true });
    this.element = element("div", {}, this.said, this.list, this.errors, this.more);
  }

  /** Read the first page of the sessions that are asked for. */
  async read(asked) {
    this.reading += 1;
    this.asked = asked;
    this.cursor = null;
    this.items = [];
    await this.#next();
  }

  async #next() {
    const mine = this.reading;
    const asked = new URLSearchParams({ limit: String(PAGE) });
    if (this.asked.agent) asked.set("agent_id", this.asked.agent);
    if (this.asked.mine) asked.set("mine", "true");
    if (this.cursor !== null) asked.set("cursor", this.cursor);
    try {
      const page = await this.api.get(`/sessions?${asked}`);
      if (mine !== this.reading) return;
      this.#show(page);
    } catch (error) {
      if (mine === this.reading) this.errors.replaceChildren(problem(explain(error)));
    }
  }

  #show({ items, next_cursor: next }) {
    this.cursor = next;
    this.errors.replaceChildren();
    this.more.hidden = next === null;
    const newest = (one, other) => other.updated_at.localeCompare(one.updated_at);
    // Pages come in the order of ids; what was shown stays where it is, and the next page follows.
    const shown = this.items.length === 0 ? [] : [...this.list.children];
    const added = items.sort(newest).map(this.row);
    this.items.push(...items);
    this.list.replaceChildren(...shown, ...added);
    this.said.textContent = this.items.length === 0 ? text("sessions_none")
      : next !== null ? text("sessions_in_order", { count: this.items.length }) : "";
  }
}
