/** Home: the agents and what they do, what was spent today, and the models that are set up. */

import { badge, badgeOf } from "../agents/badge.js";
import { explain, newId } from "../lib/api.js";
import { button, currentLanguage, dollars, element, foreign, joinLines, problem, text, visibleText } from "../lib/elements.js";
import { freezeSwitch } from "../lib/freeze.js";
import { card, repeat } from "../lib/widgets.js";

const MOST_AGENTS = 30;
const REFRESH_MS = 30_000;
const OF_PHASES = { approving: "waiting", executing: "running" };

/** @param {Page.Context} context */
export default async function page(context) {
  const home = new Home(context);
  await home.refresh();
  repeat(() => home.refresh(), REFRESH_MS, context.signal);
  return home.element;
}

class Home {
  /** @param {Page.Context} context */
  constructor(context) {
    const { api, who, readAgents, go } = context;
    this.api = api;
    this.who = who;
    this.readAgents = readAgents;
    this.onTalk = (agentId) => go(`/chat?agent=${encodeURIComponent(agentId)}`);
    this.isOwner = who.scope === "owner";
    this.agentList = element("div");
    this.agents = element("div", {}, this.agentList);
    this.costs = element("div");
    this.models = element("div");
    this.errors = element("div");
    this.at = element("p", { class: "hint", role: "status" });
    this.element = element("section", { id: "view-home", "aria-labelledby": "home-title" },
      element("div", { class: "heading" },
        element("h1", { id: "home-title" }, text("home")), button("refresh", () => this.refresh())),
      this.at, this.errors, this.isOwner ? freezeSwitch(context, () => this.refresh()) : null,
      element("div", { class: "parts" }, card("agents", this.agents), card("costs", this.costs), card("models", this.models)));
  }

  async refresh() {
    try {
      const [agents, setup] = await Promise.all([this.readAgents(), this.api.getIfAllowed("/setup")]);
      const shown = agents.filter((agent) => agent.status !== "retired").slice(0, MOST_AGENTS);
      const details = await Promise.all(shown.map((agent) => this.#detail(agent)));
      this.#showAgents(details, agents.length);
      await this.#showCosts(details);
      await this.#showModels(setup);
      this.errors.replaceChildren();
      this.at.textContent = text("as_of", { time: new Date().toLocaleTimeString(currentLanguage()) });
    } catch (error) {
      this.errors.replaceChildren(problem(explain(error)));
    }
  }

  /** What this key may know of an agent: what it does now, and what it has spent today. */
  async #detail(agent) {
    const id = encodeURIComponent(agent.id);
    const [now, budgets] = await Promise.all([
      this.isOwner ? this.api.getIfAllowed(`/agents/${id}/state`) : null,
      this.api.getIfAllowed(`/budgets?agent=${id}`),
    ]);
    const spent = budgets?.drawn.find((each) => each.scope === `agent:${agent.id}`) ?? null;
    return { agent, now, spent, badge: badgeOf(agent, OF_PHASES[now?.action.phase]) };
  }

  #showAgents(details, count) {
    const items = details.map(({ agent, now, badge: name }) => element("li", {},
      element("div", { class: "line" },
        element("strong", {}, foreign(agent.name)), badge(name),
        this.who.scope === "read" ? null : button("talk", () => this.onTalk(agent.id), { "aria-label": `${text("talk")}: ${visibleText(agent.name)}` })),
      doing(now) ? element("p", { class: "doing" }, text("does"), " ", foreign(doing(now))) : null));
    const list = element("ul", { class: "agents" }, items);
    const none = element("p", { class: "empty" }, text(this.isOwner ? "no_agents" : "no_agents_for_you"));
    const more = count > details.length ? element("p", { class: "hint" }, text("more_agents", { count: count - details.length })) : null;
    this.agentList.replaceChildren(...[details.length ? list : none, more].filter(Boolean));
    // It stays while the list is read again, as somebody may be typing in it.
    if (this.isOwner && !this.form) {
      this.form = this.#creation(details.length === 0);
      this.agents.append(this.form);
    }
  }

