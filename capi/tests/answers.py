"""What the library says of specs, one JSON object a placement: answers.py INDEX SPEC[\\tARGUMENT...] ..."""

import json
import sys

import probeidx

kernel = probeidx.Index(sys.argv[1])
for asked in sys.argv[2:]:
    spec, *arguments = asked.split("\t")
    for place in kernel.resolve(spec, *arguments):
        alias, tracepoint = place.alias, place.tracepoint
        print(json.dumps({
            "asked": asked,
            "instance": place.instance,
            "function": place.function,
            "address": place.address,
            "definition": place.definition,
            "values": [[v.name, v.state, v.fetch] for v in place.values],
            "alias": alias and {
                "alias": alias.name,
                "through": alias.through,
                "point": alias.point,
                "locals": [vars(local) for local in alias.locals],
            },
            "tracepoint": tracepoint and {
                "system": tracepoint.system,
                "has_event": tracepoint.has_event,
                "fields": tracepoint.fields and [vars(f) for f in tracepoint.fields],
            },
        }))
