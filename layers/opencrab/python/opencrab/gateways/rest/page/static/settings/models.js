/** Models: those that are known and what they cost, their short names, and what answers when one fails. */

import { dollars, element, foreign, text, visibleText } from "../lib/elements.js";
import { amount, amountOf, choice, suggestions } from "../lib/parts.js";
import { action, card, field, form, pagedList, reading, table } from "../lib/widgets.js";
import { aliases, fallback } from "./aliases.js";
import { frame } from "./frame.js";

/** @param {Page.Context} context */
export default async function page({ api, signal }) {
  const [providers, models] = await Promise.all([api.list("/llm/providers"), api.list("/llm/models")]);
  const known = suggestions("known-models", models.map((each) => each.name));
  return frame("/settings/models", known,
    card("part_fallback", fallback(api, providers, signal)),
    card("part_aliases", aliases(api, signal)),
    card("part_models", modelList(api, providers, signal)),
    card("part_prices", prices(api, signal)));
}

/**
 * The known models of all providers or of one, by the page.
 * @param {Page.Api} api
 */
function modelList(api, providers, signal) {
  const content = element("div");
  const show = (provider) => {
    const path = provider === "" ? "/llm/models" : `/llm/models?provider=${encodeURIComponent(provider)}`;
    content.replaceChildren(pagedList(api, path, modelRow, { empty: "no_models", signal }));
  };
  const options = [["", text("every_provider")], ...providers.map((each) => [each.name, each.name])];
  show("");
  return element("div", {}, field("of_provider", choice(options, "", show, { id: "model-provider" }), "of_provider_hint"), content);
}

/** @param {Rest.ModelView} model */
function modelRow(model) {
  const can = [model.functions && "can_act", model.vision && "can_see", model.private && "is_private", model.free && "model_free"].filter(Boolean);
  return element("li", {},
    element("div", { class: "line" },
      element("code", {}, foreign(model.name)),
      element("span", { class: "amount" }, model.price === null ? text("price_unknown") : priceOf(model.price))),
    element("p", { class: "hint" },
      text("model_window", { input: model.max_input_tokens.toLocaleString(), output: model.max_output_tokens.toLocaleString() }),
      can.map((key) => ` · ${text(key)}`)),
    model.problem ? element("p", { class: "hint warning" }, visibleText(text("model_unusable", { why: model.problem }))) : "",
    model.notes.map((each) => element("p", { class: "hint" }, visibleText(each))));
}

const priceOf = (price) => text("price_of", { input: dollars(price.input_per_million), output: dollars(price.output_per_million) });

/**
 * Prices that were stored here; they stand above those that came with the installation.
 * @param {Page.Api} api
 */
function prices(api, signal) {
  const forget = async (name) => {
    await api.put("/llm/prices", { prices: { [name]: null } });
    await part.refresh();
  };
  const part = reading(() => api.get("/llm/prices"), ({ prices: stored }) => {
    const rows = Object.entries(stored).map(([name, { as_of: day, price }]) => [
      element("code", {}, foreign(name)), priceOf(price), day,
      action("price_forget", () => forget(name), { ask: "price_forget_question", "aria-label": `${text("price_forget")}: ${name}` }),
    ]);
    return rows.length === 0 ? element("p", { class: "empty" }, text("no_prices"))
      : table(["price_model", "price_now", "price_day", "price_change"], rows, { caption: "part_prices" });
  }, { signal });
  return element("div", {}, part, element("details", {}, element("summary", {}, text("price_add")), priceForm(api, part)));
}

/** @param {Page.Api} api */
function priceForm(api, part) {
  const model = element("input", { type: "text", id: "price-model", list: "known-models", required: true, maxlength: 264, spellcheck: "false", pattern: "[a-z0-9_]+:\\S+" });
  const input = amount(null, { id: "price-input", required: true });
  const output = amount(null, { id: "price-output", required: true });
  const refused = element("div", { role: "status" });
  const save = async (allowLower) => {
    // Both fields are required.
    const price = { input_per_million: amountOf(input) ?? 0, output_per_million: amountOf(output) ?? 0 };
    const day = new Date().toISOString().slice(0, 10);
    const name = model.value.trim();
    const taken = await api.put("/llm/prices", { prices: { [name]: { price, as_of: day } }, allow_lower: allowLower });
    refused.replaceChildren();
    if (name in taken.refused) {
      refused.replaceChildren(element("p", { class: "warning" }, text("price_refused")), action("price_anyway", () => save(true)));
      throw new Error(text("price_not_stored"));
    }
    await part.refresh();
  };
  const fields = [field("price_model", model), field("price_input", input), field("price_output", output)];
  return element("div", {}, form(fields, "save", () => save(false)), refused);
}
