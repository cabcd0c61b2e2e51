/** A form that adds a provider, and asks it at once whether it answers. */

import { explain } from "../lib/api.js";
import { element, foreign, problem, text, visibleText } from "../lib/elements.js";
import { choice, tick } from "../lib/parts.js";
import { field, form } from "../lib/widgets.js";

const KINDS = ["openai", "azure", "anthropic", "google", "openrouter", "ollama", "llamacpp"];

/**
 * Ask a provider for its models, and say what came back.
 * @param {Page.Api} api
 * @param {string} name
 * @param {HTMLElement} place
 */
export async function showHealth(api, name, place) {
  place.className = "health";
  place.replaceChildren(text("provider_asking"));
  try {
    const found = await api.get(`/llm/providers/${encodeURIComponent(name)}/health`);
    place.className = `health ${found.ok ? "good" : "bad"}`;
    place.replaceChildren(...(found.ok ? [text("provider_answers", { ms: found.latency_ms })]
      : [visibleText(found.problem), element("br"), visibleText(found.cure)]));
    if (found.models?.length) {
      place.append(element("details", {}, element("summary", {}, text("provider_has", { count: found.models.length })),
        element("ul", {}, found.models.map((each) => element("li", {}, foreign(each))))));
    }
  } catch (error) {
    place.replaceChildren(problem(explain(error)));
  }
}

/**
 * @param {Page.Api} api
 * @param {() => string[]} names of the providers that there are
 * @param {() => any} onAdded
 */
export function newProvider(api, names, onAdded) {
  const input = (id, more) => element("input", { type: "text", id: `new-provider-${id}`, autocomplete: "off", spellcheck: "false", ...more });
  const name = input("name", { required: true, maxlength: 40, pattern: "[a-z][a-z0-9_]*", placeholder: "my_gateway",
    oninput: () => name.setCustomValidity(names().includes(name.value.trim()) ? text("provider_taken") : "") });
  const kind = choice(KINDS.map((each) => [each, text(`provider_kind_${each}`)]), "openai", null, { id: "new-provider-kind" });
  const address = input("address", { type: "url", required: true, maxlength: 4000 });
  const key = input("key", { type: "password", maxlength: 8192 });
  const model = input("model", { maxlength: 500 });
  const own = tick("provider_private", false, { id: "new-provider-private" });
  const health = element("div", { role: "status", class: "health", id: "new-provider-health" });
  const add = async () => {
    const added = name.value.trim();
    const body = { kind: kind.value, base_url: address.value.trim(), private: own.input.checked };
    if (model.value.trim() !== "") body.default_model = model.value.trim();
    // What is typed is sent once and never shown again.
    if (key.value !== "") body.key = key.value;
    health.replaceChildren();
    await api.put(`/llm/providers/${encodeURIComponent(added)}`, body);
    for (const each of [name, address, key, model]) each.value = "";
    own.input.checked = false;
    await onAdded();
    await showHealth(api, added, health);
  };
  return element("details", { id: "new-provider" }, element("summary", {}, text("provider_new")),
    element("p", { class: "hint" }, text("provider_new_hint")),
    form([
      field("provider_name", name, "provider_name_hint"), field("provider_kind", kind), field("provider_address", address),
      field("provider_key", key, "provider_key_new_hint"), field("provider_default_model", model, "provider_default_model_hint"), own.element,
    ], "provider_add", add, { done: "provider_added" }), health);
}
