/** Chat with one agent: its conversations, the answer as it arrives, and the way to stop it. */

import { explain, newId } from "../lib/api.js";
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { button, element, foreign, problem, text, visibleText } from "../lib/elements.js";
import { Follower } from "./follow.js";
import { Announcer, messageView, sentView } from "./messages.js";
import { conversationsWith, titleOf } from "./sessions.js";
import { tab } from "../lib/tab.js";

const PAGE = 50, ASK_MS = 10_000, NEW = "";

export class Chat {
  /** @type {any} */ conversation; /** @type {any} */ composer;

  /** @param {Page.Api} api */
  constructor(api, { who, agentName, approvals, onTurnEnded }) {
    this.api = api;
    this.who = who;
    this.agentName = agentName;
    this.approvals = approvals;
    this.onTurnEnded = onTurnEnded;
    this.agents = [];
    this.session = null;
    this.views = new Map();
    this.announcer = new Announcer();
    this.mayTalk = who.scope !== "read";
    this.#build();
    document.addEventListener("visibilitychange", () => this.#follow());
    setInterval(() => this.#askForRuns(), ASK_MS);
  }

  #build() {
    this.agentChoice = element("select", { id: "agent", onchange: () => this.openLast() });
    this.sessionChoice = element("select", { id: "conversation", onchange: () => this.open(this.sessionChoice.value) });
    this.earlier = button("earlier", () => this.#loadEarlier(), { class: "earlier", hidden: true });
    this.lines = element("div", { class: "lines" });
    this.log = element("div", {
      class: "log", role: "log", "aria-live": "off", "aria-label": text("messages"), tabindex: 0,
      onscroll: () => this.#scrolled(),
    }, this.lines);
    this.isAtEnd = true;
    new ResizeObserver(() => this.#keepEnd()).observe(this.lines);
    this.state = element("p", { class: "state", role: "status" });
    this.errors = element("div", { class: "errors" });
    this.element = element("section", { id: "view-chat", "aria-labelledby": "chat-title" },
      element("h1", { id: "chat-title", class: "unseen" }, text("chat")),
      element("div", { class: "choices" },
        element("div", {}, element("label", { for: "agent" }, text("agent")), this.agentChoice),
        element("div", {}, element("label", { for: "conversation" }, text("conversation")), this.sessionChoice)),
      this.log, this.announcer.element, this.errors, this.state, this.#composer());
  }

  #composer() {
    if (!this.mayTalk) return element("p", { class: "hint" }, text("read_only"));
    this.composer = new Composer({ onSend: () => this.send(), onStop: () => this.stop() });
    return this.composer.element;
  }

  /** Show these agents for choosing; the first time, continue the last conversation. */
  async setAgents(agents) {
    const before = this.agentChoice.value;
    const wanted = before || tab.agent;
    this.agents = agents.filter((agent) => agent.status !== "retired");
    const options = this.agents.map((agent) => element("option", { value: agent.id }, visibleText(agent.name)));
    this.agentChoice.replaceChildren(...options);
    if (this.agents.some((agent) => agent.id === wanted)) this.agentChoice.value = wanted;
    this.element.classList.toggle("empty", this.agents.length === 0);
    if (this.agentChoice.value !== before) this.isStale = true;
    if (this.isShown) await this.#openIfStale();
    if (before === "" && this.agentChoice.value === wanted) this.composer?.restore();
  }

  /** Conversations are read when somebody looks at them: there may be thousands. */
  async #openIfStale() {
    if (!this.isStale) return;
    this.isStale = false;
    await this.openLast();
  }

  /** Open a conversation with an agent that was chosen elsewhere. */
  async choose(agentId) {
    if (this.agentChoice.value === agentId) return;
    this.agentChoice.value = agentId;
    await this.openLast();
  }

  /** Continue the last conversation with the chosen agent, or begin one. */
  async openLast() {
    const agentId = this.agentChoice.value;
    tab.agent = agentId;
    const opening = this.#beginOpening();
    this.isReady = false;
    let sessions = [];
    try {
      sessions = await this.api.list("/sessions");
    } catch (error) {
      this.#say(error);
    }
    if (opening !== this.opening) return;
    this.sessions = conversationsWith(agentId, sessions, this.who);
    this.#showSessions();
    const seen = tab.session;
    const isThere = this.sessions.some((session) => session.id === seen);
    await this.open(isThere ? seen : (this.sessions[0]?.id ?? NEW));
  }

  #showSessions() {
    const options = this.sessions.map((session) => element("option", { value: session.id }, titleOf(session)));
    if (this.mayTalk) options.push(element("option", { value: NEW }, text("new_conversation")));
    this.sessionChoice.replaceChildren(...options);
  }

  /** Only the last of several choices counts, whichever answer comes last. */
  #beginOpening() {
    this.opening = (this.opening ?? 0) + 1;
    return this.opening;
  }

