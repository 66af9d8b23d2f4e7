"""Store work for which nobody can wait any more: its loop is closing, or its caller is gone."""

import logging
import threading
from collections.abc import Coroutine
from typing import Any

from agent_adapter.runtime import shared

logger = logging.getLogger("agent_adapter")


def in_background(work: Coroutine[Any, Any, Any]) -> None:
    """Do the work on the shared loop, waited for by a thread of its own that the interpreter waits for in turn."""

    def do() -> None:
        try:
            shared().run(work)
        except Exception as error:  # noqa: BLE001 - nobody is left to raise it to
            logger.warning("a call ended after its run had gone: %s", error)

    threading.Thread(target=do, name="agent-adapter-late").start()
