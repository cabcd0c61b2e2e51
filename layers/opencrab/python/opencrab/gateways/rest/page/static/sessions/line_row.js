/** How a line looks: speech, inner voice, action, or what the system and a mentor say. */

import { element, foreign, hasText, text, time, visibleText } from "../lib/elements.js";
import { formatted } from "../lib/markdown.js";
import { link } from "../lib/widgets.js";

const INDENT = 2;

/** Makes the rows of one session. */
export class Rows {
  constructor(sessionId, { agentName, approvals, me }) {
    this.sessionId = sessionId;
    this.agentName = agentName;
    this.approvals = approvals;
    this.me = me;
    this.of = (line) => this.#row(line);
  }

  #row(line) {
    const data = line.data ?? {};
    if (line.kind === "action") return this.#action(line, data);
    if (line.kind === "approval" && data.approval_id) return this.approvals.card(data.approval_id).element;
    if (line.kind === "speech") return this.#speech(line);
    const kind = line.audience === "agents" ? "guidance" : line.kind;
    return element("article", { class: `aside-line ${kind}`, "data-sequence": line.sequence },
      this.#head(line, text(`sessions_says_${kind}`)), element("p", { class: "text", dir: "auto" }, visibleText(line.text)));
  }

  #speech(line) {
    const whose = line.speaker_id === this.me ? "mine" : "theirs";
    return element("article", { class: `message ${whose}`, "data-sequence": line.sequence },
      this.#head(line), element("div", { class: "text", dir: "auto" },
        line.text && line.from_agent ? formatted(line.text) : visibleText(line.text) || text("sessions_erased")));
  }

  #action(line, data) {
    const state = String(data.state ?? "");
    const made = element("details", { class: "tool", "data-sequence": line.sequence },
      element("summary", {}, foreign(line.speaker_name), " · ", foreign(line.summary || line.text), " ",
        element("span", { class: `badge ${state}` }, stateOf(state))));
    // What is folded is made when somebody opens it.
    made.addEventListener("toggle", () => made.childElementCount === 1 && made.append(
      element("p", { class: "hint" }, element("code", {}, visibleText(data.name ?? "")), " · ", time(line.at), " · ", this.#turn(line)),
      element("h3", {}, text("arguments")), block(data.arguments), element("h3", {}, text("sessions_receipt")), block(data.result)));
    return made;
  }

  #head(line, kind = null) {
    return element("header", {}, foreign(line.speaker_name), " ", kind ? element("span", {}, `${kind} · `) : null, time(line.at),
      line.turn_id && line.from_agent ? [" · ", this.#turn(line)] : null);
  }

  #turn(line) {
    if (!line.turn_id) return null;
    return link(`/sessions/${encodeURIComponent(this.sessionId)}/turns/${encodeURIComponent(line.turn_id)}`, text("sessions_turn"));
  }

  /** The row of an answer whose words still come. */
  arriving({ agentId }) {
    return element("article", { class: "message theirs arriving", "aria-busy": "true" },
      element("header", {}, foreign(this.agentName(agentId))), element("p", { class: "text", dir: "auto" }));
  }
}

/** What a state is called; one that this page does not know is shown as it is. */
export const stateOf = (state) => (hasText(`sessions_call_${state}`) ? text(`sessions_call_${state}`) : visibleText(state));

/** A value as text that scrolls in itself; JSON is indented. */
export function block(value) {
  return element("pre", { tabindex: 0 }, visibleText(indented(value)));
}

function indented(value) {
  if (typeof value !== "string") return JSON.stringify(value ?? null, null, INDENT);
  try {
    return JSON.stringify(JSON.parse(value), null, INDENT);
  } catch {
    return value;
  }
}