  /** Show a conversation; "" is one that begins with its first message. */
  async open(sessionId) {
    const opening = this.#beginOpening();
    this.#unfollow();
    this.session = sessionId;
    this.isReady = true;
    tab.session = sessionId;
    this.sessionChoice.value = sessionId;
    this.views.clear();
    this.lines.replaceChildren(this.earlier);
    this.isAtEnd = true;
    this.errors.replaceChildren();
    this.earlier.hidden = true;
    this.conversation = this.#newConversation();
    this.#showState();
    if (sessionId === NEW) this.#showWelcome();
    if (this.sendsWhenReady) this.send();
    if (sessionId === NEW) return;
    try {
      await this.#loadHistory();
    } catch (error) {
      this.#say(error);
    }
    if (opening !== this.opening) return;
    for (const id of tab.turns(sessionId)) this.conversation.setRun(id, "running");
    this.#askForRuns();
    this.#follow();
  }

  /** A conversation that is shown as long as it is the open one: late answers are for another. */
  #newConversation() {
    const ifOpen = (show) => (...news) => {
      if (conversation === this.conversation) show(...news);
    };
    const conversation = new Conversation({
      onItem: ifOpen((item, delta) => this.#show(item, delta)),
      onRemoved: ifOpen((item) => this.#remove(item)),
      onRuns: ifOpen((_id, status) => this.#runChanged(status)),
    });
    return conversation;
  }

  #showWelcome() {
    const name = this.agentChoice.selectedOptions[0]?.text;
    if (!name) return;
    this.lines.append(element("p", { class: "empty" }, text("say_something"), " ", foreign(name)));
  }

  /** The kinds of lines: an owner sees the tool calls as well. */
  get #kinds() {
    return this.who.scope === "owner" ? "speech,system,approval,action" : "speech,system,approval";
  }

