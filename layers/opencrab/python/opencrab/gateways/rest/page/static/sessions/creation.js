/** The form that opens a conversation or a discussion. */

import { newId } from "../lib/api.js";
import { element, foreign, text, visibleText } from "../lib/elements.js";
import { field, form } from "../lib/widgets.js";

const MICRO = 1_000_000;

/** @param {Page.Context} context */
export function creation({ api, go }, agents) {
  if (agents.length === 0) return element("p", { class: "empty" }, text("sessions_no_agents"));
  const boxes = agents.map((agent) => element("input", { type: "checkbox", value: agent.id }));
  const choice = element("fieldset", { class: "choice" }, element("legend", {}, text("sessions_participants")),
    agents.map((agent, index) => element("label", { class: "look" }, boxes[index], foreign(agent.name))));
  const theme = element("input", { type: "text", maxlength: 500, autocomplete: "off" });
  const name = element("input", { type: "text", maxlength: 100, autocomplete: "off" });
  const facilitator = element("select");
  const limit = (most) => element("input", { type: "number", min: 1, max: most, inputmode: "numeric" });
  const [turns, hops, quorum] = [limit(1_000_000), limit(50), limit(20)];
  const budget = element("input", { type: "number", min: 0.000001, step: "any", inputmode: "decimal" });
  const chosen = () => boxes.filter((each) => each.checked).map((each) => each.value);
  const showFacilitators = () => {
    const before = facilitator.value;
    const options = agents.filter((agent) => chosen().includes(agent.id))
      .map((agent) => element("option", { value: agent.id }, visibleText(agent.name)));
    facilitator.replaceChildren(element("option", { value: "" }, text("sessions_no_facilitator")), ...options);
    if (chosen().includes(before)) facilitator.value = before;
    discussion.hidden = chosen().length < 2;
  };
  choice.addEventListener("change", showFacilitators);
  const discussion = element("div", { class: "grid" },
    field("sessions_facilitator", facilitator, "sessions_facilitator_hint"), field("sessions_hop_limit", hops, "sessions_hop_limit_hint"),
    field("sessions_quorum", quorum, "sessions_quorum_hint"));
  let sent = { body: "", id: "" };
  const save = async () => {
    if (chosen().length === 0) throw Object.assign(new Error(text("sessions_choose")), { status: 0 });
    const body = bodyOf({ participants: chosen(), theme, name, facilitator, turns, hops, quorum, budget });
    const written = JSON.stringify(body);
    if (sent.body !== written) sent = { body: written, id: newId() };
    const session = await api.post("/sessions", body, sent.id);
    await go(`/sessions/${encodeURIComponent(session.id)}`);
  };
  showFacilitators();
  const more = element("details", {}, element("summary", {}, text("sessions_limits")),
    element("div", { class: "grid" }, field("sessions_name", name), field("sessions_max_turns", turns, "sessions_max_turns_hint"),
      field("sessions_budget", budget, "sessions_budget_hint")), discussion);
  return element("details", { class: "card creation-form" }, element("summary", {}, text("sessions_create")),
    form([choice, field("sessions_theme", theme, "sessions_theme_hint"), more], "sessions_open", save));
}

function bodyOf({ participants, theme, name, facilitator, turns, hops, quorum, budget }) {
  const isTalk = participants.length > 1;
  const number = (input) => (input.value === "" ? null : Number(input.value));
  const body = {
    participants,
    theme: theme.value.trim(),
    name: name.value.trim() || null,
    max_turns: number(turns),
    budget_micro_usd: budget.value === "" ? null : Math.round(Number(budget.value) * MICRO),
  };
  if (!isTalk) return body;
  return { ...body, facilitator_id: facilitator.value || null, hop_limit: number(hops), quorum: number(quorum) };
}
