/** What differs between two texts, line by line. */

import { element, text, visibleText } from "../lib/elements.js";

const MOST_CELLS = 4_000_000;
const AROUND = 3;

/** Elements of the lines that were added and removed, with a few that stayed around them. */
export function difference(before, after) {
  const lines = compared(before.split("\n"), after.split("\n"));
  if (lines.every(([mark]) => mark === " ")) return [text("workspace_same")];
  const isNear = near(lines);
  const shown = [];
  for (const [index, [mark, line]] of lines.entries()) {
    if (!isNear[index]) {
      if (isNear[index - 1] || index === 0) shown.push(element("span", { class: "hint" }, "⋯\n"));
      continue;
    }
    const name = { "+": "ins", "-": "del" }[mark] ?? "span";
    shown.push(element(name, {}, `${mark} ${visibleText(line)}`), "\n");
  }
  return shown;
}

function near(lines) {
  const found = lines.map(() => false);
  for (const [index, [mark]] of lines.entries()) {
    if (mark === " ") continue;
    for (let each = Math.max(0, index - AROUND); each <= Math.min(lines.length - 1, index + AROUND); each += 1) found[each] = true;
  }
  return found;
}

/** Each line with "+", "-" or " ": what both have in common is as long as possible. */
function compared(before, after) {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < Math.min(before.length, after.length) - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const [old, fresh] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  const same = (lines) => lines.map((line) => [" ", line]);
  return [...same(before.slice(0, start)), ...changed(old, fresh), ...same(before.slice(before.length - end))];
}

function changed(old, fresh) {
  // Of very long texts all that lies between is told as removed and added.
  if (old.length * fresh.length > MOST_CELLS) return [...old.map((line) => ["-", line]), ...fresh.map((line) => ["+", line])];
  const width = fresh.length + 1;
  const longest = new Uint32Array((old.length + 1) * width);
  for (let row = old.length - 1; row >= 0; row -= 1) {
    for (let column = fresh.length - 1; column >= 0; column -= 1) {
      const at = row * width + column;
      longest[at] = old[row] === fresh[column] ? longest[at + width + 1] + 1 : Math.max(longest[at + width], longest[at + 1]);
    }
  }
  const found = [];
  let [row, column] = [0, 0];
  while (row < old.length || column < fresh.length) {
    const at = row * width + column;
    if (row < old.length && column < fresh.length && old[row] === fresh[column]) {
      found.push([" ", old[row]]);
      row += 1;
      column += 1;
    } else if (row < old.length && (column === fresh.length || longest[at + width] >= longest[at + 1])) {
      found.push(["-", old[row]]);
      row += 1;
    } else {
      found.push(["+", fresh[column]]);
      column += 1;
    }
  }
  return found;
}
