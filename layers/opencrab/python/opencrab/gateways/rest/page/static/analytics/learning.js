/** What one agent learns: its skills and what they are worth, its experiments, and what they changed. */

import { bars } from "../lib/charts.js";
import { dollars, element, foreign, text } from "../lib/elements.js";
import { action, card, reading, table } from "../lib/widgets.js";
import { changes } from "./changes.js";
import { agentFrame, asOf, duration, effect, estimate, why } from "./frame.js";

/** @param {Page.Context} context */
export default async function page(context) {
  const { api, params, readAgents, signal } = context;
  /** @type {Page.Agent} */
  const base = `/agents/${encodeURIComponent(params.agent)}`;
  return agentFrame({ ...context, agents: await readAgents() }, "/learning",
    reading(() => api.get(`${base}/analytics/skills`), skills, { every: 120_000, signal }),
    card("figures_experiments", experiments(api, base, signal)),
    card("figures_changes", changes(context, params.agent, ["skill", "experience", "memories"])));
}

/** @param {Rest.SkillAnalytics} found */
function skills(found) {
  const count = (value) => Math.round(value).toLocaleString();
  const used = found.skills.filter((each) => each.uses > 0).slice(0, 20);
  return [
    card("figures_skills", asOf(found),
      element("p", { class: "hint" }, Object.entries(found.statuses).map(([key, n]) => `${text(`learned_skill_${key}`)}: ${n}`).join(" · ")),
      used.length ? bars(text("learned_skill_uses"), used.map((each) => ({ name: each.name, value: each.uses })), { format: count, isCount: true, headings: [text("learned_skill_name"), text("figure_uses")] }) : null,
      found.skills.length === 0 ? element("p", { class: "empty" }, text("figures_no_skills"))
        : table(["learned_skill_name", "learned_skill_state", "figure_uses", "learned_skill_effect", "figure_trial"], found.skills.map(skill), { caption: "figures_skills" })),
    card("figures_progress", found.weeks.length === 0 ? element("p", { class: "empty" }, text("figures_no_progress")) : [
      bars(text("learned_by_week"), found.weeks.map((each) => ({ name: each.week, value: each.learned })), { format: count, isCount: true, empty: text("chart_nothing_learned"), headings: [text("figure_week"), text("figure_learned")] }),
      table(["figure_week", "figure_learned", "figure_promoted", "figure_retired", "figure_taken_back"], found.weeks.map((each) =>
        [each.week, each.learned, each.promoted, each.retired, each.taken_back].map(String)), { caption: "figures_progress" })]),
  ];
}

function skill(each) {
  return [foreign(each.name), text(`learned_skill_${each.status}`), each.uses.toLocaleString(), effect(each.effect), trial(each.trial)];
}

function trial(found) {
  if (!found) return "–";
  const said = text("trial_of", { turns: found.turns, most: found.most_turns });
  return element("span", {}, said, element("meter", { min: 0, max: found.most_turns, value: found.turns, "aria-label": said }));
}

/**
 * Experiments that run or wait: they can be pinned, so that learning leaves them, or stopped.
 * @param {Page.Api} api
 * @param {Page.Agent} base
 */
function experiments(api, base, signal) {
  const part = reading(() => api.get(`${base}/experiments`), (found) => [
    found.explore > 0 ? element("p", { class: "hint" }, text("explores", { part: Math.round(found.explore * 100) })) : null,
    found.items.length === 0 ? element("p", { class: "empty" }, text("figures_no_experiments"))
      : element("ul", { class: "agents" }, found.items.map((each) => experiment(each, found.pinned.includes(each.subject)))),
  ], { signal });
  const post = (each, what) => async () => {
    await api.post(`${base}/experiments/${encodeURIComponent(each.subject)}/${what}`);
    await part.refresh();
  };
  function experiment(each, isPinned) {
    const named = (key) => ({ "aria-label": `${text(key)}: ${each.subject}` });
    return element("li", { "data-subject": each.subject },
      element("div", { class: "line" },
        element("span", {}, element("span", { class: "badge" }, text(`experiment_${each.state}`)), " ", text(`change_of_${each.kind === "memory" ? "memories" : each.kind}`), " ",
          each.kind === "memory" ? "" : element("strong", {}, foreign(each.subject))),
        action(isPinned ? "unpin" : "pin", post(each, isPinned ? "unpin" : "pin"), named(isPinned ? "unpin" : "pin")),
        each.kind !== "memory" && each.state === "running" ? action("stop_trial", post(each, "stop"), { class: "stop", ask: "stop_trial_question", ...named("stop_trial") }) : ""),
      each.effect ? element("p", {}, effect(each.effect)) : null,
      element("p", { class: "hint" }, [
        each.verdict ? text(`verdict_${each.verdict}`) : "", each.reason ? why(each.reason) : "",
        each.withheld_percent ? text("withheld", { part: each.withheld_percent }) : ""].filter(Boolean).join(" · ")),
      each.trial ? trial(each.trial) : null,
      each.models.length === 0 ? null : table(["call_model", "figure_weight", "figure_turns", "figure_quality", "figure_cost", "figure_mean_time"], each.models.map((model) => [
        element("code", {}, foreign(model.name ?? model.model)), model.weight.toFixed(2), String(model.turns), estimate(model.quality),
        model.cost_micro_usd === null ? "–" : dollars(Math.round(model.cost_micro_usd)), duration(model.latency_ms)]), { caption: "figures_experiments" }));
  }
  return part;
}
