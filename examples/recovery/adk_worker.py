"""One process of the ADK agent: `python adk_worker.py FOLDER bare|durable start|resume|ANSWERS`; prints how it ended.

`start` begins the invocation and hangs, since the bank does not answer. `resume` goes on with the invocation. Anything
else is JSON, `{question id: answer}`, and goes on with these answers.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from adk_agent import build
from effects import tools
from google.adk.agents.run_config import RunConfig, ToolThreadPoolConfig
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types
from script import REQUEST

from agent_adapter_adk import DurableTools

USER, SESSION = "ada", "trip-1"


async def main(folder: Path, kind: str, what: str) -> None:
    """Run the agent once."""
    durable = DurableTools(folder / "runs.db") if kind == "durable" else None
    app = build(tools(folder, bank_answers=what != "start"), durable)
    sessions = SqliteSessionService(str(folder / "sessions.db"))
    runner = Runner(app=app, session_service=sessions)
    place: Any = {"user_id": USER, "session_id": SESSION}
    if what == "start":
        await sessions.create_session(app_name=app.name, **place)
        message = types.Content(role="user", parts=[types.Part(text=REQUEST)])
        # So that the tools of a turn, which are plain functions, run at once.
        threads = RunConfig(tool_thread_pool_config=ToolThreadPoolConfig())
        begun = runner.run_async(**place, new_message=message, run_config=threads)
        events = [event async for event in begun]
    else:
        session = await sessions.get_session(app_name=app.name, **place)
        if session is None:
            raise SystemExit("there is no session to go on with")
        if what != "resume" and durable is not None:
            events = await durable.answer(runner, session, json.loads(what))
        else:
            invocation = session.events[-1].invocation_id
            resumed = runner.run_async(**place, invocation_id=invocation)
            events = [event async for event in resumed]
    session = await sessions.get_session(app_name=app.name, **place)
    questions = durable.pending(session) if durable is not None and session is not None else []
    texts = [
        part.text for e in events for part in (e.content and e.content.parts) or [] if part.text
    ]
    shown = {each.id: [f"{each.tool}({each.arguments})", each.hint] for each in questions}
    print(json.dumps({"questions": shown, "said": "".join(texts[-1:])}))
    await runner.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
