/** Which models one agent uses, what for, and what it may choose by itself. */

import { element, foreign, text, visibleText } from "../lib/elements.js";
import { agentChoice, amount, amountOf, choice, suggestions, tick } from "../lib/parts.js";
import { card, field, form, table } from "../lib/widgets.js";
import { samplingFields } from "./agent_sampling.js";
import { frame } from "./frame.js";

const USES = ["conversation", "thinking", "analysis", "tool_calling", "creative", "embedding"];
const GOALS = ["balance", "minimize_cost", "maximize_quality", "minimize_latency"];
const LEAVES = ["recommend", "apply", "off"];

/** @param {Page.Context} context */
export default async function page({ api, readAgents, query }) {
  const [agents, models, { aliases }] = await Promise.all([readAgents(), api.list("/llm/models"), api.get("/llm/aliases")]);
  const active = agents.filter((each) => each.status !== "retired");
  if (active.length === 0) return frame("/settings/agents", element("p", { class: "empty" }, text("no_agent_to_set_up")));
  const content = element("div");
  const known = [
    suggestions("models-only", models.map((each) => each.name)),
    suggestions("models-and-aliases", [...Object.keys(aliases), ...models.map((each) => each.name)]),
  ];
  let latest = 0;
  const show = async (id) => {
    latest += 1;
    const mine = latest;
    const config = await api.get(pathOf(id));
    if (mine === latest) content.replaceChildren(...parts(api, id, config));
  };
  const chosen = (active.find((each) => each.id === query.get("agent")) ?? active[0]).id;
  await show(chosen);
  return frame("/settings/agents", known, field("of_agent", agentChoice(active, chosen, show, { id: "config-agent" })), content);
}

/** @returns {`/agents/${string}/llm/config`} */
const pathOf = (id) => `/agents/${encodeURIComponent(id)}/llm/config`;

/** @param {Page.Api} api */
function parts(api, id, config) {
  const effective = element("div", {}, effectiveTable(config.effective));
  const saved = (found) => effective.replaceChildren(effectiveTable(found.effective));
  return [card("part_effective", effective), card("part_choice", configForm(api, id, config, saved))];
}

/** The model of each use, and who chose it. */
function effectiveTable(effective) {
  return table(["use_of", "use_model", "use_by"], Object.entries(effective).map(([use, { model, by, problem }]) => [
    text(`use_${use}`),
    element("span", {}, element("code", {}, foreign(model)), problem ? element("p", { class: "warning" }, visibleText(problem)) : ""),
    foreign(by),
  ]), { caption: "part_effective" });
}

/** @param {Page.Api} api */
function configForm(api, id, config, onSaved) {
  const modelInput = (name, value, list) => element("input", {
    type: "text", id: `config-${name}`, list, value: value ?? "", maxlength: 264, spellcheck: "false", autocomplete: "off", placeholder: text("as_installation"),
  });
  const model = modelInput("model", config.model, "models-only");
  const uses = Object.fromEntries(USES.map((use) => [use, modelInput(use, config.models[use], "models-and-aliases")]));
  const own = tick("only_private", config.private);
  const self = choice([["", text("as_installation")], ["true", text("self_may")], ["false", text("self_may_not")]],
    String(config.self_selection ?? ""), null, { id: "config-self" });
  const aim = aimFields(config), sampling = samplingFields(config.sampling);
  const save = async () => {
    const models = Object.fromEntries(USES.map((use) => [use, uses[use].value.trim()]).filter(([, value]) => value !== ""));
    const wanted = {
      model: model.value.trim() || null, models, private: own.input.checked, selectable: config.selectable,
      self_selection: self.value === "" ? null : self.value === "true", aim: { ...config.aim, ...aim.value() },
      sampling: sampling.value(),
    };
    onSaved(await api.put(pathOf(id), wanted));
  };
  return form([
    field("config_model", model, "config_model_hint"),
    element("fieldset", {}, element("legend", {}, text("config_uses")),
      element("div", { class: "fields" }, USES.map((use) => field(`use_${use}`, uses[use])))),
    sampling.element, own.element, field("config_self", self, "config_self_hint"),
    element("fieldset", {}, element("legend", {}, text("config_aim")), aim.element),
  ], "save", save);
}

/** What the learning of models aims at; what is changed here is the owner's choice from then on. */
function aimFields({ aim: own, learning: aim }) {
  const goal = choice(GOALS.map((each) => [each, text(`aim_${each}`)]), aim.goal, null, { id: "aim-goal" });
  const leave = choice(LEAVES.map((each) => [each, text(`leave_${each}`)]), aim.leave, null, { id: "aim-leave" });
  const quality = element("input", { type: "number", id: "aim-quality", min: 0, max: 1, step: 0.05, required: true, value: aim.min_quality });
  const explore = element("input", { type: "number", id: "aim-explore", min: 0, max: 50, step: 1, required: true, value: Math.round(aim.explore * 100) });
  const day = amount(aim.day_micro_usd, { id: "aim-day", placeholder: text("aim_no_limit") });
  const value = () => {
    const chosen = own.chosen || leave.value !== aim.leave || Number(explore.value) !== Math.round(aim.explore * 100);
    return {
      goal: goal.value, min_quality: Number(quality.value), day_micro_usd: amountOf(day),
      ...chosen ? { leave: leave.value, explore: Number(explore.value) / 100, chosen } : {},
    };
  };
  const made = element("div", { class: "fields" },
    field("aim_goal", goal), field("aim_leave", leave, "aim_leave_hint"), field("aim_quality", quality, "aim_quality_hint"),
    field("aim_explore", explore, "aim_explore_hint"), field("aim_day", day, "aim_day_hint"));
  return { element: made, value };
}
