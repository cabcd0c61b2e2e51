/** The installation: whether it runs, what works, and what is not set up. */

import { element, foreign, hasText, joinLines, text, visibleText } from "../lib/elements.js";
import { freezeSwitch } from "../lib/freeze.js";
import { action, card, reading, table } from "../lib/widgets.js";
import { frame } from "./frame.js";

/** @param {Page.Context} context */
export default async function page(context) {
  const { api, signal } = context;
  return frame("/settings",
    card("part_freeze", freezeSwitch(context)),
    card("part_checks", checks(api, signal)),
    card("part_missing", missing(api, signal)));
}

/**
 * The checks of `opencrab doctor`; the models are asked only when somebody wants it, as it may cost.
 * @param {Page.Api} api
 */
function checks(api, signal) {
  let ask = () => api.get("/system/checks");
  const part = reading(() => ask(), ({ checks: all }) => checkList(all), { signal });
  const again = (work) => {
    ask = work;
    return part.refresh();
  };
  return element("div", {},
    part,
    element("div", { class: "buttons" },
      action("check_again", () => again(() => api.get("/system/checks"))),
      action("check_models", () => again(() => api.post("/system/checks", { ask_models: true })), { ask: "check_models_question" })));
}

const MARKS = { ok: "✓", warning: "!", problem: "✕" };

/** The name of a check, such as "model openai:gpt-5", whose first word is one of ours. */
function nameOfCheck(name) {
  const [kind, ...rest] = name.split(" ");
  const known = `check_of_${kind}`;
  if (!hasText(known)) return foreign(name);
  return [text(known), ...(rest.length === 0 ? [] : [" ", foreign(rest.join(" "))])];
}

export function checkList(all) {
  return element("ul", { class: "checks" }, all.map(({ name, state, what, cure }) => element("li", { class: `check ${state}` },
    element("span", { class: "mark", "aria-hidden": "true" }, MARKS[state] ?? "?"),
    element("div", {},
      element("p", {}, element("strong", {}, nameOfCheck(name)), " ", element("span", { class: "badge" }, text(`check_${state}`)), " ", visibleText(what)),
      cure ? element("p", { class: "hint" }, visibleText(cure)) : null))));
}

/**
 * What is not set up: each part with the environment variable that it lacks.
 * @param {Page.Api} api
 */
function missing(api, signal) {
  return reading(() => api.get("/setup"), ({ version, home, model, missing: parts }) => [
    element("p", {}, text("runs_version", { version }), " ", element("code", {}, visibleText(home.kind ?? "")), " ",
      text("runs_model"), " ", element("code", {}, visibleText(model.default))),
    model.notes?.length ? element("p", { class: "warning" }, visibleText(joinLines(model.notes))) : null,
    parts.length === 0
      ? element("p", { class: "empty" }, text("nothing_missing"))
      : table(["missing_part", "missing_variable", "missing_cure"], parts.map((each) => [
        foreign(each.part), element("code", {}, visibleText(each.variable)), foreign(each.cure)]), { caption: "part_missing" }),
    element("p", { class: "hint" }, text("missing_hint")),
  ], { signal });
}
