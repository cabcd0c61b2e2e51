/** The sessions that a key sees: who takes part, whether they go on, and a form that opens one. */

import { element, foreign, text, time, visibleText } from "../lib/elements.js";
import { field, heading, link } from "../lib/widgets.js";
import { creation } from "./creation.js";
import { SessionList } from "./session_list.js";

/** @param {Page.Context} context */
export default async function page(context) {
  const { query, who } = context;
  const mine = element("input", { type: "checkbox" });
  const list = new SessionList(context.api, row);
  const wanted = query.get("agent") ?? "";
  // The names in the rows are known already, so the list need not wait for the agents.
  const [agents] = await Promise.all([context.readAgents(), list.read({ agent: wanted, mine: false })]);
  const agent = element("select", {}, element("option", { value: "" }, text("sessions_every_agent")),
    agents.map((each) => element("option", { value: each.id }, visibleText(each.name))));
  agent.value = wanted;
  if (agent.value !== wanted) await list.read({ agent: "", mine: false });
  const read = () => list.read({ agent: agent.value, mine: mine.checked });
  for (const each of [agent, mine]) each.addEventListener("change", read);
  return element("section", { id: "view-sessions" },
    heading(text("sessions")),
    who.scope === "read" ? null : creation(context, agents.filter((each) => each.status !== "retired")),
    element("div", { class: "filters" }, field("sessions_agent", agent),
      element("label", { class: "look" }, mine, text("sessions_mine"))),
    list.element);

  function row(session) {
    const names = session.participants.map((each) => context.agentName(each.agent_id));
    return element("li", {},
      element("div", { class: "line" },
        link(`/sessions/${encodeURIComponent(session.id)}`, foreign(session.title || text("sessions_untitled"))),
        element("span", { class: `badge ${session.status}` }, text(session.status === "active" ? "sessions_is_active" : "sessions_ended")),
        element("span", { class: "hint" }, time(session.updated_at))),
      element("div", { class: "hint" }, names.flatMap((name, index) => [index ? ", " : "", foreign(name)]),
        session.theme && session.theme !== session.title ? [" · ", foreign(session.theme)] : null));
  }
}
