/** What an agent does of its own accord and where: its instructions with their plan, its time zone, its folders. */

import { agentHead, agentPath } from "../agents/badge.js";
import { element, foreign, loadWords, text, time, visibleText } from "../lib/elements.js";
import { card, facts, link, reading } from "../lib/widgets.js";
import { folders } from "./folders.js";
import { timeZone } from "./time_zone.js";

const REFRESH_MS = 30_000;

/** @param {Page.Context} context */
export default async function page(context) {
  await loadWords("standing");
  const { api, params, who, isOwner, signal } = context;
  const agent = await api.get(agentPath(params.id));
  const head = agentHead(agent, null, "/standing", who.scope);
  const plan = reading(() => readPlan(context, agent), (found) => planOf(agent, found), { every: REFRESH_MS, signal });
  return element("section", { id: "view-standing" }, head,
    element("div", { class: "cards" },
      card("standing_instructions", plan),
      card("standing_zone", timeZone(context, agent)),
      isOwner ? card("standing_folders", folders(context, agentPath(agent.id))) : null));
}

/**
 * The plan, and the schedules that it made.
 * @param {Page.Context} context
 * @param {Rest.AgentView} agent
 */
async function readPlan({ api }, agent) {
  const path = agentPath(agent.id);
  const [heartbeat, plan, schedules] = await Promise.all([
    api.getIfAllowed(`${path}/heartbeat`), api.getIfAllowed(`${path}/instruction-plan`),
    api.list(`${path}/schedules`).catch(() => []),
  ]);
  /** @type {Map<string | null, Rest.ScheduleView>} */
  const byId = new Map();
  for (const each of schedules) byId.set(each.id, each);
  return { heartbeat, plan, schedules: byId };
}

/** @param {Rest.AgentView} agent */
function planOf(agent, { heartbeat, plan, schedules }) {
  if (heartbeat === null || plan === null) return element("p", { class: "hint" }, text("standing_hidden"));
  const change = link(`/heartbeats?agent=${encodeURIComponent(agent.id)}`, text("standing_change"));
  if (!heartbeat.instructions.trim()) return [element("p", { class: "empty" }, text("standing_none")), element("p", {}, change)];
  return [
    element("p", { class: "prose", dir: "auto" }, visibleText(heartbeat.instructions)),
    element("p", {}, change),
    heartbeat.initiative && heartbeat.enabled ? null : element("p", { class: "warning" }, text(heartbeat.enabled ? "standing_no_initiative" : "standing_off")),
    element("h3", {}, text("standing_plan")),
    element("p", { class: "hint" }, text(`standing_plan_${plan.state}`), plan.asked_at ? [" · ", time(plan.asked_at)] : null),
    plan.why ? element("p", { class: "warning" }, visibleText(plan.why)) : null,
    plan.note ? element("p", { class: "prose", dir: "auto" }, element("strong", {}, text("standing_note")), " ", visibleText(plan.note)) : null,
    element("ul", { class: "agents" }, plan.goals.map((goal) => goalRow(goal, schedules.get(goal.schedule_id)))),
    plan.goals.length > 0 ? element("p", {}, link(`/agents/${encodeURIComponent(agent.id)}/goals`, text("standing_goals")), " · ",
      link(`/schedules?agent=${encodeURIComponent(agent.id)}`, text("standing_schedules"))) : null,
  ];
}

/**
 * What the instructions ask for, and when: at times, after an event, once, or again and again.
 * @param {Rest.PlannedGoalView} goal
 * @param {Rest.ScheduleView | undefined} schedule
 */
function goalRow(goal, schedule) {
  const state = goal.done ? "done" : goal.event ? "event" : goal.schedule_id ? "scheduled" : "open";
  return element("li", {},
    element("div", { class: "line" }, element("strong", { dir: "auto" }, foreign(goal.name)),
      element("span", { class: `badge ${goal.done ? "done" : ""}` }, text(`standing_goal_${state}`))),
    goal.words ? element("p", { class: "hint", dir: "auto" }, "“", visibleText(goal.words), "”") : null,
    facts([["standing_when", when(goal)], ["standing_next", schedule?.enabled && schedule.next_at ? time(schedule.next_at) : null],
      ["standing_done_when", goal.done_when ? visibleText(goal.done_when) : null], ["standing_flaw", goal.flaw ? text(`standing_flaw_${goal.flaw}`) : null]]));
}

/** @param {Rest.PlannedGoalView} goal */
function when(goal) {
  if (goal.event) return element("span", {}, text("standing_event"), " ", element("code", {}, foreign(goal.event)));
  if (goal.times) return element("code", {}, foreign(goal.times));
  return text(goal.once ? "standing_once" : "standing_again");
}
