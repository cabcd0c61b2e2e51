/** A run is what the inspector shows: a task, or a turn that belongs to none, in one form. */

const OVER = new Set(["completed", "idle", "stopped", "exhausted", "failed"]);
const MARKS = { completed: "done", failed: "failed", refused: "failed", cancelled: "failed", unknown: "failed" };

/** A task as GET …/tasks/{id} and its events tell it. */
export function runOfTask(task) {
  return {
    kind: "task", id: task.id, name: task.name, status: task.status, step: task.step, most: task.max_steps,
    actions: task.actions, thinking: task.thinking, approvalId: task.approval?.approval_id ?? null,
    now: task.current?.sentence ?? "", spent: task.spent_micro_usd, report: task.report, isOver: task.over,
    tasks: task.tasks, turnId: task.turn_id, sessionId: task.session_id,
    behind: task.behind?.name ?? "", reason: task.pause_reason ?? "", at: task.created_at,
  };
}

/** A turn as GET /turns/{id} tells it. */
export function runOfTurn(turn) {
  const steps = turn.steps ?? [];
  const last = steps.at(-1);
  const isOver = OVER.has(turn.status);
  return {
    kind: "turn", id: turn.id, name: "", trigger: turn.trigger, status: turn.status, step: turn.model_calls, most: null,
    actions: steps.flatMap((step) => step.calls ?? []).map((call) => actionOf(call, turn.status)),
    thinking: thoughtOf(last), approvalId: /** @type {string | null} */ (null), now: "", spent: turn.spent_micro_usd,
    report: isOver ? last?.text ?? "" : "", isOver, tasks: [], turnId: turn.id, sessionId: turn.session_id,
    behind: "", reason: turn.error?.message ?? turn.stop?.reason ?? "", at: turn.created_at,
  };
}

function actionOf(call, status) {
  const line = (value) => (value === null || value === undefined ? null : JSON.stringify(value));
  return {
    id: call.id, action: call.name, sentence: call.approval?.what || call.name, seconds: null,
    mark: MARKS[call.state] ?? (status === "waiting" ? "waiting" : status === "running" ? "running" : "pending"),
    arguments: line(call.arguments), result: call.error ?? line(call.data),
  };
}

function thoughtOf(step) {
  const words = [step?.thought?.judgment, step?.thought?.intent].filter(Boolean);
  return words.length > 0 ? words.join("\n") : null;
}
