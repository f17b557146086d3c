// @ts-check
// A function, a tracepoint or a line: where it runs, what takes a probe there, what can be read.
import { ask } from "./ask.js";
import { code, count, counted, el, link, svg, table } from "./dom.js";
import { badge, copy, copyButton, deferred, kernelChoice, lines, meaning, paged, place, problem, remarks, SIGNS, sort, typeLink } from "./parts.js";
import { functionAddress, treemap } from "./treemap.js";

/** What a definition can be copied for, and the format that makes it. */
const FOR = [["kprobe_events", "kprobe-events"], ["SystemTap", "stap"], ["bpftrace", "bpftrace"], ["perf", "perf"], ["trace-cmd", "trace-cmd"], ["C", "c"]];
/** So many squares are told apart; beyond, the picture is a bar. */
const SQUARES = 600;
/** So many placements are told whole at a time. */
const WHOLE = 50;
/** So many are shown at first, of many more. */
const FIRST = 15;

/** Placements in brief, as if they were whole. @param {any} group @returns {any[]} */
const inBrief = ({ module, function: name, file, line, coverage, names, placements }) => placements.map(
  (/** @type {[number, string, number, number, number, number, [number, number] | null]} */ [section, address, symbol, offset, inline, verdict, outermost]) => ({
    isBrief: true, module, function: name, file, line, coverage, section: names[section], address, symbol: names[symbol], offset, instance: inline ? "inline" : "out-of-line",
    attach: { kprobe: names[verdict] }, inlined_into: outermost ? [{ function: names[outermost[0]], file: names[outermost[1]] }] : [] }));

/** @param {any} item */
const declaration = (item) => `${item.system ?? ""}\0${item.file}\0${item.line}`;

