/** The order of an owner's goals: moved by buttons, by keys, or by dragging; saved at once. */

import { explain } from "../lib/api.js";
import { element, foreign, problem, text, visibleLine } from "../lib/elements.js";

/**
 * @param {Page.Api} api
 * @param {Page.Agent} path
 */
export function goalOrder(api, path, signal) {
  return new GoalOrder(api, `${path}/goal-order`, signal);
}

class GoalOrder {
  /**
   * @param {Page.Api} api
   * @param {`/agents/${string}/goal-order`} path
   * @param {AbortSignal} signal
   */
  constructor(api, path, signal) {
    this.api = api;
    this.path = path;
    this.signal = signal;
    this.goals = [];
    this.saved = [];
    this.last = Promise.resolve();
    this.moved = null;
    this.list = element("ol", { class: "goal-order" });
    this.said = element("p", { class: "hint", role: "status" });
    this.errors = element("div");
    this.element = element("div", { hidden: true }, element("h3", {}, text("goals_order")),
      element("p", { class: "hint" }, text("goals_order_hint")), this.list, this.said, this.errors);
    this.refresh();
  }

  refresh() {
    return this.#afterOthers(() => this.#read());
  }

  /** Requests go one after the other: of two at once the older order could be saved last. */
  #afterOthers(ask) {
    this.last = this.last.then(ask);
    return this.last;
  }

  async #read() {
    const shown = this.goals;
    try {
      this.saved = (await this.api.get(this.path)).goals;
      if (this.goals === shown) this.#take(this.saved);
    } catch (/** @type {any} */ error) {
      if (!this.signal.aborted) this.errors.replaceChildren(problem(explain(error)));
    }
  }

  #take(goals) {
    this.goals = goals;
    this.element.hidden = goals.length < 2;
    this.list.replaceChildren(...goals.map((goal, place) => this.#row(goal, place)));
  }

  #row(goal, place) {
    const name = visibleLine(goal.name);
    const last = this.goals.length - 1;
    const move = (key, to, disabled) => element("button", {
      type: "button", class: key, disabled, "aria-label": text(`goals_${key}_named`, { name }), title: text(`goals_${key}`),
      onclick: () => this.#move(place, to, key),
    }, key === "up" ? "↑" : "↓");
    return element("li", {
      draggable: "true",
      ondragstart: (event) => {
        this.moved = place;
        event.dataTransfer.effectAllowed = "move";
        event.dataTransfer.setData("text/plain", goal.id);
      },
      ondragover: (event) => {
        if (this.moved !== null) event.preventDefault();
      },
      ondrop: (event) => {
        event.preventDefault();
        if (this.moved !== null && this.moved !== place) this.#move(this.moved, place, "up");
      },
      ondragend: () => {
        this.moved = null;
      },
      onkeydown: (event) => {
        const step = event.altKey ? { ArrowUp: -1, ArrowDown: 1 }[event.key] : 0;
        if (!step || place + step < 0 || place + step > last) return;
        event.preventDefault();
        this.#move(place, place + step, step < 0 ? "up" : "down");
      },
    }, element("span", {}, foreign(goal.name)), element("span", { class: "moves" },
      move("up", place - 1, place === 0), move("down", place + 1, place === last)));
  }

  /** Show the new order, save it, and show what was saved; the focus goes along. */
  #move(from, to, key) {
    const goals = [...this.goals];
    const [moved] = goals.splice(from, 1);
    goals.splice(to, 0, moved);
    this.moved = null;
    this.#take(goals);
    this.#focus(to, key);
    this.errors.replaceChildren();
    return this.#afterOthers(() => this.#save(goals, moved, to, key));
  }

  async #save(goals, moved, to, key) {
    try {
      this.saved = (await this.api.put(this.path, { goals: goals.map((goal) => goal.id) })).goals;
      if (this.goals !== goals) return;
      this.#take(this.saved);
      this.#focus(to, key);
      this.said.textContent = text("goals_moved", { name: visibleLine(moved.name), place: to + 1, total: goals.length });
    } catch (/** @type {any} */ error) {
      if (this.goals !== goals) return;
      this.#take(this.saved);
      this.errors.replaceChildren(problem(explain(error)));
      // The goals are others by now.
      if (error.status === 409 || error.status === 422) await this.#read();
    }
  }

  #focus(place, key) {
    const buttons = this.list.children[place]?.querySelectorAll("button") ?? [];
    ([...buttons].find((each) => each.classList.contains(key) && !each.disabled) ?? [...buttons].find((each) => !each.disabled))?.focus();
  }
}
