"""The error for a stored row that no value can be made of."""

from pydantic import ValidationError

from agent_adapter.errors import CheckpointStoreCorrupt


def corrupt(run_id: str, exc: ValidationError) -> CheckpointStoreCorrupt:
    """The error, naming the first field that is wrong."""
    wrong = exc.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in wrong["loc"])
    return CheckpointStoreCorrupt(run_id, f"stored {where} is wrong: {wrong['msg']}")
