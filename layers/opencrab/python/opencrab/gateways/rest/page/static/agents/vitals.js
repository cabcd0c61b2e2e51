/** How an agent fares: heartbeats, what it may still spend, and what holds it up. */

import { currentLanguage, dollars, element, foreign, text, time } from "../lib/elements.js";
import { showFacts } from "./facts.js";

export class VitalsPane {
  /** @param {Rest.AgentView} agent */
  constructor(agent) {
    this.scope = `agent:${agent.id}`;
    this.spent = element("div");
    this.facts = element("dl", { class: "facts" });
    this.warning = element("p", { class: "warning", hidden: true }, text("in_vain_warning"));
    this.element = element("div", {}, this.warning, this.spent, this.facts);
  }

  update(news) {
    const vitals = news.pane.vitals ?? news.vitals;
    this.#showSpent(news.budgets?.drawn.find((each) => each.scope === this.scope));
    if (!vitals) {
      if (!this.facts.childElementCount) this.spent.append(element("p", { class: "hint" }, text("vitals_hidden")));
      return;
    }
    this.warning.hidden = !vitals.warning;
    const rows = [...beats(vitals, news.heartbeat), ...work(vitals), ...learned(news), ...money(vitals), ...machine(vitals.machine)];
    showFacts(this.facts, rows.map(([key, value]) => [text(`vital_${key}`), value]));
  }

  #showSpent(found) {
    if (!found) return;
    const now = `${found.drawn_micro_usd}/${found.limit_micro_usd}`;
    if (this.now === now) return;
    this.now = now;
    const label = text("spent_today", { spent: dollars(found.drawn_micro_usd), limit: dollars(found.limit_micro_usd) });
    const share = found.limit_micro_usd > 0 ? found.drawn_micro_usd / found.limit_micro_usd : 1;
    this.spent.replaceChildren(element("div", { class: "budget" }, element("span", { class: "amount" }, label),
      element("meter", { min: 0, max: 1, high: 0.8, optimum: 0, value: Math.min(share, 1), "aria-label": label })));
  }
}

const number = (value) => value.toLocaleString(currentLanguage());

function beats(vitals, heartbeat) {
  const next = vitals.next_beat_at ? time(vitals.next_beat_at) : null;
  return [
    ["last_beat", vitals.last_beat ? time(vitals.last_beat) : text("no_beat_yet")],
    ["next_beat", heartbeat?.enabled === false ? text("beats_off") : next],
    ["interval", heartbeat ? text("in_seconds", { count: number(heartbeat.interval_seconds) }) : null],
    ["beats", number(vitals.beats)],
  ];
}

function work(vitals) {
  return [
    ["open_goals", text("count_of_most", { count: number(vitals.open_goals), most: number(vitals.goal_slots) })],
    ["open_approvals", number(vitals.open_approvals)],
    ["queue_age", vitals.queue_age_seconds === null ? null : text("in_seconds", { count: number(Math.round(vitals.queue_age_seconds)) })],
    ["error_rate", vitals.error_rate === null ? null : `${Math.round(vitals.error_rate * 100)} %`],
    ["idle_streak", text("turns_counted", { count: number(vitals.idle_streak) })],
    ["in_vain", vitals.in_vain > 0 ? text("turns_counted", { count: number(vitals.in_vain) }) : null],
  ];
}

function learned({ beliefs, models, world }) {
  const count = beliefs && `${number(beliefs.items.length)}${beliefs.next_cursor === null ? "" : "+"}`;
  return [
    ["beliefs", count],
    ["thinks_with", models ? foreign(models.effective.thinking?.model) : null],
    ["units", world?.units === null || world?.units === undefined ? null : number(world.units)],
    ["balance", world?.balance === null || world?.balance === undefined ? null : number(world.balance)],
    ["reputation", world?.reputation === null || world?.reputation === undefined ? null : number(world.reputation)],
    ["own_choice", models?.self_selection === null || models?.self_selection === undefined ? null : text(models.self_selection ? "choice_yes" : "choice_no")],
  ];
}

const money = (vitals) => [["budget_left", dollars(vitals.budget_left_micro_usd)]];

function machine(found) {
  if (!found) return [];
  const size = (bytes) => (bytes < 2 ** 30 ? `${number(Math.round(bytes / 2 ** 20))} MiB` : `${number(Math.round(bytes / 2 ** 30 * 10) / 10)} GiB`);
  const isKnown = found.memory_used_bytes !== null && found.memory_total_bytes !== null;
  return [
    ["cpu", found.cpu_percent === null ? null : `${Math.round(found.cpu_percent)} %`],
    ["memory", isKnown ? text("count_of_most", { count: size(found.memory_used_bytes), most: size(found.memory_total_bytes) }) : null],
    ["process", found.process_memory_bytes === null ? null : size(found.process_memory_bytes)],
  ];
}
