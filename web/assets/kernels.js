// @ts-check
// Kernels: what is in one, what two differ in, what became of a name in all.
import { ask } from "./ask.js";
import { code, count, counted, el, link, table } from "./dom.js";
import { kernelChoice, paged, place, problem, remarks } from "./parts.js";

/** Any value of an answer in a few words. @param {any} value @returns {string} */
function said(value) {
  if (value === null || value === undefined) return "none";
  if (Array.isArray(value)) return value.length ? value.map(said).join(", ") : "none";
  if (typeof value === "object") {
    if (value.file) return place(value.file, value.line);
    const { name: of, ...rest } = value;
    const parts = Object.entries(rest).filter(([, part]) => part !== null);
    if (of !== undefined) return [of, ...parts.map(([, part]) => said(part))].join(" ");
    return parts.map(([name, part]) => `${name} ${said(part)}`).join(", ");
  }
  return String(value);
}

/** @param {import("./parts.js").Page} page */
export async function kernelPage(page) {
  const { kernel, main } = page;
  page.title(kernel);
  main.append(el("div", { class: "top" }, el("h1", {}, kernel || "No kernel"), kernelChoice(page)));
  const answer = await ask("stats", { kernel }, { signal: page.signal });
  if (answer.error) return main.append(problem(answer.error));
  main.append(...remarks(answer));
  const stats = answer.items[0];
  const known = page.kernels.find((one) => one.kernel === kernel);
  main.append(el("p", {}, known ? `${known.architecture}, build id ` : "", known ? code(known.build_id) : "", `; ${(stats.size / 1e6).toFixed(1)} MB, from ${stats.rests_on}.`),
    el("p", {}, ["tracepoints", "blacklist", "tapsets"].map((name) => [link(`/${name}`, { kernel }, name), " · "]), link("/diff", { before: kernel }, "diff to another")));
  const numbers = (/** @type {Record<string, number>} */ of) => Object.entries(of).map(([name, number]) => [name.replaceAll("_", " "), count(number)]);
  const { because, ...verdicts } = stats.verdicts ?? {};
  main.append(el("div", { class: "thirds" },
    el("section", {}, el("h2", {}, "What there is"), table("Counts", ["what", "how many"], numbers(stats.counts))),
    el("section", {}, el("h2", {}, "Verdicts"), table("Verdicts", ["verdict", "placements"], numbers(verdicts)),
      Object.keys(because ?? {}).length ? table("Undecided because of", ["table or rule", "placements"], numbers(because)) : "",
      stats.btf ? [el("h2", {}, "BTF beside the debug information"), table("BTF", ["prototype", "functions"], numbers(stats.btf))] : ""),
    el("section", {}, el("h2", {}, "Sections"), bars(stats.sections))));
}

/** @param {Record<string, number>} sizes */
function bars(sizes) {
  const all = Object.entries(sizes).sort((a, b) => b[1] - a[1]);
  const largest = all[0]?.[1] || 1;
  return el("table", { class: "bars" }, el("caption", { class: "hidden" }, "Sections by size"), el("tbody", {}, all.slice(0, 24).map(([name, size]) => {
    const bar = el("span", { class: "bar" });
    bar.style.width = `${Math.max((size / largest) * 100, 0.5)}%`;
    return el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: "wide" }, bar), el("td", {}, size < 1e4 ? "0.01 MB" : `${(size / 1e6).toFixed(2)} MB`));
  })));
}

/** @param {import("./parts.js").Page} page */
export async function diffPage(page) {
  const { kernels, fields, main } = page;
  const newest = kernels[kernels.length - 1]?.kernel ?? "";
  const architecture = (/** @type {string} */ name) => kernels.find((k) => k.kernel === name)?.architecture;
  const after = fields.get("after") || newest;
  // What one wants to know first is what is new since the one before, on the same machines.
  const family = kernels.filter((k) => architecture(k.kernel) === architecture(after) && k.kernel !== after);
  const before = fields.get("before") || family[family.length - 1]?.kernel || kernels[0]?.kernel || "";
  const pattern = fields.get("pattern") ?? "";
  page.title(`Diff ${before} ${after}`);
  const option = (/** @type {string} */ chosen) => [...kernels].reverse().map(({ kernel }) => el("option", { value: kernel, selected: kernel === chosen }, kernel));
  main.append(el("h1", {}, "What changed"), el("form", { class: "fields", action: "/diff", "aria-label": "What to compare" },
    el("label", {}, "From ", el("select", { name: "before" }, option(before))),
    el("label", {}, "to ", el("select", { name: "after" }, option(after))),
    el("label", {}, "Names ", el("input", { name: "pattern", value: pattern, placeholder: "tcp_*", spellcheck: "false" })),
    el("button", {}, "Compare")));
  if (!pattern) return main.append(el("p", { class: "note" }, "Name what is compared, with * for any text: functions, types and tracepoints."));
  const waiting = el("p", { class: "note", role: "status" }, "Comparing …");
  main.append(waiting);
  const answer = await ask("diff", { before, after, pattern }, { signal: page.signal });
  waiting.remove();
  if (answer.error) return main.append(problem(answer.error));
  main.append(...remarks(answer));
  const summary = answer.items.find((item) => item.subject === "summary");
  const items = answer.items.filter((item) => item.subject !== "summary");
  if (summary) main.append(el("p", {}, `${counted(summary.compared, "name")} compared: ${count(summary.changed)} changed, ${count(summary.added)} added, ${count(summary.removed)} removed.`));
  main.append(paged(items, (item) => difference(page, item, before, after), 200));
}

