/** The persona of an agent: who it is, as sliders and words; shown as a prompt before it is saved. */

import { explain } from "../lib/api.js";
import { button, element, problem, text, visibleLine, visibleText } from "../lib/elements.js";
import { card, form } from "../lib/widgets.js";
import { agentHead, agentPath } from "./badge.js";
import { Draft } from "./draft.js";
import { choice, slider, traits, words } from "./persona_fields.js";
import { sampleOf } from "./sample.js";

const TRAITS = ["openness", "conscientiousness", "extraversion", "agreeableness", "neuroticism"];
const DRIVES = ["risk_tolerance", "collaboration", "depth_vs_breadth", "quality_vs_speed"];
const SOCIAL = ["assertiveness", "responsiveness"];
const STYLES = ["Driving", "Expressive", "Amiable", "Analytical"];
const ROLES = ["discussant", "facilitator", "observer", "custom"];
const PARTS = ["name", "soul", "identity", "purpose"];

/** @param {Page.Context} context */
export default async function page(context) {
  const agent = await context.api.get(agentPath(context.params.id));
  return new PersonaPage(context, agent).element;
}

const personaOf = ({ name, soul, identity, purpose }) => ({
  name, purpose, identity, soul: { ...soul, custom_traits: soul.custom_traits ?? {}, drives: soul.drives ?? null },
});

