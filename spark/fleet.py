"""Indexes many kernels on a Spark cluster: tables of each, and a store of all. README.md says how to run it.

    spark-submit --archives probeidx.tar.gz#probeidx fleet.py LIST OUT

LIST has a kernel a line. One task reads one kernel, by the program in the archive. What it made appears in OUT by a rename, under a
name that depends on its content: a second attempt changes nothing. What happened to each kernel is a row of OUT/status.jsonl.
"""
import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
import uuid

# An executor that dies takes the task with it. The last attempt that Spark makes says so, instead of ending the job.
ATTEMPTS = 3
# Stores that are joined at once: each join writes all that is in them.
FAN_IN = 8
# The table that is written soonest of those whose path has the line and the flavour.
LEAST = "tracepoints"
# Seconds without a byte from a server.
PATIENCE = 90


def main():
    settings, lists = arguments()
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("probeidx fleet").getOrCreate()
    context = spark.sparkContext
    settings["threads"] = int(context.getConf().get("spark.task.cpus", "1"))
    # Another version of the program or other tables are other work.
    settings["version"] = context.parallelize([settings], 1).map(version).first()
    out = pathlib.Path(settings["out"])
    for folder in ["kernels", "status", "lines", "fleets", "tables", ".unfinished"]:
        (out / folder).mkdir(parents=True, exist_ok=True)
    kernels = [(key(line, settings), line) for line in lists]
    kernels = list(dict(kernels).items())
    missing = [kernel for kernel in kernels if not is_done(out, known(out, kernel[0]))]
    if missing:
        context.parallelize(missing, len(missing)).foreach(lambda kernel: read_kernel(*kernel, settings))
    rows = [known(out, one) for one, _ in kernels]
    done = [row for row in rows if is_done(out, row)]
    fleet = None
    if done and not (settings["no_fleet"] and not settings["compact"]):
        members = by_line(done)
        stores = context.parallelize(members, len(members)).map(lambda names: line_of(names, settings)).collect()
        if settings["compact"]:
            compact(context, stores, settings)
        if not settings["no_fleet"]:
            fleet = join_all(context, stores, settings)
        keep(out, "lines", set(stores))
    tidy(out, done)
    lines = "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows)
    replace(out / "status.jsonl", lines.encode())
    counts = {state: sum(row["state"] == state for row in rows) for state in ["done", "part", "failed"]}
    print(json.dumps({"kernels": len(rows), **counts, "read_now": len(missing), "fleet": fleet}))
    for row in rows:
        if row["state"] == "failed":
            print(f"failed: {row['inputs']}: {row['reason']}", file=sys.stderr)
    spark.stop()
    return 0 if len(done) == len(rows) else 4


