/**
 * What one session shows: its lines, the answers that are still arriving, and its running turns.
 *
 * It is made of lines (GET …/messages) and of AG-UI events (…/events?format=agui), and knows nothing
 * of how it is shown. Each line is there once, whichever way and however often it comes.
 */

const OPEN = new Set(["queued", "running", "waiting"]);

export class Conversation {
  constructor({ onItem, onRemoved, onRuns }) {
    this.lastSequence = 0;
    this.items = new Map();
    this.runs = new Map();
    this.on = { item: onItem, removed: onRemoved, runs: onRuns };
  }

  /** The ids of turns that have not ended. */
  get openRuns() {
    return [...this.runs].filter(([, status]) => OPEN.has(status)).map(([id]) => id);
  }

  /** Turns that a stop would stop: queued or running ones. */
  get stoppableRuns() {
    return this.openRuns.filter((id) => this.runs.get(id) !== "waiting");
  }

  setRun(id, status) {
    if (!id || this.runs.get(id) === status) return;
    this.runs.set(id, status);
    if (["stopped", "failed", "exhausted"].includes(status)) this.markIncomplete(id, status);
    this.on.runs(id, status);
  }

  /** Mark the last answer of a turn that was stopped, failed or reached a limit. */
  markIncomplete(turnId, status) {
    const said = [...this.items.values()].filter(
      (item) => item.turnId === turnId && item.kind === "speech" && item.fromAgent,
    );
    const last = said.at(-1);
    if (last && !last.incomplete) this.#put(Object.assign(last, { incomplete: status }));
  }

  /** Add a line of the history. */
  addLine(sessionId, line) {
    const id = `${sessionId}-${line.sequence}`;
    this.lastSequence = Math.max(this.lastSequence, line.sequence);
    if (this.items.get(id)?.done) return;
    const data = line.data ?? {};
    const kinds = { action: "tool", approval: "approval", system: "notice", inner_voice: "notice" };
    this.#put({
      id,
      kind: kinds[line.kind] ?? "speech",
      sequence: line.sequence,
      done: true,
      fromAgent: line.from_agent,
      speaker: line.speaker_name,
      text: line.text,
      at: line.at,
      turnId: line.turn_id,
      messageId: line.message_id,
      approvalId: data.approval_id ?? null,
      tool: line.kind === "action" ? toolOf(data, line.text) : null,
    });
  }

  /** Apply one AG-UI event. */
  apply(event) {
    const metadata = event.metadata ?? {};
    switch (event.type) {
      case "TEXT_MESSAGE_START":
        return this.#put(this.#itemOf(event, { fromAgent: true, arriving: true }));
      case "TEXT_MESSAGE_CONTENT":
        return this.#grow(event.messageId, event.delta);
      case "TEXT_MESSAGE_END":
        if (metadata.withdrawn) return this.#remove(event.messageId);
        return this.#end(event.messageId, metadata);
      case "TEXT_MESSAGE_CHUNK":
        return this.#chunk(event, {});
      case "TOOL_CALL_START":
        return this.#chunk({ ...event, messageId: event.toolCallId }, {
          kind: "tool",
          tool: { name: event.toolCallName, arguments: "", result: "", state: "" },
        });
      case "TOOL_CALL_ARGS":
      case "TOOL_CALL_RESULT":
        return this.#tool(event, metadata);
      case "CUSTOM":
        return this.#custom(event, metadata);
      case "RUN_STARTED":
      case "RUN_FINISHED":
      case "RUN_ERROR":
        return this.setRun(metadata.runId, metadata.status);
      default:
        return undefined;
    }
  }

  /** Forget what has not arrived whole: a new stream sends it again from its beginning. */
  dropUnfinished() {
    for (const item of [...this.items.values()]) if (!item.done) this.#remove(item.id);
  }

  #itemOf(event, more) {
    const metadata = event.metadata ?? {};
    return {
      id: event.messageId,
      kind: "speech",
      done: false,
      fromAgent: metadata.fromAgent ?? false,
      speaker: metadata.speakerName ?? event.name ?? "",
      agentId: metadata.agentId,
      text: "",
      at: new Date(event.timestamp).toISOString(),
      turnId: metadata.runId ?? null,
      messageId: metadata.messageId ?? null,
      approvalId: null,
      tool: null,
      ...more,
    };
  }

  #chunk(event, more) {
    const known = this.items.get(event.messageId);
    if (known?.done) return;
    const kind = event.role === "system" ? "notice" : "speech";
    if (!known) this.#put(this.#itemOf(event, { kind, ...more }));
    if (event.delta) this.#grow(event.messageId, event.delta);
    if (event.metadata?.sequence) this.#end(event.messageId, event.metadata);
  }

  #grow(id, delta) {
    const item = this.items.get(id);
    if (!item || item.done) return;
    item.text += delta;
    this.on.item(item, delta);
  }

  #end(id, metadata) {
    const item = this.items.get(id);
    this.lastSequence = Math.max(this.lastSequence, metadata.sequence ?? 0);
    if (!item) return;
    const speaker = metadata.speakerName ?? item.speaker;
    this.#put(Object.assign(item, { done: true, arriving: false, speaker }));
  }

  #tool(event, metadata) {
    const item = this.items.get(event.toolCallId);
    if (!item || item.done) return;
    if (event.type === "TOOL_CALL_ARGS") {
      item.tool.arguments += event.delta;
      return;
    }
    Object.assign(item.tool, { result: event.content, state: metadata.state ?? "" });
    this.#end(event.toolCallId, metadata);
  }

  #custom(event, metadata) {
    const { value } = event;
    const id = `${metadata.threadId}-${metadata.sequence}`;
    if (this.items.get(id)?.done) return;
    this.lastSequence = Math.max(this.lastSequence, metadata.sequence ?? 0);
    const shown = { done: true, sequence: metadata.sequence };
    const named = { ...event, messageId: id };
    if (event.name === "approval") {
      const more = { kind: "approval", approvalId: value.approvalId, text: value.text, fromAgent: true };
      this.#put(this.#itemOf(named, { ...more, ...shown }));
    } else if (event.name === "instruction" && metadata.sequence) {
      this.#put(this.#itemOf(named, { kind: "notice", text: value.text, ...shown }));
    }
  }

  #put(item) {
    this.items.set(item.id, item);
    this.on.item(item, null);
  }

  #remove(id) {
    const item = this.items.get(id);
    if (!item) return;
    this.items.delete(id);
    this.on.removed(item);
  }
}

function toolOf(data, said) {
  const whole = (value) => (typeof value === "string" ? value : JSON.stringify(value ?? ""));
  return {
    name: String(data.name ?? said),
    arguments: whole(data.arguments ?? {}),
    result: whole(data.result ?? ""),
    state: String(data.state ?? ""),
  };
}