class PersonaPage {
  /**
   * @param {Page.Context} context
   * @param {Rest.AgentView} agent
   */
  constructor(context, agent) {
    this.api = context.api;
    this.readAgents = context.readAgents;
    this.path = agentPath(agent.id);
    this.version = agent.version;
    this.draft = new Draft(personaOf(agent));
    this.earlier = null;
    this.head = element("div", {}, agentHead(agent, "", "/persona", context.who.scope));
    this.changes = element("p", { class: "hint", role: "status" });
    this.preview = element("div", { "aria-live": "polite" });
    this.back = button("put_back", () => this.draft.load(this.draft.stored));
    this.talk = button("try_persona", () => this.#talk());
    this.undo = button("undo_save", () => this.#undo(), { hidden: true });
    this.said = element("div", { role: "status" });
    const isRetired = agent.status === "retired";
    const made = form([this.#parts(), this.changes], "save_persona", () => this.#save(), { class: "persona" });
    made.querySelector(".buttons").append(button("preview_prompt", () => this.#show()), this.talk, this.back, this.undo);
    this.send = made.querySelector(".send");
    this.draft.onChange(() => this.#showChanges());
    this.#showChanges();
    this.element = element("section", { class: "persona-page" }, this.head,
      element("fieldset", { disabled: isRetired }, element("legend", { class: "unseen" }, text("agent_page_persona")), made),
      element("p", { class: "hint" }, text("try_persona_hint")), this.said, this.preview);
  }

  #parts() {
    const { draft } = this;
    const sliders = (part, names, more = {}) => names.map((name) =>
      slider(draft, `${part}.${name}`, `trait_${name}`, { low: `low_${name}`, high: `high_${name}`, ...more }));
    this.roleName = words(draft, "identity.custom_role", "custom_role", { empty: null });
    this.drives = element("div", {}, sliders("soul.drives", DRIVES));
    return element("div", { class: "parts" },
      card("who_it_is", words(draft, "name", "name_in_lists", { required: true }), words(draft, "identity.name", "name_to_others", { required: true }),
        words(draft, "soul.persona_name", "persona_name", { required: true }), words(draft, "purpose", "agent_purpose", { rows: 3, most: 500 })),
      card("its_role", choice(draft, "identity.role", "identity_role", ROLES.map((role) => [role, text(`role_${role}`)])), this.roleName,
        words(draft, "identity.job_title", "job_title", { empty: null }), words(draft, "identity.organization", "organization", { empty: null })),
      card("big_five", sliders("soul.personality", TRAITS)),
      card("its_drives", this.#derived(), this.drives),
      card("social_style", sliders("soul.social_style", SOCIAL, { min: -1 }),
        choice(draft, "soul.social_style.style_name", "style_name", [[null, text("style_derived")], ...STYLES.map((style) => [style, text(`style_${style}`)])])),
      card("thinking_style", words(draft, "soul.thinking_style.primary", "thinking_primary", { required: true }),
        words(draft, "soul.thinking_style.secondary", "thinking_secondary", { required: true }),
        words(draft, "soul.thinking_style.description", "thinking_description", { rows: 3, most: 4_000 })),
      card("custom_traits", traits(draft, "soul.custom_traits")));
  }

  /** Without drives of its own, an agent's follow from the Big Five. */
  #derived() {
    const box = element("input", { type: "checkbox", id: "field-derived" });
    box.addEventListener("change", () => {
      const own = this.draft.before("soul.drives") ?? Object.fromEntries(DRIVES.map((name) => [name, 0.5]));
      this.draft.set("soul.drives", box.checked ? null : structuredClone(own));
    });
    this.box = box;
    return element("p", { class: "check" }, box, " ", element("label", { for: box.id }, text("drives_derived")));
  }

  #showChanges() {
    const { draft } = this;
    const isDerived = draft.get("soul.drives") === null;
    this.box.checked = isDerived;
    this.drives.hidden = isDerived;
    this.roleName.hidden = draft.get("identity.role") !== "custom";
    const changed = PARTS.filter((part) => draft.hasChanged(part));
    const said = changed.length === 0 ? text("nothing_changed")
      : text("parts_changed", { parts: changed.map((part) => text(`part_${part}`)).join(", ") });
    if (this.changes.textContent !== said) this.changes.textContent = said;
    this.back.disabled = changed.length === 0;
    this.send.disabled = changed.length === 0;
  }

  /** What is sent: the role's own name belongs to a custom role only. */
  #wanted() {
    const wanted = structuredClone(this.draft.values);
    if (wanted.identity.role !== "custom") wanted.identity.custom_role = null;
    return wanted;
  }

  async #save() {
    const before = this.draft.stored;
    await this.#store(this.#wanted());
    this.earlier = before;
    this.undo.hidden = false;
  }

  /** Put back what was there before it was saved, in this page's time. */
  async #undo() {
    this.said.replaceChildren();
    this.undo.disabled = true;
    try {
      await this.#store(this.earlier);
      this.undo.hidden = true;
      this.said.replaceChildren(element("p", { class: "good" }, text("undone")));
    } catch (error) {
      this.said.replaceChildren(problem(explain(error)));
    }
    this.undo.disabled = false;
  }

  /** Save the parts that differ; each is refused if somebody else changed the agent since it was read. */
  async #store(wanted) {
    const { api, path, draft } = this;
    const differs = (part) => JSON.stringify(wanted[part]) !== JSON.stringify(draft.before(part));
    try {
      if (differs("soul")) await api.put(`${path}/soul`, wanted.soul, this.version++);
      if (differs("identity")) await api.put(`${path}/identity`, wanted.identity, this.version++);
      const changes = Object.fromEntries(["name", "purpose"].filter(differs).map((part) => [part, wanted[part]]));
      if (Object.keys(changes).length > 0) await api.patch(path, changes, this.version++);
    } catch (error) {
      // What is stored now is read, and what was typed stays.
      const typed = draft.values;
      await this.#read();
      for (const part of PARTS) draft.set(part, typed[part]);
      throw error;
    }
    await this.#read();
  }

  async #read() {
    const agent = await this.api.get(this.path);
    this.version = agent.version;
    this.draft.load(personaOf(agent));
    this.head.querySelector("h1 bdi").textContent = visibleLine(agent.name);
    await this.readAgents();
  }

  /** Two questions to the agent's model; pressed again for the same draft, it is asked anew. */
  async #talk() {
    const { soul, identity, purpose } = this.#wanted();
    this.talk.disabled = true;
    this.preview.replaceChildren(element("p", { class: "hint" }, text("trying_persona")));
    try {
      this.preview.replaceChildren(sampleOf(await this.api.post(`${this.path}/soul/sample`, { soul, identity, purpose })));
    } catch (error) {
      this.preview.replaceChildren(problem(explain(error)));
    }
    this.preview.scrollIntoView({ block: "nearest" });
    this.talk.disabled = false;
  }

  async #show() {
    const { soul, identity, purpose } = this.#wanted();
    try {
      const shown = await this.api.post(`${this.path}/soul/preview`, { soul, identity, purpose });
      this.preview.replaceChildren(card("prompt_text",
        element("p", { class: "hint" }, text("prompt_hint", { tokens: shown.estimated_tokens })),
        element("pre", { tabindex: 0 }, visibleText(shown.text))));
      this.preview.scrollIntoView({ block: "nearest" });
    } catch (error) {
      this.preview.replaceChildren(problem(explain(error)));
    }
  }
}