def arguments():
    parser = argparse.ArgumentParser(description="Indexes many kernels: tables of each, and a store of all.")
    parser.add_argument("list", help="a file with a kernel a line: paths or addresses of its packages or debug files with "
                                     "blanks between them, an index, or a build id ($DEBUGINFOD_URLS has it)")
    parser.add_argument("out", help="a folder that every executor and the driver can write to")
    parser.add_argument("--tables", default="", help="only these tables, with commas between them")
    parser.add_argument("--compression", default="gzip", help="of the tables")
    parser.add_argument("--compact", action="store_true",
                        help="a folder of tables for each line and flavour, in place of one for each kernel")
    parser.add_argument("--no-tapset", action="store_true", help="without tapsets")
    parser.add_argument("--no-fleet", action="store_true", help="no store of all")
    parser.add_argument("--program", default="probeidx", help="the folder that --archives unpacks, or one on every machine")
    given = vars(parser.parse_args())
    text = pathlib.Path(given.pop("list")).read_text()
    lists = [" ".join(line.split()) for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    given["out"] = os.path.abspath(given["out"])
    given["servers"] = os.environ.get("DEBUGINFOD_URLS", "").split()
    return given, lists


# Which work was done already.

def key(line, settings):
    """What a kernel is known by: its inputs as they are now, and what is made of them."""
    tables = "of lines" if settings["compact"] else f"{settings['tables']} {settings['compression']}"
    parts = [line, settings["version"], tables, str(settings["no_tapset"])]
    for name in line.split():
        with contextlib.suppress(OSError):
            found = os.stat(name)
            parts.append(f"{found.st_size} {found.st_mtime_ns}")
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def known(out, one):
    try:
        return json.loads((out / "status" / f"{one}.json").read_text())
    except FileNotFoundError:
        return None


def is_done(out, row):
    return bool(row) and row["state"] != "failed" and (out / "kernels" / row["name"]).is_dir()


def tidy(out, done):
    """Removes what an older version of the program made of the kernels of this run, which a query over all folders would have twice;
    and what killed tasks left."""
    names = {row["name"] for row in done}
    builds = {row["build_id"] for row in done}
    for folder in (out / "kernels").iterdir():
        if folder.name not in names and folder.name.split("_")[0] in builds:
            shutil.rmtree(folder, ignore_errors=True)
    for left in (out / ".unfinished").iterdir():
        if time.time() - left.lstat().st_mtime > 86400:
            shutil.rmtree(left, ignore_errors=True)


# One kernel.

def read_kernel(one, line, settings):
    """Reads a kernel, and writes what happened as a row. It raises nothing but what keeps the row from being written."""
    from pyspark import TaskContext

    started, usage = time.time(), {"processor": 0.0, "memory": 0}
    row = {"key": one, "inputs": line, "state": "failed", "reason": None, "host": socket.gethostname()}
    try:
        attempt = TaskContext.get().attemptNumber()
        if attempt >= ATTEMPTS:
            raise Failed(f"the executor died {attempt} times while it was read")
        with tempfile.TemporaryDirectory(prefix="probeidx-") as scratch:
            try:
                row.update(made_of(line, pathlib.Path(scratch), settings, usage))
            except Failed as error:
                # The folder is gone when this is read.
                raise Failed(re.sub(re.escape(scratch) + r"/(made/index/)?", "", str(error))) from None
    except Failed as error:
        row["reason"] = str(error)
    except Exception as error:
        row["reason"] = f"{type(error).__name__}: {error}"
    row.update(seconds=round(time.time() - started, 2), processor_seconds=round(usage["processor"], 2),
               memory_mib=usage["memory"] >> 10)
    out = pathlib.Path(settings["out"])
    # What a task says that has outlived its executor does not take back what the next attempt did.
    if row["state"] != "failed" or not is_done(out, known(out, one)):
        replace(out / "status" / f"{one}.json", json.dumps(row, sort_keys=True).encode())


def made_of(line, scratch, settings, usage):
    """Makes the index and the tables of a kernel, and commits both."""
    inputs = [path for name in line.split() for path in local(name, scratch, settings)]
    folder = scratch / "made"
    db = folder / "index"
    db.mkdir(parents=True)
    reason = None
    if [pathlib.Path(path).suffix for path in inputs] == [".pidx"]:
        # Its name is what its kernel is called.
        shutil.copyfile(inputs[0], db / os.path.basename(inputs[0]))
        run(settings, ["--db", db, "verify"], usage)
    else:
        words = ["build", "--progress", "never", "-j", str(settings["threads"])]
        words += ["--no-tapset"] if settings["no_tapset"] else []
        reason = run(settings, ["--db", db, *words, *inputs], usage, part=True)[1]
        for lock in db.glob(".*"):
            lock.unlink()
    indexes = sorted(db.glob("*.pidx"))
    if len(indexes) != 1:
        raise Failed(f"a line is to name one kernel: {', '.join(index.stem for index in indexes) or 'this has none'}")
    export(indexes[0], folder / "tables", {**settings, "tables": LEAST} if settings["compact"] else settings, usage)
    kernel = json.loads(run(settings, ["--db", indexes[0], "--json", "kernels"], usage)[0])
    placed = next((path for path in sorted(folder.glob("tables/*/*/*"))), None)
    if settings["compact"]:
        shutil.rmtree(folder / "tables")
    return {
        "state": "part" if reason else "done",
        "reason": reason,
        "name": commit(folder, "kernels", kernel["build_id"], settings),
        "kernel": indexes[0].stem,
        "build_id": kernel["build_id"],
        "architecture": kernel["architecture"],
        # As the folders of the tables are called: what has it in common shares most.
        "line": "/".join(placed.parts[-2:]) if placed else "",
        "bytes": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
    }


def export(db, folder, settings, usage=None):
    words = ["export", "--kernel", "*", "--parquet", folder, "--compression", settings["compression"]]
    words += ["--tables", settings["tables"]] if settings["tables"] else []
    run(settings, ["--db", db, *words], usage)


def local(name, scratch, settings):
    """The paths of what a word of the list names: fetched, if it is not here."""
    if re.fullmatch("[0-9a-f]{40}", name):
        if not settings["servers"]:
            raise Failed(f"no server has build id {name}: DEBUGINFOD_URLS is empty")
        addresses = [f"{server.rstrip('/')}/buildid/{name}/debuginfo" for server in settings["servers"]]
        return [fetched(addresses, scratch / f"vmlinux-{name[:12]}")]
    if re.match("https?://", name):
        last = urllib.parse.unquote(urllib.parse.urlsplit(name).path.rpartition("/")[2])
        return [fetched([name], scratch / (last or "package"))]
    if not os.path.exists(name):
        raise Failed(f"{name}: there is no such file")
    return [name]


def fetched(addresses, to):
    said = []
    for address in addresses * 2:
        try:
            with urllib.request.urlopen(address, timeout=PATIENCE) as answer, open(to, "wb") as file:
                shutil.copyfileobj(answer, file, 1 << 20)
                wanted = answer.headers.get("Content-Length")
            if wanted is None or int(wanted) == to.stat().st_size:
                return str(to)
            said.append(f"{address}: it ended after {to.stat().st_size} of {wanted} bytes")
        except OSError as error:
            said.append(f"{address}: {error}")
    raise Failed(said[-1])


# The stores of lines, their tables, and the store of all.

def by_line(done):
    """The names of the kernels of each line, in their order."""
    lines = {}
    for row in {row["build_id"]: row for row in done}.values():
        lines.setdefault((row["architecture"], row["line"]), []).append(row)
    in_order = [sorted(rows, key=lambda row: numbers(row["kernel"])) for _, rows in sorted(lines.items())]
    return [[row["name"] for row in rows] for rows in in_order]


def join_all(context, stores, settings):
    """The name of a store with all kernels: the stores of lines, in which what their kernels share is there once, are joined as a
    tree."""
    lists = context.parallelize([[store] for store in stores], len(stores))
    some = lists.treeReduce(lambda one, other: some_joined(one + other, settings))
    name = context.parallelize([some], 1).map(lambda names: joined(names, settings)).first()
    out = pathlib.Path(settings["out"])
    # Readers of the old one keep it until they close it.
    link = out / ".unfinished" / uuid.uuid4().hex
    link.symlink_to(name)
    os.replace(link, out / "fleet")
    keep(out, "fleets", {name})
    return name


def compact(context, stores, settings):
    """Writes the tables of each line into a folder of its own, sorted by name as those of one kernel are."""
    of_line = context.parallelize(stores, len(stores)).map(lambda store: tables_of(store, settings)).collect()
    keep(pathlib.Path(settings["out"]), "tables", set(of_line))


def tables_of(line, settings):
    out = pathlib.Path(settings["out"])
    parts = [line, settings["version"], settings["tables"], settings["compression"]]
    target = "tables/" + hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
    return made(target, lambda beside: export(out / line, beside, settings), settings)


def keep(out, kind, names):
    """Removes what an earlier run left of a kind."""
    for folder in (out / kind).iterdir():
        if f"{kind}/{folder.name}" not in names:
            shutil.rmtree(folder, ignore_errors=True)


def numbers(text):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def line_of(names, settings):
    """A store of the kernels of a line: a segment for each."""
    out = pathlib.Path(settings["out"])
    indexes = [path for name in names for path in sorted((out / "kernels" / name / "index").glob("*.pidx"))]
    return made(line_name(names, settings), to_store(["fleet", "add", *indexes], settings), settings)


def line_name(names, settings):
    return "lines/" + hashlib.sha256("\n".join([settings["version"], *names]).encode()).hexdigest()[:32]


def some_joined(names, settings):
    """The stores as they are until there are many. What Spark reduces in the driver stays as it is: it has no program."""
    from pyspark import TaskContext

    is_task = TaskContext.get() is not None
    return [joined(names, settings)] if is_task and len(names) >= FAN_IN else names


def joined(names, settings):
    out = pathlib.Path(settings["out"])
    names = sorted(set(names))
    if len(names) == 1:
        return names[0]
    target = "fleets/" + hashlib.sha256("\n".join(names).encode()).hexdigest()[:32]
    return made(target, to_store(["fleet", "merge", *[out / name for name in names]], settings), settings)


def to_store(words, settings):
    return lambda beside: run(settings, ["--db", beside, *words])


def made(target, write, settings):
    """Writes a folder beside its place, if it is not there, and gives it its name. Of two tasks that do, one is the first."""
    out = pathlib.Path(settings["out"])
    beside = out / ".unfinished" / uuid.uuid4().hex
    if not (out / target).is_dir():
        try:
            write(beside)
            rename(beside, out / target)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    return target


# The program, and files that appear whole.

class Failed(Exception):
    """What is told as the reason of a row."""


def run(settings, words, usage=None, part=False):
    """What the program prints, and what it left out if that is no failure. Adds the processor time, and keeps the peak of memory
    in KiB."""
    command = [program(settings), *map(str, words)]
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as said:
        running = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=printed, stderr=said)
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = code = os.waitstatus_to_exitcode(status)
        printed.seek(0), said.seek(0)
        printed, said = (file.read().decode(errors="replace") for file in (printed, said))
    if usage:
        usage["processor"] += used.ru_utime + used.ru_stime
        usage["memory"] = max(usage["memory"], used.ru_maxrss)
    reason = said.strip().splitlines()
    reason = next((line for line in reason if "error" in line), reason[-1] if reason else "")
    reason = reason.removeprefix("probeidx: ").removeprefix("error: ")
    if code < 0:
        raise Failed(f"{words_of(words)}: ended by signal {-code}")
    if code and not (part and code == 4):
        raise Failed(reason or f"{words_of(words)}: ended with {code}")
    return printed, (reason or "objects were left out") if code else None


