"""The SDK of Python as a client: sdk.py PROGRAM INDEX. Ends with an error where an answer is not the command line's."""

import asyncio
import json
import subprocess
import sys
import time

from mcp import Client, StdioServerParameters

program, index = sys.argv[1:]
QUESTIONS = [
    ("resolve", {"spec": "vfs_read", "args": ["count"]}, ["resolve", "vfs_read", "count"]),
    ("find", {"patterns": ["vfs_r*"]}, ["find", "vfs_r*"]),
    ("type", {"name": "struct file.f_path.dentry"}, ["type", "struct file.f_path.dentry"]),
    ("addr", {"addresses": ["vfs_read+4"]}, ["addr", "vfs_read+4"]),
    ("bpf", {"kind": "helper", "pattern": "bpf_probe_read*"}, ["bpf", "helper", "bpf_probe_read*"]),
    ("tapset", {"patterns": ["vm.pagefault"]}, ["tapset", "vm.pagefault"]),
    ("callers", {"spec": "vfs_read"}, ["callers", "vfs_read"]),
    ("kernels", {}, ["kernels"]),
]


def printed(words):
    ran = subprocess.run([program, "--db", index, "--json", *words], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


async def main():
    server = StdioServerParameters(command=program, args=["--db", index, "mcp"])
    begun = time.monotonic()
    async with Client(server) as client:
        print(f"connected in {(time.monotonic() - begun) * 1000:.0f} ms: protocol {client.protocol_version}")
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} >= {name for name, _, _ in QUESTIONS}, tools
        assert all(tool.annotations.read_only_hint for tool in tools)
        for name, arguments, words in QUESTIONS:
            begun = time.monotonic()
            result = await client.call_tool(name, arguments)
            took = (time.monotonic() - begun) * 1000
            assert not result.is_error, result
            answer = result.structured_content
            expected = printed(words)
            assert answer["items"] == expected[: len(answer["items"])] and answer["items"], name
            assert len(answer["items"]) + answer["more"] == len(expected), name
            print(f"{name} {arguments}: {len(answer['items'])} items, {took:.1f} ms")
        refused = await client.call_tool("resolve", {"spec": "no_such_function"})
        assert refused.is_error and "no_such_function" in refused.content[0].text
        checked = await client.call_tool("check", {"text": "kprobe:vfs_read { @ = arg9; }"})
        assert checked.structured_content["items"][-1]["state"] == "argument", checked
    print("the client agrees")


asyncio.run(main())
