/** What was typed and is not saved yet: whoever would leave it is asked once. */

import { text } from "./elements.js";

const forms = new Set();

/** The inputs of a form beside what they held when they were read or saved. */
export class Unsaved {
  constructor(inputs) {
    this.inputs = inputs;
    this.keep();
    forms.add(this);
  }

  /** What the inputs hold now is no loss: it is saved, or somebody gives it up. */
  keep() {
    this.before = this.#now();
  }

  /** Whether somebody would lose something; what is no longer on the page is lost already. */
  get isThere() {
    return this.inputs[0].isConnected && this.#now() !== this.before;
  }

  #now() {
    return JSON.stringify(this.inputs.map((input) => input.value));
  }
}

/** Whether a part of the page may go: at once if all is saved, or else if the person says so. */
export function mayLeave(part = document.body) {
  for (const each of forms) if (!each.inputs[0].isConnected) forms.delete(each);
  const lost = [...forms].filter((each) => each.isThere && part.contains(each.inputs[0]));
  if (lost.length === 0) return true;
  if (!confirm(text("unsaved_question"))) return false;
  for (const each of lost) each.keep();
  return true;
}

addEventListener("beforeunload", (event) => {
  if ([...forms].some((each) => each.isThere)) event.preventDefault();
});
