/** The inspector: what an agent works on, step by step as it happens, and how to steer it. */

import { Follower } from "../chat/follow.js";
import { explain, newId } from "../lib/api.js";
import { element, problem, text, time, visibleLine } from "../lib/elements.js";
import { action, field, form } from "../lib/widgets.js";
import { agentPath } from "./badge.js";
import { runOfTask, runOfTurn } from "./run.js";
import { RunView } from "./run_view.js";

const LIVE = "";
const OPEN = new Set(["active", "waiting"]);
const HELD = new Set(["paused", "pending"]);
const OPEN_TURN = new Set(["running", "waiting", "queued"]);

export class Inspector {
  /** @type {any} */
  view;

  /**
   * @param {Page.Context} context
   * @param {Rest.AgentView} agent
   */
  constructor(context, agent, onChanged) {
    this.context = context;
    this.api = context.api;
    this.path = agentPath(agent.id);
    this.onChanged = onChanged;
    this.mayChange = context.who.scope !== "read";
    this.choice = element("select", { id: "run", onchange: () => this.#choose() });
    this.options = "";
    this.errors = element("div");
    this.lost = element("p", { class: "hint", role: "status" });
    this.shown = element("div", {}, element("p", { class: "empty" }, text("nothing_done")));
    this.buttons = element("div", { class: "buttons" });
    this.steering = this.#steering();
    this.element = element("div", {}, field("run_choice", this.choice), this.errors, this.lost, this.shown, this.buttons, this.steering);
    document.addEventListener("visibilitychange", () => this.#follow(), { signal: context.signal });
    context.signal.addEventListener("abort", () => this.#stop());
  }

  #steering() {
    const input = element("input", { type: "text", maxlength: 2_000, required: true, autocomplete: "off", dir: "auto" });
    let id = newId();
    input.addEventListener("input", () => { id = newId(); });
    const made = form([field("steer_text", input, "steer_hint")], "steer", async () => {
      await this.api.post(`${this.#taskPath(this.run.id)}/steer`, { text: input.value.trim() }, id);
      input.value = "";
      id = newId();
    }, { done: "steered" });
    made.hidden = true;
    return made;
  }

  #taskPath(id) {
    return `${this.path}/tasks/${encodeURIComponent(id)}`;
  }

  async update({ tasks, turns }) {
    this.tasks = tasks;
    this.turns = turns.filter((turn) => !tasks.some((task) => task.turn_id === turn.id));
    this.#showOptions();
    await this.#showChosen();
  }

  #showOptions() {
    const named = (each) => `${visibleLine(each.name).slice(0, 60)} · ${text(`run_${each.status}`)}`;
    const options = [[LIVE, text("run_live")],
      ...this.tasks.map((task) => [`task ${task.id}`, named(task)]),
      ...this.turns.map((turn) => [`turn ${turn.id}`, `${text(`trigger_${turn.trigger}`)} ${time(turn.created_at).textContent} · ${text(`run_${turn.status}`)}`])];
    const now = JSON.stringify(options);
    // An open list is not changed under somebody's hand.
    if (now === this.options || document.activeElement === this.choice) return;
    this.options = now;
    const chosen = this.choice.value;
    this.choice.replaceChildren(...options.map(([value, label]) => element("option", { value }, label)));
    this.choice.value = options.some(([value]) => value === chosen) ? chosen : LIVE;
  }

  async #choose() {
    this.errors.replaceChildren();
    try {
      await this.#showChosen();
    } catch (error) {
      this.errors.replaceChildren(problem(explain(error)));
    }
  }

