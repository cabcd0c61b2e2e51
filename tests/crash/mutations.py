"""The seeded bugs: each is a wrapper around a port, and the explorer must catch every one."""

from tests.crash import journal_bugs, port_bugs
from tests.crash.world import Mutation

MUTATIONS: tuple[Mutation, ...] = (
    journal_bugs.EpochForgotten(),
    journal_bugs.SequenceForgotten(),
    journal_bugs.IntentSkipped(),
    journal_bugs.ReservationReleased(),
    journal_bugs.SettlementForgotten(),
    journal_bugs.AllowanceKept(),
    journal_bugs.LimitIgnored(),
    journal_bugs.QueuedBeforeStored(),
    journal_bugs.StopIgnored(),
    journal_bugs.AcknowledgedTooEarly(),
    journal_bugs.ResultInHalves(),
    journal_bugs.UtteranceOutside(),
    journal_bugs.BodyAfterPointer(),
    journal_bugs.SessionChangedTwice(),
    port_bugs.SweepBlind(),
    port_bugs.SweepImpatient(),
    port_bugs.DueForgotten(),
    port_bugs.WriteUnconditional(),
    port_bugs.OnceAgain(),
    port_bugs.NonceLost(),
    port_bugs.DoubtfulSendRepeated(),
    port_bugs.SentBeforeMarked(),
)
