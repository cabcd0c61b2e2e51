/** The page of one agent's skills. */

import { agentHead, agentPath } from "../agents/badge.js";
import { element } from "../lib/elements.js";
import { SkillList } from "./list.js";

/** @param {Page.Context} context */
export default async function page(context) {
  const agent = await context.api.get(agentPath(context.params.id));
  const list = new SkillList(context, agent.id);
  await list.refresh();
  return element("section", {}, agentHead(agent, "", "/skills", context.who.scope), list.element);
}
