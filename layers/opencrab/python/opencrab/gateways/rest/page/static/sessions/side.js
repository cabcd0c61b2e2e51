/** Beside the lines: who has the floor, how evenly it goes, who may read, and what ends it. */

import { forgetting } from "../forgetting/forgetting.js";
import { button, dollars, element, foreign, text, time, visibleText } from "../lib/elements.js";
import { action, card, facts, field, form, table } from "../lib/widgets.js";
import { outcomeCard } from "./outcome.js";

const OPEN = ["running", "queued", "waiting"];
const WAIT_MS = 600;

export class Side {
  /**
   * @param {Page.Context} context
   * @param {Rest.SessionView} session
   */
  constructor(context, session, onChanged) {
    this.context = context;
    this.session = session;
    this.onChanged = onChanged;
    this.api = context.api;
    /** @type {`/sessions/${string}`} */
    this.path = `/sessions/${encodeURIComponent(session.id)}`;
    this.turns = new Map();
    this.floor = element("div", { "aria-live": "polite" });
    this.state = element("div");
    this.fairness = element("div");
    this.seats = element("div");
    this.outcome = element("div");
    this.isMine = context.isOwner || (session.created_by === context.who.principal_id && context.who.scope !== "read");
    this.element = element("div", { class: "side-parts" }, this.outcome,
      card("sessions_floor", this.floor, this.state),
      session.participants.length > 1 ? card("sessions_fairness", this.fairness) : null,
      card("sessions_seats", this.seats, context.isOwner ? this.#invitation() : null),
      this.isMine ? card("sessions_manage", this.#rename(), this.#switch(), this.#endings()) : null);
    this.#show(session);
  }

  /** Read what the stream does not tell. */
  async refresh() {
    const isTalk = this.session.participants.length > 1;
    const [session, fairness, turns] = await Promise.all([
      this.api.getIfAllowed(this.path), isTalk ? this.api.getIfAllowed(`${this.path}/fairness`) : null,
      this.api.getIfAllowed(`/turns?session_id=${encodeURIComponent(this.session.id)}&limit=20`),
    ]).catch(() => [null, null, null]);
    if (turns !== null) {
      this.turns = new Map(turns.items.filter((turn) => OPEN.includes(turn.status))
        .map((turn) => [turn.id, { id: turn.id, agentId: turn.agent_id, status: turn.status }]));
    }
    if (session !== null) this.#show(session);
    if (fairness !== null) this.#showFairness(fairness);
  }

  turnChanged(turn) {
    if (OPEN.includes(turn.status)) this.turns.set(turn.id, turn);
    else this.turns.delete(turn.id);
    this.#showFloor();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => !this.context.signal.aborted && this.refresh(), WAIT_MS);
  }

  #show(session) {
    this.session = session;
    this.onChanged(session);
    this.#showFloor();
    const { participants } = session;
    const turns = session.max_turns === null ? session.turn_number : `${session.turn_number} / ${session.max_turns}`;
    const spent = session.budget_micro_usd === null ? dollars(session.spent_micro_usd)
      : `${dollars(session.spent_micro_usd)} / ${dollars(session.budget_micro_usd)}`;
    this.state.replaceChildren(facts([
      ["sessions_state", text(session.status === "active" ? "sessions_is_active" : "sessions_ended")],
      ["sessions_ended_by", session.ended_by && text(`sessions_ending_${session.ended_by}`)],
      ["sessions_theme", session.theme && foreign(session.theme)],
      ["sessions_mode", participants.length > 1 && text(`sessions_mode_${session.mode}`)],
      ["sessions_phase", participants.length > 1 && text(`sessions_phase_${session.phase}`)],
      ["sessions_facilitator", session.facilitator_id && foreign(this.context.agentName(session.facilitator_id))],
      ["sessions_turns", String(turns)],
      ["sessions_done_count", participants.length > 1 && `${session.done_count} / ${session.quorum ?? participants.length}`],
      ["sessions_spent", spent],
      ["sessions_begun", time(session.created_at)],
    ].map(([key, value]) => [key, value || null])));
    this.#showSeats();
    this.#showOutcome();
    this.endings?.replaceChildren(...this.#endingButtons());
  }

  #showFloor() {
    const order = [...this.turns.values()].sort((one, other) => OPEN.indexOf(one.status) - OPEN.indexOf(other.status));
    const mayStop = this.context.who.scope !== "read";
    const shown = order.map((turn) => element("li", { class: "line" },
      element("span", {}, foreign(this.context.agentName(turn.agentId)), " ", element("span", { class: `badge ${turn.status}` }, text(`sessions_turn_${turn.status}`))),
      mayStop ? action("sessions_stop", () => this.api.post(`/turns/${encodeURIComponent(turn.id)}/cancel`), { class: "stop" }) : null));
    this.floor.replaceChildren(shown.length ? element("ul", { class: "agents" }, shown) : element("p", { class: "hint" }, text("sessions_floor_free")));
  }

  /** Only a discussion that has ended has an outcome; it then reads itself. */
  #showOutcome() {
    const { participants, status, mode } = this.session;
    this.outcome.hidden = participants.length < 2 || mode === "direct" || status === "active";
    if (!this.outcome.hidden && !this.outcome.firstChild) this.outcome.append(outcomeCard(this.context, this.path));
  }

  #showFairness(found) {
    const percent = (share) => `${Math.round(share * 100)} %`;
    const rows = found.participants.map((each) => [
      foreign(this.context.agentName(each.agent_id)), String(each.speeches), percent(each.characters_share)]);
    this.fairness.replaceChildren(
      element("p", { class: "hint" }, text("sessions_index", { index: found.index.toFixed(2) })),
      table(["sessions_who", "sessions_speeches", "sessions_share"], rows, { caption: "sessions_fairness" }));
  }

