/** The models of one agent: how good they are over time, at what, for how much, and what others would do. */

import { band, heatMap, percent } from "../lib/charts.js";
import { dollars, element, foreign, text, visibleLine } from "../lib/elements.js";
import { choice } from "../lib/parts.js";
import { card, facts, field, form, reading, table } from "../lib/widgets.js";
import { changes } from "./changes.js";
import { agentFrame, asOf, duration, estimate, periodChoice } from "./frame.js";

const MEASURES = ["efficiency", "quality", "cost_per_call", "success"];

/** @param {Page.Context} context */
export default async function page(context) {
  const { api, params, isOwner, readAgents, signal } = context;
  const id = encodeURIComponent(params.agent);
  let period = "all";
  const part = reading(() => api.get(`/agents/${id}/analytics/llm?period=${period}`), figures, { every: 120_000, signal });
  const choose = (chosen) => {
    period = chosen;
    part.refresh();
  };
  return agentFrame({ ...context, agents: await readAgents() }, "/models",
    element("p", { class: "period" }, periodChoice(period, choose)), part,
    isOwner ? card("figures_changes", changes(context, params.agent, ["models"])) : null,
    isOwner ? card("figures_what_if", whatIf(api, id)) : null);
}

/** @param {Rest.LlmAnalytics} found */
function figures(found) {
  const { analysis } = found;
  const weeks = found.weeks.map(({ week, quality }) => ({
    name: week, mean: quality?.mean ?? null, low: quality?.low ?? null, high: quality?.high ?? null }));
  return [
    card("figures_quality", asOf(found),
      weeks.some((each) => each.mean !== null)
        ? band(text("quality_by_week"), weeks, { format: (value) => percent(value), headings: ["figure_week", "figure_mean", "figure_low", "figure_high"].map((key) => text(key)) })
        : element("p", { class: "empty" }, text("figures_no_quality"))),
    card("figures_by_model", Object.keys(analysis.by_model).length === 0 ? element("p", { class: "empty" }, text("figures_no_calls"))
      : table(["call_model", "figure_calls", "figure_cost", "figure_quality", "figure_success", "figure_mean_time"], Object.entries(analysis.by_model).map(([model, each]) => [
        element("code", {}, foreign(model)), each.calls.toLocaleString(), dollars(each.cost_micro_usd),
        estimate(analysis.quality_by_model[model] ?? each.quality), each.success_rate === null ? "–" : percent(each.success_rate), duration(each.mean_latency_ms)]), { caption: "figures_by_model" })),
    Object.keys(analysis.tasks).length === 0 ? null : card("figures_heat", heat(analysis.tasks)),
    card("figures_recommendations", analysis.recommendations.length === 0 ? element("p", { class: "empty" }, text("figures_no_recommendations"))
      : element("ul", { class: "agents" }, analysis.recommendations.map(recommendation))),
  ];
}

/** Models against tasks; what is compared can be chosen. */
function heat(tasks) {
  const cells = new Map(Object.entries(tasks).map(([key, each]) => {
    const [purpose, task, ...model] = key.split("/");
    return [key, { model: model.join("/"), task: purpose === task ? taskName(purpose) : `${taskName(purpose)} · ${task}`, each }];
  }));
  const found = [...cells.values()];
  const rows = [...new Set(found.map(({ model }) => model))];
  const columns = [...new Set(found.map(({ task }) => task))].slice(0, 12);
  const content = element("div");
  const show = (measure) => {
    const at = (row, column) => found.find(({ model, task }) => model === row && task === column)?.each;
    const most = Math.max(...found.map(({ each }) => number(measure, each) ?? 0).filter(Number.isFinite), 0);
    const depth = (each) => {
      const value = each ? number(measure, each) : null;
      return value === null ? null : value === Infinity || most === 0 ? 1 : value / most;
    };
    content.replaceChildren(heatMap(text(`heat_${measure}`), rows, columns, {
      value: (row, column) => depth(at(row, column)), shown: (row, column) => said(measure, at(row, column)), corner: text("call_model") }));
  };
  show(MEASURES[0]);
  return [choice(MEASURES.map((each) => [each, text(`heat_${each}`)]), MEASURES[0], show, { "aria-label": text("measure"), class: "short" }), content];
}

const taskName = (purpose) => text(`purpose_${purpose}`);

function number(measure, each) {
  if (measure === "efficiency") return each.cost_efficiency === "free" ? Infinity : each.cost_efficiency;
  if (measure === "quality") return each.quality?.mean ?? null;
  if (measure === "success") return each.success_rate;
  return each.calls > 0 ? each.cost_micro_usd / each.calls : null;
}

function said(measure, each) {
  const value = each ? number(measure, each) : null;
  if (value === null) return "–";
  if (value === Infinity) return text("free");
  if (measure === "efficiency") return Math.round(value).toLocaleString();
  return measure === "cost_per_call" ? dollars(Math.round(value)) : percent(value);
}

function recommendation(each) {
  const gains = [];
  const { quality, cost_saved: cost, latency_saved: latency } = each.expected_improvement;
  if (cost !== null) gains.push(text("saves_cost", { part: percent(cost) }));
  if (latency !== null) gains.push(text("saves_time", { part: percent(latency) }));
  if (quality !== 0) gains.push(text("gains_quality", { points: `${quality > 0 ? "+" : ""}${(quality * 100).toFixed(1)}` }));
  return element("li", {},
    element("p", {}, element("span", { class: "badge" }, text(`category_${each.category}`)), " ",
      text(`purpose_${each.purpose}`), " · ", foreign(each.task_type), ": ", element("code", {}, foreign(each.current)), " → ", element("code", {}, foreign(each.suggestion))),
    element("p", { class: "hint" }, [...gains, text("confidence", { part: percent(each.confidence) })].join(" · ")));
}

/**
 * The same calls with another model: what they would have cost.
 * @param {Page.Api} api
 */
function whatIf(api, id) {
  const known = element("datalist", { id: "what-if-models" });
  api.list("/llm/models").then((models) => known.append(...models.map((each) => element("option", { value: visibleLine(each.name) }))), () => {});
  const input = (name) => element("input", { type: "text", id: `what-if-${name}`, list: "what-if-models", required: true, maxlength: 264, spellcheck: "false", autocomplete: "off" });
  const [now, other] = [input("now"), input("other")];
  const result = element("div", { role: "status" });
  const ask = async () => {
    const found = await api.post(`/agents/${id}/whatif`, { aliases: { [now.value.trim()]: other.value.trim() }, period: "last_month" });
    const [was, then] = [found.now, found.then];
    result.replaceChildren(
      element("p", {}, text(found.saved_micro_usd >= 0 ? "would_save" : "would_cost", { amount: dollars(Math.abs(found.saved_micro_usd)), moved: found.moved, calls: found.calls })),
      facts([["figure_cost", `${dollars(was.cost_micro_usd)} → ${dollars(then.cost_micro_usd)}`],
        ["figure_quality", `${estimate(was.quality)} → ${estimate(then.quality)}`],
        ["figure_mean_time", `${duration(was.latency_ms)} → ${duration(then.latency_ms)}`]]),
      found.complete && found.uncounted === 0 ? "" : element("p", { class: "hint" }, text("what_if_partly", { n: found.uncounted })));
  };
  return element("div", {}, element("p", { class: "hint" }, text("what_if_hint")), known,
    form([element("div", { class: "fields" }, field("what_if_now", now), field("what_if_other", other))], "calculate", ask, { done: "calculated" }), result);
}
