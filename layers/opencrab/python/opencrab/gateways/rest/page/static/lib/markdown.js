/**
 * Simple formatting of Markdown, as elements: paragraphs, headings, lists, quotes, code, bold and
 * italic. Of a link it shows where it leads and of a picture its address, both as text; HTML stays
 * text. Every expression is bounded, so that no text takes more than linear time.
 */

import { button, element, text, visibleText } from "./elements.js";

const MOST_CHARACTERS = 50_000;
// Of one paragraph; the rest is shown as it was written. Browsers take more than linear time to find
// the direction of a text in thousands of pieces.
const MOST_PIECES = 500;
const MARKUP = /^ {0,3}(?:#{1,6} |[-*+] |\d{1,9}[.)] |```|~~~|> |\|)|\*\*[^*\n]|`[^`\n]|\]\(/m;
// Code begins with one word at most, which is shown, and ends with a line of its own: no word of a
// text is lost between its marks. Any other line with these marks is part of a paragraph.
const FENCE = /^ {0,3}(`{3,30}|~{3,30}) ?([\w+#.-]{0,30})\s*$/;
const HEADING = /^ {0,3}#{1,6} +(.*)$/;
const ITEM = /^( {0,12})(?:([-*+])|(\d{1,9})[.)]) +(.*)$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const RULE = /^ {0,3}(?:(?:- ?){3,40}|(?:\* ?){3,40}|(?:_ ?){3,40})$/;
const INLINE = /`([^`\n]{1,500})`|\*\*([^*\n]{1,300})\*\*|\*([^*\s][^*\n]{0,300})\*|(!?)\[([^[\]\n]{0,300})\]\(([^()\s]{1,1000})\)/g;

/** Whether a text has something to format, and is not too long for that. */
export const hasMarkup = (value) => value.length <= MOST_CHARACTERS && MARKUP.test(value);

/** A text with simple formatting and a button that shows it as it is; without markup only the text. */
export function formatted(value) {
  const shown = visibleText(value);
  if (!hasMarkup(shown)) return element("div", { class: "as-written" }, shown);
  const body = element("div", {}, markdown(shown));
  const toggle = button("plain_text", () => {
    const isPlain = toggle.getAttribute("aria-pressed") !== "true";
    toggle.setAttribute("aria-pressed", String(isPlain));
    body.replaceChildren(isPlain ? element("div", { class: "as-written" }, shown) : markdown(shown));
  }, { class: "quiet plain", "aria-pressed": "false" });
  return element("div", {}, body, toggle);
}

/** The blocks of a text whose hidden characters are written out already. */
export function markdown(shown) {
  const made = element("div", { class: "markdown" });
  const lines = shown.split("\n");
  for (let at = 0; at < lines.length;) at = block(lines, at, made);
  return made;
}

/** Append the block that begins at a line, and return the line after it. */
function block(lines, at, made) {
  const line = lines[at];
  if (line.trim() === "") return at + 1;
  const fence = FENCE.exec(line);
  if (fence) {
    const end = endOf(lines, at + 1, (each) => !closes(each, fence[1]));
    if (fence[2]) made.append(element("p", { class: "hint" }, fence[2]));
    made.append(code(lines.slice(at + 1, end)));
    return end + 1;
  }
  if (RULE.test(line)) {
    made.append(element("hr"));
    return at + 1;
  }
  const heading = HEADING.exec(line);
  if (heading) {
    // No heading of the page: what an agent wrote is no part of its outline.
    made.append(element("p", {}, element("strong", {}, inline(heading[1]))));
    return at + 1;
  }
  if (ITEM.test(line)) return list(lines, at, made);
  const isTable = line.startsWith("|");
  if (isTable) {
    const end = endOf(lines, at, (each) => each.startsWith("|"));
    made.append(code(lines.slice(at, end)));
    return end;
  }
  if (QUOTE.test(line)) {
    const end = endOf(lines, at, (each) => QUOTE.test(each));
    made.append(element("blockquote", { dir: "auto" }, inline(lines.slice(at, end).map((each) => QUOTE.exec(each)?.[1] ?? "").join("\n"))));
    return end;
  }
  const end = endOf(lines, at + 1, (each) => each.trim() !== "" && !startsBlock(each));
  made.append(element("p", { dir: "auto" }, inline(lines.slice(at, end).join("\n"))));
  return end;
}

const startsBlock = (line) => FENCE.test(line) || HEADING.test(line) || ITEM.test(line) || QUOTE.test(line) || line.startsWith("|");

function closes(line, opening) {
  const found = FENCE.exec(line);
  return found !== null && found[2] === "" && found[1].startsWith(opening);
}

function endOf(lines, at, holds) {
  let end = at;
  while (end < lines.length && holds(lines[end])) end += 1;
  return end;
}

const code = (lines) => element("pre", { tabindex: 0 }, lines.join("\n"));

/**
 * A list of one kind, with the items below its own and the empty lines between them. How far an item
 * is indented is a class of its own, at most four deep. Each number is the one that was written, but
 * the same number again counts on, as in Markdown.
 */
function list(lines, at, made) {
  const isBulleted = ITEM.exec(lines[at])?.[2] !== undefined;
  const belongs = (found) => found !== null && (found[1].length > 0 || (found[2] !== undefined) === isBulleted);
  const items = element(isBulleted ? "ul" : "ol");
  /** @type {{ written: string, shown: number }[]} */
  let counts = [];
  let end = at;
  for (let next = at; next < lines.length; next = endOf(lines, end, (each) => each.trim() === "")) {
    const found = ITEM.exec(lines[next]);
    if (found === null || !belongs(found)) break;
    const depth = Math.min(3, Math.floor(found[1].length / 2));
    counts = counts.slice(0, depth + 1);
    items.append(item(found, depth, isBulleted, counts));
    end = next + 1;
  }
  made.append(items);
  return end;
}

function item(found, depth, isInBulleted, counts) {
  const [, , bullet, written, words] = found;
  const isBulleted = bullet !== undefined;
  const own = isBulleted ? "bulleted" : "numbered";
  const kinds = [...(depth > 0 ? [`deep-${depth}`] : []), ...(isBulleted === isInBulleted ? [] : [own])];
  const before = counts[depth];
  counts[depth] = isBulleted ? undefined : { written, shown: before?.written === written ? before.shown + 1 : Number(written) };
  return element("li", { dir: "auto", class: kinds.join(" ") || null, value: counts[depth]?.shown }, inline(words));
}

function inline(line) {
  const parts = [];
  let last = 0;
  for (const found of line.matchAll(INLINE)) {
    if (parts.length >= MOST_PIECES) break;
    if (found.index > last) parts.push(line.slice(last, found.index));
    parts.push(...part(found));
    last = found.index + found[0].length;
  }
  parts.push(line.slice(last));
  return parts;
}

function part([whole, written, bold, italic, , name, address]) {
  if (written !== undefined) return [element("code", {}, written)];
  if (bold !== undefined) return [element("strong", {}, bold)];
  if (italic !== undefined) return [element("em", {}, italic)];
  if (address !== undefined) return [name, name ? " " : "", element("code", {}, address)];
  return [whole];
}
