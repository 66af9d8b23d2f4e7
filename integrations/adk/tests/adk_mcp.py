"""An MCP server whose tools leave a line in a file, as a child process, and the toolset of an agent that starts it.

python adk_mcp.py FILE PLAN: the plan says before which effect somebody dies, and what the tools are said to be.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

NAMES = ("pay", "mail")


def toolset(
    folder: Path,
    *,
    hints: Any = None,
    dies: str = "",
    times: int = 1,
    kills: str = "",
    **settings: Any,
) -> Any:
    """The tools of a server on this folder.

    Args:
        folder: where the file of effects is.
        hints: the annotations of `pay`.
        dies: the effect after which the server dies, the first `times` times.
        times: see `dies`.
        kills: the effect after which the process that asked for it is killed.
        settings: those of `McpToolset`.
    """
    from google.adk.tools.mcp_tool.mcp_session_manager import StdioConnectionParams
    from google.adk.tools.mcp_tool.mcp_toolset import McpToolset
    from mcp import StdioServerParameters

    plan = json.dumps({"hints": hints, "dies": dies, "times": times, "kills": kills})
    server = StdioServerParameters(
        command=sys.executable, args=[__file__, str(folder / "effects"), plan], env=dict(os.environ)
    )
    # A loaded machine starts a process slowly.
    params = StdioConnectionParams(server_params=server, timeout=25)
    return McpToolset(connection_params=params, **settings)


def serve(path: Path, plan: dict[str, Any]) -> None:
    """Serve until nobody listens any more."""
    from mcp.server.mcpserver import MCPServer
    from mcp.types import ToolAnnotations

    server = MCPServer("desk")

    def effect(line: str) -> None:
        with path.open("a") as file:
            file.write(f"{line}\n")
        done = path.read_text().splitlines().count(line)
        if line == plan["kills"]:
            os.kill(os.getppid(), signal.SIGKILL)
        if line == plan["dies"] and done <= plan["times"]:
            os.kill(os.getpid(), signal.SIGKILL)

    def tool_of(name: str) -> Any:
        async def run(x: str) -> dict[str, str]:
            effect(f"{name}:{x}")
            return {"did": f"{name} {x}"}

        return run

    for name in NAMES:
        hints = ToolAnnotations(**plan["hints"]) if plan["hints"] and name == "pay" else None
        server.tool(name=name, description=name, annotations=hints)(tool_of(name))
    server.run("stdio")


if __name__ == "__main__":
    serve(Path(sys.argv[1]), json.loads(sys.argv[2]))
