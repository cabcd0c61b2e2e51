/** Server-sent events, read from `fetch`: EventSource cannot send the header with the key. */

/**
 * Yield `{id, event, data}` of each event of a stream of bytes, wherever its chunks are cut.
 * `onRetry(milliseconds)` is told when the server wants to be asked again.
 */
export async function* parseEvents(bytes, onRetry = (/** @type {number} */ _milliseconds) => {}) {
  const reader = bytes.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let fields = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines.map((each) => each.replace(/\r$/, ""))) {
        if (line !== "") {
          const retry = /^retry: ?(\d+)$/.exec(line)?.[1];
          if (retry === undefined) fields.push(line);
          else onRetry(Number(retry));
          continue;
        }
        const event = eventOf(fields);
        fields = [];
        if (event !== null) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** The event of some lines; null for a comment, and for one without data. */
function eventOf(lines) {
  /** @type {{ id: string | null, event: string, data: string | null }} */
  const found = { id: null, event: "message", data: null };
  for (const line of lines) {
    const [, name, value] = /** @type {string[]} */ (/** @type {unknown} */ (/^([^:]*):? ?(.*)$/s.exec(line)));
    if (name === "data") found.data = found.data === null ? value : `${found.data}\n${value}`;
    else if (name === "id" || name === "event") found[name] = value;
  }
  return found.data === null ? null : found;
}
