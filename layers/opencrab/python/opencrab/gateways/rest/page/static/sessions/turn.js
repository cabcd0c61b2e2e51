/** A turn as a story: what started it, each step with its calls and receipts, and what it cost. */

import { newId } from "../lib/api.js";
import { dollars, element, foreign, text, time, visibleText } from "../lib/elements.js";
import { action, card, facts, field, form, heading, link } from "../lib/widgets.js";
import { block, stateOf } from "./line_row.js";
import { turnCharts } from "./turn_charts.js";

const ASK_MS = 1_500;
const OPEN = new Set(["queued", "running", "waiting"]);

/** @param {Page.Context} context */
export default async function page(context) {
  const shown = new Turn(context);
  await shown.read();
  return shown.element;
}

class Turn {
  /** @param {Page.Context} context */
  constructor(context) {
    this.context = context;
    this.api = context.api;
    this.shown = "";
    /** @type {`/turns/${string}`} */
    this.path = `/turns/${encodeURIComponent(context.params.turn)}`;
    this.head = element("div");
    this.steps = element("ol", { class: "steps" });
    this.mayTalk = context.who.scope !== "read";
    this.charts = element("div");
    this.element = element("section", { id: "view-turn" }, this.head, this.charts, this.steps);
    context.signal.addEventListener("abort", () => clearTimeout(this.timer));
  }

  /** Read the story, and again as long as it goes on; what somebody opened stays open. */
  async read() {
    const turn = await this.api.get(this.path);
    const whole = JSON.stringify(turn);
    if (whole !== this.shown) this.#show(turn);
    this.shown = whole;
    this.#askAgain(turn);
  }

  #askAgain(turn) {
    clearTimeout(this.timer);
    if (!OPEN.has(turn.status) || this.context.signal.aborted) return;
    this.timer = setTimeout(() => this.read().catch(() => this.#askAgain(turn)), ASK_MS);
  }

  /** @param {Rest.StoryView} turn */
  #show(turn) {
    const open = new Set([...this.steps.querySelectorAll("details[open]")].map((each) => each.dataset.call));
    const name = this.context.agentName(turn.agent_id);
    const stop = async () => {
      await this.api.post(`${this.path}/cancel`);
      await this.read();
    };
    this.head.replaceChildren(
      heading([text("sessions_turn_of"), " ", foreign(name)],
        OPEN.has(turn.status) && this.mayTalk ? action("sessions_stop", stop, { class: "stop" }) : "",
        link(`/sessions/${encodeURIComponent(turn.session_id)}`, text("sessions_back"))),
      turn.tainted ? element("p", { class: "warning" }, text("sessions_tainted")) : "",
      this.#facts(turn), failure(turn));
    const isOpen = this.charts.querySelector("details")?.open ?? false;
    this.charts.replaceChildren(...turnCharts(turn.steps));
    if (isOpen) this.charts.querySelector("details")?.setAttribute("open", "");
    this.steps.replaceChildren(...turn.steps.map((step) => stepView(step, open)));
    if (turn.steps.length === 0) this.steps.append(element("li", { class: "empty" }, text("sessions_no_steps")));
    if (this.mayTalk && !OPEN.has(turn.status) && !this.feedback) {
      this.feedback = this.#feedback();
      this.element.append(this.feedback);
    }
  }

  /** @param {Rest.StoryView} turn */
  #facts(turn) {
    const seconds = turn.ended_at === null ? null : (Date.parse(turn.ended_at) - Date.parse(turn.created_at)) / 1000;
    return element("div", { class: "card", role: "status" }, facts([
      ["sessions_state", element("span", { class: `badge ${turn.status}` }, text(`sessions_turn_${turn.status}`))],
      ["sessions_trigger", text(`sessions_trigger_${turn.trigger}`)],
      ["sessions_for_whom", text(`sessions_authority_${turn.authority}`)],
      ["sessions_source", turn.source],
      ["sessions_begun", time(turn.created_at)],
      ["sessions_took", seconds === null ? null : text("sessions_seconds", { seconds: seconds.toFixed(1) })],
      ["sessions_model_calls", String(turn.model_calls)],
      ["sessions_cost", dollars(turn.spent_micro_usd)],
      ["sessions_note", turn.note && foreign(turn.note)],
      ["sessions_stopped_why", turn.stop?.reason && foreign(turn.stop.reason)],
    ]));
  }

