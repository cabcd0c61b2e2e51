/** What this tab keeps for when the page is loaded again; it goes with the tab, or by signing out. */

const KEY = "opencrab.key";
const NOTICE = "opencrab.notice";
const AGENT = "opencrab.agent";
const SESSION = "opencrab.session";
const TURNS = "opencrab.turns.";
const DRAFT = "opencrab.draft";

let isClosed = false;

function keep(name, value) {
  // What was asked before signing out may be answered after it.
  if (!isClosed) sessionStorage.setItem(name, value);
}

export const tab = {
  /** The API key: not in the address, not on the disk for other tabs. */
  get key() {
    return sessionStorage.getItem(KEY);
  },
  set key(secret) {
    keep(KEY, secret);
  },

  get agent() {
    return sessionStorage.getItem(AGENT);
  },
  set agent(id) {
    keep(AGENT, id);
  },

  get session() {
    return sessionStorage.getItem(SESSION);
  },
  set session(id) {
    keep(SESSION, id);
  },

  /** The turns of a session whose end was not seen. */
  turns(sessionId) {
    return JSON.parse(sessionStorage.getItem(TURNS + sessionId) ?? "[]");
  },
  keepTurns(sessionId, turnIds) {
    if (turnIds.length > 0) keep(TURNS + sessionId, JSON.stringify(turnIds));
    else sessionStorage.removeItem(TURNS + sessionId);
  },

  /** What was typed and not yet accepted by the server. */
  get draft() {
    return sessionStorage.getItem(DRAFT) ?? "";
  },
  set draft(words) {
    if (words.trim() !== "") keep(DRAFT, words);
    else sessionStorage.removeItem(DRAFT);
  },

  /** Forget everything but what was typed, and to whom: the key ended, not the person's work. */
  clear() {
    const kept = this.draft === "" ? [] : [DRAFT, AGENT, SESSION].map((name) => /** @type {const} */ ([name, sessionStorage.getItem(name)]));
    sessionStorage.clear();
    for (const [name, value] of kept) if (value !== null) sessionStorage.setItem(name, value);
  },
  /** Forget everything for good; with a notice, which the next page shows, what was typed stays. */
  close(notice) {
    if (notice) this.clear();
    else sessionStorage.clear();
    if (notice) sessionStorage.setItem(NOTICE, notice);
    isClosed = true;
  },
  takeNotice() {
    const notice = sessionStorage.getItem(NOTICE);
    sessionStorage.removeItem(NOTICE);
    return notice;
  },
};
