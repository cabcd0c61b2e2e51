/** What an agent wants and why, and what people told it to do. */

import { newId } from "../lib/api.js";
import { element, foreign, text, visibleText } from "../lib/elements.js";
import { card, field, form, heading, pagedList } from "../lib/widgets.js";
import { goalRow } from "./goal.js";
import { goalOrder } from "./order.js";
import { overview } from "./overview.js";
import { TaskRow } from "./task.js";

/** @param {Page.Context} context */
export default async function page(context) {
  const agents = (await context.readAgents()).filter((agent) => agent.status !== "retired" || agent.id === context.params.id);
  if (agents.length === 0) return element("section", {}, heading(text("goals")), element("p", { class: "empty" }, text("goals_no_agents")));
  const id = context.params.id ?? (agents.length === 1 ? agents[0].id : "");
  const { api, isOwner, who, signal } = context;
  /** @type {Page.Agent} */
  const path = `/agents/${encodeURIComponent(id)}`;
  const choice = element("select", { onchange: () => context.go(choice.value ? `/agents/${encodeURIComponent(choice.value)}/goals` : "/goals") },
    element("option", { value: "" }, text("every_agent")), agents.map((agent) => element("option", { value: agent.id }, visibleText(agent.name))));
  choice.value = id;
  if (id === "") {
    return element("section", { id: "view-goals" }, heading(text("goals")), element("div", { class: "filters" }, field("goals_agent", choice)),
      card("goals_open_of_all", overview(context, agents)));
  }
  const purpose = await api.getIfAllowed(`${path}/purpose`);
  const order = isOwner ? goalOrder(api, path, signal) : null;
  const goals = pagedList(api, `${path}/goals?explain=true`, (goal) => goalRow({ api, path, isOwner, onEnd: () => order?.refresh() }, goal), { empty: "goals_none", signal });
  const tasks = pagedList(api, `${path}/tasks`, (task) => new TaskRow({ ...context, path }, task).element, { empty: "goals_no_tasks", signal });
  return element("section", { id: "view-goals" },
    heading([text("goals_of"), " ", foreign(context.agentName(id))]),
    element("div", { class: "filters" }, field("goals_agent", choice)),
    purpose?.purpose ? element("p", { class: "prose" }, element("strong", {}, text("goals_purpose")), " ", foreign(purpose.purpose)) : null,
    who.scope === "read" ? null : newTask(api, path, () => tasks.refresh()),
    element("div", { class: "goal" },
      card("goals_tasks", tasks),
      card("goals_wants", element("p", { class: "hint" }, text("goals_wants_hint")), order?.element, goals,
        isOwner ? newGoal(api, path, () => Promise.all([goals.refresh(), order?.refresh()])) : null)));
}

/** Send a body once, however often the button is pressed for it. */
function once(send) {
  let last = { body: "", id: "" };
  return async (body) => {
    const written = JSON.stringify(body);
    if (last.body !== written) last = { body: written, id: newId() };
    await send(body, last.id);
    last = { body: "", id: "" };
  };
}

/**
 * @param {Page.Api} api
 * @param {Page.Agent} path
 */
function newTask(api, path, onGiven) {
  const instruction = element("textarea", { rows: 2, required: true, maxlength: 20_000, dir: "auto" });
  const budget = element("input", { type: "number", min: 0.000001, step: "any", inputmode: "decimal" });
  const give = once((body, id) => api.post(`${path}/tasks`, body, id));
  const save = async () => {
    await give({ instruction: instruction.value.trim(), budget_usd: budget.value === "" ? null : Number(budget.value) });
    instruction.value = "";
    await onGiven();
  };
  return form([field("goals_instruction", instruction, "goals_instruction_hint"),
    element("details", {}, element("summary", {}, text("goals_limit")), field("goals_budget", budget))], "goals_give_task", save, { done: "goals_given" });
}

/**
 * @param {Page.Api} api
 * @param {Page.Agent} path
 */
function newGoal(api, path, onGiven) {
  const name = element("input", { type: "text", required: true, maxlength: 200, autocomplete: "off" });
  const description = element("textarea", { rows: 2, maxlength: 2_000, dir: "auto" });
  const horizon = element("select", {}, ["objective", "aspiration"].map((each) => element("option", { value: each }, text(`goals_horizon_${each}`))));
  const deadline = element("input", { type: "datetime-local" });
  const reward = element("input", { type: "number", min: 0, max: 1, step: 0.05, value: 0.5, required: true });
  const give = once((body, id) => api.post(`${path}/goals`, body, id));
  const save = async () => {
    await give({
      name: name.value.trim(), description: description.value.trim() || null, horizon: horizon.value,
      deadline: deadline.value === "" ? null : new Date(deadline.value).toISOString(), expected_reward: Number(reward.value),
    });
    name.value = "";
    description.value = "";
    await onGiven();
  };
  return element("details", {}, element("summary", {}, text("goals_add")),
    form([field("goals_name", name), field("goals_description", description),
      element("div", { class: "grid" }, field("goals_horizon", horizon, "goals_horizon_hint"), field("goals_deadline", deadline), field("goals_reward", reward, "goals_reward_hint"))],
    "goals_give", save, { class: "quiet", done: "goals_given" }));
}