  async #loadHistory(cursor = null) {
    const session = this.session;
    const more = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const page = await this.api.get(`${this.#path("/messages")}?order=newest&limit=${PAGE}&kinds=${this.#kinds}${more}`);
    if (session !== this.session) return;
    this.cursor = page.next_cursor;
    this.earlier.hidden = page.next_cursor === null;
    this.before = cursor === null ? null : this.earlier.nextSibling;
    const height = this.log.scrollHeight;
    this.announcer.silent(() => page.items.reverse().forEach((line) => this.conversation.addLine(session, line)));
    if (this.before) this.log.scrollTop += this.log.scrollHeight - height;
    this.before = null;
    await this.#markIncompleteOf(page.items, this.conversation);
  }

  async #loadEarlier() {
    try {
      await this.#loadHistory(this.cursor);
    } catch (error) {
      this.#say(error);
    }
  }

  /** A notice after an answer says that its turn did not end by itself: ask how it ended. */
  async #markIncompleteOf(lines, conversation) {
    const spoke = new Set(lines.filter((line) => line.from_agent && line.kind === "speech").map((line) => line.turn_id));
    const noticed = lines.filter((line) => line.kind === "system" && spoke.has(line.turn_id));
    for (const turnId of new Set(noticed.map((line) => line.turn_id))) {
      const turn = await this.api.getIfAllowed(`/turns/${turnId}`);
      if (turn) conversation.setRun(turnId, turn.status);
    }
  }

  #path(rest) {
    return `/sessions/${encodeURIComponent(this.session)}${rest}`;
  }

  #unfollow() {
    this.following?.stop();
    this.following = null;
  }

  /** Follow until the page is left: other pages would gather lines here that nobody sees. */
  showUntil(signal) {
    this.isShown = true;
    signal.addEventListener("abort", () => {
      this.isShown = false;
      this.#follow();
    });
    this.#follow();
    return this.#openIfStale();
  }

  /** Follow the conversation while somebody looks at it, and while an answer is awaited. */
  #follow() {
    const isWanted = (this.isShown && document.visibilityState === "visible") || this.conversation?.openRuns.length > 0;
    if (!isWanted || !this.session) this.#unfollow();
    else if (!this.following) {
      const path = `${this.#path("/events")}?format=agui&kinds=${this.#kinds}`;
      this.following = new Follower(this.api, path, this.conversation, {
        onConnected: (isConnected) => this.#setConnected(isConnected),
        onRefused: (error) => this.#say(error),
      });
    }
  }

  #setConnected(isConnected) {
    if (this.disconnected === !isConnected) return;
    this.disconnected = !isConnected;
    this.#showState();
  }

  /** Ask how awaited turns are, for an end that no event told. */
  async #askForRuns() {
    for (const id of this.conversation?.openRuns ?? []) {
      const { conversation } = this;
      const turn = await this.api.getIfAllowed(`/turns/${id}`).catch(() => undefined);
      if (turn === undefined || conversation !== this.conversation) return;
      conversation.setRun(id, turn === null ? "completed" : turn.status);
    }
  }

  #runChanged(status) {
    tab.keepTurns(this.session, this.conversation.openRuns);
    this.#showState();
    if (!this.isShown) this.#follow();
    if (["failed", "exhausted", "stopped"].includes(status)) this.announcer.say(text(`turn_${status}`));
    this.onTurnEnded();
  }

  #showState() {
    const stoppable = this.conversation?.stoppableRuns ?? [];
    const waiting = (this.conversation?.openRuns.length ?? 0) > stoppable.length;
    let shown = "";
    if (this.disconnected) shown = text("reconnecting");
    else if (this.stopping && stoppable.length > 0) shown = text("stopping");
    else if (stoppable.length > 0) shown = text("working");
    else if (waiting) shown = text("waiting");
    if (this.state.textContent !== shown) this.state.textContent = shown;
    this.state.classList.toggle("busy", stoppable.length > 0);
    if (stoppable.length === 0) this.stopping = false;
    if (this.composer) this.composer.stopButton.hidden = stoppable.length === 0;
  }

  // Messages on the screen.

  #show(item, delta) {
    const view = this.views.get(item.id);
    if (view && delta !== null) view.grow(delta);
    else if (view) view.update(item);
    else this.#add(item);
    this.announcer.follow(item, delta);
  }

  #scrolled() {
    this.isAtEnd = this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 80;
  }

  /** Stay at the newest line, unless somebody reads further up; a long question is shown from its top. */
  #keepEnd() {
    if (!this.isAtEnd || this.before) return;
    const last = this.lines.lastElementChild;
    const isQuestion = last?.matches(".approval:not(.decided)") && last.clientHeight > this.log.clientHeight;
    if (isQuestion) last.scrollIntoView({ block: "start" });
    else this.log.scrollTop = this.log.scrollHeight;
    this.isAtEnd = true;
  }

  #add(item) {
    this.lines.querySelector(":scope > .empty")?.remove();
    if (!item.fromAgent) this.#sent(item.messageId)?.remove();
    const name = item.speaker || this.agentName(item.agentId);
    const view = messageView(item, name, this.approvals);
    this.views.set(item.id, view);
    this.lines.insertBefore(view.element, this.before ?? null);
  }

  #remove(item) {
    this.views.get(item.id)?.element.remove();
    this.views.delete(item.id);
    this.announcer.forget(item.id);
  }

  #sent(messageId) {
    return [...this.lines.children].find((each) => each.dataset.messageId === messageId && messageId);
  }

  // What the person does.

  /** Send what was typed; until it is accepted it stays, with a way to send it again. */
  async send() {
    if (!this.composer.input.value.trim() || this.sending) return;
    // Between two conversations a message would go to the wrong one.
    this.sendsWhenReady = !this.isReady;
    if (!this.isReady || !this.agentChoice.value) return;
    this.sending = true;
    const said = this.composer.take();
    this.lines.querySelector(":scope > .empty")?.remove();
    const view = sentView(said);
    this.lines.append(view);
    this.isAtEnd = true;
    const target = { agentId: this.agentChoice.value, session: this.session, conversation: this.conversation };
    const ids = { session: newId(), message: newId() };
    await this.#deliver(said, target, ids, view);
    this.sending = false;
    this.composer.input.focus();
  }

  /** Deliver to the conversation for which it was typed, whichever is open by now. */
  async #deliver(said, target, ids, view) {
    view.classList.remove("failed");
    view.querySelector(".retry")?.remove();
    const { conversation } = target;
    try {
      if (target.session === NEW) target.session = await this.#begin(target, ids.session);
      /** @type {`/sessions/${string}/messages`} */
      const path = `/sessions/${encodeURIComponent(target.session)}/messages`;
      const accepted = await this.api.post(path, { text: said }, ids.message);
      view.dataset.messageId = accepted.message_id;
      this.following?.wake();
      this.composer.accept(said);
      const known = [...conversation.items.values()];
      if (known.some((item) => item.messageId === accepted.message_id)) view.remove();
      for (const id of accepted.turn_ids) {
        if (!conversation.runs.has(id)) conversation.setRun(id, "queued");
      }
    } catch (error) {
      view.classList.add("failed");
      const again = button("send_again", () => this.#deliver(said, target, ids, view));
      view.append(element("div", { class: "retry" }, problem(explain(error)), again));
    }
    this.#follow();
  }

  async #begin({ agentId, conversation }, id) {
    const session = await this.api.post("/sessions", { participants: [agentId] }, id);
    if (conversation === this.conversation) {
      this.sessions.unshift(session);
      this.#showSessions();
      this.session = session.id;
      tab.session = session.id;
      this.sessionChoice.value = session.id;
    }
    return session.id;
  }

  /** Stop the turns that run; what was said stays, marked as incomplete. */
  async stop() {
    this.stopping = true;
    this.#showState();
    for (const id of this.conversation.stoppableRuns) {
      try {
        const turn = await this.api.post(`/turns/${id}/cancel`);
        if (turn.status !== "running") this.conversation.setRun(id, turn.status);
      } catch (error) {
        this.stopping = false;
        this.#say(error);
      }
    }
    this.composer.input.focus();
  }

  #say(error) {
    this.errors.replaceChildren(problem(explain(error)));
  }
}
