/** What an agent can be created from: presets, and character cards in JSON or PNG. */

import { Problem, explain, newId } from "../lib/api.js";
import { element, foreign, problem, text, visibleText } from "../lib/elements.js";
import { action, field } from "../lib/widgets.js";

const MOST_BYTES = 10_000_000;
const TAKEN = ["name", "description", "personality", "scenario", "mes_example"];

/**
 * A choice of a preset or a card; `use(agent)` gets its settings, null for none. A card is read for an
 * agent of the language that is chosen then; `reread()` reads it again for another, and what was typed meanwhile stays.
 */
export function templates(api, language, use) {
  const presets = element("select", { id: "field-agent_preset" }, element("option", { value: "" }, text("no_preset")));
  const file = element("input", { type: "file", accept: ".json,.png,application/json,image/png" });
  const shown = element("div", { role: "status" });
  let found = [];
  const take = (agent, cut = [], isAgain = false) => {
    use(agent, isAgain);
    shown.replaceChildren(...traitsOf(agent, cut));
  };
  presets.addEventListener("change", () => {
    file.value = "";
    take(found.find((each) => each.key === presets.value)?.agent ?? null);
  });
  file.addEventListener("change", async () => {
    if (file.files.length === 0) return;
    presets.value = "";
    await readCard();
  });
  const readCard = async (isAgain = false) => {
    try {
      const card = await cardOf(file.files[0]);
      const { agent, cut } = await api.post("/presets/card", card, newId(), null, language());
      take(agent, cut, isAgain);
    } catch (error) {
      use(null);
      shown.replaceChildren(problem(error instanceof NotACard ? error : explain(error)));
    }
  };
  const reread = () => (file.files.length > 0 ? readCard(true) : null);
  const load = async () => {
    if (found.length > 0) return;
    ({ presets: found } = await api.get("/presets").catch(() => ({ presets: [] })));
    presets.append(...found.map((each) => element("option", { value: each.key }, visibleText(`${each.agent.name} – ${each.title}`))));
  };
  return { load, reread, element: element("div", {}, element("div", { class: "filters" },
    field("agent_preset", presets), field("agent_card", file, "agent_card_hint")), shown) };
}

/** What a card says of its character, to be read before the agent is created. */
function traitsOf(agent, cut) {
  const traits = Object.entries(agent?.soul?.custom_traits ?? {});
  if (traits.length === 0) return [];
  return [element("details", {}, element("summary", {}, text("card_traits")),
    cut.length > 0 ? element("p", { class: "hint" }, text("card_cut", { parts: cut.join(", ") })) : null,
    traits.map(([name, said]) => element("p", { class: "prose", dir: "auto" }, element("strong", {}, foreign(name)), " ", visibleText(said))))];
}

/** A button that creates the first population; those that are there already stay as they are. */
export function population(api, onCreated) {
  return action("create_founders", async () => {
    const { presets } = await api.get("/presets");
    for (const each of presets.filter((preset) => preset.is_founder)) {
      // The id is that of `opencrab admin seed population`, so that nobody creates them twice.
      await api.post("/agents", each.agent, `seed-${each.key}-`).catch((error) => {
        if (!(error instanceof Problem && error.status === 409)) throw error;
      });
    }
    await onCreated();
  }, { ask: "create_founders_question" });
}

class NotACard extends Error {
  constructor() {
    super(text("no_card"));
  }
}

/** The texts of a card: JSON of its own, or in base64 in a PNG's text `ccv3` or `chara`. */
async function cardOf(file) {
  try {
    if (file.size > MOST_BYTES) throw new NotACard();
    const bytes = new Uint8Array(await file.arrayBuffer());
    const isPng = bytes[0] === 0x89 && bytes[1] === 0x50;
    const card = JSON.parse(new TextDecoder().decode(isPng ? textOfPng(bytes) : bytes));
    // Pictures and lore are not sent.
    const texts = (from) => Object.fromEntries(TAKEN.filter((name) => typeof from[name] === "string").map((name) => [name, from[name]]));
    return texts(card.data ?? card);
  } catch {
    throw new NotACard();
  }
}

function textOfPng(bytes) {
  const view = new DataView(bytes.buffer);
  const found = {};
  for (let at = 8; at + 12 <= bytes.length;) {
    const length = view.getUint32(at);
    const data = bytes.subarray(at + 8, at + 8 + length);
    const end = data.indexOf(0);
    if (latin(bytes.subarray(at + 4, at + 8)) === "tEXt" && end > 0) found[latin(data.subarray(0, end))] = latin(data.subarray(end + 1));
    at += 12 + length;
  }
  return Uint8Array.from(atob(found.ccv3 ?? found.chara), (character) => character.charCodeAt(0));
}

const latin = (bytes) => new TextDecoder("latin1").decode(bytes);
