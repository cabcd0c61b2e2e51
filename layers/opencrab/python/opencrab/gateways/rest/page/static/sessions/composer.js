/** The boxes in which people speak to a session, and guide its agents. */

import { explain, newId } from "../lib/api.js";
import { element, problem, text } from "../lib/elements.js";
import { field } from "../lib/widgets.js";

/** A box whose text is sent once; it stays when that fails. */
function box(input, submit, send, onSent) {
  const said = element("div", { role: "status" });
  let sent = { text: "", id: "" };
  const onsubmit = async (event) => {
    event.preventDefault();
    const written = input.value.trim();
    if (!written || submit.disabled) return;
    if (sent.text !== written) sent = { text: written, id: newId() };
    submit.disabled = true;
    try {
      await send(written, sent.id);
      input.value = "";
      sent = { text: "", id: "" };
      said.replaceChildren();
      onSent(said);
    } catch (error) {
      said.replaceChildren(problem(explain(error)));
    }
    submit.disabled = false;
  };
  return { onsubmit, said };
}

/** @param {Page.Api} api */
export function messageBox(api, path, onSent) {
  const input = element("textarea", {
    id: "session-message", rows: 2, maxlength: 20_000, dir: "auto", placeholder: text("sessions_message_hint"),
    onkeydown: (event) => pressed(event),
  });
  const submit = element("button", { type: "submit", class: "send" }, text("send"));
  const { onsubmit, said } = box(input, submit, (written, id) => api.post(`${path}/messages`, { text: written }, id), onSent);
  return element("form", { class: "composer", onsubmit },
    element("label", { for: "session-message", class: "unseen" }, text("message")), input,
    element("div", { class: "buttons" }, submit), said);
}

function pressed(event) {
  // An input method uses Enter to choose characters; that must not send.
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  event.target.form.requestSubmit();
}

/**
 * What an owner tells the agents alone.
 * @param {Page.Api} api
 */
export function guidance(api, path) {
  const input = element("textarea", { id: "session-guidance", rows: 2, maxlength: 20_000, dir: "auto" });
  const submit = element("button", { type: "submit" }, text("sessions_guide"));
  const { onsubmit, said } = box(input, submit, (written, id) => api.post(`${path}/mentor`, { text: written }, id),
    (place) => place.replaceChildren(element("p", { class: "good" }, text("sessions_guided"))));
  return element("details", { class: "guide" }, element("summary", {}, text("sessions_mentor")),
    element("form", { onsubmit }, field("sessions_guidance", input, "sessions_guidance_hint"), submit, said));
}
