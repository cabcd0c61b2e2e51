"""All rules of our own for the transformed templates, and how they are run."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tests.template import rules_access, rules_data, rules_functions, rules_queues
from tests.template.stacks import Stacks, Templates, Violation, evaluated, variants

Rule = Callable[[Stacks], Iterable[Violation]]

RULES: tuple[Rule, ...] = (
    rules_queues.visibility_covers_the_function,
    rules_queues.queues_have_dead_letters,
    rules_queues.schedules_have_dead_letters,
    rules_queues.schedules_may_write_dead_letters,
    rules_queues.dead_letters_last_fourteen_days,
    rules_queues.dead_letters_ring_an_alarm,
    rules_queues.alarms_tell_somebody,
    rules_queues.failures_are_reported_one_by_one,
    rules_queues.queues_limit_concurrency,
    rules_queues.few_queues_are_polled,
    rules_queues.no_queue_leads_back_to_itself,
    rules_queues.streams_give_up_and_tell,
    rules_queues.streams_have_two_readers_at_most,
    rules_functions.functions_run_where_they_were_built_for,
    rules_functions.functions_are_traced,
    rules_functions.functions_need_no_network_of_their_own,
    rules_functions.the_recursion_guard_stays_on,
    rules_functions.logs_end,
    rules_functions.handlers_are_there,
    rules_functions.answers_come_before_the_gateway_gives_up,
    rules_functions.variables_hold_no_secret,
    rules_functions.variables_name_settings,
    rules_access.permissions_have_no_wildcards,
    rules_access.functions_share_no_role,
    rules_access.the_journal_cannot_be_deleted,
    rules_access.routes_ask_who_is_there,
    rules_access.stages_are_throttled,
    rules_access.callers_are_named,
    rules_data.data_is_encrypted,
    rules_data.alarms_can_use_their_topic,
    rules_data.data_outlives_the_stack,
    rules_data.the_table_can_be_restored,
    rules_data.the_table_forgets,
    rules_data.the_bucket_is_private,
    rules_data.the_bucket_keeps_versions,
)


def broken(templates: Templates, root: Path) -> dict[str, list[Violation]]:
    """What each rule finds, by its name: in the stacks as they come and in each other choice."""
    every = [evaluated(templates, root, parameters) for parameters in variants(templates)]
    return {
        rule.__name__: list(dict.fromkeys(each for stacks in every for each in rule(stacks)))
        for rule in RULES
    }


def explained(rule: Rule) -> tuple[str, str, str]:
    """A rule in words: what must hold, why, and where AWS says so (or nothing)."""
    first, _, rest = (inspect.getdoc(rule) or "").partition("\n")
    reason, _, source = rest.strip().partition("Source: ")
    return first.strip(), " ".join(reason.split()), source.strip()


def names() -> Iterator[str]:
    """The names of the rules, in order."""
    return (rule.__name__ for rule in RULES)
