/** Creating an agent: its name is enough, the rest has defaults or comes from a preset or a card. */

import { newId } from "../lib/api.js";
import { currentLanguage, element, text, visibleText } from "../lib/elements.js";
import { choice } from "../lib/parts.js";
import { field, form } from "../lib/widgets.js";
import { agentPath } from "./badge.js";
import { population, templates } from "./templates.js";

const POLICIES = ["guarded", "strict", "open"];

/**
 * @param {Page.Context} context
 * @param {boolean} isFirst
 * @param {() => Promise<any>} onPopulated
 */
export function creation(context, isFirst, onPopulated) {
  const { api, go, readAgents } = context;
  const name = element("input", { type: "text", required: true, maxlength: 64, autocomplete: "off" });
  const purpose = element("textarea", { rows: 2, maxlength: 500, dir: "auto" });
  const language = choice([["en", "English"], ["ja", "日本語"]], currentLanguage(), () => origin.reread());
  const known = element("datalist", { id: "known-models" });
  const model = element("input", { type: "text", maxlength: 264, autocomplete: "off", spellcheck: "false", list: "known-models" });
  const policy = choice(POLICIES.map((each) => [each, text(`policy_${each}`)]), "guarded");
  let id = newId();
  let sent = "";
  let base = {};
  const origin = templates(api, () => language.value, (agent, isAgain) => {
    base = agent ?? {};
    if (isAgain) return;
    name.value = base.name ?? "";
    purpose.value = base.purpose ?? "";
    language.value = base.language ?? language.value;
  });
  const create = async () => {
    /** @type {Rest.Body<"POST", "/agents">} */
    const body = { ...base, name: name.value.trim(), purpose: "", language: language.value, policy: policy.value };
    if (purpose.value.trim()) body.purpose = purpose.value.trim();
    if (model.value.trim()) body.model = model.value.trim();
    // The same again is the same agent; what was corrected is another one.
    if (sent !== JSON.stringify(body)) id = newId();
    sent = JSON.stringify(body);
    const agent = await api.post("/agents", body, id);
    await readAgents();
    await go(agentPath(agent.id));
  };
  // Nobody needs the models before somebody wants to create an agent.
  const readModels = async () => {
    origin.load();
    if (known.childElementCount > 0) return;
    const models = await api.list("/llm/models", 400).catch(() => []);
    known.replaceChildren(...models.map((each) => element("option", { value: visibleText(each.name) })));
  };
  return element("details", { open: isFirst, class: "card creation", ontoggle: readModels },
    element("summary", {}, text("new_agent")),
    form([origin.element, field("agent_name", name), field("agent_purpose", purpose, "purpose_hint"),
      element("div", { class: "filters" }, field("agent_language", language), field("agent_policy", policy, "policy_hint"),
        field("agent_model", model, "model_hint")), known], "create_agent_now", create, { done: "agent_was_created" }),
    element("p", { class: "hint" }, text("founders_hint"), " ", population(api, onPopulated)));
}