/** @param {import("./parts.js").Page} page */
export async function functionPage(page) {
  const spec = page.fields.get("spec") ?? "";
  const { kernel, signal, main } = page;
  page.title(`${spec} · ${kernel}`);
  if (!spec) {
    main.append(el("h1", {}, "No function"), el("p", {}, "Search for one above."));
    return;
  }
  const plain = /^[\w.]+$/.test(spec) ? spec : "";
  const heading = el("h1", {}, code(spec));
  const declared = el("div", { class: plain ? "awaited" : null });
  const body = el("div", {});
  main.append(el("div", { class: "top" }, heading, kernelChoice(page)), declared, body);

  // Of many, the first are told whole, and all in brief: what pictures need.
  const answer = await ask("resolve", { kernel, spec, limit: String(WHOLE) }, { signal });
  if (answer.error) {
    declared.remove();
    main.append(problem(answer.error), el("p", {}, link("/", { q: spec }, "Search for it"), " · ", link("/history", { name: spec }, "Its history in all kernels")));
    return;
  }
  let items = answer.items;
  const isLong = answer.done?.end === "truncated";
  // What declares it takes as long as all its copies: for many of them it is asked last.
  if (!isLong) void declare(page, plain, declared);
  if (isLong) {
    const brief = await ask("copies", { kernel, spec }, { signal });
    items = brief.error ? (await ask("resolve", { kernel, spec }, { signal })).items : brief.items.flatMap(inBrief);
    answer.done = brief.error ? answer.done : brief.done;
    answer.items.forEach((item, at) => (items[at] = item));
  }
  /** @type {Map<string, any[]>} */
  const groups = new Map();
  items.forEach((item, at) => {
    item.number = at;
    const key = declaration(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  });
  const sorted = [...groups.values()].sort((a, b) => b.length - a.length);
  body.append(buttons(page, spec), ...remarks(answer));
  for (const items of sorted.slice(0, 12)) body.append(section(page, items, sorted.length > 1));
  if (sorted.length > 12) {
    body.append(el("h2", {}, `${counted(sorted.length - 12, "more declaration")}`), paged(sorted.slice(12), (items) => section(page, items, true), 12));
  }
  if (!answer.items.length) body.append(el("p", {}, "It has no code here."));
  body.append(callers(page, spec));
  if (isLong) void declare(page, plain, declared);
}

/** The prototypes of a name; room is kept for one until they have come. @param {import("./parts.js").Page} page @param {string} name @param {HTMLElement} declared */
async function declare(page, name, declared) {
  if (!name) return;
  const facts = await ask("history", { kernel: page.kernel, name }, { signal: page.signal }).catch(() => null);
  if (!facts) return;
  const prototypes = facts.items.filter((item) => item.fact.what === "prototype" && item.fact.value);
  declared.replaceChildren(...prototypes.map((item) => el("pre", { class: "declaration" }, item.fact.value)));
  declared.removeAttribute("class");
}

/** What can be done with all of it. @param {import("./parts.js").Page} page @param {string} spec */
function buttons(page, spec) {
  const shown = el("div", {});
  const show = async (/** @type {string} */ label, /** @type {Promise<string>} */ text) => {
    const lines = await text;
    shown.replaceChildren(el("p", { class: "note" }, `For ${label}, copied:`), el("pre", { class: "copied", tabindex: "0" }, lines));
    await copy(lines);
  };
  const quoted = /^[\w.:@/+-]+$/.test(spec) ? spec : `'${spec.replaceAll("'", "'\\''")}'`;
  return el("div", { class: "copying" },
    el("div", { class: "buttons", role: "group", "aria-label": "Copy it for" }, el("span", {}, "Copy for"),
      el("button", { type: "button", click: () => show("the running kernel", Promise.resolve(`probeidx trace ${quoted}\n`)) }, "probeidx trace"),
      FOR.map(([label, format]) => el("button", { type: "button", "data-format": format, click: () => show(label, lines(page, { kernel: page.kernel, spec, format })) }, label)),
      el("span", { class: "links" }, link("/lines", { kernel: page.kernel, spec }, "Lines"), " ", link("/history", { name: spec }, "History"))),
    shown);
}

/** One declaration. @param {import("./parts.js").Page} page @param {any[]} items @param {boolean} isOneOfSeveral */
function section(page, items, isOneOfSeveral) {
  const first = items[0];
  const name = first.system ? `${first.system}:${first.function}` : first.function ?? first.symbol;
  const where = place(first.file, first.line);
  const spec = first.file && !first.system ? `${first.function}@${where}` : name;
  return el("section", {},
    el("h2", {}, isOneOfSeveral ? link("/function", { kernel: page.kernel, spec }, name) : name, " ",
      el("small", {}, code(where), " ", homes(items))),
    first.fields ? fields(page, first) : null,
    first.instance === "tracepoint" ? null : coverage(items),
    items.length > 1 ? copies(page, items) : null,
    el("h3", {}, counted(items.length, "placement")),
    placements(page, items));
}

/** The placements, some at a time; those that are told in brief are asked for. @param {import("./parts.js").Page} page @param {any[]} items */
function placements(page, items) {
  const list = el("div", { class: "list" });
  const more = /** @type {HTMLButtonElement} */ (el("button", { type: "button", click: () => void next().catch(() => {}) }));
  let at = 0;
  const show = (/** @type {any[]} */ part) => {
    list.append(...part.map((item) => placement(page, item, items.length <= 3)));
    at += part.length;
    const left = items.length - at;
    more.textContent = `Show ${count(Math.min(WHOLE, left))} more of ${count(left)}`;
    more.hidden = !left;
  };
  const next = async () => {
    const part = items.slice(at, at + WHOLE);
    if (!part.some((item) => item.isBrief)) return show(part);
    more.disabled = true;
    const asked = { kernel: page.kernel, spec: page.fields.get("spec"), skip: String(part[0].number), limit: String(part.length) };
    const answer = await ask("resolve", asked, { signal: page.signal });
    more.disabled = false;
    if (answer.error) list.append(problem(answer.error));
    show(answer.items);
  };
  const brief = items.findIndex((item) => item.isBrief);
  show(items.slice(0, brief < 0 ? WHOLE : Math.min(brief, FIRST)));
  return el("div", {}, list, more);
}

/** The objects that have it. @param {any[]} items */
function homes(items) {
  const modules = [...new Set(items.map((item) => item.module))];
  const named = modules.filter(Boolean);
  const others = named.length > 3 ? counted(named.length, "module") : named.length ? `module${named.length > 1 ? "s" : ""} ${named.join(", ")}` : "";
  return [modules.includes(null) ? "vmlinux" : "", others].filter(Boolean).join(" and ");
}

/** The fields of a tracepoint's event. @param {import("./parts.js").Page} page @param {any} item */
function fields(page, item) {
  return [el("h3", {}, "Fields of the event"),
    table("Fields", ["name", "type", "offset", "size"], item.fields.map((/** @type {any} */ field) => [code(field.name), typeLink(field.type, page.kernel), field.offset, field.size]))];
}

/** What is known of a function is known of each object that has it. @param {any[]} items */
function whole(items) {
  /** @type {Map<string | null, any>} */
  const objects = new Map();
  for (const item of items) objects.set(item.module, item.coverage);
  const sum = (/** @type {(of: any) => number} */ of) => [...objects.values()].reduce((all, one) => all + of(one), 0);
  const by = items[0].coverage.by ?? {};
  return { instances: sum((c) => c.instances), reachable: sum((c) => c.reachable), callers: sum((c) => c.callers ?? 0),
    outOfLine: sum((c) => c.out_of_line?.instances ?? 0), inline: sum((c) => c.inline?.instances ?? 0),
    by: Object.keys(by).map((mechanism) => [mechanism, sum((c) => c.by?.[mechanism] ?? 0)]) };
}

/** Where it runs and what of it kprobe reaches, as a picture. @param {any[]} items */
function coverage(items) {
  const known = whole(items);
  /** @type {Map<string, number>} */
  const verdicts = new Map();
  for (const item of items) verdicts.set(item.attach.kprobe, (verdicts.get(item.attach.kprobe) ?? 0) + 1);
  const order = [...verdicts].sort((a, b) => (a[0] === "ok" ? -1 : b[0] === "ok" ? 1 : b[1] - a[1]));
  const parts = [counted(known.instances, "address", "addresses")];
  if (known.outOfLine) parts.push(`${count(known.outOfLine)} out of line`);
  if (known.inline) parts.push(`${count(known.inline)} inlined into ${counted(known.callers, "caller")}`);
  parts.push(`${count(known.reachable)} reachable by kprobe`);
  const figure = el("figure", { class: "coverage" });
  if (items.length > 1) figure.append(items.length <= SQUARES ? squares(items) : bar(order, items.length));
  const legend = order.map(([verdict, number]) => el("li", { class: sort(verdict) },
    el("span", { class: "sign", "aria-hidden": "true" }, SIGNS[sort(verdict)]), ` ${count(number)} `, verdict === "ok" ? "ok" : `${verdict}: ${meaning(verdict)}`));
  const by = known.by.length ? table("Addresses by mechanism", ["mechanism", "reached", "of"], known.by.map(([mechanism, number]) => [mechanism, count(Number(number)), count(known.instances)])) : null;
  figure.append(el("figcaption", {}, el("p", {}, parts.join(", ")), el("ul", { class: "legend" }, legend)));
  return el("div", { class: "sides" }, figure, by);
}

/** @param {any[]} items */
function squares(items) {
  const [size, across] = [11, Math.min(60, items.length)];
  const rows = Math.ceil(items.length / across);
  const ordered = [...items].sort((a, b) => Number(a.instance === "inline") - Number(b.instance === "inline"));
  return svg("svg", { class: "squares", width: across * size, height: rows * size, viewBox: `0 0 ${across * size} ${rows * size}`, role: "img",
    "aria-label": `${items.length} placements; the list below has the same` },
    ordered.map((item, at) => svg("rect", { class: `${sort(item.attach.kprobe)} ${item.instance}`, x: (at % across) * size + 1, y: Math.floor(at / across) * size + 1, width: size - 2, height: size - 2,
      rx: item.instance === "inline" ? 0 : 4 }, svg("title", {}, `${item.instance} ${at_(item)}: ${item.attach.kprobe}`))));
}

/** @param {[string, number][]} order @param {number} all */
function bar(order, all) {
  const width = 660;
  let x = 0;
  return svg("svg", { class: "squares", width, height: 24, viewBox: `0 0 ${width} 24`, role: "img", "aria-label": `${all} placements by verdict` },
    order.map(([verdict, number]) => {
      const part = (number / all) * width;
      x += part;
      return svg("rect", { class: sort(verdict), x: x - part, y: 2, width: Math.max(part - 1, 1), height: 20 }, svg("title", {}, `${verdict}: ${count(number)}`));
    }));
}

/** @param {any} item */
const at_ = (item) => (item.symbol ? `${item.symbol}+0x${item.offset.toString(16)}` : item.address);

/** So many files fit into a picture side by side; more are shown by folder. */
const FILES = 60;

/** Copies by the file and the caller that have them. @param {import("./parts.js").Page} page @param {any[]} items */
function copies(page, items) {
  /** @type {Map<string, Map<string, import("./treemap.js").Part>>} */
  const files = new Map();
  for (const item of items) {
    const outermost = item.inlined_into[item.inlined_into.length - 1];
    const [caller, file] = outermost ? [outermost.function, outermost.file ?? "?"] : [item.function ?? item.symbol, item.file ?? "?"];
    let callers = files.get(file);
    if (!callers) files.set(file, (callers = new Map()));
    let known = callers.get(caller);
    if (!known) callers.set(caller, (known = { name: caller, size: 0, good: 0, href: () => functionAddress(item.module ? `${item.module}:${caller}` : caller, page.kernel) }));
    known.size += 1;
    known.good += Number(item.attach.kprobe === "ok");
  }
  const sum = (/** @type {string} */ name, /** @type {import("./treemap.js").Part[]} */ parts) => ({ name, parts: parts.sort((a, b) => b.size - a.size),
    size: parts.reduce((all, part) => all + part.size, 0), good: parts.reduce((all, part) => all + part.good, 0) });
  const ofFiles = [...files].map(([name, callers]) => sum(name, [...callers.values()])).sort((a, b) => b.size - a.size);
  /** @type {Map<string, import("./treemap.js").Part[]>} */
  const folders = new Map();
  for (const file of ofFiles) {
    const folder = file.name.split("/").slice(0, -1).slice(0, 2).join("/") || ".";
    folders.set(folder, [...(folders.get(folder) ?? []), file]);
  }
  const parts = ofFiles.length > FILES ? [...folders].map(([name, own]) => sum(name, own)).sort((a, b) => b.size - a.size) : ofFiles;
  const callers = ofFiles.reduce((all, file) => all + file.parts.length, 0);
  const title = `Copies by file and caller: ${counted(ofFiles.length, "file")}, ${counted(callers, "caller")}`;
  const tree = deferred("The same as a list", async (body) => body.replaceChildren(paged(parts, (part) => branch(part), 60)));
  return el("section", {}, el("h3", {}, title), treemap(parts, title), tree);
}

/** A part of the list, and what is below it once it is opened. @param {import("./treemap.js").Part} part @returns {HTMLElement} */
function branch(part) {
  const size = ` ${count(part.size)}${part.good < part.size ? `, ${count(part.good)} reachable` : ""}`;
  const { parts } = part;
  if (!parts) return el("div", { class: "row" }, part.href ? el("a", { href: part.href() }, part.name) : part.name, size);
  return deferred([code(part.name), size], async (body) => body.replaceChildren(paged(parts, branch, 100)));
}

/** The verdicts; what a tracepoint's data would say to a kprobe nobody asks. @param {any} item @returns {[string, any][]} */
const mechanisms = (item) => Object.entries(item.attach).filter(([mechanism]) => item.instance !== "tracepoint" || mechanism.includes("tracepoint"));

/** @param {import("./parts.js").Page} page @param {any} item @param {boolean} isOpen */
function placement(page, item, isOpen) {
  const main = mechanisms(item).filter(([mechanism]) => !["kprobe_events", "fentry"].includes(mechanism));
  const summary = el("summary", {}, el("span", { class: `instance ${item.instance}` }, item.instance), " ",
    code(at_(item)), " ", el("span", { class: "dim" }, code(item.address), item.section === ".text" ? "" : ` ${item.section}`), " ",
    el("span", { class: "badges" }, main.map(([mechanism, verdict]) => badge(mechanism, verdict))));
  const details = el("details", { class: "placement", open: isOpen }, summary);
  const open = () => {
    if (details.childElementCount === 1) details.append(inside(page, item));
  };
  if (isOpen) open();
  else details.addEventListener("toggle", open, { once: true });
  return details;
}

/** What there is to know of a placement. @param {import("./parts.js").Page} page @param {any} item */
export function inside(page, item) {
  const { kernel } = page;
  const chain = item.inlined_into.length ? el("ol", { class: "chain" }, item.inlined_into.map((/** @type {any} */ call) =>
    el("li", {}, "into ", link("/function", { kernel, spec: `${call.function}@${call.file}` }, call.function), " at ", code(place(call.file, call.line))))) : null;
  const verdicts = table("Verdict of each mechanism", ["mechanism", "verdict", "because"], mechanisms(item).map(([mechanism, verdict]) =>
    [mechanism, el("span", { class: sort(verdict) }, `${SIGNS[sort(verdict)]} ${verdict}`), verdict === "ok" ? "" : meaning(verdict)]));
  const values = item.vars?.length ? table("What can be read", ["name", "type", "where", "to fetch it"], item.vars.map((/** @type {any} */ value) => [
    code(value.name), typeLink(value.type, kernel),
    value.state === "readable" || value.state === "constant" ? code(value.location ?? value.value ?? "") :
      el("span", { class: "no" }, value.state, value.elsewhere ? [": ", code(`${value.elsewhere.symbol}+0x${(value.elsewhere.offset ?? 0).toString(16)}`)] : value.location ? `: ${value.location}` : ""),
    value.fetch ? copyButton(value.fetch, value.fetch) : ""])) : el("p", { class: "note" }, "No parameters are known here.");
  const facts = [
    item.definition && ["Definition", copyButton(item.definition, item.definition)],
    item.anchor && ["Anchor", code(`${item.anchor.module ? `${item.anchor.module}:` : ""}${item.anchor.symbol}+${item.anchor.offset}`)],
    ["Probe point", copyButton(item.probe, item.probe)],
    item.by_name && ["By name", `${item.by_name.name}: ${item.by_name.state}`],
    item.instead && ["Instead", instead(kernel, item.instead)],
    page.path !== "/code" && item.instance !== "tracepoint" && item.section && ["Code", link("/code", { kernel, at: item.module ? `${item.module}:${item.section}+${item.address}` : item.address }, "Instruction by instruction")],
    item.because && ["Because", [].concat(item.because).join(", ")],
  ].filter(Boolean);
  return el("div", { class: "inside" }, chain,
    el("dl", {}, facts.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    el("div", { class: "sides" }, values, verdicts));
}

/** What to do if a probe is refused: an address nearby, a mechanism, or the return of a function. @param {string} kernel @param {any} other */
function instead(kernel, other) {
  if (other.return_of) return ["the return of ", link("/function", { kernel, spec: other.return_of }, other.return_of)];
  if (other.mechanism) return other.mechanism;
  const [name, offset] = [other.symbol ?? other.address, other.offset ?? 0];
  return [link("/function", { kernel, spec: other.symbol ? `${name}+${offset}` : name }, other.symbol ? `${name}+0x${offset.toString(16)}` : name), other.readable?.length ? `; readable there: ${other.readable.join(", ")}` : ""];
}

/** @param {import("./parts.js").Page} page @param {string} spec */
function callers(page, spec) {
  return deferred("Callers", async (body) => {
    const answer = await ask("callers", { kernel: page.kernel, spec }, { signal: page.signal });
    if (answer.error) return body.replaceChildren(problem(answer.error));
    body.replaceChildren(...remarks(answer), answer.items.length ? paged(answer.items, (item) => el("div", { class: "row" },
      link("/function", { kernel: page.kernel, spec: `${item.caller}@${item.caller_file}` }, item.caller), " ", el("span", { class: "dim" }, code(place(item.caller_file, item.caller_line))),
      ` ${item.kind}, ${counted(item.sites?.length ?? 0, "site")}`)) : el("p", {}, "None is known."));
  });
}
