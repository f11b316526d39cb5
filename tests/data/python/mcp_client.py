"""Drives a server with the official MCP client: every tool, in both lifecycles.

Usage: mcp_client.py CONFIG OTHER_URL
CONFIG is JSON as in README.md: {"mcpServers": {NAME: {"url": .., "headers": {..}}}}.
OTHER_URL is /mcp of a second replica; calls alternate between the two.
"""

import asyncio
import base64
import io
import json
import sys
import tarfile
import time

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

TOOLS = [
    "sandbox_create", "sandbox_list", "sandbox_delete", "bash_exec", "bash_exec_batch",
    "fs_ingest", "file_read", "file_write", "file_edit", "fs_export",
]


def expect(found, wanted):
    if found != wanted:
        raise AssertionError(f"found {found!r}, wanted {wanted!r}")


class Replicas:
    """Two clients of one fleet; each call goes to the other one."""

    def __init__(self, clients):
        self.clients, self.turn = clients, 0

    def next(self):
        self.turn += 1
        return self.clients[self.turn % len(self.clients)]

    async def ok(self, tool, **arguments):
        result = await self.next().call_tool(tool, arguments)
        if result.is_error:
            raise AssertionError(f"{tool}: {result}")
        return result

    async def data(self, tool, **arguments):
        return (await self.ok(tool, **arguments)).structured_content

    async def failed(self, tool, **arguments):
        result = await self.next().call_tool(tool, arguments)
        expect(result.is_error, True)
        error = result.structured_content
        for name in ("code", "message", "applied", "retryable"):
            if str(error[name]).lower() not in result.content[0].text.lower():
                raise AssertionError(f"{name} is not in the text: {result}")
        return error


async def all_tools(fleet):
    for client in fleet.clients:
        expect([tool.name for tool in (await client.list_tools()).tools], TOOLS)
        expect(client.server_info.name, "sqlfs")
    box = await fleet.data("sandbox_create", files={"/home/user/a": "one\n"})
    box = box["id"]
    listed = await fleet.data("sandbox_list", limit=1)
    expect([row["id"] for row in listed["sandboxes"]], [box])
    run = await fleet.ok("bash_exec", id=box, script="cat a; echo two >> a; echo oops >&2; exit 4", timeout=20)
    expect((run.structured_content["stdout"], run.structured_content["exitCode"]), ("one\n", 4))
    if "oops" not in run.content[0].text:
        raise AssertionError(run)
    expect((await fleet.data("file_read", id=box, path="/home/user/a", offset=2))["content"], "two\n")
    await fleet.ok("file_write", id=box, path="/home/user/b/c", content="x = 1\n")
    await fleet.ok("file_edit", id=box, path="/home/user/b/c", oldString="1", newString="2")
    expect((await fleet.data("file_read", id=box, path="/home/user/b/c"))["content"], "x = 2\n")
    binary = base64.b64encode(b"\x00\xff").decode()
    await fleet.ok("fs_ingest", id=box, basePath="/home/user/in", files={"bin": binary, "text": {"text": "hi"}})
    export = await fleet.ok("fs_export", id=box, basePath="/home/user/in")
    blob = base64.b64decode(export.content[1].resource.blob)
    with tarfile.open(fileobj=io.BytesIO(blob)) as tar:
        found = {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}
    expect(found, {"bin": b"\x00\xff", "text": b"hi"})
    scripts = [{"id": str(n), "script": f"echo {n} >> log; wc -l < log"} for n in range(3)]
    batch = await fleet.data("bash_exec_batch", id=box, scripts=scripts, atomic=True)
    expect([line["stdout"].strip() for line in batch["results"]], ["1", "2", "3"])

    late = await fleet.failed("bash_exec", id=box, script="echo x > late; sleep 20", timeout=1)
    expect((late["code"], late["applied"], late["retryable"]), ("EXEC_TIMEOUT", "no", False))
    expect((await fleet.failed("file_read", id=box, path="/home/user/late"))["code"], "ENOENT")
    wrong = await fleet.failed("bash_exec", id=box, script="ls", redOnly=True)
    expect((wrong["code"], wrong["message"]), ("UNKNOWN_FIELD", "unknown field redOnly; did you mean readOnly?"))
    try:
        await fleet.next().call_tool("bash", {})
    except MCPError as error:
        expect("did you mean" in str(error) or "there are" in str(error), True)
    else:
        raise AssertionError("a tool that is not there was called")

    await progress(fleet, box)
    await given_up(fleet, box)
    await fleet.ok("sandbox_delete", id=box)
    expect((await fleet.failed("bash_exec", id=box, script="true"))["code"], "SANDBOX_NOT_FOUND")


async def progress(fleet, box):
    heard = []

    async def hear(progress, total, message):
        heard.append(progress)

    script = {"id": box, "script": "sleep 5; echo done"}
    result = await fleet.next().call_tool("bash_exec", script, progress_callback=hear)
    expect(result.structured_content["stdout"], "done\n")
    if not heard:
        raise AssertionError("no progress was heard of")


async def given_up(fleet, box):
    """A client that stops waiting: the script ends, and the sandbox is free."""
    client = fleet.next()
    call = asyncio.create_task(client.call_tool("bash_exec", {"id": box, "script": "touch gone; sleep 100", "timeout": 200}))
    other = fleet.next()
    while True:
        probe = other.call_tool("bash_exec", {"id": box, "script": "true"}, read_timeout_seconds=0.3)
        try:
            await probe
        except MCPError:
            break  # The sandbox is busy: the script runs.
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    start = time.monotonic()
    after = await fleet.data("bash_exec", id=box, script="test ! -e gone && echo free")
    expect(after["stdout"], "free\n")
    if time.monotonic() - start > 20:
        raise AssertionError("the sandbox was not free")


async def refused(url, headers):
    """A wrong token is a failure that the client reports, not a session."""
    wrong = {name: value + "x" if name.lower() == "authorization" else value for name, value in headers.items()}
    async with httpx2.AsyncClient(headers=wrong) as http:
        reply = await http.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
        expect((reply.status_code, reply.json()["code"]), (401, "AUTH_INVALID"))
        try:
            async with Client(streamable_http_client(url, http_client=http), mode="legacy"):
                pass
        except BaseException:
            return
        raise AssertionError("a wrong token was let in")


async def main():
    (server,) = json.loads(sys.argv[1])["mcpServers"].values()
    urls, headers = [server["url"], sys.argv[2]], server["headers"]
    for mode in ("legacy", "auto"):
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(urls[0], http_client=http), mode=mode) as one,
            Client(streamable_http_client(urls[1], http_client=http), mode=mode) as two,
        ):
            print(f"{mode}: {one.protocol_version}", flush=True)
            await all_tools(Replicas([one, two]))
    await refused(urls[0], headers)
    print("all tools work")


asyncio.run(main())
