/** Two panes of an agent: the last that was said, and what it plans. */

import { newId } from "../lib/api.js";
import { element, foreign, text, time, visibleText } from "../lib/elements.js";
import { field, form, link } from "../lib/widgets.js";
import { agentPath } from "./badge.js";

const LINES = 3;
const OPEN = new Set(["pending", "active", "waiting", "paused"]);

export class ChatPane {
  /**
   * @param {Page.Context} context
   * @param {Rest.AgentView} agent
   */
  constructor({ api }, agent) {
    this.api = api;
    this.agent = agent;
    this.shownTurn = "";
    this.lines = element("div", { class: "last-lines" }, element("p", { class: "empty" }, text("nothing_said")));
    this.element = element("div", {}, this.lines,
      element("p", {}, link(`/chat?agent=${encodeURIComponent(agent.id)}`, text("open_chat"))));
  }

  /** The end of the conversation of the newest turn; it is read when that turn has changed. */
  async update({ turns }) {
    const [newest] = turns;
    const now = newest ? `${newest.id} ${newest.status} ${newest.model_calls}` : "";
    if (now === this.shownTurn) return;
    /** @type {`/sessions/${string}/messages?order=newest&limit=${string}&kinds=speech,system,approval`} */
    const path = `/sessions/${encodeURIComponent(newest.session_id)}/messages?order=newest&limit=${LINES}&kinds=speech,system,approval`;
    const found = await this.api.getIfAllowed(path);
    this.shownTurn = now;
    if (found === null || found.items.length === 0) return;
    this.lines.replaceChildren(...found.items.reverse().map((line) => element("div", { class: "last-line" },
      element("p", { class: "hint" }, foreign(line.speaker_name), " ", time(line.at)),
      element("p", { class: "said", dir: "auto" }, visibleText(line.text)))));
  }
}

export class PlanPane {
  /**
   * @param {Page.Context} context
   * @param {Rest.AgentView} agent
   */
  constructor({ api, isOwner, who }, agent) {
    this.api = api;
    this.isOwner = isOwner;
    this.goals = new Map();
    this.list = element("div", { class: "plan" });
    this.none = element("p", { class: "empty" }, text("no_active_goal"));
    const mayAsk = who.scope !== "read" && agent.status !== "retired";
    this.element = element("div", {}, this.none, this.list, mayAsk ? this.#instruction(agent) : null);
  }

  #instruction(agent) {
    const input = element("textarea", { rows: 2, maxlength: 20_000, required: true, dir: "auto" });
    let id = newId();
    input.addEventListener("input", () => { id = newId(); });
    return element("details", {}, element("summary", {}, text("give_task")),
      form([field("agent_instruction", input, "agent_instruction_hint")], "give_it", async () => {
        await this.api.post(`${agentPath(agent.id)}/tasks`, { instruction: input.value.trim() }, id);
        input.value = "";
        id = newId();
      }, { done: "task_was_given" }));
  }

  /** Active goals only, oldest first; one that is there stays open or folded as it was left. */
  update({ pane, tasks }) {
    const goals = this.isOwner ? pane.plan.goals
      : tasks.filter((task) => OPEN.has(task.status)).reverse().map((task) => ({ ...task, tasks: null }));
    this.none.hidden = goals.length > 0;
    for (const id of this.goals.keys()) if (!goals.some((goal) => goal.id === id)) this.goals.delete(id);
    for (const goal of goals) {
      if (!this.goals.has(goal.id)) this.goals.set(goal.id, new GoalView());
      this.goals.get(goal.id).update(goal);
    }
    const nodes = [...this.goals.values()].map((each) => each.element);
    if (nodes.length !== this.list.children.length || nodes.some((node, index) => node !== this.list.children[index])) {
      this.list.replaceChildren(...nodes);
    }
  }
}

class GoalView {
  constructor() {
    this.summary = element("summary");
    this.tasks = element("ul", { class: "steps" });
    this.element = element("details", { class: "goal" }, this.summary, this.tasks);
  }

  update(goal) {
    const now = JSON.stringify(goal);
    if (now === this.now) return;
    this.now = now;
    const over = goal.tasks?.filter((task) => task.status === "done" || task.status === "fail").length ?? goal.tasks_over;
    const total = goal.tasks?.length ?? goal.tasks_total;
    this.summary.replaceChildren(foreign(goal.name), total > 0 ? ` · ${text("tasks_over", { over, total })}` : "");
    const rows = (goal.tasks ?? []).map((task) => taskRow(task));
    this.tasks.replaceChildren(...(rows.length ? rows : [element("li", { class: "hint" }, text("no_plan_yet"))]));
  }
}

const MARKS = { pending: "○", active: "▶", done: "✓", fail: "✗" };

/**
 * One task of a plan, with its mark.
 * @param {Rest.TaskSummary} task
 */
export function taskRow(task) {
  return element("li", { class: task.status },
    element("span", { class: "mark", "aria-hidden": "true" }, MARKS[task.status]),
    element("span", {}, element("span", { class: "unseen" }, `${text(`plan_task_${task.status}`)}: `), foreign(task.name)));
}