/** @param {import("./parts.js").Page} page @param {any} item @param {string} before @param {string} after */
function difference(page, item, before, after) {
  const there = item.change === "removed" ? before : after;
  const name = item.subject === "type" ? link("/type", { kernel: there, name: item.name, beside: item.change === "changed" ? before : "" }, item.name)
    : link("/function", { kernel: there, spec: item.name }, item.name);
  const where = (/** @type {any} */ side) => (side ? `${place(side.file, side.line)}${side.module ? ` ${side.module}` : ""}` : "");
  const head = [el("span", { class: `change ${item.change}` }, item.change), " ", el("span", { class: "kind" }, item.subject), " ", name, " ",
    el("span", { class: "dim" }, item.after && item.before && where(item.after) !== where(item.before) ? `${where(item.before)} → ${where(item.after)}` : where(item.after ?? item.before))];
  if (!item.changes?.length) return el("div", { class: "row" }, head);
  return el("div", { class: "row" }, head, el("ul", {}, item.changes.map((/** @type {any} */ change) =>
    el("li", {}, change.what, " ", change.name ? code(change.name) : "", ": ", el("del", {}, said(change.before)), " → ", el("ins", {}, said(change.after))))));
}

/** @param {import("./parts.js").Page} page */
export async function historyPage(page) {
  const name = page.fields.get("name") ?? "";
  const { main, kernels } = page;
  page.title(name ? `History of ${name}` : "History");
  main.append(el("h1", {}, "History", name ? [" of ", code(name)] : ""), el("form", { class: "fields", action: "/history", "aria-label": "Whose history" },
    el("label", {}, "Function, member, tracepoint, alias or line ", el("input", { name: "name", value: name, placeholder: "struct file.f_pos", spellcheck: "false", size: "32" })),
    el("button", {}, "Show")));
  if (!name) return;
  const answer = await ask("history", { kernel: "*", name }, { signal: page.signal });
  if (answer.error) return main.append(problem(answer.error), el("p", {}, link("/", { q: name }, "Search for it")));
  main.append(...remarks(answer));
  const own = answer.items.find((item) => item.name === name);
  if (own) main.append(el("p", {}, `The ${own.kind} itself: `, subject(own.kind, name, page.kernel)));
  /** @type {Map<string, any[]>} */
  const rows = new Map();
  for (const item of answer.items) {
    const key = [item.kind, item.name, item.fact.what, item.fact.name ?? item.fact.of ?? ""].join("\0");
    rows.set(key, [...(rows.get(key) ?? []), item]);
  }
  const order = kernels.map((one) => one.kernel);
  const changed = [...rows].filter(([, facts]) => facts.length > 1);
  const same = [...rows].filter(([, facts]) => facts.length === 1);
  const matrix = (/** @type {[string, any[]][]} */ all, /** @type {string} */ caption) => el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, el("table", { class: "matrix" },
    el("caption", {}, caption),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "fact"), order.map((kernel) => el("th", { scope: "col" }, kernel)))),
    el("tbody", {}, all.map(([key, facts]) => matrixRow(key, facts, order, page)))));
  if (!answer.items.length) main.append(el("p", {}, "No kernel has it."));
  if (changed.length) main.append(matrix(changed, `${counted(changed.length, "fact")} that differ`));
  if (same.length) main.append(matrix(same, `${counted(same.length, "fact")} that ${same.length === 1 ? "is" : "are"} the same wherever it is`));
}

/** What a fact is about. @param {string} kind @param {string} name @param {string} kernel */
function subject(kind, name, kernel) {
  const dot = name.lastIndexOf(".");
  if (kind === "member") return link("/type", { kernel, name: name.slice(0, dot), member: name.slice(dot + 1) }, name);
  return kind === "alias" ? link("/tapsets", { kernel, pattern: name }, name) : link("/function", { kernel, spec: name }, name);
}

/** @param {string} key @param {any[]} facts @param {string[]} order @param {import("./parts.js").Page} page */
function matrixRow(key, facts, order, page) {
  const [kind, name, what] = key.split("\0");
  const cells = order.map((kernel) => facts.findIndex((fact) => fact.kernels.includes(kernel)));
  const shown = [];
  for (let at = 0; at < cells.length; ) {
    let end = at + 1;
    while (end < cells.length && cells[end] === cells[at]) end += 1;
    const fact = facts[cells[at]];
    shown.push(el("td", { colspan: String(end - at), class: fact ? `value v${cells[at] % 5}` : "value none" }, fact ? said(fact.fact.value) : "—"));
    at = end;
  }
  const target = subject(kind, name, page.kernel);
  return el("tr", {}, el("th", { scope: "row" }, what.replaceAll("_", " "), " ", name === page.fields.get("name") ? "" : el("small", {}, target)), shown);
}
