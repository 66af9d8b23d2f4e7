"""Argument checks that every store makes before it touches anything."""

import math
from typing import NoReturn, get_args
from unicodedata import category

from agent_adapter._sqlite import LARGEST_TEXT_BYTES
from agent_adapter.errors import CheckpointConflict, ConfigError, ToolUsageError
from agent_adapter.exec.checkpoints._port import (
    LARGEST_NUMBER,
    CallRecord,
    Checkpoint,
    CheckpointKind,
    CheckpointStatus,
)

LONGEST_RUN_ID = 255


def check_run_id(run_id: object) -> None:
    """Nothing, when `run_id` can name a run.

    Raises:
        ToolUsageError: it is not a string of 1 to 255 characters, or it holds a control character or a lone surrogate.
    """
    if not isinstance(run_id, str):
        raise ToolUsageError(f"run_id must be a str, not {type(run_id).__name__}")
    if not 1 <= len(run_id) <= LONGEST_RUN_ID:
        raise ToolUsageError(
            f"run_id must have 1 to {LONGEST_RUN_ID} characters, not {len(run_id)}"
        )
    if not run_id.isprintable() and any(category(char) in {"Cc", "Cs"} for char in run_id):
        raise ToolUsageError(f"run_id has a control character or a lone surrogate: {run_id!r}")


def check_number(what: str, value: object) -> None:
    """Nothing, when `value` can be a step or a segment.

    Raises:
        ToolUsageError: it is not an int from 0 to 2**53 - 1; a bool is none.
    """
    if type(value) is not int:
        raise ToolUsageError(f"{what} must be an int, not {type(value).__name__}")
    if not 0 <= value <= LARGEST_NUMBER:
        raise ToolUsageError(f"{what} must be between 0 and 2**53 - 1, not {value}")


def check_checkpoint(checkpoint: object, *, step: int) -> int:
    """The size of the checkpoint's texts in bytes.

    Raises:
        ToolUsageError: it is not a Checkpoint, a text is too large or not Unicode, or step 0 keeps chunks.
    """
    if not isinstance(checkpoint, Checkpoint):
        raise ToolUsageError(f"checkpoint must be a Checkpoint, not {type(checkpoint).__name__}")
    if step == 0 and checkpoint.kept:
        raise ToolUsageError(f"a new run has no stored chunks to keep, kept is {checkpoint.kept}")
    size = _size("checkpoint.name", checkpoint.name) + _size("lineage", checkpoint.lineage)
    size += _size("checkpoint.document", checkpoint.document)
    return size + sum(_size("a history chunk", chunk) for chunk in checkpoint.history)


def check_record(call: object, seen: object = None) -> int:
    """The size of the record's texts in bytes.

    Raises:
        ToolUsageError: `call` is not a CallRecord, `seen` is neither one with the same key nor None, or a text is too
            large or not Unicode.
    """
    if not isinstance(call, CallRecord):
        raise ToolUsageError(f"call must be a CallRecord, not {type(call).__name__}")
    if seen is not None:
        if not isinstance(seen, CallRecord):
            raise ToolUsageError(f"seen must be a CallRecord or None, not {type(seen).__name__}")
        if seen.key != call.key:
            raise ToolUsageError(f"seen is the record of {seen.key!r}, not of {call.key!r}")
    size = _size("call.key", call.key) + _size("call.tool", call.tool)
    return size + (0 if call.document is None else _size("call.document", call.document))


def check_key(key: object) -> None:
    """Nothing, when `key` can name a call.

    Raises:
        ToolUsageError: it is not a string, is empty, too large or not Unicode.
    """
    if not isinstance(key, str) or not key:
        raise ToolUsageError(f"key must be a str that is not empty, not {key!r}")
    _size("key", key)


def check_limit(limit: object) -> None:
    """Nothing, when `limit` is a number of rows.

    Raises:
        ConfigError: it is not an int from 0 on.
    """
    if type(limit) is not int or limit < 0:
        raise ConfigError(f"limit must be an int of 0 or more, not {limit!r}")


