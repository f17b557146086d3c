"""The questions of export/sql, asked of DuckDB or Spark and of probeidx: both have to give the same rows.

questions.py PROBEIDX DB TABLES SQL duckdb|spark ANSWERS

What probeidx answers is kept in the file ANSWERS for the next engine.
"""
import collections
import os
import pathlib
import pickle
import re
import sys
import time

import program

PROBEIDX, DB, TABLES, SQL = map(os.path.abspath, sys.argv[1:5])
ask = program.asker(PROBEIDX, DB)
ENGINE, ANSWERS = sys.argv[5], pathlib.Path(os.path.abspath(sys.argv[6]))


def of(lines, *names):
    """Some fields of each line; a list becomes a tuple."""
    return [tuple(line.get(name) for name in names) for line in lines]


def resolve(pattern):
    """The placements in code: a name may be that of an event, too."""
    return [line for line in ask("resolve", pattern) if line["instance"] != "tracepoint"]


def anchored(line):
    anchor = line["anchor"] or {}
    chain = tuple(call["function"] for call in line["inlined_into"]) or None
    return (line["kernel"], line["module"], line["file"] or None, line["instance"], line["section"], line["address"],
            line["symbol"], line["offset"], anchor.get("symbol"), anchor.get("offset"), chain)


def verdicts(line):
    names = ["kprobe", "kprobe_events", "kretprobe", "ftrace", "trampoline"]
    return (line["kernel"], line["symbol"], line["offset"], *(line["attach"][name] for name in names),
            line["by_name"]["state"])


def variables(name):
    for line in resolve(name):
        for value in line["vars"]:
            yield line, value


def counted(rows):
    return [(*row, count) for row, count in collections.Counter(rows).items()]


def only_inlined(pattern):
    """By declaration and object: those of which no address is an entry."""
    found = collections.defaultdict(list)
    for line in resolve(pattern):
        found[line["kernel"], line["function"], line["file"], line["line"], line["module"]].append(line)
    only = [key[:4] for key, lines in found.items() if lines[0]["coverage"]["out_of_line"]["instances"] == 0
            and lines[0]["coverage"]["inline"]["instances"] > 0]
    return counted(only)


def calls(name, inlined, with_kind):
    found = collections.Counter()
    for line in ask("callers", name):
        if (line["kind"] == "inlined") == inlined:
            key = (line["kernel"], line["module"], line["caller"] or None, line["caller_file"] or None)
            found[key + ((line["kind"],) if with_kind else ())] += len(line["sites"])
    return [(*key, count) for key, count in found.items()]


def coverage(name):
    found = collections.Counter()
    seen = set()
    for line in resolve(name):
        key = (line["kernel"], line["module"], line["file"], line["line"])
        if key not in seen:
            seen.add(key)
            own = line["coverage"]
            for what, count in [("i", own["instances"]), ("r", own["reachable"]),
                                ("g", sum(own.get("left_out", {}).values()))]:
                found[line["kernel"], what] += count
    return [(kernel, *(found[kernel, what] for what in "irg")) for kernel in {key[0] for key in seen}]


def members(name):
    """The members that have a name, those of unnamed members among them; and whole types as they are."""
    for line in ask("type", f"struct {name}"):
        def walk(members, before):
            for member in members:
                path = before + (member.get("name") or "")
                if member.get("name"):
                    yield path, member
                if member.get("members") and (member.get("name") is None or not member["type"].endswith(("]", "*"))):
                    yield from walk(member["members"], path + "." if member.get("name") else before)
        for path, member in walk(line["members"], ""):
            yield line, path, member


def fields(name):
    for line in ask("resolve", f'kernel.trace("{name}")'):
        for field in line.get("fields") or []:
            yield (line["kernel"], line["system"], field["name"], field["type"], field["offset"], field["size"])


