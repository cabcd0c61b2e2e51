/** The page: signing in with a key, and the three views behind it. */

import { Api, explain } from "./api.js";
import { Approvals } from "./approvals.js";
import { Chat } from "./chat.js";
import { button, currentLanguage, element, foreign, loadWords, problem, storeLanguage, text } from "./elements.js";
import { Overview } from "./overview.js";
import { tab } from "./tab.js";

const REFRESH_MS = 30_000;
const VIEWS = ["chat", "approvals", "overview"];

await loadWords();
document.title = text("title");
const key = tab.key;
if (key === null) showSignIn();
else await signIn(key, false);

/** The key stays in this tab: not in the address, not on the disk, and gone when the tab closes. */
async function signIn(secret, isTyped) {
  const api = new Api(secret, () => signOut("key_refused"));
  try {
    const who = await new Api(secret).get("/keys/current");
    if (isTyped) tab.key = secret;
    await showPage(api, who);
  } catch (error) {
    if (!error.isOfKey) return showSignIn(explain(error), isTyped ? "" : secret);
    tab.clear();
    showSignIn(Object.assign(new Error(text("key_refused")), { cure: text("key_refused_cure") }));
  }
  return undefined;
}

function signOut(why = "") {
  tab.close(why);
  // Whatever was shown or is in memory goes with the document.
  location.replace("/");
}

function languageSwitch() {
  const other = currentLanguage() === "ja" ? "en" : "ja";
  const change = () => {
    storeLanguage(other);
    location.reload();
  };
  return element("button", { type: "button", class: "language", lang: other, onclick: change }, { en: "English", ja: "日本語" }[other]);
}

function brand() {
  const icon = element("img", { src: new URL("icon.svg", import.meta.url).href, alt: "", width: 28, height: 28 });
  return element("span", { class: "brand" }, icon, "OpenCrab");
}

function showSignIn(error = null, secret = "") {
  const notice = tab.takeNotice();
  const input = element("input", {
    type: "password", id: "key", required: true, autocomplete: "off", spellcheck: "false",
    autocapitalize: "off", maxlength: 500, "aria-describedby": "key-hint",
  });
  const submit = element("button", { type: "submit", class: "send" }, text("sign_in"));
  const signInWithKey = async (event) => {
    event.preventDefault();
    submit.disabled = true;
    await signIn(input.value.trim(), true);
  };
  const command = (words, line) => [element("dt", {}, text(words)), element("dd", {}, element("code", {}, line))];
  document.body.replaceChildren(
    element("header", { class: "top" }, brand(), languageSwitch()),
    element("main", { class: "sign-in" },
      element("h1", {}, text("sign_in")),
      element("p", {}, text("what_it_is")),
      error ? problem(error) : notice ? problem(new Error(text(notice))) : "",
      element("form", { onsubmit: signInWithKey },
        element("label", { for: "key" }, text("api_key")), input,
        element("p", { class: "hint", id: "key-hint" }, text("key_stays")), submit),
      element("h2", {}, text("where_is_my_key")),
      element("dl", {},
        command("key_here", "cat data/owner.key"),
        command("key_aws", "cat ~/.opencrab/STAGE-ACCOUNT-REGION.key"),
        command("key_other", "opencrab admin keys create NAME --scope chat"))));
  input.value = secret;
  input.focus();
}

async function showPage(api, who) {
  const names = new Map();
  const agentName = (id) => names.get(id) ?? id ?? "";
  const count = element("span", { class: "count", hidden: true });
  const approvals = new Approvals(api, { agentName, onCount: (waiting) => showCount(count, waiting) });
  const chat = new Chat(api, { who, agentName, approvals, onTurnEnded: soon(refresh) });
  const overview = new Overview(api, {
    who,
    onAgents: async (agents) => {
      for (const agent of agents) names.set(agent.id, agent.name);
      await chat.setAgents(agents);
    },
    onTalk: async (agentId) => {
      await chat.choose(agentId);
      location.hash = "#chat";
    },
  });
  async function refresh() {
    // The names of agents come with the overview.
    if (names.size === 0 || !overview.element.hidden) await overview.refresh();
    await approvals.refresh();
  }
  const views = { chat, approvals, overview };
  const main = element("main", { tabindex: -1 }, Object.values(views).map((view) => view.element));
  const links = Object.fromEntries(VIEWS.map((name) => [name, element("a", { href: `#${name}` }, text(name))]));
  links.approvals.append(count);
  document.body.replaceChildren(
    button("skip", () => main.focus(), { class: "skip" }),
    element("header", { class: "top" }, brand(),
      element("nav", { "aria-label": text("views") }, Object.values(links)),
      element("span", { class: "who" }, foreign(who.name), ` · ${text(`scope_${who.scope}`)}`),
      languageSwitch(), button("sign_out", () => signOut())),
    main);
  showView(views, links);
  addEventListener("hashchange", () => {
    showView(views, links);
    refresh();
  });
  await refresh();
  if (names.size === 0) location.hash = "#overview";
  setInterval(() => document.visibilityState === "visible" && refresh(), REFRESH_MS);
}

function showView(views, links) {
  const wanted = location.hash.slice(1);
  const name = VIEWS.includes(wanted) ? wanted : "chat";
  for (const each of VIEWS) {
    views[each].element.hidden = each !== name;
    if (each === name) links[each].setAttribute("aria-current", "page");
    else links[each].removeAttribute("aria-current");
  }
}

function showCount(count, waiting) {
  count.hidden = waiting === 0;
  count.textContent = String(waiting);
  count.setAttribute("aria-label", text("waiting_count", { count: waiting }));
  document.title = waiting > 0 ? `(${waiting}) ${text("title")}` : text("title");
}

/** Call a function a moment later, once for many calls. */
function soon(work, ms = 400) {
  let timer = null;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, ms);
  };
}
