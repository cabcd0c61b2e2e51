/** The providers of models: which can be used, what the others lack, and their keys. */

import { button, element, foreign, text, visibleText } from "../lib/elements.js";
import { tick } from "../lib/parts.js";
import { action, card, field, form, reading } from "../lib/widgets.js";
import { frame } from "./frame.js";
import { newProvider, showHealth } from "./new_provider.js";

/** @param {Page.Context} context */
export default async function page({ api, signal }) {
  let names = [];
  const part = reading(() => api.list("/llm/providers"), (all) => {
    names = all.map((each) => each.name);
    const group = (key, found) => (found.length === 0 ? null
      : card(key, element("ul", { class: "agents" }, found.map((each) => new Provider(api, each, () => part.refresh()).element))));
    return [
      group("providers_ready", all.filter(isReady)),
      group("providers_not_ready", all.filter((each) => each.enabled && !isReady(each))),
      group("providers_off", all.filter((each) => !each.enabled)),
    ];
  }, { signal });
  return frame("/settings/providers", element("p", { class: "hint" }, text("providers_hint")),
    newProvider(api, () => names, () => part.refresh()), part);
}

const isReady = (provider) => provider.enabled && provider.ready;

/** One provider; after a change it shows itself again where it is, so that nobody loses their place. */
class Provider {
  /**
   * @param {Page.Api} api
   * @param {Rest.ProviderView} provider
   * @param {() => any} onRemoved
   */
  constructor(api, provider, onRemoved) {
    this.api = api;
    this.onRemoved = onRemoved;
    this.provider = provider;
    /** @type {`/llm/providers/${string}`} */
    this.path = `/llm/providers/${encodeURIComponent(provider.name)}`;
    this.element = element("li", { "data-provider": provider.name });
    this.health = element("div", { role: "status", class: "health" });
    this.show();
  }

  show() {
    const { provider } = this;
    const named = (key) => ({ "aria-label": `${text(key)}: ${provider.name}` });
    const turn = async () => this.#change({ enabled: !provider.enabled });
    this.element.replaceChildren(
      element("div", { class: "line" },
        element("span", {}, element("strong", {}, foreign(provider.name)), " ", this.#badge(),
          provider.default_model ? element("span", { class: "hint" }, " ", foreign(provider.default_model)) : null),
        provider.enabled && !provider.missing ? button("provider_check", () => this.#check(), named("provider_check")) : "",
        provider.enabled
          ? action("provider_off", turn, { ask: "provider_off_question", ...named("provider_off") })
          : action("provider_on", turn, named("provider_on")),
        provider.added
          ? action("provider_remove", () => this.#remove(), { ask: "provider_remove_question", class: "reject", ...named("provider_remove") })
          : ""),
      this.#lack(), this.health, this.#settings());
  }

  #badge() {
    const { provider } = this;
    const state = !provider.enabled ? "off" : provider.ready ? "ready" : provider.missing ? "lacks" : "down";
    return element("span", { class: `badge ${state === "ready" ? "active" : state === "down" ? "waiting" : ""}` }, text(`provider_${state}`));
  }

  #lack() {
    const { missing, problem: trouble, cure, enabled } = this.provider;
    if (!enabled) return "";
    if (missing) return element("p", { class: "hint" }, text("provider_needs"), " ", element("code", {}, visibleText(missing)));
    return trouble ? element("p", { class: "hint" }, visibleText(trouble), element("br"), visibleText(cure)) : "";
  }

  #settings() {
    const { provider } = this;
    const id = (name) => `${name}-${provider.name}`;
    const key = element("input", { type: "password", id: id("key"), autocomplete: "off", spellcheck: "false", maxlength: 8192,
      placeholder: text(provider.has_key ? "provider_key_stored" : "provider_key_none") });
    const address = element("input", { type: "url", id: id("address"), value: provider.base_url, maxlength: 4000, spellcheck: "false" });
    const own = tick("provider_private", provider.private);
    const save = async () => {
      const change = { private: own.input.checked };
      if (address.value !== provider.base_url) change.base_url = address.value;
      // What is typed is sent once and never shown again; an empty field leaves the key as it is.
      if (key.value !== "") change.key = key.value;
      await this.#change(change);
    };
    return element("details", {}, element("summary", {}, text("provider_change")),
      form([field("provider_key", key, "provider_key_hint"), field("provider_address", address), own.element], "save", save));
  }

  async #change(change) {
    this.provider = await this.api.put(this.path, change);
    this.show();
    this.health.className = "health good";
    this.health.replaceChildren(text("saved"));
  }

  async #remove() {
    await this.api.delete(this.path);
    await this.onRemoved();
  }

  #check() {
    return showHealth(this.api, this.provider.name, this.health);
  }
}
