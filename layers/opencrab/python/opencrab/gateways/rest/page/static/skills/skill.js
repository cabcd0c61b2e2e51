/** One skill: its switch, its trial and effect, and its text, which is read when it is opened. */

import { explain } from "../lib/api.js";
import { Editor } from "../lib/editor.js";
import { element, foreign, problem, text, time, visibleLine, visibleText } from "../lib/elements.js";
import { action } from "../lib/widgets.js";
import { skillFields } from "./creation.js";
import { effectBar } from "./effect.js";

/** A skill that is shipped: it is switched on or off, and its text can be read. */
export class StandardSkill {
  /** @param {import("./list.js").SkillList} list */
  constructor(list, name) {
    /** @type {`/agents/${string}/skills/${string}`} */
    this.path = `${list.path}/${encodeURIComponent(name)}`;
    this.list = list;
    this.box = element("input", { type: "checkbox", role: "switch", id: `skill-${name}`, disabled: !list.isOwner, onchange: () => this.#switch() });
    this.said = element("div", { role: "status" });
    this.description = element("p", { class: "hint" });
    this.body = element("div");
    const details = element("details", { ontoggle: () => details.open && this.#read() }, element("summary", {}, text("read_skill")), this.body);
    this.element = element("article", { class: "skill" },
      element("div", { class: "check" }, this.box, element("label", { for: this.box.id }, foreign(name))),
      this.description, this.said, details);
  }

  update(skill) {
    this.box.checked = skill.status === "active";
    this.description.textContent = visibleText(skill.description);
  }

  async #switch() {
    const on = this.box.checked;
    this.box.disabled = true;
    this.said.replaceChildren();
    try {
      await this.list.api.post(`${this.path}/toggle`, { on });
    } catch (error) {
      this.box.checked = !on;
      this.said.replaceChildren(problem(explain(error)));
    }
    this.box.disabled = false;
    this.box.focus();
  }

  async #read() {
    if (this.body.childElementCount > 0) return;
    try {
      const skill = await this.list.api.get(this.path);
      this.body.replaceChildren(element("pre", { tabindex: 0 }, visibleText(skill.guidance)));
    } catch (error) {
      this.body.replaceChildren(problem(explain(error)));
    }
  }
}

/** What was read of a skill: another version or status is read again. */
const readOf = ({ version, status }) => `${version} ${status}`;

/** A skill that the agent learned, or that somebody wrote for it. */
export class AcquiredSkill {
  /** @param {import("./list.js").SkillList} list */
  constructor(list, name) {
    this.list = list;
    this.name = name;
    this.api = list.api;
    /** @type {`/agents/${string}/skills/${string}`} */
    this.path = `${list.path}/${encodeURIComponent(name)}`;
    this.state = element("span", { role: "status" });
    this.heading = element("h3", {}, foreign(name));
    this.description = element("p", {});
    this.origin = element("p", { class: "hint" });
    this.trial = element("div");
    this.buttons = element("div", { class: "buttons" });
    this.body = element("div");
    this.details = element("details", { ontoggle: () => this.details.open && this.#read() },
      element("summary", {}, text(list.isOwner ? "edit_skill" : "read_skill")), this.body);
    this.element = element("article", { class: "skill acquired" },
      element("div", { class: "line" }, this.heading, this.state),
      this.description, this.trial, this.origin, this.buttons, this.details);
  }

  update(skill, measured) {
    const now = JSON.stringify([skill, measured]);
    if (now === this.now) return;
    this.now = now;
    this.skill = skill;
    this.state.replaceChildren(element("span", { class: `badge ${skill.status}` }, text(`skill_is_${skill.status}`)));
    this.heading.replaceChildren(foreign(skill.title), ...(skill.title === skill.name ? [] : [" ", element("code", {}, foreign(skill.name))]));
    this.description.textContent = visibleText(skill.description);
    this.#showOrigin(skill);
    this.#showTrial(skill, measured);
    this.buttons.replaceChildren(...(this.list.isOwner ? this.#buttonsOf(skill) : []));
    if (this.details.open && this.read !== readOf(skill)) this.#read();
  }

  #showOrigin(skill) {
    const uses = text("skill_uses", { count: skill.usage_count });
    const last = skill.last_used_at ? [" · ", text("skill_last_used"), " ", time(skill.last_used_at)] : [];
    const from = skill.source_type ? [" · ", text(`skill_from_${skill.source_type}`)] : [];
    const context = skill.source_context ? [" · ", foreign(skill.source_context)] : [];
    this.origin.replaceChildren(uses, ...last, ...from, ...context);
  }

  #showTrial(skill, measured) {
    const parts = [];
    if (skill.tainted) parts.push(element("p", { class: "warning" }, text("skill_tainted")));
    if (skill.waits) parts.push(element("p", { class: "hint" }, text("skill_waits")));
    const trial = measured?.trial;
    if (trial && skill.status === "candidate" && !trial.pinned) {
      const said = text("trial_said", { turns: trial.turns, least: trial.least_turns, most: trial.most_turns, percent: trial.withheld_percent });
      parts.push(element("p", { class: "hint" }, said),
        element("progress", { max: trial.least_turns, value: Math.min(trial.turns, trial.least_turns), "aria-label": said }));
    }
    const effect = measured?.effect ?? skill.effectiveness;
    parts.push(effectBar(effect, measured ? measured.effect.given + measured.effect.held : skill.effectiveness?.turns ?? 0));
    this.trial.replaceChildren(...parts);
  }

  #buttonsOf(skill) {
    const change = (/** @type {"toggle" | "restore"} */ verb, /** @type {any} */ body = {}) => async () => {
      await this.api.post(`${this.path}/${verb}`, body);
      await this.list.refresh();
    };
    const retire = async () => {
      if (!confirm(text("retire_skill_question", { name: visibleLine(this.name) }))) return;
      await this.api.delete(this.path);
      await this.list.refresh();
    };
    const off = action("switch_off", change("toggle", { on: false }));
    const gone = action("retire_skill", retire, { class: "quiet" });
    return {
      quarantined: [gone],
      candidate: [action("keep_on", change("toggle", { on: true })), off, gone],
      active: [off, gone],
      disabled: [action("switch_on", change("toggle", { on: true })), gone],
      archived: [action("restore_skill", change("restore"))],
    }[skill.status] ?? [];
  }

  async #read() {
    try {
      const skill = await this.api.get(this.path);
      // What somebody types here stays; saving it says what has changed.
      if (this.read === readOf(skill) || this.editor?.unsaved.isThere) return;
      this.read = readOf(skill);
      this.body.replaceChildren(this.list.isOwner ? this.#editor(skill) : element("pre", { tabindex: 0 }, visibleText(skill.guidance)));
    } catch (error) {
      this.body.replaceChildren(problem(explain(error)));
    }
  }

  /** The text can be approved only where it can be read, and in the version that was read. */
  #editor(skill) {
    const fields = skillFields(skill, this.name);
    const write = async (version) => {
      const saved = await this.api.put(this.path, fields.value, version);
      skill.version = saved.version;
      this.read = readOf(saved);
      return saved.version;
    };
    const again = () => {
      this.read = "";
      return this.#read();
    };
    this.editor = new Editor(fields.elements, "save_skill", {
      version: skill.version, inputs: fields.inputs, write, take: again, saved: () => this.list.refresh(),
      read: async () => {
        const stored = await this.api.get(this.path);
        return { version: stored.version, values: stored };
      },
    });
    const made = this.editor.element;
    const approve = async () => {
      await this.api.post(`${this.path}/approve`, undefined, undefined, skill.version);
      await this.list.refresh();
    };
    const shown = element("details", {}, element("summary", {}, text("skill_as_stored")), element("pre", { tabindex: 0 }, visibleText(skill.guidance)));
    if (skill.status !== "quarantined") return made;
    shown.open = true;
    return element("div", {}, shown, element("p", {}, action("approve_skill", approve, { class: "approve" })),
      element("details", {}, element("summary", {}, text("change_skill")), made));
  }
}
