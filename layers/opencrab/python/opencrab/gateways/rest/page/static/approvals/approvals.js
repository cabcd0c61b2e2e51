/** Approvals: everything of a call that waits, and the two buttons that decide it. */

import { explain, newId } from "../lib/api.js";
import { button, element, foreign, problem, text, time, visibleText } from "../lib/elements.js";

const SHORT_HASH = 16;
const MARK = /(⟨U\+[^⟩]+⟩)/;

export class Approvals {
  /** @param {Page.Api} api */
  constructor(api, { agentName, onCount }) {
    this.api = api;
    this.agentName = agentName;
    this.onCount = onCount;
    this.list = element("div", { class: "cards" });
    this.element = element(
      "section",
      { id: "view-approvals", "aria-labelledby": "approvals-title" },
      element("h1", { id: "approvals-title" }, text("approvals")),
      element("p", { class: "hint" }, text("approvals_hint")),
      this.list,
    );
    this.cards = new Map();
  }

  /** Read what waits; a card that is there stays as it is, so that nobody loses their place. */
  async refresh() {
    let waiting;
    try {
      waiting = await this.api.list("/approvals");
    } catch (/** @type {any} */ error) {
      this.list.replaceChildren(problem(explain(error)));
      return;
    }
    const ids = new Set(waiting.map((each) => each.id));
    for (const [id, card] of this.cards) {
      if (!ids.has(id) && !card.decided) this.cards.delete(id);
    }
    for (const { id } of waiting) {
      if (!this.cards.has(id)) this.cards.set(id, this.card(id));
    }
    const shown = [...this.cards.values()].map((card) => card.element);
    const nothing = element("p", { class: "empty" }, text("no_approvals"));
    if (shown.length === 0) this.list.replaceChildren(nothing);
    else if (!sameNodes(this.list, shown)) this.list.replaceChildren(...shown);
    this.onCount(ids.size);
  }

  /** A card of one approval, which reads itself. */
  card(id) {
    return new ApprovalCard(this.api, id, this.agentName, () => this.refresh());
  }
}

export class ApprovalCard {
  /** @param {Page.Api} api */
  constructor(api, id, agentName, onDecided = () => {}) {
    this.api = api;
    this.id = id;
    this.agentName = agentName;
    this.onDecided = onDecided;
    this.decided = false;
    this.attempt = {};
    this.element = element("article", { class: "card approval", "data-id": id, onkeydown: (event) => this.#pressed(event) });
    this.load();
  }

  async load() {
    try {
      this.show(await this.api.get(`/approvals/${encodeURIComponent(this.id)}`));
    } catch (/** @type {any} */ error) {
      const again = button("try_again", () => this.load());
      this.element.replaceChildren(problem(explain(error)), again);
    }
  }

  show(approval) {
    this.approval = approval;
    this.decided = approval.state !== "pending";
    this.element.classList.toggle("decided", this.decided);
    this.element.tabIndex = this.decided ? -1 : 0;
    this.element.replaceChildren(
      element("h2", {}, text(this.decided ? "asked" : "asks"), " ", foreign(this.agentName(approval.agent_id))),
      this.decided ? decision(approval) : "",
      facts(approval),
      approval.tainted ? element("p", { class: "warning" }, text("tainted")) : "",
      ...this.#call(approval),
      this.decided ? "" : this.#buttons(approval),
    );
  }

  #call(approval) {
    if (approval.argument_hash === null) return [];
    if (approval.text === null) return [element("p", { class: "warning" }, text("gone"))];
    const hash = approval.argument_hash;
    const short = element("strong", {}, hash.slice(0, SHORT_HASH));
    return [
      whole("arguments", approval.text, marked(approval.text), !this.decided),
      approval.diff ? whole("diff", approval.diff, diffLines(approval.diff), !this.decided) : "",
      element("p", { class: "hash" }, `${text("hash")} `, element("code", {}, short, hash.slice(SHORT_HASH))),
    ];
  }

  #buttons(approval) {
    if (approval.argument_hash === null) return element("p", { class: "hint" }, text("not_yours"));
    const reason = element("input", { type: "text", maxlength: 500, id: `reason-${this.id}-${newId()}` });
    const decide = (approved) => this.#decide(approved, reason.value);
    const mayApprove = approval.text !== null;
    this.result = element("div", { "aria-live": "polite" });
    return element(
      "div",
      { class: "decide" },
      element("label", { for: reason.id }, text("reason")),
      reason,
      element("div", { class: "buttons" },
        mayApprove ? button("approve", () => decide(true), { class: "approve", "aria-keyshortcuts": "a" }) : null,
        button("reject", () => decide(false), { class: "reject", "aria-keyshortcuts": "r" })),
      element("p", { class: "hint" }, text("once")),
      element("p", { class: "hint keys" }, element("kbd", {}, "A"), ` ${text("approve")} · `, element("kbd", {}, "R"), ` ${text("reject")} · ${text("keys_hint")}`),
      this.result,
    );
  }