  #feedback() {
    const thumbs = element("select", {}, ["", "up", "down"].map((each) => element("option", { value: each }, text(each ? `sessions_thumbs_${each}` : "sessions_no_thumbs"))));
    const remark = element("textarea", { rows: 2, maxlength: 2_000, dir: "auto" });
    let id = newId();
    const save = async () => {
      await this.api.post(`${this.path}/feedback`, { thumbs: thumbs.value || null, remark: remark.value.trim() }, id);
      id = newId();
      remark.value = "";
    };
    return card("sessions_feedback", form([
      field("sessions_thumbs", thumbs), field("sessions_remark", remark, "sessions_remark_hint")], "sessions_feedback_send", save, { done: "sessions_feedback_thanks" }));
  }
}

/** @param {Rest.StoryView} turn */
function failure({ error }) {
  if (!error) return "";
  return element("div", { class: "problem" }, element("p", {}, visibleText(error.message)),
    error.cure ? element("p", { class: "cure" }, visibleText(error.cure)) : null);
}

/** @param {Rest.StepView} step */
function stepView(step, open) {
  const said = (key, value) => (value ? [element("h3", {}, text(key)), element("p", { class: "prose", dir: "auto" }, visibleText(value))] : null);
  return element("li", { class: "card step" },
    element("h2", {}, text("sessions_step", { number: step.number })),
    element("p", { class: "hint" }, [element("code", {}, visibleText(step.model)), ` · ${stateOf(step.state)}`, ...measures(step)]),
    said("sessions_intent", step.thought?.intent), said("sessions_judgment", step.thought?.judgment),
    said("sessions_words", step.text), said("sessions_memory_update", step.memory_update),
    step.error ? element("p", { class: "problem" }, visibleText(step.error)) : null,
    step.calls.map((call) => callView(call, open)));
}

/** @param {Rest.StepView} step */
function measures({ latency_ms: ms, usage, cost_micro_usd: cost, state, reserved_micro_usd: reserved }) {
  const shown = [];
  if (ms !== null) shown.push(text("sessions_ms", { ms: ms.toLocaleString() }));
  if (usage) shown.push(text("sessions_tokens", { read: usage.input_tokens.toLocaleString(), written: usage.output_tokens.toLocaleString(), cached: usage.cached_tokens.toLocaleString() }));
  shown.push(state === "running" ? text("sessions_reserved", { amount: dollars(reserved) }) : dollars(cost));
  return shown.map((each) => ` · ${each}`);
}

/** @param {Rest.CallView} call */
function callView(call, open) {
  const { approval } = call;
  const asked = approval && [
    element("h3", {}, text("sessions_approval")), element("p", {}, foreign(approval.what), " · ", foreign(approval.touches)),
    element("p", { class: "hint" }, approval.approved === null ? text("waiting")
      : [text(approval.approved ? "sessions_approved_by" : "sessions_rejected_by"), " ", foreign(approval.by),
        ...(approval.reason ? [": ", element("q", {}, visibleText(approval.reason))] : [])])];
  return element("details", { class: "tool", "data-call": call.id, open: open.has(call.id) },
    element("summary", {}, element("code", {}, visibleText(call.name)), " ", element("span", { class: `badge ${call.state}` }, stateOf(call.state))),
    call.arguments === null ? null : [element("h3", {}, text("arguments")), block(call.arguments)],
    asked,
    call.data === null ? null : [element("h3", {}, text("sessions_receipt")), block(call.data)],
    call.error ? element("p", { class: "problem" }, visibleText(call.error)) : null);
}
