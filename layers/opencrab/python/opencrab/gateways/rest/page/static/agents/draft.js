/** A draft of a persona beside what is stored: what differs, and how to put it back. */

export class Draft {
  constructor(stored) {
    this.listeners = [];
    this.load(stored);
  }

  /** Begin again with what is stored now. */
  load(stored) {
    this.stored = stored;
    this.values = structuredClone(stored);
    this.#tell();
  }

  onChange(listener) {
    this.listeners.push(listener);
  }

  get(path) {
    return valueAt(this.values, path);
  }

  before(path) {
    return valueAt(this.stored, path);
  }

  set(path, value) {
    const parts = path.split(".");
    const last = parts.pop();
    valueAt(this.values, parts.join("."))[last] = value;
    this.#tell();
  }

  /** Whether a part differs from what is stored. */
  hasChanged(path) {
    return JSON.stringify(this.get(path)) !== JSON.stringify(this.before(path));
  }

  #tell() {
    for (const listener of this.listeners) listener();
  }
}

const valueAt = (values, path) => (path === "" ? values : path.split(".").reduce((found, part) => found?.[part], values));