  /** What runs now, else what was last; a task that waits in the queue comes after what works. */
  #wanted() {
    const [kind, id] = this.choice.value.split(" ");
    if (id) return { kind, id };
    const task = this.tasks.find((each) => OPEN.has(each.status));
    const turn = this.turns.find((each) => OPEN_TURN.has(each.status));
    if (task) return { kind: "task", id: task.id };
    if (turn) return { kind: "turn", id: turn.id };
    const held = this.tasks.find((each) => HELD.has(each.status));
    if (held) return { kind: "task", id: held.id };
    const [lastTask, lastTurn] = [this.tasks[0], this.turns[0]];
    if (lastTask && (!lastTurn || lastTask.created_at > lastTurn.created_at)) return { kind: "task", id: lastTask.id };
    return lastTurn ? { kind: "turn", id: lastTurn.id } : null;
  }

  async #showChosen() {
    const wanted = this.#wanted();
    if (wanted === null) return;
    const { kind, id } = wanted;
    const summary = (kind === "task" ? this.tasks : this.turns).find((each) => each.id === id);
    const now = `${kind} ${id}`;
    const isNew = now !== this.now;
    if (isNew) {
      this.#stop();
      this.now = now;
      this.isOver = false;
      this.view = new RunView(this.context.approvals);
    }
    if (kind === "turn") await this.#readTurn(summary, now);
    else if (isNew || (this.isOver && summary && !["completed", "answered", "abandoned"].includes(summary.status))) {
      this.isOver = false;
      this.#follow();
    }
  }

  /** A turn without a task has no stream of its own: it is read again when it has changed. */
  async #readTurn(summary, now) {
    const seen = `${summary?.status} ${summary?.model_calls}`;
    if (this.seen === seen && this.run?.id === summary?.id && this.run?.isOver) return;
    const turn = await this.api.get(`/turns/${now.slice("turn ".length)}`);
    const run = runOfTurn(turn);
    if (turn.status === "waiting") {
      const asked = (await this.api.list("/approvals")).find((each) => each.turn_id === turn.id);
      run.approvalId = asked?.id ?? null;
    }
    if (this.now !== now) return;
    this.seen = seen;
    this.#show(run);
  }

  /** Follow a task while somebody looks at it. */
  #follow() {
    const isTask = this.now?.startsWith("task ");
    if (document.visibilityState !== "visible" || this.context.signal.aborted) this.#stop();
    else if (isTask && !this.follower && !this.isOver) {
      const mine = this.now;
      const ifMine = (work) => (...news) => mine === this.now && work(...news);
      const path = `${this.#taskPath(mine.slice("task ".length))}/events`;
      const seen = { lastSequence: null, dropUnfinished() {} };
      seen.apply = ifMine((task, eventId) => {
        seen.lastSequence = eventId;
        this.#progress(task);
      });
      this.follower = new Follower(this.api, path, seen, {
        onConnected: ifMine((isConnected) => { this.lost.textContent = isConnected ? "" : text("connection_lost"); }),
        onRefused: ifMine((error) => this.errors.replaceChildren(problem(explain(error)))),
      });
    }
  }

  #progress(task) {
    this.isOver = task.over;
    this.#show(runOfTask(task));
    if (task.over) this.#stop();
  }

  #stop() {
    this.follower?.stop();
    this.follower = null;
  }

  #show(run) {
    // What waits is counted in the navigation at once.
    if (run.approvalId !== (this.run?.approvalId ?? null)) this.context.approvals.refresh();
    this.run = run;
    this.view.update(run);
    if (this.shown.firstChild !== this.view.element) this.shown.replaceChildren(this.view.element);
    const isOpenTask = run.kind === "task" && !["completed", "answered", "abandoned"].includes(run.status);
    this.steering.hidden = !(isOpenTask && this.mayChange);
    const state = `${run.kind} ${run.id} ${run.status}`;
    if (!this.mayChange || state === this.buttonsOf) return;
    this.buttonsOf = state;
    this.buttons.replaceChildren(...(run.kind === "task" ? this.#taskButtons(run) : this.#turnButtons(run)));
  }

  #taskButtons(run) {
    if (["completed", "answered", "abandoned"].includes(run.status)) return [];
    const change = (verb) => () => this.api.post(`${this.#taskPath(run.id)}/${verb}`).then(this.onChanged);
    return [
      run.status === "paused" ? action("resume_task", change("resume")) : action("pause_task", change("pause")),
      action("cancel_task", change("cancel"), { ask: "cancel_question", class: "stop" }),
    ];
  }

  #turnButtons(run) {
    if (run.isOver) return [];
    const stop = () => this.api.post(`/turns/${encodeURIComponent(run.id)}/cancel`).then(this.onChanged);
    return [action("stop_turn", stop, { class: "stop" })];
  }
}
