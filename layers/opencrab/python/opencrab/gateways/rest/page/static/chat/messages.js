/** How one line of a conversation looks, and how it is read aloud. */

import { element, foreign, hasText, text, time, visibleText } from "../lib/elements.js";
import { formatted } from "../lib/markdown.js";

/** The view of an item: `update` shows it anew, `grow` adds the next words. */
export function messageView(item, name, approvals) {
  if (item.kind === "tool") return new ToolView(item);
  if (item.kind === "approval" && item.approvalId) return approvalView(item, approvals);
  return item.kind === "speech" ? new SpeechView(item, name) : new NoticeView(item);
}

class SpeechView {
  constructor(item, name) {
    this.node = document.createTextNode("");
    this.status = element("p", { class: "incomplete", hidden: true });
    const whose = item.fromAgent ? "theirs" : "mine";
    this.element = element("article", { class: `message ${whose}`, "data-id": item.id },
      element("header", {}, foreign(name), " ", time(item.at)),
      this.body = element("div", { class: "text", dir: "auto" }, this.node), this.status);
    this.update(item);
  }

  grow(delta) {
    this.node.appendData(visibleText(delta));
  }

  update(item) {
    this.node.data = visibleText(item.text);
    // While words arrive they are shown as they come.
    const isWhole = item.fromAgent && !item.arriving;
    if (isWhole && this.shown !== item.text) this.body.replaceChildren(formatted(item.text));
    else if (!isWhole) this.body.replaceChildren(this.node);
    this.shown = isWhole ? item.text : null;
    this.element.classList.toggle("arriving", Boolean(item.arriving));
    this.element.setAttribute("aria-busy", String(Boolean(item.arriving)));
    this.status.hidden = !item.incomplete;
    this.status.textContent = item.incomplete ? text(`incomplete_${item.incomplete}`) : "";
  }
}

class NoticeView {
  constructor(item) {
    this.element = element("p", { class: "notice", "data-id": item.id });
    this.update(item);
  }

  grow(delta) {
    this.element.append(visibleText(delta));
  }

  update(item) {
    this.element.replaceChildren(visibleText(item.text));
  }
}

class ToolView {
  constructor(item) {
    this.element = element("details", { class: "tool", "data-id": item.id });
    this.update(item);
  }

  grow() {}

  update(item) {
    const { tool } = item;
    const state = hasText(`call_${tool.state}`) ? text(`call_${tool.state}`) : tool.state;
    const block = (key, value) => (value ? [element("h3", {}, text(key)), element("pre", { tabindex: 0 }, visibleText(value))] : []);
    this.element.replaceChildren(
      element("summary", {}, element("code", {}, visibleText(tool.name)), ` ${visibleText(state)}`),
      ...block("arguments", tool.arguments), ...block("result", tool.result));
  }
}

function approvalView(item, approvals) {
  const card = approvals.card(item.approvalId);
  return { element: card.element, grow() {}, update() {} };
}

/** A message on its way: it goes when its line comes. */
export function sentView(said) {
  return element("article", { class: "message mine sending" }, element("p", { class: "text", dir: "auto" }, visibleText(said)));
}

const SENTENCE = /^[\s\S]*[.!?。!?\n](?=\s|[^\s\d]|$)/;

/** A live region that reads answers aloud by whole sentences, not by fragments of words. */
export class Announcer {
  constructor() {
    this.element = element("div", { class: "unseen", "aria-live": "polite", id: "announcer" });
    this.rest = new Map();
    this.isSilent = false;
  }

  /** Do something whose lines are not news. */
  silent(work) {
    this.isSilent = true;
    try {
      work();
    } finally {
      this.isSilent = false;
    }
  }

  follow(item, delta) {
    if (item.kind === "approval" && !this.isSilent) this.say(text("approval_needed"));
    if (this.isSilent || (!item.fromAgent && item.kind !== "notice")) return;
    if (!["speech", "notice"].includes(item.kind)) return;
    if (delta !== null) this.rest.set(item.id, (this.rest.get(item.id) ?? "") + delta);
    const rest = this.rest.get(item.id) ?? "";
    const ready = item.done ? rest : SENTENCE.exec(rest)?.[0] ?? "";
    if (!ready.trim()) return;
    this.rest.set(item.id, rest.slice(ready.length));
    this.say(ready);
  }

  forget(id) {
    this.rest.delete(id);
  }

  say(said) {
    this.element.append(element("p", {}, visibleText(said)));
    while (this.element.childNodes.length > 20) this.element.firstChild.remove();
  }
}
