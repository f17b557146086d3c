"""Executes the notebook on an export of several kernels, and compares its figures with what probeidx answers.

notebook.py PROBEIDX DB TABLES NOTEBOOK
"""
import collections
import json
import os
import pathlib
import sys

import nbclient
import nbformat
import program

PROBEIDX, DB, TABLES, NOTEBOOK = map(os.path.abspath, sys.argv[1:5])
ask = program.asker(PROBEIDX, DB)


def executed():
    """The notebook with what its cells gave. A cell that fails ends this with its traceback."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    os.environ["PROBEIDX_TABLES"] = TABLES
    # Settings of whoever runs this count for nothing.
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    where = {"metadata": {"path": str(pathlib.Path(NOTEBOOK).parent)}}
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=where).execute()
    return notebook


def outputs(notebook):
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def same(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: the notebook has\n{found}\nprobeidx answers\n{wanted}")
    print(f"{what}: as probeidx answers")


def prototypes(name):
    """The prototypes of a name, each with the kernels that have it."""
    found = collections.defaultdict(set)
    for line in ask("history", name):
        if line["fact"].get("what") == "prototype" and line["fact"].get("value") is not None:
            found[line["fact"]["value"]].update(line["kernels"])
    return sorted([prototype, sorted(kernels)] for prototype, kernels in found.items())


def check():
    stored = nbformat.read(NOTEBOOK, as_version=4)
    if any(cell.get("outputs") for cell in stored.cells):
        sys.exit("the notebook is kept without outputs")
    found = outputs(executed())
    pictures = sum("image/png" in output.get("data", {}) for output in found)
    if pictures != 4:
        sys.exit(f"{pictures} pictures instead of 4")
    figures = json.loads([output["text"] for output in found if output.get("name") == "stdout"][-1])

    report = ask("fleet", "report")
    shares = {line["kernel"]: [line["not_inlined"], line["selectively_inlined"], line["fully_inlined"]]
              for line in report if line["kind"] == "shares"}
    if len(shares) < 2:
        sys.exit("the notebook wants several kernels")
    same(f"inlining of {len(shares)} kernels", figures["inlining"], shares)

    placed = [line for line in ask("resolve", "vfs_*") if line["instance"] != "tracepoint"]
    counted = collections.Counter((line["kernel"], line["attach"]["kprobe"]) for line in placed)
    same(f"verdicts on {len(placed)} places", figures["verdicts"], sorted([*key, count] for key, count in counted.items()))

    changes = {(line["before"], line["after"]): [line["there_before"], line["there_after"], line["added"], line["removed"]]
               for line in report if line["kind"] == "changes" and line["of"] == "function"}
    compared = [(row[:2], row[2:6]) for row in figures["changes"] if tuple(row[:2]) in changes]
    if not compared:
        sys.exit(f"no two kernels of the notebook are compared by the report: {list(changes)}")
    for pair, counts in compared:
        same(f"functions of {pair[0]} and {pair[1]}", counts, changes[tuple(pair)])

    if not figures["prototypes"]:
        sys.exit("no function has two prototypes")
    for name, found in figures["prototypes"].items():
        same(f"prototypes of {name}", found, prototypes(name))


check()
