/** The box for a message: what is typed into it stays until the server has accepted it. */

import { button, element, text } from "../lib/elements.js";
import { tab } from "../lib/tab.js";

export class Composer {
  constructor({ onSend, onStop }) {
    this.onSend = onSend;
    this.onStop = onStop;
    this.input = element("textarea", {
      id: "message", rows: 2, maxlength: 20_000, placeholder: text("message_hint"), dir: "auto",
      onkeydown: (event) => this.#pressed(event), oninput: () => this.#typed(),
    });
    this.stopButton = button("stop", onStop, { class: "stop", hidden: true });
    const submit = (event) => {
      event.preventDefault();
      onSend();
    };
    this.element = element("form", { class: "composer", onsubmit: submit },
      element("label", { for: "message", class: "unseen" }, text("message")), this.input,
      element("div", { class: "buttons" }, this.stopButton,
        element("button", { type: "submit", class: "send" }, text("send"))));
  }

  /** Put back what was typed before the page was loaded again, or the key ended. */
  restore() {
    if (this.input.value !== "") return;
    this.input.value = tab.draft;
    this.grow();
  }

  /** Take the words out of the box; they are kept until `accept`. */
  take() {
    const said = this.input.value.trim();
    this.input.value = "";
    this.grow();
    return said;
  }

  /** Forget words that the server has accepted, unless others were typed since. */
  accept(said) {
    if (tab.draft.trim() === said) tab.draft = "";
  }

  grow() {
    this.input.style.height = "auto";
    this.input.style.height = `${Math.min(this.input.scrollHeight + 2, innerHeight / 3)}px`;
  }

  #typed() {
    tab.draft = this.input.value;
    this.grow();
  }

  #pressed(event) {
    // An input method uses Enter to choose characters; that must not send.
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.onSend();
    }
    if (event.key === "Escape" && !this.stopButton.hidden) this.onStop();
  }
}
