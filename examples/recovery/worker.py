"""One process of the agent: `python worker.py FOLDER bare|durable start|resume|ANSWERS`; prints how it ended.

`start` begins the thread and hangs, since the bank does not answer. `resume` goes on with the thread. Anything else is
JSON, `{interrupt id: answer}`, and goes on with these answers.
"""

import json
import sys
from pathlib import Path
from typing import Any

from agent import build
from effects import tools
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command
from script import REQUEST

THREAD: Any = {"configurable": {"thread_id": "trip-1"}}


def main(folder: Path, kind: str, what: str) -> None:
    """Run the agent once."""
    given: Any
    match what:
        case "start":
            given = {"messages": [("user", REQUEST)]}
        case "resume":
            given = None
        case _:
            given = Command(resume=json.loads(what))
    own = tools(folder, bank_answers=what != "start")
    with SqliteSaver.from_conn_string(str(folder / "threads.db")) as checkpointer:
        agent = build(folder, own, checkpointer, durable=kind == "durable")
        state = agent.invoke(given, THREAD)
    questions = {asked.id: _shown(asked.value) for asked in state.get("__interrupt__", ())}
    print(json.dumps({"questions": questions, "said": state["messages"][-1].text}))


def _shown(payload: dict[str, Any]) -> list[str]:
    requests = payload["action_requests"]
    return [text for r in requests for text in (f"{r['name']}({r['args']})", r["description"])]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
