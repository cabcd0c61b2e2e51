/** All agents: as cards or as a table, found by name, created, and retired. */

import { explain } from "../lib/api.js";
import { button, element, foreign, problem, text, time, visibleLine } from "../lib/elements.js";
import { link, repeat } from "../lib/widgets.js";
import { BADGES, agentPath, badge, badgeOf } from "./badge.js";
import { creation } from "./creation.js";
import { policyName } from "./policy.js";

const REFRESH_MS = 10_000;
const STEP = 60;
const COLUMNS = ["agent_name", "agent_state", "agent_model", "agent_policy", "agent_created"];

// How somebody likes to look at agents stays while the page is open.
const looks = { isTable: false };

/** @param {Page.Context} context */
export default async function page(context) {
  const list = new AgentList(context);
  await list.refresh();
  repeat(() => list.refresh(), REFRESH_MS, context.signal);
  return list.element;
}

class AgentList {
  /** @param {Page.Context} context */
  constructor(context) {
    this.context = context;
    this.items = new Map();
    this.most = STEP;
    this.search = element("input", { type: "search", id: "agent-search", autocomplete: "off", oninput: () => this.#show() });
    this.state = element("select", { id: "agent-filter", onchange: () => this.#show() },
      element("option", { value: "current" }, text("not_retired")),
      BADGES.map((name) => element("option", { value: name }, text(`badge_${name}`))),
      element("option", { value: "all" }, text("agents_all")));
    this.looks = button("as_table", () => this.#turn(), { "aria-pressed": String(looks.isTable) });
    this.errors = element("div");
    this.count = element("p", { class: "hint", role: "status" });
    this.shown = element("div");
    this.more = button("show_more", () => this.#showMore(), { hidden: true });
    this.creation = element("div");
    this.element = element("section", { class: "agent-list" },
      element("div", { class: "heading" }, element("h1", {}, text("agents"))),
      this.creation,
      element("div", { class: "filters" },
        element("div", {}, element("label", { for: "agent-search" }, text("find_agent")), this.search),
        element("div", {}, element("label", { for: "agent-filter" }, text("agent_state")), this.state), this.looks),
      this.errors, this.count, this.shown, this.more);
  }

  async refresh() {
    const { api, isOwner, readAgents } = this.context;
    try {
      const [agents, running, waiting] = await Promise.all([
        readAgents(), api.get("/turns?status=running&limit=200"), api.get("/turns?status=waiting&limit=200"),
      ]);
      const turns = new Map([...waiting.items, ...running.items].map((turn) => [turn.agent_id, turn.status]));
      this.agents = agents.map((agent) => ({
        agent, badge: badgeOf(agent, turns.get(agent.id) ?? null),
      }));
      this.#show();
      this.errors.replaceChildren();
    } catch (error) {
      this.errors.replaceChildren(problem(explain(error)));
    }
    // It stays while the list is read again, as somebody may be typing in it.
    if (isOwner && this.agents && !this.creation.firstChild) {
      this.creation.append(creation(this.context, this.agents.length === 0, () => this.refresh()));
    }
  }

  #turn() {
    looks.isTable = !looks.isTable;
    this.looks.setAttribute("aria-pressed", String(looks.isTable));
    this.items.clear();
    this.list = null;
    this.#show();
  }

  #showMore() {
    this.most += STEP;
    this.#show();
  }

  /** Show what is looked for; an agent that is there keeps its element, and so the focus in it. */
  #show() {
    if (!this.agents) return;
    const wanted = this.search.value.trim().toLocaleLowerCase();
    const state = this.state.value;
    const found = this.agents.filter((each) => each.agent.name.toLocaleLowerCase().includes(wanted)
      && (state === "all" || (state === "current" ? each.badge !== "retired" : each.badge === state)));
    const nodes = found.slice(0, this.most).map((each) => this.#item(each));
    if (!this.list) {
      this.list = looks.isTable ? element("tbody") : element("ul", { class: "agent-cards" });
      this.shown.replaceChildren(looks.isTable ? whole(this.list) : this.list);
    }
    this.shown.hidden = nodes.length === 0;
    const isSame = nodes.length === this.list.children.length && nodes.every((node, index) => node === this.list.children[index]);
    if (!isSame) this.list.replaceChildren(...nodes);
    this.more.hidden = found.length <= this.most;
    const none = this.agents.length === 0 ? text(this.context.isOwner ? "no_agent_yet" : "no_agent_for_you") : text("no_agent_found");
    const said = found.length === 0 ? none : text("agents_counted", { count: found.length });
    if (this.count.textContent !== said) this.count.textContent = said;
  }

  #item(each) {
    let item = this.items.get(each.agent.id);
    if (!item) {
      item = new Item(this.context, each.agent.id, () => this.refresh());
      this.items.set(each.agent.id, item);
    }
    item.update(each);
    return item.element;
  }
}

/** One agent, as a card or a row. */
class Item {
  /** @param {Page.Context} context */
  constructor(context, id, onChanged) {
    this.context = context;
    this.id = id;
    this.onChanged = onChanged;
    this.name = link(agentPath(id));
    this.state = element("span");
    this.purpose = element("p", { class: "purpose" });
    this.model = element("span");
    this.policy = element("span");
    this.created = element("span");
    this.said = element("span", { role: "status" });
    this.retire = button("retire_agent", () => this.#retire(), { class: "quiet" });
    this.talk = link(`/chat?agent=${encodeURIComponent(id)}`, text("talk"));
    const actions = element("div", { class: "line" }, this.talk, context.isOwner ? this.retire : null, this.said);
    const cells = [this.name, this.state, this.model, this.policy, this.created, actions];
    this.element = looks.isTable
      ? element("tr", {}, cells.map((cell) => element("td", {}, cell)))
      : element("li", { class: "card" },
        element("div", { class: "line" }, element("strong", {}, this.name), this.state), this.purpose,
        element("p", { class: "hint" }, this.model, " · ", this.policy), actions);
  }

  update({ agent, badge: name }) {
    const now = `${agent.version} ${name}`;
    if (this.now === now) return;
    this.now = now;
    this.agentName = agent.name;
    this.name.replaceChildren(foreign(agent.name));
    this.state.replaceChildren(badge(name));
    this.purpose.replaceChildren(foreign(agent.purpose));
    this.model.replaceChildren(agent.model === null ? text("model_default") : foreign(agent.model));
    this.policy.replaceChildren(policyName(agent.policy));
    this.created.replaceChildren(time(agent.created_at));
    this.retire.hidden = agent.status === "retired";
    this.talk.hidden = agent.status === "retired";
    for (const [each, key] of [[this.retire, "retire_agent"], [this.talk, "talk"]]) {
      each.setAttribute("aria-label", `${text(key)}: ${visibleLine(agent.name)}`);
    }
  }

  async #retire() {
    if (!confirm(text("retire_question", { name: visibleLine(this.agentName) }))) return;
    this.retire.disabled = true;
    try {
      await this.context.api.put(`${agentPath(this.id)}/status`, { status: "retired" });
      await this.onChanged();
    } catch (error) {
      this.said.replaceChildren(problem(explain(error)));
    }
    this.retire.disabled = false;
  }
}

function whole(body) {
  const head = COLUMNS.map((key) => element("th", { scope: "col" }, text(key)));
  return element("div", { class: "scrolls", tabindex: 0, role: "group", "aria-label": text("agents") },
    element("table", {}, element("thead", {}, element("tr", {}, head, element("th", { scope: "col" }, text("agent_actions")))), body));
}
