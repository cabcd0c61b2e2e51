/** One goal: its state, why it comes before others, and its plan. */

import { explain } from "../lib/api.js";
import { dollars, element, foreign, problem, text, time, visibleText } from "../lib/elements.js";
import { action, facts, table } from "../lib/widgets.js";

const TERMS = ["expected_reward", "social_value", "novelty", "urgency", "capability_match"];
const OPEN = new Set(["pending", "active"]);

/**
 * @param {Page.Part & { onEnd: () => void }} context
 * @param {Rest.GoalView} goal
 */
export function goalRow({ api, path, isOwner, onEnd }, goal) {
  const made = element("li");
  const show = (shown) => {
    const abandon = async () => {
      show({ ...await api.post(`${path}/goals/${encodeURIComponent(shown.id)}/abandon`, {}), score: null });
      onEnd();
    };
    made.replaceChildren(
      element("div", { class: "line" }, element("strong", {}, foreign(shown.name)),
        element("span", { class: `badge ${shown.status}` }, text(`goals_status_${shown.status}`)),
        shown.score ? element("span", { class: "amount" }, text("goals_priority", { priority: shown.score.priority.toFixed(2) })) : null),
      element("p", { class: "hint" }, text(`goals_source_${shown.source}`), " · ", text(`goals_horizon_${shown.horizon}`), " · ",
        text("goals_completion", { percent: shown.completion }), " · ", time(shown.created_at)),
      element("details", {}, element("summary", {}, text("goals_why")), about(shown),
        shown.revision > 1 ? givenUp(api, path, shown.id) : null,
        isOwner && OPEN.has(shown.status) ? action("goals_abandon", abandon, { ask: "goals_abandon_question", class: "stop" }) : null));
  };
  show(goal);
  return made;
}

function about(goal) {
  return element("div", {},
    goal.instruction ? element("p", { class: "prose", dir: "auto" }, visibleText(goal.instruction)) : null,
    facts([
      ["goals_waits", goal.waits && foreign(goal.waits)],
      ["goals_deadline", goal.deadline && time(goal.deadline)],
      ["goals_risk", goal.tasks.length ? goal.risk.toFixed(2) : null],
      ["goals_revision", goal.revision > 1 ? String(goal.revision) : null],
      ["goals_ended", goal.ended_at && time(goal.ended_at)],
      ["goals_outcome", goal.satisfaction && text(`goals_outcome_${goal.satisfaction.outcome}`)],
      ["goals_rewards", goal.satisfaction && `${goal.satisfaction.reward_expected.toFixed(2)} → ${goal.satisfaction.reward_actual.toFixed(2)}`],
    ]),
    goal.score ? scoreOf(goal.score) : null, plan(goal.tasks));
}

/** The terms of the priority: value times weight, and their sum. */
function scoreOf(score) {
  const rows = TERMS.map((term) => [text(`goals_term_${term}`), score.values[term].toFixed(2), score.weights[term].toFixed(2), score[term].toFixed(3)]);
  rows.push([element("strong", {}, text("goals_sum")), "", "", element("strong", {}, score.priority.toFixed(3))]);
  return table(["goals_term", "goals_value", "goals_weight", "goals_points"], rows, { caption: "goals_score" });
}

function plan(tasks) {
  if (tasks.length === 0) return element("p", { class: "hint" }, text("goals_no_plan"));
  return element("div", {}, element("h3", {}, text("goals_plan")), element("ol", { class: "plan" }, tasks.map((task) => element("li", {},
    element("span", { class: `badge ${task.status}` }, text(`goals_step_${task.status}`)), " ", foreign(task.name),
    task.estimated_micro_usd ? element("span", { class: "hint" }, ` · ${text("goals_about", { amount: dollars(task.estimated_micro_usd) })}`) : null,
    task.cause ? element("div", { class: "hint" }, foreign(task.cause)) : null,
    task.result ? element("div", { class: "prose" }, foreign(task.result)) : null))));
}

/**
 * The plans before this one, with why each was given up; read when somebody opens them.
 * @param {Page.Api} api
 * @param {Page.Agent} path
 */
function givenUp(api, path, goalId) {
  const content = element("div");
  const made = element("details", {}, element("summary", {}, text("goals_given_up")), content);
  made.addEventListener("toggle", async () => {
    if (!made.open || content.childElementCount > 0) return;
    try {
      const found = (await api.list(`${path}/plans`)).find((each) => each.goal_id === goalId);
      content.replaceChildren(...(found?.earlier ?? []).map((each) => element("div", {},
        element("p", {}, time(each.given_up_at), " · ", foreign(each.why)), plan(each.tasks))));
    } catch (error) {
      content.replaceChildren(problem(explain(error)));
    }
  });
  return made;
}
