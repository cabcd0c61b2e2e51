// What AG-UI's own client does with a running OpenCrab. Writes one JSON object for each step. Its
// arguments are the folder of its packages, an address of an agent, and a key.
"use strict";

const [packages, url, key] = process.argv.slice(2);
const { HttpAgent } = require(`${packages}/@ag-ui/client`);

const tell = (step) => process.stdout.write(`${JSON.stringify(step)}\n`);
const agent = new HttpAgent({ url, headers: { Authorization: `Bearer ${key}` }, threadId: "潮" });

/** One run: the events that the client accepted, and what it made of them. */
async function run(text, parameters = {}) {
  if (text) agent.addMessage({ id: `user-${agent.messages.length}`, role: "user", content: text });
  const events = [];
  let finished = null;
  let failed = null;
  const { newMessages } = await agent.runAgent(parameters, {
    onEvent: ({ event }) => void events.push(event.type),
    onRunFinishedEvent: ({ event }) => void (finished = event),
    onRunErrorEvent: ({ event }) => void (failed = event),
  });
  return { events, newMessages, finished, failed };
}

const names = (events) => [...new Set(events)];

(async () => {
  const first = await run("say 潮🦀");
  tell({
    said: first.newMessages.map((each) => each.content),
    outcome: first.finished.outcome.type,
    events: names(first.events),
    state: agent.state.opencrab.status,
  });
  const asked = await run("write memo.txt: 満潮");
  const [interrupt] = asked.finished.outcome.interrupts;
  tell({ outcome: asked.finished.outcome.type, reason: interrupt.reason, pending: agent.pendingInterrupts?.length });
  const [call] = asked.newMessages.flatMap((each) => each.toolCalls ?? []);
  tell({ tool: call.function.name, arguments: JSON.parse(call.function.arguments), same: call.id === interrupt.toolCallId });
  const { argumentHash } = interrupt.metadata.opencrab;
  const payload = { approved: true, argumentHash };
  const resumed = await run(null, {
    resume: [{ interruptId: interrupt.id, status: "resolved", payload }],
  });
  const result = resumed.newMessages.find((each) => each.role === "tool");
  tell({
    outcome: resumed.finished.outcome.type,
    result: JSON.parse(result.content).success,
    answers: result.toolCallId === call.id,
    said: resumed.newMessages.filter((each) => each.role === "assistant").map((each) => each.content),
  });
  const wrong = new HttpAgent({ url, headers: { Authorization: "Bearer wrong" } });
  wrong.addMessage({ id: "1", role: "user", content: "x" });
  await wrong.runAgent().then(
    () => tell({ refused: false }),
    (error) => tell({ refused: String(error.message).includes("401") }),
  );
})();