def history(name, what):
    """The values of a fact that is there, with the kernels that have each."""
    found = collections.defaultdict(set)
    for line in ask("history", name):
        if line["fact"].get("what") == what and line["fact"].get("value") is not None:
            values = line["fact"]["value"]
            for value in values if isinstance(values, list) else [values]:
                found[value].update(line["kernels"])
    return [(value, tuple(sorted(kernels))) for value, kernels in found.items()]


QUESTIONS = {
    "01": lambda: [anchored(line) for line in resolve("do_open")],
    "02": lambda: [verdicts(line) for line in resolve("blk_account_io_start")],
    "03": lambda: [(line["kernel"], line["symbol"], line["offset"], v["name"], v["type"], v["state"],
                    v.get("location"), v.get("fetch")) for line, v in variables("do_open")],
    "04": lambda: only_inlined("blk_mq_*"),
    "05": lambda: calls("fdget", True, False),
    "06": lambda: calls("vfs_read", False, True),
    "07": lambda: [(line["kernel"], v["name"], v["type"], v["passed"]["slot"], v["passed"]["proof"], v.get("location"))
                   for line, v in variables("vfs_read") if v.get("passed", {}).get("number") == 2],
    "08": lambda: of(ask("type", "task_struct.pid"), "kernel", "type", "offset", "size"),
    "09": lambda: [(line["kernel"], line["file"] or None, path, m["type"], m["offset"], m["size"], line["size"])
                   for line, path, m in members("path")],
    "10": lambda: [(line["kernel"], path, m["offset"], m["bit_offset"], m["bit_size"])
                   for line, path, m in members("task_struct") if "bit_size" in m],
    "11": lambda: list(fields("sched_switch")),
    "12": lambda: list(set(of(ask("find", 'kernel.trace("block:*")'), "kernel", "function"))),
    "13": lambda: same_name("s_next"),
    "14": lambda: coverage("fdget"),
    "15": lambda: [(line["kernel"], line["function"], line["line"], line["address"])
                   for line in resolve("*@fs/read_write.c")
                   if line["instance"] == "out-of-line" and line["module"] is None],
    "16": lambda: counted((line["kernel"], line["attach"]["kprobe"]) for line in resolve("exc_*")
                          if line["attach"]["kprobe"] != "ok"),
    "17": lambda: entries("vfs_*"),
    "18": lambda: history("blk_mq_alloc_request", "prototype"),
    "19": lambda: history("task_struct.pid", "offset"),
    "20": lambda: history("struct task_struct", "size"),
}


def same_name(name):
    """Each function once. Those that only symbols describe have no line, and each its own coverage."""
    found = {}
    for line in resolve(name):
        own = line["coverage"]["out_of_line"]["instances"]
        if own:
            at = line["address"] if not line["file"] and own == 1 else None
            found[line["kernel"], line["file"], line["module"], line["line"], at] = line
    return [(line["kernel"], line["file"] or None, line["module"]) for line in found.values()]


def entries(pattern):
    lines = [line for line in resolve(pattern) if line["instance"] == "out-of-line"]
    taken = collections.Counter(line["kernel"] for line in lines if line["attach"]["trampoline"] == "ok")
    return [(kernel, taken[kernel], count)
            for kernel, count in collections.Counter(line["kernel"] for line in lines).items()]


