/** How an agent is now, and the switches: freeze, sleep, wake, retire. */

import { element, foreign, text, time, visibleLine } from "../lib/elements.js";
import { action } from "../lib/widgets.js";
import { agentPath } from "./badge.js";
import { showFacts } from "./facts.js";
import { policyName } from "./policy.js";

export class StatePane {
  /** @param {Page.Context} context */
  constructor({ api, isOwner }, onChanged) {
    this.api = api;
    this.isOwner = isOwner;
    this.onChanged = onChanged;
    this.sentence = element("p", { role: "status" });
    this.switches = element("div", { class: "buttons" });
    this.facts = element("dl", { class: "facts" });
    this.element = element("div", {}, this.sentence, this.switches, this.facts);
  }

  update(news) {
    const said = text(`agent_is_${news.badge}`);
    if (this.sentence.textContent !== said) this.sentence.textContent = said;
    this.#showFacts(news);
    const { agent, state } = news;
    const now = `${agent.status} ${agent.frozen} ${state?.state}`;
    if (!this.isOwner || this.now === now) return;
    this.now = now;
    this.switches.replaceChildren(...this.#buttons(agent, state, agent.frozen));
  }

  #buttons(agent, state, isFrozen) {
    if (agent.status === "retired") return [];
    if (state?.state === "frozen") return [element("p", { class: "hint" }, text("all_frozen"))];
    const freeze = (to) => this.api.put("/system/state", { state: to, agent_id: agent.id }).then(this.onChanged);
    const become = (status) => this.api.put(`${agentPath(agent.id)}/status`, { status }).then(this.onChanged);
    const retire = async () => {
      if (confirm(text("retire_question", { name: visibleLine(agent.name) }))) await become("retired");
    };
    return [
      isFrozen ? action("unfreeze_agent", () => freeze("running"))
        : action("freeze_agent", () => freeze("frozen"), { ask: "freeze_agent_question", class: "stop" }),
      agent.status === "dormant" ? action("wake_agent", () => become("active")) : action("let_sleep", () => become("dormant")),
      action("retire_agent", retire, { class: "quiet" }),
    ];
  }

  #showFacts({ agent, pane, models }) {
    const now = pane.inspector;
    const uses = Object.values(models?.effective ?? {}).map((each) => each.model);
    const used = [...new Set(uses)].join(", ");
    const rows = [
      ["now_action", now?.action.summary], ["now_intent", now?.thought.intent], ["now_result", now?.result.summary],
      ["agent_model", used || agent.model || text("model_default")], ["agent_policy", policyName(agent.policy)],
      ["agent_language", { en: "English", ja: "日本語" }[agent.language]], ["agent_purpose", agent.purpose],
      ["agent_created", time(agent.created_at)], ["agent_id", element("code", {}, agent.id)],
    ];
    showFacts(this.facts, rows.map(([key, value]) => [text(key), typeof value === "string" && value ? foreign(value) : value]));
  }
}
