/** One task that somebody gave: how far it is, what was done, and its report. */

import { explain } from "../lib/api.js";
import { dollars, element, foreign, problem, text, time, visibleText } from "../lib/elements.js";
import { formatted } from "../lib/markdown.js";
import { action, facts, link } from "../lib/widgets.js";

const ASK_MS = 2_000;
const OPEN = new Set(["pending", "active", "waiting", "paused"]);
const PAUSABLE = new Set(["pending", "active"]);

export class TaskRow {
  /**
   * @param {Page.Part} context
   * @param {Rest.TaskSummary} task
   */
  constructor({ api, path, who, signal }, task) {
    this.api = api;
    this.signal = signal;
    this.isOver = false;
    this.mayTalk = who.scope !== "read";
    /** @type {`/agents/${string}/tasks/${string}`} */
    this.path = `${path}/tasks/${encodeURIComponent(task.id)}`;
    this.head = element("div");
    this.body = element("div", { "aria-live": "polite" });
    this.details = element("details", {}, element("summary", {}, text("goals_report")), this.body);
    this.details.addEventListener("toggle", () => this.details.open && this.read());
    this.element = element("li", {}, this.head, this.details);
    signal.addEventListener("abort", () => clearTimeout(this.timer));
    this.#showHead(task);
    if (OPEN.has(task.status)) this.#askLater();
  }

  /** Read the whole task, and again as long as it goes on. */
  async read() {
    try {
      const task = await this.api.get(this.path);
      this.#showHead(task);
      const whole = JSON.stringify(task);
      if (whole !== this.shown) this.#show(task);
      this.shown = whole;
      if (OPEN.has(task.status)) this.#askLater();
    } catch (error) {
      this.body.replaceChildren(problem(explain(error)));
    }
  }

  #askLater() {
    clearTimeout(this.timer);
    if (this.signal.aborted) return;
    this.timer = setTimeout(() => (document.visibilityState === "visible" ? this.read() : this.#askLater()), ASK_MS);
  }

  /** @param {Rest.TaskSummary} task */
  #showHead(task) {
    const head = `${task.status} ${task.completion}`;
    if (this.headShown === head) return;
    this.headShown = head;
    this.head.replaceChildren(element("div", { class: "line" }, element("strong", {}, foreign(task.name)),
      element("span", { class: `badge ${task.status}` }, text(`goals_standing_${task.status}`)),
      element("span", { class: "hint" }, text("goals_completion", { percent: task.completion }), " · ", time(task.created_at))));
  }

  /** @param {Rest.TaskView} task */
  #show(task) {
    const act = (key, /** @type {"pause" | "resume" | "cancel"} */ what, more = {}) => action(key, async () => {
      await this.api.post(`${this.path}/${what}`, what === "resume" ? undefined : {});
      await this.read();
    }, more);
    const session = link(`/sessions/${encodeURIComponent(task.session_id)}`, text("goals_session"));
    const turn = task.turn_id ? link(`/sessions/${encodeURIComponent(task.session_id)}/turns/${encodeURIComponent(task.turn_id)}`, text("goals_turn")) : "";
    this.body.replaceChildren(
      element("p", { class: "prose", dir: "auto" }, visibleText(task.instruction)),
      facts([
        ["goals_now", task.current && foreign(task.current.sentence)],
        ["goals_thinking", task.thinking && foreign(task.thinking)],
        ["goals_paused_why", task.pause_reason && foreign(task.pause_reason)],
        ["goals_asks", task.approval && link("/approvals", foreign(`${task.approval.what} · ${task.approval.touches}`))],
        ["goals_steps", `${task.step ?? 0} / ${task.max_steps}`], ["goals_spent", dollars(task.spent_micro_usd ?? 0)],
      ]),
      list("goals_plan", task.tasks.map((each) => [each.status, `goals_step_${each.status}`, each.name, each.cause || each.result])),
      list("goals_actions", (task.actions ?? []).map((each) => [each.mark, `goals_mark_${each.mark}`, each.sentence, null])),
      task.report ? element("div", {}, element("h3", {}, text("goals_result")), formatted(task.report)) : "",
      element("div", { class: "buttons" }, session, turn,
        this.mayTalk && PAUSABLE.has(task.status) ? act("goals_pause", "pause") : "",
        this.mayTalk && task.status === "paused" ? act("goals_resume", "resume") : "",
        this.mayTalk && OPEN.has(task.status) ? act("goals_cancel", "cancel", { ask: "goals_cancel_question", class: "stop" }) : ""));
  }
}

function list(key, rows) {
  if (rows.length === 0) return "";
  return element("div", {}, element("h3", {}, text(key)), element("ol", { class: "plan" }, rows.map(([mark, state, name, more]) => element("li", {},
    element("span", { class: `badge ${mark}` }, text(state)), " ", foreign(name), more ? element("div", { class: "hint" }, foreign(more)) : null))));
}