class DuckDb:
    def __init__(self, is_several):
        import duckdb

        self.engine = duckdb.connect()
        self.engine.execute("SET threads = 2")
        for statement in pathlib.Path(SQL, "views.sql").read_text().split(";"):
            if is_several or "_since" not in statement:
                self.engine.execute(statement)
        reserved = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'"
        reserved = {row[0] for row in self.engine.execute(reserved).fetchall()}
        columns = self.engine.execute("SELECT DISTINCT column_name FROM information_schema.columns").fetchall()
        if wrong := [column for (column,) in columns if column in reserved]:
            sys.exit(f"{wrong} are reserved words")

    def ask(self, text):
        for statement in text.split(";"):
            if statement.strip():
                rows = self.engine.execute(statement).fetchall()
        return rows

    def check_filters(self):
        """Bloom filters leave out groups without a name, and none with it."""
        for path in map(str, pathlib.Path("functions").rglob("*.parquet")):
            probe = lambda name: self.engine.execute(
                "SELECT row_group_id, bloom_filter_excludes FROM parquet_bloom_probe(?, 'name', ?)", [path, name]).fetchall()
            names = self.engine.execute("SELECT min(name), max(name) FROM read_parquet(?)", [path]).fetchone()
            if not all(any(not excludes for _, excludes in probe(name)) for name in names):
                sys.exit(f"{path}: the filters of all groups leave out one of {names}")
            left_out = [excludes for number in range(50) for _, excludes in probe(f"no_such_function_{number}")]
            if sum(left_out) < 0.8 * len(left_out):
                sys.exit(f"{path}: {sum(left_out)} of {len(left_out)} groups are left out for names that are not there")


class Spark:
    def __init__(self, _):
        from pyspark.sql import SparkSession

        self.engine = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
                       .config("spark.sql.shuffle.partitions", "2").config("spark.log.level", "ERROR")
                       # Values in paths stay texts, because v6.10 is no number.
                       .config("spark.sql.sources.partitionColumnTypeInference.enabled", "false").getOrCreate())
        for table in pathlib.Path().iterdir():
            self.engine.read.parquet(str(table)).createOrReplaceTempView(table.name)

    # What Spark spells otherwise.
    SPELLED = [
        ('"', "`"),
        ("list_sort(", "array_sort("), ("list_distinct(", "array_distinct("), ("list(", "collect_list("), ("unnest(", "explode("),
        ("printf('0x%x', address)", "lower(concat('0x', conv(cast(address AS string), 10, 16)))"),
        ("FILTER (", "FILTER (WHERE "),
    ]

    def ask(self, text):
        text = re.sub("--.*", "", text)
        values = dict(re.findall("SET VARIABLE (\\w+) = ('[^']*');", text))
        text = re.sub("SET VARIABLE [^;]*;", "", text).strip().rstrip(";")
        text = re.sub(r"getvariable\('(\w+)'\)", lambda found: values[found[1]], text)
        pattern = lambda found: f"RLIKE '^{found[1].replace('*', '.*')}$'"
        text = re.sub("GLOB '([^']*)'", pattern, text)
        for own, other in self.SPELLED:
            text = text.replace(own, other)
        return [tuple(row) for row in self.engine.sql(text).collect()]


def plain(row):
    return tuple(tuple(value) if isinstance(value, list) else value for value in row)


def main():
    os.chdir(TABLES)
    is_several = pathlib.Path("functions_since").is_dir()
    engine = {"duckdb": DuckDb, "spark": Spark}[ENGINE](is_several)
    if ENGINE == "duckdb":
        engine.check_filters()
    answers = pickle.loads(ANSWERS.read_bytes()) if ANSWERS.exists() else {}
    failed = asked = 0
    for path in sorted(pathlib.Path(SQL).glob("[0-9]*.sql")):
        number, text = path.name[:2], path.read_text()
        if not is_several and "_since" in text:
            continue
        start = time.perf_counter()
        rows = engine.ask(text)
        took = (time.perf_counter() - start) * 1000
        found = collections.Counter(plain(row) for row in rows)
        if number not in answers:
            answers[number] = collections.Counter(plain(row) for row in QUESTIONS[number]())
        wanted = answers[number]
        asked += 1
        print(f"{path.name}: {found.total()} rows, {ENGINE} {took:.0f} ms")
        if found != wanted or not found:
            failed += 1
            print(f"  only {ENGINE}:", *list((found - wanted).items())[:3], sep="\n    ")
            print("  only probeidx:", *list((wanted - found).items())[:3], sep="\n    ")
    if failed:
        sys.exit(f"{failed} of {asked} differ")
    ANSWERS.write_bytes(pickle.dumps(answers))


main()
