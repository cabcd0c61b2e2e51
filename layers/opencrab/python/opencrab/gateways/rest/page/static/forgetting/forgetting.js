/** Forgetting: what an erasure would reach is shown before anybody can confirm it. */

import { explain } from "../lib/api.js";
import { button, element, foreign, loadWords, problem, text } from "../lib/elements.js";
import { action, facts } from "../lib/widgets.js";

const MOST_TRIES = 50;

/**
 * A part that shows what `body` of POST …/memory/forget reaches, with a button that does it and one
 * that goes back.
 * @param {{ api: Page.Api }} context
 */
export function forgetting({ api }, agentId, body, { onDone, onBack }) {
  /** @type {`/agents/${string}/memory/forget`} */
  const path = `/agents/${encodeURIComponent(agentId)}/memory/forget`;
  const made = element("div", { class: "forgetting", role: "group", "aria-live": "polite" });
  async function erase() {
    // One request erases as much as its time allows.
    for (let tried = 0; tried < MOST_TRIES; tried += 1) {
      const found = await api.post(path, body);
      if (found.done) return onDone(found);
    }
    throw new Error(text("forgetting_unfinished"));
  }
  async function show() {
    try {
      const [reached] = await Promise.all([api.post(`${path}/preview`, body), loadWords("forgetting")]);
      made.replaceChildren(
        element("p", {}, text("forgetting_reaches")), reach(reached),
        element("p", { class: "warning" }, text("forgetting_is_final")),
        element("div", { class: "buttons" }, action("forgetting_now", erase, { class: "stop" }), button("forgetting_back", onBack)));
      made.querySelector("button").focus();
    } catch (error) {
      made.replaceChildren(problem(explain(error)), element("button", { type: "button", onclick: onBack }, "×"));
    }
  }
  show();
  return made;
}

function reach(reached) {
  const names = (list) => (list.length ? element("ul", {}, list.map((each) => element("li", {}, foreign(each)))) : "");
  return facts([
    ["forgetting_lines", String(reached.lines)],
    ["forgetting_turns", String(reached.turns)],
    ["forgetting_derived", names(reached.kept)],
    ["forgetting_files", names(reached.files)],
    ["forgetting_skills", names(reached.skills)],
    ["forgetting_schedules", names(reached.schedules)],
  ]);
}
