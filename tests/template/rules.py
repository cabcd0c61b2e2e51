"""All rules of our own for the transformed templates, and how they are run."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from tests.template import rules_access, rules_data, rules_functions, rules_page, rules_queues
from tests.template.stacks import Stacks, Templates, Violation, evaluated, variants

Rule = Callable[[Stacks], Iterable[Violation]]

RULES: tuple[Rule, ...] = (
    rules_queues.visibility_covers_the_function,
    rules_queues.queues_have_dead_letters,
    rules_queues.schedules_have_dead_letters,
    rules_queues.schedules_may_write_dead_letters,
    rules_queues.dead_letters_last_fourteen_days,
    rules_queues.dead_letter_queues_have_alarms,
    rules_queues.alarms_have_actions,
    rules_queues.batch_failures_are_partial,
    rules_queues.queues_limit_concurrency,
    rules_queues.few_queues_are_polled,
    rules_queues.no_queue_invokes_itself,
    rules_queues.streams_have_failure_destinations,
    rules_queues.streams_have_two_readers_at_most,
    rules_functions.functions_match_their_layers,
    rules_functions.functions_are_traced,
    rules_functions.functions_have_no_vpc,
    rules_functions.recursive_loops_are_stopped,
    rules_functions.log_groups_have_retention,
    rules_functions.handlers_exist,
    rules_functions.timeouts_fit_the_api,
    rules_functions.variables_hold_no_secret,
    rules_functions.variables_name_settings,
    rules_access.permissions_have_no_wildcards,
    rules_access.functions_share_no_role,
    rules_access.the_journal_cannot_be_deleted,
    rules_access.routes_have_authorizers,
    rules_access.stages_are_throttled,
    rules_access.permissions_name_callers,
    rules_data.data_is_encrypted,
    rules_data.alarms_can_use_their_topic,
    rules_data.data_is_retained,
    rules_data.the_table_can_be_restored,
    rules_data.the_table_expires_items,
    rules_data.the_bucket_is_private,
    rules_data.the_bucket_keeps_versions,
    rules_page.cloudfront_alone_reads_the_page,
    rules_page.an_api_behind_cloudfront_is_unchanged,
)


def broken(
    templates: Templates, root: Path, chosen: Iterable[Mapping[str, str]] | None = None
) -> dict[str, list[Violation]]:
    """What each rule finds, by its name: in the stacks as they come and in each other choice."""
    choices = variants(templates) if chosen is None else chosen
    every = [evaluated(templates, root, parameters) for parameters in choices]
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
