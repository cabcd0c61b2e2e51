/** Files as a tree of folders that can be folded. */

import { element, foreign, text } from "../lib/elements.js";

const OPEN_UP_TO = 30;

/** A tree of `{path, size}`; `onChosen(path)` when a file is chosen. */
export function tree(files, chosen, onChosen) {
  /** @type {{ folders: Map<string, any>, files: any[] }} */
  const root = { folders: new Map(), files: [] };
  for (const file of files) {
    const parts = file.path.split("/");
    let folder = root;
    for (const part of parts.slice(0, -1)) {
      if (!folder.folders.has(part)) folder.folders.set(part, { folders: new Map(), files: [] });
      folder = folder.folders.get(part);
    }
    folder.files.push({ ...file, name: parts.at(-1) });
  }
  return branch(root, "", { chosen, onChosen, isOpen: files.length <= OPEN_UP_TO });
}

function branch(folder, prefix, options) {
  const folders = [...folder.folders].map(([name, inner]) => {
    const path = `${prefix}${name}/`;
    const open = options.isOpen || (options.chosen ?? "").startsWith(path);
    const made = element("details", { open }, element("summary", {}, foreign(name), "/"));
    const fill = () => made.open && made.childElementCount === 1 && made.append(branch(inner, path, options));
    // What is folded is made when somebody opens it.
    made.addEventListener("toggle", fill);
    fill();
    return element("li", {}, made);
  });
  const files = folder.files.map((file) => element("li", {}, element("button", {
    type: "button", class: "entry", "data-path": file.path, "aria-current": file.path === options.chosen ? "true" : null,
    onclick: () => options.onChosen(file.path),
  }, foreign(file.name), " ", element("span", { class: "hint" }, size(file.size)))));
  return element("ul", {}, folders, files);
}

/** A number of bytes that people can read. */
export function size(bytes) {
  if (bytes < 1_000) return text("workspace_bytes", { bytes });
  const [amount, unit] = bytes < 1_000_000 ? [bytes / 1_000, "kB"] : [bytes / 1_000_000, "MB"];
  return `${amount.toFixed(1)} ${unit}`;
}