def words_of(words):
    return " ".join(str(word) for word in words if "/" not in str(word))


def program(settings):
    """Where --archives unpacked it: in the working folder of an executor, or where Spark keeps files."""
    from pyspark import SparkFiles

    folders = [settings["program"], os.path.join(SparkFiles.getRootDirectory(), settings["program"])]
    paths = [os.path.abspath(os.path.join(folder, "probeidx")) for folder in folders]
    return next((path for path in paths if os.access(path, os.X_OK)), None) or shutil.which("probeidx") or paths[0]


def version(settings):
    return run(settings, ["--version"])[0].strip()


def commit(folder, kind, known_as, settings):
    """Gives a folder its place, by its content. Returns the name."""
    content = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                content.update(block)
    out = pathlib.Path(settings["out"])
    name = f"{known_as}_{content.hexdigest()[:16]}"
    if not (out / kind / name).is_dir():
        beside = out / ".unfinished" / uuid.uuid4().hex
        try:
            shutil.copytree(folder, beside)
            rename(beside, out / kind / name)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    return name


def rename(beside, target):
    try:
        os.rename(beside, target)
    except OSError:
        # Another attempt was the first, and wrote the same.
        if not target.is_dir():
            raise


def replace(target, content):
    beside = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    beside.write_bytes(content)
    os.replace(beside, target)


if __name__ == "__main__":
    sys.exit(main())
