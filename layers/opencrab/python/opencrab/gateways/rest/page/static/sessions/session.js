/** One session, live: its lines in four looks, who has the floor, and what people say to it. */

import { Follower } from "../chat/follow.js";
import { Announcer } from "../chat/messages.js";
import { explain } from "../lib/api.js";
import { element, problem, text, visibleText } from "../lib/elements.js";
import { link } from "../lib/widgets.js";
import { guidance, messageBox } from "./composer.js";
import { LineLog } from "./line_log.js";
import { Rows } from "./line_row.js";
import { Side } from "./side.js";

const PAGE = 50;
const LOOKS = { speech: "speech", inner_voice: "inner_voice", action: "action", system: "system,approval" };
const OWNERS_ONLY = new Set(["inner_voice", "action"]);

/** @param {Page.Context} context */
export default async function page(context) {
  const session = await context.api.get(`/sessions/${encodeURIComponent(context.params.id)}`);
  const shown = new Session(context, session);
  await shown.log.open();
  shown.follow();
  return shown.element;
}

class Session {
  /**
   * @param {Page.Context} context
   * @param {Rest.SessionView} session
   */
  constructor(context, session) {
    this.context = context;
    this.id = session.id;
    this.api = context.api;
    this.looks = new Set(Object.keys(LOOKS).filter((look) => context.isOwner || !OWNERS_ONLY.has(look)));
    const rows = new Rows(session.id, { ...context, me: context.who.principal_id });
    this.log = new LineLog({
      read: (cursor) => this.#page(cursor), row: rows.of, arrivingRow: (turn) => rows.arriving(turn),
      onError: (error) => this.#say(error), onNews: (news) => this.#heard(news),
    });
    this.announcer = new Announcer();
    this.errors = element("div");
    this.connection = element("p", { class: "state", role: "status" });
    this.title = element("h1");
    this.composer = element("div");
    this.side = new Side(context, session, (changed) => this.#changed(changed));
    this.#build(session);
    const watch = () => this.#watched();
    document.addEventListener("visibilitychange", watch, { signal: context.signal });
    context.signal.addEventListener("abort", () => this.#unfollow());
  }

  #build(session) {
    const wide = matchMedia("(min-width: 64rem)").matches;
    this.element = element("section", { id: "view-session" },
      element("div", { class: "heading" }, this.title, link("/sessions", text("sessions_all"))),
      element("div", { class: "session" },
        element("div", { class: "live" }, this.#lookChoice(), element("div", { class: "log-frame" }, this.log.element, this.log.toEnd),
          this.announcer.element, this.errors, this.connection, this.composer),
        element("details", { class: "side", open: wide }, element("summary", {}, text("sessions_about")), this.side.element)));
  }

  #changed(session) {
    const title = visibleText(session.title || text("sessions_untitled"));
    if (this.title.textContent !== title) this.title.textContent = title;
    if (this.isActive === (session.status === "active")) return;
    this.isActive = session.status === "active";
    this.composer.replaceChildren(this.#composer());
  }

  #composer() {
    if (!this.isActive) return element("p", { class: "hint" }, text("sessions_is_over"));
    if (this.context.who.scope === "read") return element("p", { class: "hint" }, text("sessions_read_only"));
    /** @type {`/sessions/${string}`} */
    const path = `/sessions/${encodeURIComponent(this.id)}`;
    return element("div", { class: "talk" }, messageBox(this.api, path, () => this.log.isAtEnd || this.log.open()),
      this.context.isOwner ? guidance(this.api, path) : null);
  }

  #lookChoice() {
    const change = (look, wanted) => {
      if (wanted) this.looks.add(look);
      else this.looks.delete(look);
      this.#unfollow();
      this.log.reopen().then(() => this.follow());
    };
    const boxes = [...this.looks].map((look) => element("label", { class: "look" },
      element("input", { type: "checkbox", checked: true, onchange: (event) => change(look, event.target.checked) }), text(`sessions_look_${look}`)));
    return element("fieldset", { class: "looks" }, element("legend", { class: "unseen" }, text("sessions_looks")), boxes);
  }

  get #kinds() {
    // Without a look nothing is asked for but what nobody may miss: a question to a person.
    return [...this.looks].map((look) => LOOKS[look]).join(",") || "approval";
  }

  #page(cursor) {
    const more = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const kinds = encodeURIComponent(this.#kinds);
    return this.api.get(`/sessions/${encodeURIComponent(this.id)}/messages?order=newest&limit=${PAGE}&kinds=${kinds}${more}`);
  }

  follow() {
    if (this.following || this.context.signal.aborted || document.visibilityState !== "visible") return;
    const path = `/sessions/${encodeURIComponent(this.id)}/events?kinds=${encodeURIComponent(this.#kinds)}`;
    this.following = new Follower(this.api, path, this.log, {
      onConnected: (isConnected) => this.#showConnection(isConnected),
      onRefused: (error) => this.#say(error),
    });
    this.side.refresh();
  }

  #unfollow() {
    this.following?.stop();
    this.following = null;
  }

  /** Nobody looks: nothing is asked for. Then the newest page comes again, however much was said. */
  async #watched() {
    if (document.visibilityState !== "visible") return this.#unfollow();
    if (this.log.isAtEnd) await this.log.open();
    return this.follow();
  }

  #heard({ lines = [], turn = null }) {
    if (turn !== null) this.side.turnChanged(turn);
    const said = lines.filter((line) => line.kind === "speech" && line.from_agent).at(-1);
    if (said) this.announcer.say(`${said.speaker_name}: ${said.text}`);
  }

  #showConnection(isConnected) {
    const shown = isConnected ? "" : text("sessions_reconnecting");
    if (this.connection.textContent !== shown) this.connection.textContent = shown;
  }

  #say(error) {
    this.errors.replaceChildren(problem(explain(error)));
  }
}