  #creation(isFirst) {
    const name = element("input", { type: "text", id: "new-agent", required: true, maxlength: 64, autocomplete: "off" });
    const result = element("div", { "aria-live": "polite" });
    const id = newId();
    const create = async (event) => {
      event.preventDefault();
      try {
        const agent = await this.api.post("/agents", { name: name.value.trim(), language: currentLanguage() }, id);
        this.form.remove();
        this.form = null;
        await this.readAgents();
        await this.onTalk(agent.id);
      } catch (error) {
        result.replaceChildren(problem(explain(error)));
      }
    };
    return element("details", { open: isFirst, class: "creation" },
      element("summary", {}, text("create_agent")),
      element("form", { onsubmit: create },
        element("label", { for: "new-agent" }, text("name")), name,
        element("button", { type: "submit" }, text("create"))), result);
  }

  async #showCosts(details) {
    const whole = await this.api.getIfAllowed("/budgets");
    if (whole === null) {
      this.costs.replaceChildren(element("p", { class: "hint" }, text("costs_hidden")));
      return;
    }
    const installation = whole.drawn.find((each) => each.scope === "installation");
    const rows = installation ? [meter(text("installation"), installation)] : [];
    const agents = details.filter(({ spent }) => spent !== null)
      .map(({ agent, spent }) => meter(foreign(agent.name), spent));
    const held = whole.unconfirmed_micro_usd > 0
      ? element("p", { class: "warning" }, text("unconfirmed", { amount: dollars(whole.unconfirmed_micro_usd) })) : null;
    this.costs.replaceChildren(...[...rows, ...agents, held,
      element("p", { class: "hint" }, text("costs_hint", { turn: dollars(whole.limits.turn_micro_usd) }))].filter(Boolean));
  }

  async #showModels(setup) {
    const parts = [];
    if (setup?.model) {
      parts.push(element("p", {}, text("default_model"), " ", element("code", {}, visibleText(setup.model.default))));
      const notes = joinLines(setup.model.notes ?? []);
      if (notes) parts.push(element("p", { class: "hint" }, visibleText(notes)));
    }
    if (this.isOwner && !this.providers) this.providers = await this.#providers();
    if (this.providers) parts.push(this.providers);
    if (parts.length === 0) parts.push(element("p", { class: "hint" }, text("models_hidden")));
    this.models.replaceChildren(...parts);
  }

  /** The providers; whether one answers is asked only when somebody wants to know. */
  async #providers() {
    const all = (await this.api.list("/llm/providers")).filter((each) => each.enabled);
    const row = (provider) => {
      const result = element("span", { role: "status", class: "health" });
      const check = provider.missing
        ? element("span", { class: "hint" }, text("needs", { variable: provider.missing }))
        : button("check", () => this.#check(provider, result), { "aria-label": `${text("check")}: ${provider.name}` });
      return element("li", { class: "line" }, element("span", {}, foreign(provider.name)), check, result);
    };
    const ready = all.filter((each) => !each.missing);
    const others = all.filter((each) => each.missing);
    return element("div", {},
      element("h3", {}, text("providers")), element("ul", { class: "agents" }, ready.map(row)),
      others.length ? element("details", {}, element("summary", {}, text("without_key", { count: others.length })),
        element("ul", { class: "agents" }, others.map(row))) : null);
  }

  async #check(provider, result) {
    result.replaceChildren(text("checking"));
    try {
      const health = await this.api.get(`/llm/providers/${encodeURIComponent(provider.name)}/health`);
      const said = health.ok ? text("answers", { ms: health.latency_ms }) : `${health.problem} ${health.cure}`;
      result.className = `health ${health.ok ? "good" : "bad"}`;
      result.replaceChildren(visibleText(said));
    } catch (error) {
      result.replaceChildren(problem(explain(error)));
    }
  }
}

/** What the agent does at this moment, if it does anything. */
const doing = (now) => (now?.action.phase ? now.action.summary : "");

function meter(name, { drawn_micro_usd: drawn, limit_micro_usd: limit }) {
  const label = text("spent_of", { spent: dollars(drawn), limit: dollars(limit) });
  const share = limit > 0 ? drawn / limit : 1;
  return element("div", { class: "budget" },
    element("div", { class: "line" }, element("span", {}, name), element("span", { class: "amount" }, label)),
    element("meter", { min: 0, max: 1, high: 0.8, optimum: 0, value: Math.min(share, 1), "aria-label": label }));
}

