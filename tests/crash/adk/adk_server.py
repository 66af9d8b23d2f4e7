"""The server of the MCP scenario: its effects are its own, and at a point it kills the process that asked it.

python adk_server.py FOLDER POINT
"""

import asyncio
import os
import signal
import sys
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))

from mcp.server.mcpserver import MCPServer
from record import Record

FOLDER, KILL_AT = Path(sys.argv[1]), sys.argv[2]
SLOW_S = 0.2
server = MCPServer("desk")


def pass_point(name: str) -> None:
    """List the point, and kill whoever waits for this server when it is the one."""
    with (FOLDER / "points").open("a") as file:
        file.write(f"{name}\n")
    if name == KILL_AT:
        os.kill(os.getppid(), signal.SIGKILL)


@server.tool()
async def send(order: str) -> dict[str, str]:
    """Send."""
    pass_point(f"server before effect {order}")
    nonce = uuid.uuid4().hex[:8]
    Record(FOLDER).add("effects", order=order, nonce=nonce, key=None)
    pass_point(f"server after effect {order}")
    return {"order": order, "nonce": nonce}


@server.tool()
async def slow_send(order: str) -> dict[str, str]:
    """Send later."""
    await asyncio.sleep(SLOW_S)
    done: dict[str, str] = await send(order)
    return done


server.run("stdio")
