/** Signing in with a key; behind it is the application. */

import { Api, explain } from "./lib/api.js";
import { element, loadWords, problem, text } from "./lib/elements.js";
import { isSignInLink, keyOfCode, takeCode } from "./lib/sign_in.js";
import { tab } from "./lib/tab.js";
import { brand, languageSwitch, showApplication } from "./shell.js";

const code = takeCode();
// A link that is opened in a tab of this page changes only what is behind the #.
addEventListener("hashchange", () => isSignInLink() && location.reload());
await loadWords("common");
document.title = text("title");
await begin();

/** Sign in with the link, or else with the key that this tab has. */
async function begin() {
  let refused = null;
  if (code !== null) {
    try {
      return await signIn(await keyOfCode(code), true);
    } catch (/** @type {any} */ error) {
      refused = explain(error);
    }
  }
  if (tab.key === null) return showSignIn(refused);
  return signIn(tab.key, false);
}

/** The key stays in this tab: not in the address, not on the disk, and gone when the tab closes. */
async function signIn(secret, isTyped) {
  const api = new Api(secret, () => signOut("key_refused"));
  try {
    const who = await new Api(secret).get("/keys/current");
    if (isTyped) tab.key = secret;
    await showApplication(api, who, signOut);
  } catch (/** @type {any} */ error) {
    if (!error.isOfKey) return showSignIn(explain(error), isTyped ? "" : secret);
    tab.clear();
    showSignIn(Object.assign(new Error(text("key_refused")), { cure: text("key_refused_cure") }));
  }
  return undefined;
}

function signOut(why = "") {
  tab.close(why);
  // Whatever was shown or is in memory goes with the document; its address stays.
  location.reload();
}

function showSignIn(/** @type {any} */ error = null, secret = "") {
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
        command("key_link", "opencrab open"),
        command("key_here", "cat ~/.local/share/opencrab/owner.key"),
        command("key_aws", "cat ~/.opencrab/STAGE-ACCOUNT-REGION.key"),
        command("key_other", "opencrab admin keys create --name NAME --scope chat"))));
  input.value = secret;
  input.focus();
}
