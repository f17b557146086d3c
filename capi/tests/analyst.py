"""What an analyst would do with the module, on the fixture's index: analyst.py INDEX"""

import pydoc
import sys
import threading

import probeidx

kernel = probeidx.Index(sys.argv[1])
assert kernel.release == "6.1.0-test" and kernel.counts()["objects"] > 2

[place] = [p for p in kernel.resolve("vmlinux:submit", "rq->users", "flags")]
assert place.instance == "out-of-line" and place.symbol == "submit" and place.offset == 0 and place.anchor.startswith("_text+")
assert place["flags"].fetch.startswith("flags=%si") and place["flags"].steps[0].register == "si"
assert [s.op for s in place["rq->users"].steps] == ["register", "add", "read"] and place["rq->users"]
assert place.definition.endswith(place["flags"].fetch) and set(place.verdicts) == {"kprobe", "kprobe_events", "kretprobe", "fentry"}

inlined = [p for p in kernel.resolve("clamp_value") if p.inlined_into]
assert inlined and all(p.instance == "inline" and p.inlined_into[0].line > 0 for p in inlined)
[where] = kernel.address(inlined[0].address) if not inlined[0].module else kernel.address(f"{inlined[0].symbol}+{inlined[0].offset}")
assert any(f.function == "clamp_value" and f.is_inlined for f in where.frames)

assert kernel.resolve("no_such_function") == [] and kernel.find("no_such_*") == []
assert any(line.startswith('kernel.function("submit@') for line in kernel.find("submit"))
assert [line.line for line in kernel.lines("vmlinux:submit")] == sorted({line.line for line in kernel.lines("vmlinux:submit")})

[request] = kernel.type("struct request")
flags = next(m for m in request.members if m.name == "flags")
assert flags.bits and flags.bits[1] == 3 and request.size and request.size > flags.offset
[users] = kernel.member("struct request.users")
assert users.size == 4 and any(m.name == "users" and m.offset == users.offset for m in request.members)
assert any(u.function == "submit" and (1, 1) in u.uses for u in kernel.users("struct request"))
assert {m.name: m.value for m in kernel.type("enum state")[0].members}["STATE_GONE"] == -1

assert users.steps[-1].op == "add" and users.steps[-1].value == users.offset
assert kernel.why_not("submti")[0].near[0] == "submit" and not kernel.why_not("submti")[0].is_known
assert kernel.defined("vmlinux:submit", "rq") == (1, 1)
assert place.probe.startswith('kernel.function("submit@') and probeidx.kernels(sys.argv[1])[0].release == kernel.release
assert len(kernel.objects()) == kernel.counts()["objects"] and kernel.skipped() == [] and not kernel.verify()
text = b"ffffffff81000000 T _text\n"
moved = probeidx.Index(sys.argv[1], kallsyms=text)
base = next(p.address - int(p.anchor.partition("+")[2]) for p in [place])
[there] = moved.address(0xffffffff81000000 + place.address - base)
assert there.symbol == "submit" and there.address == place.address
try:
    probeidx.Index(sys.argv[1], kallsyms=b"nothing")
    raise AssertionError("kallsyms without _text")
except probeidx.Error as error:
    assert error.message

[decoded] = kernel.decode(["[    1.5] RIP: 0010:submit+0x0/0xffff"])
assert decoded.startswith("[    1.5] RIP: 0010:submit+0x0"), decoded
[plain] = kernel.decode(["nothing here \udcff"])
assert plain == "nothing here \udcff"

for wrong, kind in [("submit(", "usage"), ("", "usage")]:
    try:
        kernel.find(wrong)
        raise AssertionError(wrong)
    except probeidx.Error as error:
        assert error.kind == kind and error.message, error

results = []
threads = [threading.Thread(target=lambda: results.append(kernel.resolve("submit"))) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(results) == 8 and all(r == results[0] for r in results)

with probeidx.Index(sys.argv[1]) as other:
    assert other.find("submit") == kernel.find("submit")
try:
    other.find("submit")
    raise AssertionError("closed")
except probeidx.Error as error:
    assert error.kind == "closed"

# What is public is explained.
for name in probeidx.__all__:
    one = getattr(probeidx, name)
    assert one.__doc__ and len(one.__doc__) > 20, name
for name in (n for n in dir(probeidx.Index) if not n.startswith("_")):
    assert getattr(probeidx.Index, name).__doc__, name
text = pydoc.render_doc(probeidx, renderer=pydoc.plaintext)
assert "Every placement of a spec" in text and "find(self, pattern: 'str'" in text

print("all as expected")
