"""pygls as an editor: python_client.py PROGRAM INDEX. Ends with an error where an answer is not what it has to be."""

import asyncio
import sys
import time

from lsprotocol import types
from pygls.lsp.client import LanguageClient

program, index = sys.argv[1:]
WRONG = "/* 😀 */ kprobe:vfs_raed { @ = count(); }\nfentry:vfs_read { print(args.cuont); }\n"
COMPLETED = [
    ("a.bt", "kprobe:vfs_rea", "vfs_read"),
    ("a.bt", "tracepoint:syscalls:sys_enter_openat { print(args.fi", "filename"),
    ("a.bt", "fentry:vfs_read { print(args.file->f_path.de", "dentry"),
    ("a.bt", "kprobe:tcp_sendmsg { $sk = (struct sock *)arg0; print($sk->sk_pr", "sk_protocol"),
    ("a.stp", 'probe kernel.function("vfs_rea', "vfs_read"),
    ("a.stp", "probe vm.pagef", "pagefault"),
    ("a.stp", "probe vm.pagefault { print($vma->vm_fi", "vm_file"),
    ("a.stp", 'probe kernel.function("vfs_read") { print($file->f_path->de', "dentry"),
    ("a.stp", "probe begin { print(kernel_stri", "kernel_string"),
]


async def main():
    client, found = LanguageClient("try-agents", "1"), asyncio.Queue()

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def _(params):
        found.put_nowait(params)

    await client.start_io(program, "--db", index, "lsp")
    await client.initialize_async(types.InitializeParams(capabilities=types.ClientCapabilities()))
    client.initialized(types.InitializedParams())

    def document(name, text):
        uri = f"file:///scripts/{name}"
        item = types.TextDocumentItem(uri=uri, language_id="plaintext", version=1, text=text)
        client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
        return types.TextDocumentIdentifier(uri=uri)

    begun = time.monotonic()
    document("wrong.bt", WRONG)
    shown = (await asyncio.wait_for(found.get(), 30)).diagnostics
    ranges = [(d.code, d.range.start.line, d.range.start.character, d.range.end.character) for d in shown]
    assert ranges == [("absent", 0, 9, 24), ("argument", 1, 29, 34)], ranges
    print(f"findings after {(time.monotonic() - begun) * 1000:.0f} ms")
    for name, text, expected in COMPLETED:
        place = types.Position(line=0, character=len(text))
        begun = time.monotonic()
        opened = document(name, text)
        answer = await client.text_document_completion_async(types.CompletionParams(text_document=opened, position=place))
        took = (time.monotonic() - begun) * 1000
        assert expected in [item.label for item in answer.items], (text, answer)
        print(f"{text}: {len(answer.items)} items, {took:.1f} ms")
    opened = document("b.bt", "kprobe:vfs_read { }")
    hover = await client.text_document_hover_async(types.HoverParams(opened, types.Position(0, 10)))
    assert "kprobe ok" in hover.contents.value and "count" in hover.contents.value, hover
    await client.shutdown_async(None)
    client.exit(None)
    print("the client agrees")


asyncio.run(main())
