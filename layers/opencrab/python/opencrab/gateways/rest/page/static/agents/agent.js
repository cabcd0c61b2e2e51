/** One agent, live: what it says, plans and does, how it fares, and how to stop it. */

import { explain } from "../lib/api.js";
import { element, problem } from "../lib/elements.js";
import { repeat } from "../lib/widgets.js";
import { agentHead, agentPath, badge, badgeOf } from "./badge.js";
import { Inspector } from "./inspector.js";
import { ChatPane, PlanPane } from "./panes.js";
import { panes } from "./panes_layout.js";
import { StatePane } from "./state.js";
import { VitalsPane } from "./vitals.js";

const LIVE_MS = 3_000;
const SLOW_EVERY = 10;

/** @param {Page.Context} context */
export default async function page(context) {
  const agent = await context.api.get(agentPath(context.params.id));
  const view = new AgentPage(context, agent);
  await view.refresh();
  repeat(() => view.refresh(), LIVE_MS, context.signal);
  return view.element;
}

class AgentPage {
  /**
   * @param {Page.Context} context
   * @param {Rest.AgentView} agent
   */
  constructor(context, agent) {
    this.context = context;
    this.agent = agent;
    this.path = agentPath(agent.id);
    this.times = 0;
    this.slow = {};
    const { signal } = context;
    const changed = () => {
      this.isChanged = true;
      return this.refresh();
    };
    this.badge = element("span", { role: "status" });
    this.errors = element("div");
    this.chat = new ChatPane(context, agent);
    this.plan = new PlanPane(context, agent);
    this.inspector = new Inspector(context, agent, changed);
    this.vitals = new VitalsPane(agent);
    this.state = new StatePane(context, changed);
    const columns = [["plan", "chat"], ["inspector"], ["state", "vitals"]];
    this.element = element("section", { class: "agent-page" },
      agentHead(agent, this.badge, "", context.who.scope), this.errors,
      panes("agent_panes", columns.map((keys) => keys.map((key) => [key, this[key].element])), signal));
  }

  /** One reading at a time; what was changed during one is read once more, all of it. */
  async refresh() {
    if (this.isReading) return;
    this.isReading = true;
    do {
      const isWhole = this.isChanged || !this.slow.agent || this.times % SLOW_EVERY === 0;
      this.isChanged = false;
      this.times += 1;
      try {
        await this.#read(isWhole);
        this.errors.replaceChildren();
      } catch (error) {
        if (!this.context.signal.aborted) this.errors.replaceChildren(problem(explain(error)));
      }
    } while (this.isChanged);
    this.isReading = false;
  }

  /** What an owner sees comes from the panes; others see their own tasks and turns. */
  async #read(isWhole) {
    const { api, isOwner } = this.context;
    const [found, turns, tasks] = await Promise.all([
      isOwner ? api.get(`${this.path}/panes`) : null,
      api.get(`/turns?agent_id=${encodeURIComponent(this.agent.id)}&limit=10`),
      api.getIfAllowed(`${this.path}/tasks?limit=20`),
      isWhole ? this.#readSlowly() : null,
    ]);
    const pane = Object.fromEntries((found?.items ?? []).map((each) => [each.pane, each.data]));
    /** @type {Record<string, any>} */
    const news = { ...this.slow, pane, turns: turns.items, tasks: tasks?.items ?? [] };
    news.badge = badgeOf(news.agent, openStatus(news.turns));
    if (this.badge.dataset.name !== news.badge) this.badge.replaceChildren(badge(news.badge));
    this.badge.dataset.name = news.badge;
    await Promise.all([this.chat, this.plan, this.inspector, this.vitals, this.state].map((each) => each.update(news)));
  }

  /** What changes seldom; each key reads what it may see. */
  async #readSlowly() {
    const { api, isOwner, who } = this.context;
    const ifOwner = (path) => (isOwner ? api.getIfAllowed(path) : null);
    const mayMeasure = who.scope !== "chat";
    const agent = await api.get(this.path);
    const [state, beliefs, models, heartbeat, world, budgets, vitals] = await Promise.all([
      ifOwner("/system/state"), ifOwner(`${this.path}/beliefs?limit=200`),
      ifOwner(`${this.path}/llm/config`), ifOwner(`${this.path}/heartbeat`), agent.world ? ifOwner(`${this.path}/world`) : null,
      mayMeasure ? api.getIfAllowed(`/budgets?agent=${encodeURIComponent(this.agent.id)}`) : null,
      mayMeasure && !isOwner ? api.getIfAllowed(`${this.path}/vitals`) : null,
    ]);
    this.slow = { agent, state, beliefs, models, heartbeat, world, budgets, vitals };
  }
}

function openStatus(turns) {
  const open = turns.map((turn) => turn.status).filter((status) => ["running", "waiting", "queued"].includes(status));
  return open.includes("running") ? "running" : open[0] ?? null;
}
