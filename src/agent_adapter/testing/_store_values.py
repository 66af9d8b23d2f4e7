"""The values with which the store contract is written, and the assertion that something is refused."""

from collections.abc import Awaitable, Callable
from typing import Any

from agent_adapter.exec.checkpoints import CallRecord, Checkpoint

Promise = Callable[[Any], Awaitable[None]]

BAD_RUN_IDS: tuple[Any, ...] = ("", None, 7, "x" * 256, "a\x00b", "a\nb", "a\x7fb", "\ud800")
BAD_NUMBERS: tuple[Any, ...] = (-1, True, 1.0, "1", None, 2**53)
GOOD_RUN_IDS = ("a:b", "{a}", "a b", "Straße/実行/🚀", "'; --", "x" * 255)


def checkpoint(document: str = "head", **fields: Any) -> Checkpoint:
    """A running loop's checkpoint in segment 0, with `fields` put in place of the defaults."""
    given = {"kind": "loop", "name": "loop", "status": "running", "segment": 0, "lineage": "life"}
    return Checkpoint(document=document, **{**given, **fields})


def record(key: str = "a", state: str = "started", document: str | None = "sealed") -> CallRecord:
    """A call's record."""
    return CallRecord(key=key, tool="tool", state=state, document=document)  # type: ignore[arg-type]


async def refused(kind: type[BaseException], doing: Awaitable[object]) -> None:
    """Nothing, once `doing` has raised exactly `kind`."""
    try:
        outcome = await doing
    except kind as exc:
        assert type(exc) is kind, f"raised {exc!r}"  # noqa: PT017 - no test framework here
    else:
        raise AssertionError(f"returned {outcome!r} instead of raising {kind.__name__}")
