/**
 * The lines of a session, however many: the newest page is read first and earlier ones when somebody
 * scrolls up. Only some hundred rows are in the document, and it changes some times a second at most.
 */

import { element, text, visibleText } from "../lib/elements.js";

const MOST_ROWS = 300;
const FEWEST_ROWS = 200;
const MOST_LINES = 1_000;
const STEP = 50;
const NEAR = 600;
const TOGETHER_MS = 80;

export class LineLog {
  /** @type {any} */
  from;
  /** @type {any} */
  to;

  /** `read(cursor)` answers a page, newest first; `row(line)` and `arrivingRow(turn)` make elements. */
  constructor({ read, row, arrivingRow, onError, onNews }) {
    this.read = read;
    this.row = row;
    this.arrivingRow = arrivingRow;
    this.onError = onError;
    this.onNews = onNews;
    this.news = [];
    this.arriving = new Map();
    this.turns = new Map();
    this.opening = 0;
    this.isAtEnd = true;
    this.isScheduled = false;
    this.shownAt = 0;
    this.rows = element("div", { class: "lines rows" });
    this.tail = element("div", { class: "lines" });
    this.content = element("div", {}, this.rows, this.tail);
    this.element = element("div", {
      class: "log", role: "log", "aria-live": "off", "aria-label": text("sessions_lines"), tabindex: 0,
      onscroll: () => this.#scrolled(),
    }, this.content);
    this.toEnd = element("button", { type: "button", class: "to-end", hidden: true, onclick: () => this.open() }, text("sessions_to_end"));
    new ResizeObserver(() => this.#keepEnd()).observe(this.content);
    this.#clear();
  }

  /** Show the newest page, at its end. */
  async open() {
    this.opening += 1;
    const mine = this.opening;
    const page = await this.#page(null);
    if (page === null || mine !== this.opening) return;
    this.#clear();
    this.cursor = page.next_cursor;
    this.lines = page.items.reverse();
    this.lastSequence = Math.max(this.lastSequence, this.lines.at(-1)?.sequence ?? 0);
    this.#showLast(STEP);
    this.isAtEnd = true;
    this.#showWhere();
    this.#schedule();
  }

  #clear() {
    this.lines = [];
    this.from = 0;
    this.to = 0;
    this.cursor = null;
    this.isCut = false;
    this.isReading = false;
    this.lastSequence ??= 0;
    this.rows.replaceChildren();
  }

  /** Begin anew, as when other kinds of lines are asked for. */
  async reopen() {
    this.lastSequence = 0;
    this.news = [];
    await this.open();
  }

  // What the stream tells; its follower calls these three.

  apply(data) {
    if ("sequence" in data) this.news.push(data);
    else if ("call" in data) this.#arrives(data);
    else if ("status" in data) this.#turn(data);
    this.lastSequence = Math.max(this.lastSequence, data.sequence ?? 0);
    this.#schedule();
  }

  dropUnfinished() {
    for (const id of [...this.arriving.keys()]) this.#forget(id);
  }

