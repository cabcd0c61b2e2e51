/** Grants: what an agent may do a number of times without asking. */

import { element, foreign, text, time } from "../lib/elements.js";
import { agentChoice, tick } from "../lib/parts.js";
import { action, field, form, reading } from "../lib/widgets.js";

const IMPACTS = ["external", "shared", "self"];
const MOST_AGENTS = 30;

/** @param {Page.Context} context */
export function grants({ api, agentName, isOwner, signal }, agents) {
  const active = agents.filter((each) => each.status !== "retired");
  const shown = active.slice(0, MOST_AGENTS);
  /** @returns {`/agents/${string}/grants`} */
  const pathOf = (id) => `/agents/${encodeURIComponent(id)}/grants`;
  const read = async () => {
    const found = await Promise.all(shown.map((each) => api.getIfAllowed(`${pathOf(each.id)}?limit=100`)));
    return found.flatMap((page) => page?.items ?? []);
  };
  const take = async (grant) => {
    await api.delete(`${pathOf(grant.agent_id)}/${encodeURIComponent(grant.id)}`);
    await part.refresh();
  };
  const part = reading(read, (found) => (found.length === 0
    ? element("p", { class: "empty" }, text("no_grants"))
    : element("ul", { class: "agents" }, found.map((each) => row(each, agentName, isOwner ? () => take(each) : null)))),
  { every: 60_000, signal });
  return element("div", {},
    element("p", { class: "hint" }, text("grants_hint")), part,
    active.length > shown.length ? element("p", { class: "hint" }, text("grants_more", { count: active.length - shown.length })) : null,
    isOwner && active.length > 0
      ? element("details", {}, element("summary", {}, text("grant_add")), creation(api, pathOf, active, () => part.refresh())) : null);
}

function row(grant, agentName, take) {
  const what = [...grant.actions.map((each) => element("code", {}, foreign(each))),
    ...grant.impacts.map((each) => element("span", {}, text(`impact_${each}`)))];
  return element("li", {},
    element("div", { class: "line" },
      element("span", {}, element("strong", {}, foreign(agentName(grant.agent_id))), " ", what.flatMap((each) => [each, " "])),
      take ? action("grant_take", take, { class: "reject", ask: "grant_take_question", "aria-label": `${text("grant_take")}: ${agentName(grant.agent_id)}` }) : ""),
    element("p", { class: "hint" },
      text("grant_used", { used: grant.used, calls: grant.calls }), " · ", text("grant_until"), " ", time(grant.until),
      grant.touches ? [" · ", text("grant_touches_only"), " ", element("code", {}, foreign(grant.touches))] : ""));
}

/** @param {Page.Api} api */
function creation(api, pathOf, agents, onMade) {
  const agent = agentChoice(agents, agents[0].id, null, { id: "grant-agent" });
  const actions = element("input", { type: "text", id: "grant-actions", spellcheck: "false", maxlength: 2000, placeholder: "ws_write" });
  const impacts = IMPACTS.map((each) => ({ each, tick: tick(`impact_${each}`, false) }));
  const touches = element("input", { type: "text", id: "grant-touches", spellcheck: "false", maxlength: 300 });
  const calls = element("input", { type: "number", id: "grant-calls", min: 1, max: 100_000, value: 10, required: true });
  const hours = element("input", { type: "number", id: "grant-hours", min: 1, max: 8784, value: 8, required: true });
  const save = async () => {
    await api.post(pathOf(agent.value), {
      actions: actions.value.split(/[\s,]+/).filter(Boolean),
      impacts: impacts.filter(({ tick: { input } }) => input.checked).map(({ each }) => each),
      touches: touches.value.trim(), calls: Number(calls.value), hours: Number(hours.value),
    });
    onMade();
  };
  return form([
    field("grant_agent", agent), field("grant_actions", actions, "grant_actions_hint"),
    element("fieldset", {}, element("legend", {}, text("grant_impacts")), impacts.map(({ tick: { element: shown } }) => shown)),
    field("grant_touches", touches, "grant_touches_hint"),
    element("div", { class: "fields" }, field("grant_calls", calls), field("grant_hours", hours)),
  ], "grant_make", save, { done: "grant_made" });
}
