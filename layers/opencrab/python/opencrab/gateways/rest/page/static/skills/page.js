/** The skills of all agents: one agent at a time, chosen here or by the address. */

import { element, text, visibleText } from "../lib/elements.js";
import { mayLeave } from "../lib/unsaved.js";
import { card, field, heading } from "../lib/widgets.js";
import { SkillList } from "./list.js";
import { overview } from "./overview.js";

/** @param {Page.Context} context */
export default async function page(context) {
  const agents = (await context.readAgents()).filter((agent) => agent.status !== "retired");
  const shown = element("div");
  const choice = element("select", { id: "skills-of", onchange: () => show() },
    element("option", { value: "" }, text("every_agent")), agents.map((agent) => element("option", { value: agent.id }, visibleText(agent.name))));
  const wanted = context.query.get("agent");
  if (agents.some((agent) => agent.id === wanted)) choice.value = wanted;
  else if (agents.length === 1) choice.value = agents[0].id;
  let last = choice.value;
  async function show() {
    if (!mayLeave(shown)) {
      choice.value = last;
      return;
    }
    last = choice.value;
    const mine = choice.value;
    if (mine === "") {
      shown.replaceChildren(card("skills_of_all", overview(context, agents)));
      history.replaceState(null, "", "/skills");
      return;
    }
    const list = new SkillList(context, mine);
    await list.refresh();
    if (mine !== choice.value) return;
    shown.replaceChildren(list.element);
    history.replaceState(null, "", `/skills?agent=${encodeURIComponent(mine)}`);
  }
  if (agents.length > 0) await show();
  else shown.append(element("p", { class: "empty" }, text("no_agent_with_skills")));
  return element("section", {}, heading(text("skills")), element("p", { class: "hint" }, text("skills_hint")),
    agents.length > 0 ? field("skills_of", choice) : null, shown);
}
