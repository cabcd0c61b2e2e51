/** How a run looks: its step, its thoughts, its actions with their results, and what it said. */

import { dollars, element, foreign, text, time, visibleLine, visibleText } from "../lib/elements.js";
import { formatted } from "../lib/markdown.js";
import { link } from "../lib/widgets.js";
import { taskRow } from "./panes.js";

const ICONS = { pending: "○", running: "▶", waiting: "‖", done: "✓", failed: "✗" };

/** The view of one run. It is changed in place, so that what is unfolded stays so. */
export class RunView {
  constructor(approvals) {
    this.approvals = approvals;
    this.actions = new Map();
    this.name = element("p", { class: "run-name" });
    this.state = element("p", { class: "hint", role: "status" });
    this.bar = element("progress", { hidden: true, "aria-label": text("run_progress") });
    this.thought = element("p", { class: "said", dir: "auto" });
    this.thinking = element("details", { class: "thinking", hidden: true }, element("summary", {}, text("run_thinking")), this.thought);
    this.tasks = element("ul", { class: "steps", hidden: true });
    this.list = element("ol", { class: "actions" });
    this.approval = element("div");
    this.report = element("div", { class: "said report", dir: "auto", hidden: true });
    this.more = element("p", { class: "hint" });
    this.element = element("div", {}, this.name, this.state, this.bar, this.tasks, this.thinking, this.list, this.approval, this.report, this.more);
  }

  update(run) {
    const now = JSON.stringify(run);
    if (now === this.now) return;
    this.now = now;
    this.name.replaceChildren(run.kind === "task" ? foreign(run.name) : text(`trigger_${run.trigger}`), " ", time(run.at));
    const said = [text(`run_${run.status}`), this.#step(run), visibleLine(run.isOver ? "" : run.now),
      run.behind ? text("run_behind", { name: visibleLine(run.behind) }) : "", visibleLine(run.reason)].filter(Boolean).join(" · ");
    if (this.state.textContent !== said) this.state.textContent = said;
    this.bar.hidden = run.isOver || run.most === null;
    if (run.most !== null) Object.assign(this.bar, { max: run.most, value: Math.min(run.step, run.most) });
    this.thinking.hidden = !run.thinking;
    this.thought.textContent = visibleText(run.thinking ?? "");
    this.tasks.hidden = run.tasks.length === 0;
    this.tasks.replaceChildren(...run.tasks.map(taskRow));
    this.#showActions(run);
    this.#showApproval(run.approvalId);
    this.report.hidden = !run.report;
    if (this.reported !== run.report) this.report.replaceChildren(formatted(run.report));
    this.reported = run.report;
    const spent = run.spent > 0 ? [text("run_spent", { amount: dollars(run.spent) }), " · "] : [];
    this.more.replaceChildren(...spent, link(`/sessions/${encodeURIComponent(run.sessionId)}`, text("open_its_session")));
  }

  #step(run) {
    if (run.step === 0) return "";
    return run.most === null ? text("run_step", { number: run.step }) : text("run_step_of", { number: run.step, most: run.most });
  }

  /** A task goes on in other turns, whose actions are others. */
  #showActions({ actions, turnId }) {
    if (this.turnId !== turnId) {
      this.turnId = turnId;
      this.actions.clear();
      this.list.replaceChildren();
    }
    for (const action of actions) {
      if (!this.actions.has(action.id)) {
        this.actions.set(action.id, new ActionView());
        this.list.append(this.actions.get(action.id).element);
      }
      this.actions.get(action.id).update(action);
    }
  }

  #showApproval(id) {
    if (id === this.approvalId) return;
    this.approvalId = id;
    this.approval.replaceChildren(...(id ? [this.approvals.card(id).element] : []));
  }
}

class ActionView {
  constructor() {
    this.icon = element("span", { class: "mark", "aria-hidden": "true" });
    this.mark = element("span", { class: "unseen" });
    this.sentence = element("span");
    this.seconds = element("span", { class: "hint" });
    this.result = element("p", { class: "result", dir: "auto", hidden: true });
    this.json = element("pre", { tabindex: 0 });
    this.element = element("li", {},
      element("div", { class: "step-line" }, this.icon, element("span", {}, this.mark, this.sentence), this.seconds),
      this.result, element("details", {}, element("summary", {}, text("action_details")), this.json));
  }

  update(action) {
    this.element.className = action.mark;
    this.icon.textContent = ICONS[action.mark] ?? "";
    this.mark.textContent = `${text(`mark_${action.mark}`)}: `;
    this.sentence.replaceChildren(foreign(action.sentence));
    this.seconds.textContent = action.seconds === null ? "" : text("in_seconds", { count: action.seconds.toFixed(1) });
    this.result.hidden = !action.result;
    this.result.textContent = visibleText(action.result ?? "");
    const parts = [action.action, action.arguments, action.result].filter(Boolean).map(pretty);
    this.json.textContent = visibleText(parts.join("\n\n"));
  }
}

/** JSON with its lines; anything else, and JSON that was cut, as it is. */
function pretty(line) {
  try {
    return JSON.stringify(JSON.parse(line), null, 2);
  } catch {
    return line;
  }
}
