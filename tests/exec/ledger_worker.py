"""A process of its own that makes one call on a SQLite file; its tool appends a line to an oracle file and syncs it."""

import asyncio
import json
import os
import sys

from agent_adapter import ToolPolicy
from agent_adapter.errors import CheckpointConflict
from agent_adapter.exec._questions import Rerun
from agent_adapter.exec.checkpoints import SQLiteCheckpointStore
from agent_adapter.exec.integration import Asked, Attempt, CallId, ClaimLost, Ledger, Replay

CALL = CallId("run", "thread", "k1", "call_1", "charge", "d1", "visit", {"amount": 5})
POLICIES = {"careful": ToolPolicy(), "idempotent": ToolPolicy(idempotent=True)}


def say(value: object) -> None:
    sys.stdout.write(f"{json.dumps(value)}\n")
    sys.stdout.flush()


def wait() -> None:
    sys.stdin.readline()


def charge(oracle: str, attempt: Attempt) -> str:
    """The tool: one line in the oracle, safely on disk."""
    descriptor = os.open(oracle, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{attempt.idempotency_key}\n".encode())
    os.fsync(descriptor)
    os.close(descriptor)
    return f"charged by {os.getpid()}"


async def make(ledger: Ledger, oracle: str, policy: ToolPolicy, **entering: object) -> object:
    """The call's outcome, or what stands in its way."""
    while True:
        try:
            entered = await ledger.enter(CALL, policy=policy, **entering)
        except (Asked, CheckpointConflict) as refused:
            return type(refused).__name__
        if isinstance(entered, Replay):
            return entered.outcome
        try:
            await entered.start(CALL.arguments)
            outcome = charge(oracle, entered)
            await entered.finish(outcome)
        except ClaimLost:
            continue
        except CheckpointConflict:
            return "late"
        else:
            return outcome
        finally:
            entered.land()


def race(path: str, oracle: str, policy: str, answer: str) -> None:
    """Make the call together with others; `answer` is the question that this process was told to rerun."""
    ledger = Ledger(SQLiteCheckpointStore(path), claim_wait_s=20.0)
    answers = {answer: Rerun()} if answer else {}
    say("ready")
    wait()
    say(asyncio.run(make(ledger, oracle, POLICIES[policy], answers=answers)))


def stall(path: str, oracle: str, before: str) -> None:
    """Stop inside the attempt, before or after the effect; go on when told to."""

    async def attempt() -> str:
        ledger = Ledger(SQLiteCheckpointStore(path))
        entered = await ledger.enter(CALL, policy=POLICIES["careful"])
        assert isinstance(entered, Attempt)
        await entered.start(CALL.arguments)
        if before == "after the effect":
            charge(oracle, entered)
        say(entered.idempotency_key)
        wait()
        try:
            await entered.finish("late")
        except CheckpointConflict:
            return "late"
        return "recorded"

    say(asyncio.run(attempt()))


if __name__ == "__main__":
    {"race": race, "stall": stall}[sys.argv[1]](*sys.argv[2:])