  #arrives({ turn_id: id, agent_id: agentId, call, text: words, starts_over: startsOver, ended }) {
    const known = this.arriving.get(id) ?? { id, agentId, said: "", row: null };
    const isNew = startsOver || known.call !== call;
    known.said = (isNew ? "" : known.said) + words;
    Object.assign(known, { call, isChanged: true, ended });
    this.arriving.set(id, known);
  }

  #turn({ turn_id: id, agent_id: agentId, status }) {
    this.onNews({ turn: { id, agentId, status } });
    if (!["queued", "running"].includes(status)) this.#forget(id);
  }

  #forget(turnId) {
    this.arriving.get(turnId)?.row?.remove();
    this.arriving.delete(turnId);
  }

  // What is on the screen changes here.

  /** The first line is shown with the next frame; when many come, they are shown together, some times a second. */
  #schedule() {
    if (this.isScheduled) return;
    this.isScheduled = true;
    const wait = this.shownAt + TOGETHER_MS - performance.now();
    if (wait > 0) setTimeout(() => requestAnimationFrame(() => this.#showAll()), wait);
    else requestAnimationFrame(() => this.#showAll());
  }

  #showAll() {
    this.isScheduled = false;
    this.shownAt = performance.now();
    this.#showNews();
    this.#showArriving();
  }

  #showNews() {
    const last = this.lines.at(-1)?.sequence ?? 0;
    const fresh = this.news.filter((line) => line.sequence > last);
    this.news = [];
    for (const line of fresh) if (line.turn_id && line.from_agent) this.#forget(line.turn_id);
    if (fresh.length === 0) return;
    this.onNews({ lines: fresh });
    const wasWhole = this.to === this.lines.length && !this.isCut;
    if (!this.isCut) this.lines.push(...fresh);
    if (wasWhole && this.isAtEnd) this.#append(fresh.slice(-MOST_ROWS));
    else if (this.lines.length - this.to > MOST_LINES) this.#cut();
    if (this.isAtEnd && this.lines.length > MOST_LINES) this.open();
    this.#showWhere();
  }

  /** Somebody reads far above while very many lines come: the newest are read again when wanted. */
  #cut() {
    this.isCut = true;
    this.lines.length = this.to;
  }

  #append(lines) {
    // That nothing was said is no line, and no longer true.
    this.rows.querySelector(":scope > .empty")?.remove();
    this.rows.append(...lines.map(this.row));
    this.to = this.lines.length;
    this.from = this.to - this.rows.childElementCount;
    this.#dropFirst();
  }

  #showLast(count) {
    const shown = this.lines.slice(-count);
    this.rows.replaceChildren(...shown.map(this.row));
    this.to = this.lines.length;
    this.from = this.to - shown.length;
    if (shown.length === 0) this.rows.append(element("p", { class: "empty" }, text("sessions_no_lines")));
  }

  #showArriving() {
    for (const each of this.arriving.values()) {
      if (!each.isChanged) continue;
      each.isChanged = false;
      if (each.row === null) {
        each.row = this.arrivingRow(each);
        each.words = each.row.querySelector(".text");
        this.tail.append(each.row);
      }
      each.words.textContent = visibleText(each.said);
    }
  }

  // Scrolling: rows far away leave the document, and the place that is read stays where it is.

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    const below = scrollHeight - scrollTop - clientHeight;
    this.isAtEnd = below < 80 && this.to === this.lines.length && !this.isCut;
    if (scrollTop < NEAR) this.#showEarlier();
    else if (below < NEAR && this.to < this.lines.length) this.#showLater();
    this.#showWhere();
  }

  #showWhere() {
    this.toEnd.hidden = this.isAtEnd;
  }

  async #showEarlier() {
    if (this.from === 0) {
      if (this.cursor === null || this.isReading) return;
      const mine = this.opening;
      const page = await this.#page(this.cursor);
      if (page === null || mine !== this.opening) return;
      this.cursor = page.next_cursor;
      this.lines.unshift(...page.items.reverse());
      this.from += page.items.length;
      this.to += page.items.length;
    }
    const first = Math.max(0, this.from - STEP);
    const before = this.element.scrollHeight;
    this.rows.prepend(...this.lines.slice(first, this.from).map(this.row));
    this.element.scrollTop += this.element.scrollHeight - before;
    this.from = first;
    while (this.rows.childElementCount > MOST_ROWS) {
      this.rows.lastElementChild.remove();
      this.to -= 1;
    }
  }

  #showLater() {
    const next = this.lines.slice(this.to, this.to + STEP);
    this.rows.append(...next.map(this.row));
    this.to += next.length;
    this.#dropFirst();
  }

  #dropFirst() {
    if (this.rows.childElementCount <= MOST_ROWS) return;
    // Many at once, so that few frames have to lay out what is left.
    const surplus = this.rows.childElementCount - FEWEST_ROWS;
    const before = this.isAtEnd ? 0 : this.element.scrollHeight;
    for (let dropped = 0; dropped < surplus; dropped += 1) this.rows.firstElementChild.remove();
    this.from += surplus;
    if (!this.isAtEnd) this.element.scrollTop -= before - this.element.scrollHeight;
  }

  async #page(cursor) {
    this.isReading = true;
    try {
      return await this.read(cursor);
    } catch (error) {
      this.onError(error);
      return null;
    } finally {
      this.isReading = false;
    }
  }

  #keepEnd() {
    if (this.isAtEnd) this.element.scrollTop = this.element.scrollHeight;
  }
}
