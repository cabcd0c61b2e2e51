/** API keys: who has one, a new one whose secret is shown once, and taking one back. */

import { element, foreign, text, time } from "../lib/elements.js";
import { choice, copyable } from "../lib/parts.js";
import { action, card, field, form, pagedList } from "../lib/widgets.js";
import { frame } from "./frame.js";

const SCOPES = ["chat", "read", "owner"];

/** @param {Page.Context} context */
export default async function page({ api, who, signal }) {
  const list = pagedList(api, "/keys", (key) => row(api, key, who, () => list.refresh()), { empty: "no_keys", signal });
  return frame("/settings/keys", card("part_new_key", creation(api, () => list.refresh())), card("part_keys", list));
}

/** @param {Page.Api} api */
function creation(api, onMade) {
  const name = element("input", { type: "text", id: "key-name", required: true, maxlength: 100, autocomplete: "off" });
  const grants = element("input", { type: "text", id: "key-grants", maxlength: 1500, spellcheck: "false", placeholder: "metrics" });
  const grantsField = field("key_grants", grants, "key_grants_hint");
  const scope = choice(SCOPES.map((each) => [each, text(`key_may_${each}`)]), "chat", show, { id: "key-scope" });
  const secret = element("div", { role: "status" });
  function show() {
    grantsField.hidden = scope.value !== "read";
  }
  show();
  const make = async () => {
    const wanted = grants.value.split(/[\s,]+/).filter(Boolean);
    const body = { name: name.value.trim(), scope: scope.value };
    if (scope.value === "read" && wanted.length > 0) body.grants = wanted;
    const made = await api.post("/keys", body);
    secret.replaceChildren(element("div", { class: "secret" },
      element("p", {}, text("key_secret"), " ", foreign(made.name)), copyable(made.secret, { id: "new-secret" })));
    name.value = "";
    onMade();
  };
  return element("div", {},
    form([field("key_name", name, "key_name_hint"), field("key_scope", scope), grantsField], "key_make", make, { done: "key_made" }), secret);
}

/**
 * @param {Page.Api} api
 * @param {Rest.KeyView} key
 */
function row(api, key, who, onChanged) {
  const isMine = key.id === who.id;
  const revoke = async () => {
    await api.delete(`/keys/${encodeURIComponent(key.id)}`);
    await onChanged();
  };
  const state = key.revoked_at
    ? element("span", { class: "hint" }, text("key_revoked"), " ", time(key.revoked_at))
    : isMine ? element("span", { class: "badge active" }, text("key_mine"))
      : action("key_revoke", revoke, { ask: "key_revoke_question", class: "reject", "aria-label": `${text("key_revoke")}: ${key.name}` });
  return element("li", {},
    element("div", { class: "line" },
      element("span", {}, element("strong", {}, foreign(key.name)), " ", element("span", { class: "badge" }, text(`scope_${key.scope}`))), state),
    element("p", { class: "hint" }, text("key_since"), " ", time(key.created_at),
      key.grants.length ? [" · ", foreign(key.grants.join(", "))] : ""));
}
