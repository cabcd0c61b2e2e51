"""A trial of models: each does the same tasks, one session a task, until the money is spent."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from opencrab.domain.errors import Conflict
from opencrab.domain.statistics.confidence import estimate_mean, sample_moment_sums
from opencrab.gateways.cli.learning.model_trial_tasks import TrialTask
from opencrab.gateways.cli.terminal.exchange import Exchange, retry_policy_shown_on_terminal
from opencrab.gateways.cli.terminal.lookup import AgentView
from opencrab.gateways.cli.terminal.terminal import Terminal

Found = dict[str, Any]

USES = ("thinking", "conversation", "analysis", "tool_calling", "creative")
"""All that a model is asked for in these sessions."""

_ANSWERED = {"completed", "idle"}
_UNANSWERED = {"failed", "waiting"}
"""A turn that failed or only asked for leave is worth nothing; one that ran out tells nothing."""


@dataclass
class ModelTrial:
    """A trial of models on an agent, and its cost so far."""

    terminal: Terminal
    agent: AgentView
    tasks: Sequence[TrialTask]
    budget: int
    aliases: Mapping[str, str]
    spent: int = 0

    def run(self, models: Sequence[str]) -> Found:
        """Let each model do each task, one task after the other, and report the results."""
        done: dict[str, list[Found]] = {model: [] for model in models}
        for task in self.tasks:
            for model in models:
                done[model].append(self._asked(model, task))
        calls = self._calls([each for tasks in done.values() for each in tasks])
        return {
            "agent_id": self.agent["id"],
            "agent": self.agent["name"],
            "budget_micro_usd": self.budget,
            "spent_micro_usd": self.spent,
            "models": [self._told(model, tasks, calls) for model, tasks in done.items()],
        }

    def _asked(self, model: str, task: TrialTask) -> Found:
        """Let a model do one task in a new session; does nothing once the budget is spent."""
        told: Found = {"id": task.id, "session_id": None, "status": "not_asked", "answer": ""}
        if self.spent >= self.budget:
            return told
        if not self.terminal.options.json:
            self.terminal.print_note("eval_asking", model=model, task=task.id)
        client = self.terminal.client
        session = client.post(
            "sessions",
            body={
                "participants": [self.agent["id"]],
                "name": f"eval {task.id}",
                "models": dict.fromkeys(USES, model),
                "budget_micro_usd": self.budget - self.spent,
            },
        )
        text = task.question(self.agent["language"], self.agent["name"])
        status, answer = self._answer(Exchange(client, session["id"], text))
        self.spent += client.get("sessions", session["id"])["spent_micro_usd"]
        self._end(session["id"])
        return told | {
            "session_id": session["id"],
            "since": session["created_at"],
            "status": status,
            "answer": answer,
            "score": self._score(task, status, answer),
        }

    def _answer(self, exchange: Exchange) -> tuple[str, str]:
        """Return the turn's status and reply; cancels a turn that waits for approval."""
        patience = retry_policy_shown_on_terminal(self.terminal, self.terminal.print_note_text)
        while True:
            patience.ask(exchange)
            if not exchange.pending:
                break
            if exchange.waits_for_approval():
                exchange.cancel()
                return "waiting", _join_reply_texts(exchange)
        (turn_id,) = exchange.turn_ids
        turn = self.terminal.client.get("turns", turn_id)
        return turn["status"], _join_reply_texts(exchange)

    def _score(self, task: TrialTask, status: str, answer: str) -> float | None:
        if status in _ANSWERED:
            return task.score(answer, self.agent["name"])
        return 0.0 if status in _UNANSWERED else None

    def _end(self, session_id: str) -> None:
        try:
            self.terminal.client.post("sessions", session_id, "end")
        except Conflict:
            # The session's own budget ended it first.
            return

    def _meant(self, model: str) -> str:
        """Resolve a model name through its aliases."""
        for _ in self.aliases:
            model = self.aliases.get(model, model)
        return model

    def _calls(self, tasks: Sequence[Found]) -> dict[str, list[Found]]:
        """Return the ledger's rows of these tasks by session."""
        begun = [datetime.fromisoformat(task["since"]) for task in tasks if "since" in task]
        found: dict[str, list[Found]] = {
            task["session_id"]: [] for task in tasks if task["session_id"]
        }
        if not begun:
            return found
        for row in self._rows(min(begun)):
            if row["session_id"] in found:
                found[row["session_id"]].append(row)
        return found

    def _rows(self, since: datetime) -> Iterator[Found]:
        rows = self.terminal.client.items("agents", self.agent["id"], "llm", "metrics")
        for row in rows:
            if datetime.fromisoformat(row["at"]) < since:
                return
            yield row

    def _told(
        self, model: str, tasks: Sequence[Found], calls: Mapping[str, Sequence[Found]]
    ) -> Found:
        """Return one model's tasks and totals; an answer by another model gets no score."""
        told, rows = list[Found](), list[Found]()
        name = self._meant(model)
        for task in tasks:
            own = list(calls.get(task["session_id"], ()))
            stood_in = any(_answers(row) and not _is(row, name) for row in own)
            score = None if stood_in else task.get("score")
            latencies = [row["latency_ms"] for row in own if row["latency_ms"] is not None]
            kept = {key: task[key] for key in ("id", "session_id", "status", "answer")}
            told.append(
                kept
                | {
                    "score": score,
                    "stood_in": stood_in,
                    "cost_micro_usd": sum(row["cost"] for row in own),
                    "latency_ms": sum(latencies) if latencies else None,
                }
            )
            rows += own
        return {"model": model, "name": name, "tasks": told, **_totals(told, rows)}


def _totals(tasks: Sequence[Found], rows: Sequence[Found]) -> Found:
    scores = [task["score"] for task in tasks if task["score"] is not None]
    known = estimate_mean(sample_moment_sums(scores))
    times = [task["latency_ms"] for task in tasks if task["latency_ms"] is not None]
    return {
        "score": None if known is None else known.model_dump(),
        "scored": len(scores),
        "cost_micro_usd": sum(task["cost_micro_usd"] for task in tasks),
        "latency_ms": sum(times) / len(times) if times else None,
        "calls": len(rows),
        "failed": sum(not _answers(row) for row in rows),
    }


def _answers(row: Mapping[str, Any]) -> bool:
    return bool(row["state"] == "completed")


def _is(row: Mapping[str, Any], name: str) -> bool:
    """Check whether a call was to the model, or to a model of the provider, of this name."""
    return f"{row['provider']}:{row['model']}" == name or row["provider"] == name


def _join_reply_texts(exchange: Exchange) -> str:
    return "\n".join(reply["text"] for reply in exchange.replies)
