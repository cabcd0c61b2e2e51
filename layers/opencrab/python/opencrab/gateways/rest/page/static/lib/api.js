/** The REST API, called with the key that was typed in: the page has no other way to any data. */

import { currentLanguage, hasText, text } from "./elements.js";
import { parseEvents } from "./events.js";

/** What happened; where the API has not said it in the page's language, its kind in that and the API's own words. */
function said(status, body, language) {
  const told = body.detail ?? body.title ?? body.message ?? text("http_error", { status });
  const kind = `problem_${body.code}`;
  return currentLanguage() === language || !hasText(kind) ? told : text(kind, { told });
}

/** An error as the API tells it: what happened, and what to do about it. */
export class Problem extends Error {
  constructor(status, body, language = "en") {
    super(said(status, body, language));
    this.status = status;
    this.code = body.code ?? "";
    this.cure = body.cure ?? "";
    this.isOfGateway = body.code === undefined && body.message !== undefined;
  }

  /**
   * Whether the key itself is not accepted. API Gateway says so with a message alone; an answer whose
   * body was cut off, as by leaving the page, says nothing about the key.
   */
  get isOfKey() {
    return this.status === 401 || (this.status === 403 && this.isOfGateway);
  }
}

/** An id for a change, so that sending it again does not do it twice. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The header of a change to what was read: a version's number, or an ETag as it came. */
function ifMatch(version) {
  if (version === null) return {};
  return { "If-Match": String(version).startsWith('"') ? version : `"${version}"` };
}

export class Api {
  #key;
  #onRefusedKey;

  constructor(key, onRefusedKey = (/** @type {Problem} */ _found) => {}) {
    this.#key = key;
    this.#onRefusedKey = onRefusedKey;
  }

  /**
   * Read. Types of what a path takes and answers come from the API's own description.
   * @template {string} P
   * @param {P} path
   * @returns {Promise<Rest.Answer<"GET", P>>}
   */
  get(path) {
    return this.#json("GET", path);
  }

  /**
   * Replace; with the `version` that was read, it is refused if somebody changed it since.
   * @template {string} P
   * @param {P} path
   * @param {Rest.Body<"PUT", P>} body
   * @param {number | string | null} version
   * @returns {Promise<Rest.Answer<"PUT", P>>}
   */
  put(path, body, version = null) {
    return this.#json("PUT", path, body, ifMatch(version));
  }

  /**
   * Change some fields; `version` as in `put`.
   * @template {string} P
   * @param {P} path
   * @param {Rest.Body<"PATCH", P>} body
   * @param {number | string | null} version
   * @returns {Promise<Rest.Answer<"PATCH", P>>}
   */
  patch(path, body, version = null) {
    return this.#json("PATCH", path, body, ifMatch(version));
  }

  /**
   * Send a change; the same id again is the same change. `version` as in `put`; `language` is that of
   * the answer, where it is not the page's.
   * @template {string} P
   * @param {P} path
   * @param {Rest.Body<"POST", P>} [body]
   * @param {string} id
   * @param {number | string | null} version
   * @param {Rest.Language | null} language
   * @returns {Promise<Rest.Answer<"POST", P>>}
   */
  post(path, body = /** @type {any} */ ({}), id = newId(), version = null, language = null) {
    const spoken = language === null ? {} : { "Accept-Language": language };
    return this.#json("POST", path, body, { "Idempotency-Key": id, ...ifMatch(version), ...spoken });
  }

  /**
   * Delete; `version` as in `put`.
   * @template {string} P
   * @param {P} path
   * @param {number | string | null} version
   * @returns {Promise<Rest.Answer<"DELETE", P>>}
   */
  delete(path, version = null) {
    return this.#json("DELETE", path, undefined, ifMatch(version));
  }

  /** The bytes of a file, as the server answers them: its type, its ETag and its body. */
  file(path) {
    return this.#fetch("GET", path, { headers: {} });
  }

  /** Write the bytes of a file; `headers` say which version it may replace. */
  async putFile(path, bytes, headers = {}) {
    const sent = { "Content-Type": "application/octet-stream", ...headers };
    return (await this.#fetch("PUT", path, { headers: sent, body: bytes })).json();
  }

  /**
   * Read; null if the key may not, or if it is not there.
   * @template {string} P
   * @param {P} path
   * @returns {Promise<Rest.Answer<"GET", P> | null>}
   */
  async getIfAllowed(path) {
    try {
      return await this.get(path);
    } catch (/** @type {any} */ error) {
      if (error.status === 403 || error.status === 404) return null;
      throw error;
    }
  }

  /**
   * All items of a list, up to `most`.
   * @template {string} P
   * @param {P} path
   * @returns {Promise<Rest.Item<P>[]>}
   */
  async list(path, most = 2_000) {
    /** @type {Rest.Item<P>[]} */
    const items = [];
    let cursor = null;
    do {
      const more = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const page = await this.get(/** @type {string} */ (`${path}${path.includes("?") ? "&" : "?"}limit=200${more}`));
      items.push(...page.items);
      cursor = page.next_cursor;
    } while (cursor !== null && items.length < most);
    return items;
  }

  /** Events of a stream until it ends; `lastId` continues after the last event that was seen. */
  async *events(path, lastId, signal, onRetry = (/** @type {number} */ _milliseconds) => {}) {
    const headers = { Accept: "text/event-stream" };
    if (lastId !== null) headers["Last-Event-ID"] = String(lastId);
    const answer = await this.#fetch("GET", path, { headers, signal });
    yield* parseEvents(answer.body, onRetry);
  }

  /** The error that a stream ended with. */
  problemOf(body) {
    return new Problem(body.status, body);
  }

  async #json(method, path, body, headers = {}) {
    const options = { headers: { Accept: "application/json", ...headers } };
    if (body !== undefined) {
      options.body = JSON.stringify(body);
      options.headers["Content-Type"] = "application/json";
    }
    const answer = await this.#fetch(method, path, options);
    return answer.status === 204 ? null : answer.json();
  }

  async #fetch(method, path, options) {
    const headers = {
      "Accept-Language": currentLanguage(), ...options.headers, Authorization: `Bearer ${this.#key}`,
    };
    const answer = await fetch(`/api${path}`, {
      ...options, method, headers, credentials: "omit", cache: "no-store", redirect: "error",
    });
    if (answer.ok) return answer;
    const language = answer.headers.get("Content-Language") ?? "en";
    const found = new Problem(answer.status, await answer.json().catch(() => ({})), language);
    if (found.isOfKey) this.#onRefusedKey(found);
    throw found;
  }
}

/** Say an error of the network in words; others say themselves. */
export function explain(error) {
  if (error instanceof Problem) return error;
  return Object.assign(new Error(text("unreachable")), { cure: text("unreachable_cure") });
}