def check_filters(
    *,
    name: object = None,
    kind: object = None,
    status: object = None,
    saved_before: object = None,
    after: object = None,
) -> None:
    """Nothing, when every filter is None or something that a run can have.

    Raises:
        ConfigError: naming the filter that is not.
    """
    for what, text in (("name", name), ("after", after)):
        if text is not None and not isinstance(text, str):
            _wrong(what, "a str or None", text)
    if kind is not None and kind not in get_args(CheckpointKind):
        _wrong("kind", f"one of {get_args(CheckpointKind)}", kind)
    if status is not None and status not in get_args(CheckpointStatus):
        _wrong("status", f"one of {get_args(CheckpointStatus)}", status)
    if saved_before is not None and not is_finite(saved_before):
        _wrong("saved_before", "epoch seconds", saved_before)


def check_age(older_than_s: object) -> None:
    """Nothing, when `older_than_s` is an age in seconds.

    Raises:
        ConfigError: it is not a finite number from 0 on.
    """
    if not is_finite(older_than_s) or older_than_s < 0:  # type: ignore[operator]
        _wrong("older_than_s", "a finite number of 0 or more", older_than_s)


def check_follows(
    run_id: str, step: int, checkpoint: Checkpoint, *, stored: tuple[int, int, str, int] | None
) -> None:
    """Nothing, when `checkpoint` may be saved over `stored`: (step, segment, lineage, chunks), or None for no run.

    Raises:
        CheckpointConflict: another step, lineage or segment is due.
        ToolUsageError: it keeps more chunks than are stored.
    """
    if stored is None:
        if step != 0:
            raise CheckpointConflict(run_id, f"step {step} was to be saved, but nothing is stored")
        return
    stored_step, segment, lineage, chunks = stored
    if step != stored_step + 1:
        raise CheckpointConflict(
            run_id, f"step {step} was to be saved, but step {stored_step} is stored"
        )
    if checkpoint.lineage != lineage:
        raise CheckpointConflict(run_id, f"step {step} belongs to another life of this run id")
    if checkpoint.segment < segment:
        raise CheckpointConflict(
            run_id, f"segment {checkpoint.segment} is older than {segment}, which is stored"
        )
    if checkpoint.kept > chunks:
        raise ToolUsageError(
            f"run {run_id!r}: {checkpoint.kept} chunks cannot be kept, {chunks} are stored"
        )


def check_current(
    run_id: str, segment: int, step: int | None, *, stored: tuple[int, int] | None
) -> None:
    """Nothing, when (segment, step) is the position `stored` as (step, segment); step None fits any.

    Raises:
        CheckpointConflict: it is not.
    """
    if stored is None:
        raise CheckpointConflict(run_id, f"segment {segment} is not current: nothing is stored")
    if segment != stored[1]:
        raise CheckpointConflict(run_id, f"segment {segment} is not current: {stored[1]} is")
    if step is not None and step != stored[0]:
        raise CheckpointConflict(run_id, f"step {step} is not current: {stored[0]} is")


def may_claim(
    run_id: str, call: CallRecord, seen: CallRecord | None, *, standing: CallRecord | None
) -> bool:
    """Whether `call` is to be written over `standing`; if not, `standing` is the answer.

    Raises:
        CheckpointConflict: `seen` is given, but no record of the call is stored.
    """
    if standing is None:
        if seen is not None:
            raise CheckpointConflict(run_id, f"call {call.key!r} has no record any more")
        return True
    return standing == seen and standing != call


def is_finite(value: object) -> bool:
    """Whether `value` is an int or a float that is neither NaN nor infinite; a bool is no number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _size(what: str, text: str) -> int:
    try:
        size = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError:
        raise ToolUsageError(f"{what} has a lone surrogate; escape it") from None
    if size > LARGEST_TEXT_BYTES:
        raise ToolUsageError(f"{what} has {size} bytes, more than {LARGEST_TEXT_BYTES}")
    return size


def _wrong(what: str, wanted: str, value: object) -> NoReturn:
    raise ConfigError(f"{what} must be {wanted}, not {value!r}")
