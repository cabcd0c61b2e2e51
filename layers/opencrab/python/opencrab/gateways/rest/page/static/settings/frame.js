/** What the pages of the settings have in common: their title and the way between them. */

import { element, text } from "../lib/elements.js";
import { subpages } from "../lib/parts.js";
import { heading } from "../lib/widgets.js";

const PAGES = [
  ["/settings", "settings_installation"],
  ["/settings/providers", "settings_providers"],
  ["/settings/models", "settings_models"],
  ["/settings/agents", "settings_agents"],
  ["/settings/budgets", "settings_budgets"],
  ["/settings/keys", "settings_keys"],
  ["/settings/worlds", "settings_worlds"],
  ["/settings/discord", "settings_discord"],
  ["/settings/values", "settings_values"],
];

export function frame(path, ...content) {
  const title = PAGES.find(([each]) => each === path)?.[1] ?? "settings";
  return element("section", { class: "settings" },
    heading(text(title)), subpages("settings", PAGES, path), content.flat(Infinity));
}
