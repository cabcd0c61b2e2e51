/** The skills of one agent: acquired ones with what their trial shows, and standard ones to switch. */

import { explain } from "../lib/api.js";
import { element, problem, text } from "../lib/elements.js";
import { card } from "../lib/widgets.js";
import { agentPath } from "../agents/badge.js";
import { creation } from "./creation.js";
import { AcquiredSkill, StandardSkill } from "./skill.js";

const ORDER = ["quarantined", "candidate", "active", "disabled", "archived"];

export class SkillList {
  /** @param {Page.Context} context */
  constructor({ api, isOwner }, agentId) {
    this.api = api;
    this.isOwner = isOwner;
    this.path = agentPath(agentId, "/skills");
    this.agentId = agentId;
    this.items = new Map();
    this.errors = element("div");
    this.acquired = element("div", { class: "skills" });
    this.standard = element("div", { class: "skills" });
    this.none = element("p", { class: "empty", hidden: true }, text("no_acquired_skill"));
    this.element = element("div", { class: "cards" }, this.errors,
      card("acquired_skills", this.none, this.acquired, isOwner ? creation(this) : null),
      card("standard_skills", element("p", { class: "hint" }, text("standard_hint")), this.standard));
  }

  async refresh() {
    try {
      const [skills, measured] = await Promise.all([
        this.api.list(this.path), this.isOwner ? this.api.getIfAllowed(agentPath(this.agentId, "/analytics/skills")) : null,
      ]);
      const trials = new Map((measured?.skills ?? []).map((each) => [each.name, each]));
      this.#show(skills, trials);
      this.errors.replaceChildren();
    } catch (error) {
      this.errors.replaceChildren(problem(explain(error)));
    }
  }

  /** A skill that is there keeps its element, with what is open and typed in it. */
  #show(skills, trials) {
    for (const skill of skills) {
      if (!this.items.has(skill.name)) {
        this.items.set(skill.name, new (skill.kind === "standard" ? StandardSkill : AcquiredSkill)(this, skill.name));
      }
      this.items.get(skill.name).update(skill, trials.get(skill.name));
    }
    const acquired = skills.filter((skill) => skill.kind === "acquired")
      .sort((one, other) => ORDER.indexOf(one.status) - ORDER.indexOf(other.status));
    this.none.hidden = acquired.length > 0;
    for (const [list, shown] of [[this.acquired, acquired], [this.standard, skills.filter((skill) => skill.kind === "standard")]]) {
      const nodes = shown.map((skill) => this.items.get(skill.name).element);
      const isSame = nodes.length === list.children.length && nodes.every((node, index) => node === list.children[index]);
      if (!isSame) list.replaceChildren(...nodes);
    }
  }
}
