/** Elements made from text: nothing in this page parses HTML, so no text can become a script. */

const words = {};
const loaded = new Set();
/** @type {Rest.Language} */
let language = "en";

/** Load the texts of an area; the chosen language comes first, then the one that the server chose. */
export async function loadWords(area) {
  if (loaded.has(area)) return;
  loaded.add(area);
  const answer = await fetch(new URL(`../words/${area}.json`, import.meta.url));
  Object.assign(words, await answer.json());
  language = storedLanguage() ?? /** @type {Rest.Language} */ (document.documentElement.lang);
  document.documentElement.lang = language;
}

/** The text of a key in the chosen language, with its `{values}` filled in. */
export function text(key, values = {}) {
  const found = words[key]?.[language] ?? key;
  return found.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}

/** Whether there is a text for a key. */
export const hasText = (key) => key in words;

export const currentLanguage = () => language;

/** The lines of a text as one: Japanese has no space between them. */
export const joinLines = (lines) => lines.join(language === "ja" ? "" : " ");

/** Remember the language for this browser; it is no secret, unlike the key. */
export function storeLanguage(chosen) {
  try {
    localStorage.setItem("opencrab.language", chosen);
  } catch {
    // Storage may be switched off; then the browser's language decides again.
  }
}

function storedLanguage() {
  try {
    const stored = localStorage.getItem("opencrab.language");
    return stored === "en" || stored === "ja" ? stored : null;
  } catch {
    return null;
  }
}

/**
 * Make an element. Attributes that begin with "on" are listeners; a child that is a string becomes
 * a text node, and null is left out.
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** A text from outside, kept apart from the direction of what is around it. */
export const foreign = (value) => element("bdi", {}, visibleLine(value));

/** One line of text in which control and direction characters are written as ⟨U+202E⟩. */
export function visibleLine(value) {
  return String(value ?? "").replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, codePoint);
}

/** A text with its line feeds and emoji, in which characters that reorder or hide are written out. */
export function visibleText(value) {
  return String(value ?? "").replace(/\r\n?/g, "\n")
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e001f}]/gu, codePoint);
}

function codePoint(character) {
  return `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** A button with a text. */
export function button(key, onclick, attributes = {}) {
  return element("button", { type: "button", onclick, ...attributes }, text(key));
}

/** @type {Record<string, Intl.DateTimeFormatOptions>} */
const FORMS = {
  full: { dateStyle: "medium", timeStyle: "medium" },
  today: { hour: "2-digit", minute: "2-digit" },
  earlier: { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" },
};
const formats = new Map();

/** Making a format takes longer than using it, so each is made once. */
function format(form) {
  const key = `${language} ${form}`;
  if (!formats.has(key)) formats.set(key, new Intl.DateTimeFormat(language, FORMS[form]));
  return formats.get(key);
}

/** A time in the reader's own zone; the full one is its title. */
export function time(iso) {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return element("time", {}, visibleLine(iso));
  const isToday = at.toDateString() === new Date().toDateString();
  return element("time", { datetime: iso, title: format("full").format(at) }, format(isToday ? "today" : "earlier").format(at));
}

/** An amount of micro-dollars, with as many digits as it needs. */
export function dollars(micro) {
  const small = micro !== 0 && Math.abs(micro) < 10_000;
  const digits = { minimumFractionDigits: small ? 4 : 2, maximumFractionDigits: small ? 6 : 2 };
  return `$${(micro / 1_000_000).toLocaleString(language, digits)}`;
}

/** An error with what to do about it, as an alert. */
export function problem(error) {
  const cure = error.cure ? element("p", { class: "cure" }, visibleText(error.cure)) : null;
  return element(
    "div",
    { class: "problem", role: "alert" },
    element("p", {}, visibleText(error.message)),
    cure,
  );
}