  #showSeats() {
    const agents = this.session.participants.map((each) => element("li", {}, foreign(this.context.agentName(each.agent_id)),
      each.role ? [" · ", foreign(each.role)] : null));
    const members = this.session.members.map((id) => element("li", { class: "line" }, element("span", {}, this.#personName(id)),
      this.isMine ? action("sessions_uninvite", () => this.#seat(id, "DELETE"), { ask: "sessions_uninvite_question" }) : null));
    this.seats.replaceChildren(element("ul", { class: "agents" }, agents, members));
  }

  #personName(id) {
    return foreign(this.people?.get(id) ?? id);
  }

  async #seat(id, method) {
    const path = `${this.path}/members/${encodeURIComponent(id)}`;
    this.#show(method === "PUT" ? await this.api.put(path, {}) : await this.api.delete(path));
  }

  /** Who can be invited: the holders of chat keys. They are read when somebody opens the form. */
  #invitation() {
    const choice = element("select", { required: true });
    const read = async (event) => {
      if (!event.target.open || this.people) return;
      const keys = (await this.api.list("/keys")).filter((key) => key.scope === "chat" && !key.revoked_at);
      this.people = new Map(keys.map((key) => [key.principal_id, key.name]));
      choice.replaceChildren(...[...this.people].map(([id, name]) => element("option", { value: id }, visibleText(name))));
      this.#showSeats();
    };
    return element("details", { ontoggle: read }, element("summary", {}, text("sessions_invite")),
      form([field("sessions_person", choice, "sessions_person_hint")], "sessions_invite_now", () => this.#seat(choice.value, "PUT"), { class: "quiet", done: "sessions_invited" }));
  }

  #rename() {
    const input = element("input", { type: "text", maxlength: 100, value: this.session.name ?? "" });
    const save = async () => this.#show(await this.api.patch(this.path, { name: input.value.trim() || null }));
    return element("details", {}, element("summary", {}, text("sessions_rename")),
      form([field("sessions_name", input, "sessions_name_hint")], "sessions_rename_now", save, { class: "quiet" }));
  }

  #switch() {
    if (!this.context.isOwner) return null;
    const box = element("input", { type: "checkbox", id: "speaks-freely", "aria-describedby": "speaks-freely-hint" });
    box.checked = this.session.speaks_freely;
    const said = element("div", { role: "status" });
    box.addEventListener("change", async () => {
      try {
        this.#show(await this.api.put(`${this.path}/speak-freely`, { speaks_freely: box.checked }));
        said.textContent = text("saved");
      } catch (/** @type {any} */ error) {
        box.checked = !box.checked;
        said.textContent = visibleText(error.message);
      }
    });
    return element("div", { class: "field" },
      element("label", { class: "look", for: "speaks-freely" }, box, text("sessions_speaks_freely")),
      element("p", { class: "hint", id: "speaks-freely-hint" }, text("sessions_speaks_freely_hint")), said);
  }

  #endings() {
    this.endings = element("div", { class: "buttons" });
    return this.endings;
  }

  #endingButtons() {
    const end = async () => this.#show(await this.api.post(`${this.path}/end`));
    return [
      this.session.status === "active" ? action("sessions_end", end, { ask: "sessions_end_question", class: "stop" }) : null,
      this.context.isOwner ? button("sessions_delete", () => this.#delete(), { class: "stop" }) : null,
    ].filter(Boolean);
  }

  #delete() {
    const agentId = this.session.participants[0].agent_id;
    const back = () => this.endings.replaceChildren(...this.#endingButtons());
    this.endings.replaceChildren(forgetting(this.context, agentId, { scope: "session", id: this.session.id }, {
      onDone: () => this.context.go("/sessions"), onBack: back,
    }));
  }
}