  /** One key decides the card that has the focus; never while somebody types or holds a key down. */
  #pressed(event) {
    const isTyped = event.target.matches("input, textarea, select");
    if (isTyped || event.repeat || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const name = { a: ".approve", r: ".reject" }[event.key.toLowerCase()];
    const wanted = name && this.element.querySelector(name);
    if (!wanted || wanted.disabled) return;
    event.preventDefault();
    wanted.click();
  }

  async #decide(approved, reason) {
    const buttons = this.element.querySelectorAll("button, input");
    for (const each of buttons) each.disabled = true;
    const body = { approved, reason, argument_hash: this.approval.argument_hash };
    const key = JSON.stringify(body);
    this.attempt[key] ??= newId();
    try {
      /** @type {`/approvals/${string}/decide`} */
      const path = `/approvals/${encodeURIComponent(this.id)}/decide`;
      const made = await this.api.post(path, body, this.attempt[key]);
      this.show({ ...this.approval, ...made });
      this.element.tabIndex = -1;
      this.element.focus();
      this.element.dispatchEvent(new Event("decided", { bubbles: true }));
      this.onDecided();
    } catch (/** @type {any} */ error) {
      if (error.status === 409) await this.load();
      for (const each of buttons) each.disabled = false;
      (this.result?.isConnected ? this.result : this.element).append(problem(explain(error)));
    }
  }
}

function facts(approval) {
  const rows = [
    ["what", marked(approval.what)],
    ["touches", marked(approval.touches)],
    ["action", marked(`${approval.action} (${approval.impact})`)],
    ["asked_at", [time(approval.created_at)]],
    ["expires_at", approval.expires_at ? [time(approval.expires_at)] : []],
  ];
  return element("dl", {}, rows.filter(([, shown]) => shown.length > 0).flatMap(([key, shown]) => [
    element("dt", {}, text(key)), element("dd", {}, element("bdi", {}, shown)),
  ]));
}

function decision(approval) {
  const why = approval.reason ? [" ", element("q", {}, visibleText(approval.reason))] : [];
  return element("p", { class: `decision ${approval.state}`, role: "status" }, text(`state_${approval.state}`), ...why);
}

/** A long text, whole; it can be folded, and scrolls within itself. */
function whole(key, content, shown, open) {
  const counted = text("counted", {
    characters: content.length.toLocaleString(), lines: content.split("\n").length.toLocaleString(),
  });
  return element("details", { open },
    element("summary", {}, `${text(key)} · ${counted}`),
    element("pre", { tabindex: 0, role: "group", "aria-label": text(key) }, shown));
}

/** A text that the server made visible already, with its marks highlighted. */
function marked(visible) {
  return visible.split(MARK).filter((part) => part !== "")
    .map((part) => (MARK.test(part) ? element("mark", {}, part) : part));
}

function diffLines(diff) {
  return diff.split("\n").flatMap((line, index) => {
    const name = index < 2 ? "span" : { "+": "ins", "-": "del" }[line[0]] ?? "span";
    return [element(name, {}, marked(line)), "\n"];
  });
}

function sameNodes(parent, nodes) {
  return parent.childNodes.length === nodes.length && nodes.every((node, index) => parent.childNodes[index] === node);
}
