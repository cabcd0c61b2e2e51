/** The application around its pages: navigation, what waits for a decision, and where one is. */

import { Approvals } from "./approvals/approvals.js";
import { Chat } from "./chat/chat.js";
import { explain } from "./lib/api.js";
import { button, currentLanguage, element, foreign, loadWords, problem, storeLanguage, text } from "./lib/elements.js";
import { AREAS, addressOf, mayOpen, routeOf } from "./lib/router.js";
import { mayLeave } from "./lib/unsaved.js";

const REFRESH_MS = 30_000;

export function languageSwitch() {
  const other = currentLanguage() === "ja" ? "en" : "ja";
  const change = () => {
    storeLanguage(other);
    location.reload();
  };
  return element("button", { type: "button", class: "language", lang: other, onclick: change }, { en: "English", ja: "日本語" }[other]);
}

export function brand() {
  const icon = element("img", { src: new URL("icon.svg", import.meta.url).href, alt: "", width: 28, height: 28 });
  return element("span", { class: "brand" }, icon, "OpenCrab");
}

/** @param {Page.Api} api */
export async function showApplication(api, who, signOut) {
  const application = new Application(api, who, signOut);
  await application.start();
}

class Application {
  /** @type {any} */
  approvals;
  /** @type {any} */
  menu;
  /** @type {any} */
  links;
  /** @type {any} */
  chat;

  /** @param {Page.Api} api */
  constructor(api, who, signOut) {
    this.api = api;
    this.who = who;
    this.signOut = signOut;
    this.names = new Map();
    this.agents = [];
    this.visit = 0;
    this.leaving = new AbortController();
  }

  async start() {
    await Promise.all([loadWords("chat"), loadWords("approvals")]);
    const agentName = (id) => this.names.get(id) ?? id ?? "";
    this.count = element("span", { class: "count", hidden: true });
    this.approvals = new Approvals(this.api, { agentName, onCount: (waiting) => this.#showCount(waiting) });
    this.chat = new Chat(this.api, {
      who: this.who, agentName, approvals: this.approvals, onTurnEnded: soon(() => this.approvals.refresh()),
    });
    this.#build();
    document.addEventListener("click", (event) => this.#clicked(event));
    addEventListener("popstate", () => this.#moved());
    try {
      await this.readAgents();
      await this.#show();
    } catch (error) {
      this.main.replaceChildren(problem(explain(error)));
    }
    await this.approvals.refresh();
    setInterval(() => document.visibilityState === "visible" && this.approvals.refresh(), REFRESH_MS);
  }

  #build() {
    this.links = new Map(AREAS.filter((area) => mayOpen(area, this.who.scope)).map((area) => [
      area, element("a", { href: addressOf(area) }, text(area))]));
    this.links.get("approvals").append(this.count);
    // Pages change their address by themselves: somebody types at the one that is there now.
    this.main = element("main", { tabindex: -1, oninput: () => { this.typedAt = location.href; } });
    const menu = element("nav", { id: "menu", "aria-label": text("views") }, ...this.links.values());
    const toggle = button("menu", () => this.#toggleMenu(), { class: "menu", "aria-expanded": "false", "aria-controls": "menu" });
    this.menu = { menu, toggle };
    document.body.classList.add("application");
    document.body.replaceChildren(
      button("skip", () => this.main.focus(), { class: "skip" }),
      element("header", { class: "top" }, toggle, brand(),
        element("span", { class: "who" }, foreign(this.who.name), ` · ${text(`scope_${this.who.scope}`)}`),
        languageSwitch(), button("sign_out", () => mayLeave() && this.signOut())),
      menu, this.main);
  }

  #toggleMenu(open = !this.menu.menu.classList.contains("open")) {
    this.menu.menu.classList.toggle("open", open);
    this.menu.toggle.setAttribute("aria-expanded", String(open));
  }

  /** The agents that this key sees, by name; read again by whoever changes them. */
  async readAgents() {
    this.agents = await this.api.list("/agents");
    for (const agent of this.agents) this.names.set(agent.id, agent.name);
    await this.chat.setAgents(this.agents);
    return this.agents;
  }

  /** Go to an address of this application. */
  async go(path) {
    if (!mayLeave()) return;
    history.pushState(null, "", path);
    await this.#show();
  }

  /** Back and forward; the browser has changed the address already. */
  #moved() {
    if (mayLeave()) this.#show();
    else history.pushState(null, "", this.typedAt);
  }

  #clicked(event) {
    const anchor = event.target.closest?.("a[href]");
    const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
    if (!anchor || !isPlain || anchor.target || anchor.hasAttribute("download") || anchor.origin !== location.origin) return;
    event.preventDefault();
    this.go(anchor.pathname + anchor.search);
  }

  async #show() {
    this.visit += 1;
    const visit = this.visit;
    this.leaving.abort();
    this.leaving = new AbortController();
    this.#toggleMenu(false);
    const found = routeOf(location.pathname);
    for (const [area, each] of this.links) {
      if (area === found?.route.area) each.setAttribute("aria-current", "page");
      else each.removeAttribute("aria-current");
    }
    let shown;
    try {
      shown = await this.#page(found);
    } catch (error) {
      shown = problem(explain(error));
    }
    // Only the page that was asked for last is shown, whichever was ready first.
    if (visit !== this.visit) return;
    this.main.dataset.area = found?.route.area ?? "";
    this.main.replaceChildren(shown);
    this.main.scrollTop = 0;
    this.#showTitle();
    if (visit > 1) this.main.focus();
  }

  async #page(found) {
    if (found === null || !found.route.scopes.includes(this.who.scope)) {
      return element("section", {}, element("h1", {}, text("no_page")), element("p", {}, text("no_page_here")));
    }
    const [module] = await Promise.all([import(found.route.module.replace("../", "./")), loadWords(found.route.area)]);
    return module.default({
      api: this.api,
      who: this.who,
      isOwner: this.who.scope === "owner",
      params: found.params,
      query: new URLSearchParams(location.search),
      agentName: (id) => this.names.get(id) ?? id ?? "",
      readAgents: () => this.readAgents(),
      go: (path) => this.go(path),
      signal: this.leaving.signal,
      chat: this.chat,
      approvals: this.approvals,
    });
  }

  #showCount(waiting) {
    this.waiting = waiting;
    this.count.hidden = waiting === 0;
    this.count.textContent = String(waiting);
    this.count.setAttribute("aria-label", text("waiting_count", { count: waiting }));
    this.#showTitle();
  }

  #showTitle() {
    const title = this.main.querySelector("h1")?.textContent;
    const where = title ? `${title} · ${text("title")}` : text("title");
    document.title = this.waiting > 0 ? `(${this.waiting}) ${where}` : where;
  }
}

/** Call a function a moment later, once for many calls. */
function soon(work, ms = 400) {
  let timer = null;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, ms);
  };
}
