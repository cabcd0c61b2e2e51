/** The page of what waits for a decision, with what is allowed without asking and what was decided. */

import { element, foreign, text, time, visibleText } from "../lib/elements.js";
import { card, pagedList } from "../lib/widgets.js";
import { grants } from "./grants.js";

/** @param {Page.Context} context */
export default async function page(context) {
  const { api, agentName, approvals, who, readAgents, signal } = context;
  const [agents] = await Promise.all([who.scope === "chat" ? [] : readAgents(), approvals.refresh()]);
  const decided = pagedList(api, "/approvals?state=decided", (each) => decidedRow(each, agentName, approvals),
    { empty: "nothing_decided", size: 20, signal });
  approvals.element.addEventListener("decided", () => decided.refresh(), { signal });
  return element("div", { class: "inbox" },
    approvals.element,
    who.scope === "chat" ? null : card("part_grants", grants(context, agents)),
    card("part_decided", decided));
}

/**
 * A decided call in one line; the whole call is read when somebody opens it.
 * @param {Rest.OpenedView} approval
 */
function decidedRow(approval, agentName, approvals) {
  const by = approval.decided_at ? time(approval.decided_at) : "";
  const whole = element("div");
  const open = (event) => {
    if (event.target.open && whole.childElementCount === 0) whole.append(approvals.card(approval.id).element);
  };
  return element("li", {}, element("details", { class: "decided", ontoggle: open },
    element("summary", {},
      element("span", { class: `badge ${approval.state === "approved" ? "active" : ""}` }, text(`decided_${approval.state}`)), " ",
      element("strong", {}, foreign(agentName(approval.agent_id))), " ", element("bdi", {}, visibleText(approval.what)), " ", by),
    whole));
}
