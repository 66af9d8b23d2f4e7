"""The seam for framework bridges and stores: journals, visits, answers and the stored form of values.

Not for everyday use. It is for whoever connects another framework: translate in, call these names, translate out.
The names keep their meaning within a minor version; a change is announced in the changelog under *Integration seam*
with the next minor version as notice. Whatever else begins with an underscore may change at any time.

A visit is one execution of a framework's node or turn::

    journal = make_journal(data)                  # what the framework kept of the last execution, or None
    with visit_scope(make_answer(entries), journal):
        ...                                       # executor calls in here replay or run
    journal.close()
    data = journal.data()                         # plain JSON for the framework to keep

A `Journal` with an `Observer` is durable: it hears of every call before its body begins and after it was recorded.
"""

from agent_adapter._canonical import check_plain, decode, digest, encode, reachable_types
from agent_adapter.approvals import AnswerEntry, approval_store, same_decision
from agent_adapter.errors import NotSealable
from agent_adapter.exec._answers import Pending, make_answer, settle_own
from agent_adapter.exec._asked import Asked, ClaimLost
from agent_adapter.exec._asking_recorder import AskingRecorder
from agent_adapter.exec._attempt import Attempt
from agent_adapter.exec._background import in_background
from agent_adapter.exec._bridge_settings import (
    Policies,
    check_choice,
    check_seconds,
    check_types,
)
from agent_adapter.exec._call_key import _call_key_scope as call_key_scope
from agent_adapter.exec._clearing import delete_runs, prune_runs
from agent_adapter.exec._entering import Replay
from agent_adapter.exec._entries import CallId
from agent_adapter.exec._gather import gather_unwrapped
from agent_adapter.exec._gating import Fits, approved, needs_approval
from agent_adapter.exec._journal import Journal, make_journal
from agent_adapter.exec._journal_data import RAN_UNKEYED, JournalData, unsealable_calls
from agent_adapter.exec._lease import Lease
from agent_adapter.exec._ledger import Ledger, Truth
from agent_adapter.exec._naming import as_stored, call_digest, stable_hash
from agent_adapter.exec._questions import (
    Answer,
    Decision,
    Edited,
    Question,
    read_answer,
    read_answers,
)
from agent_adapter.exec._slot import Observer, Recorder, Slot
from agent_adapter.exec._visit import visit_scope

__all__ = [
    "RAN_UNKEYED",
    "Answer",
    "AnswerEntry",
    "Asked",
    "AskingRecorder",
    "Attempt",
    "CallId",
    "ClaimLost",
    "Decision",
    "Edited",
    "Fits",
    "Journal",
    "JournalData",
    "Lease",
    "Ledger",
    "NotSealable",
    "Observer",
    "Pending",
    "Policies",
    "Question",
    "Recorder",
    "Replay",
    "Slot",
    "Truth",
    "approval_store",
    "approved",
    "as_stored",
    "call_digest",
    "call_key_scope",
    "check_choice",
    "check_plain",
    "check_seconds",
    "check_types",
    "decode",
    "delete_runs",
    "digest",
    "encode",
    "gather_unwrapped",
    "in_background",
    "make_answer",
    "make_journal",
    "needs_approval",
    "prune_runs",
    "reachable_types",
    "read_answer",
    "read_answers",
    "same_decision",
    "settle_own",
    "stable_hash",
    "unsealable_calls",
    "visit_scope",
]
