// @ts-check
// What is pasted: logs and scripts. It goes to this program and nowhere else.
import { ask } from "./ask.js";
import { code, counted, el, link, table } from "./dom.js";
import { kernelChoice, place, problem, remarks, say, sort, SIGNS } from "./parts.js";

const LOG = `[  42.000000] RIP: 0010:vfs_read+0x9c/0x310
[  42.000001]  ? do_syscall_64+0x5b/0x90`;
const SCRIPT = `kprobe:vfs_read { @bytes = sum(arg2); }
kprobe:vfs_reed { @calls = count(); }`;

/** What a script can be, what it is called, and the line that says so. */
const KINDS = [["bpftrace", "bpftrace", "#!/usr/bin/bpftrace"], ["systemtap", "SystemTap, or a list of probe points", ""], ["bcc", "a tool of bcc", "#!/usr/bin/python3"], ["policy", "a TracingPolicy", ""]];

/** A field for a text and a button; Control and Enter press it. @param {string} label @param {string} button @param {string} example @param {(text: string) => Promise<void>} run @param {Node | string} [more] */
function form(label, button, example, run, more = "") {
  const area = /** @type {HTMLTextAreaElement} */ (el("textarea", { rows: "10", spellcheck: "false", "aria-label": label, placeholder: example, name: "text" }));
  const out = el("div", {});
  const go = async (/** @type {Event} */ event) => {
    event.preventDefault();
    out.replaceChildren(el("p", { class: "note", role: "status" }, "…"));
    out.replaceChildren();
    await run(area.value);
  };
  const own = el("form", { class: "pasted", "aria-label": label, submit: go }, area, el("div", { class: "buttons" }, el("button", {}, button), more,
    el("button", { type: "button", click: () => { area.value = example; area.focus(); } }, "Example")));
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) /** @type {HTMLFormElement} */ (own).requestSubmit();
  });
  return { own, out };
}

/** @param {import("./parts.js").Page} page */
export async function logPage(page) {
  page.title("Log");
  const { kernel, main } = page;
  const { own, out } = form("Log", "Decode", LOG, async (text) => {
    const answer = await ask("decode", { kernel }, { signal: page.signal, text });
    if (answer.error) return out.replaceChildren(problem(answer.error));
    /** @type {Map<number, any[]>} */
    const frames = new Map();
    for (const item of answer.items) frames.set(item.log_line, [...(frames.get(item.log_line) ?? []), item]);
    const lines = text.replace(/\n$/, "").split("\n").map((line, at) => el("li", {}, el("pre", {}, line || " "), (frames.get(at + 1) ?? []).map((item) => frame(page, item))));
    out.replaceChildren(...remarks(answer), el("ol", { class: "log" }, lines));
    say(`${counted(answer.items.length, "frame")} found`);
  });
  main.append(el("div", { class: "top" }, el("h1", {}, "Decode a log"), kernelChoice(page)),
    el("p", { class: "note" }, "An oops, a stack of dmesg, perf script or stap. It goes to this program and nowhere else."), own, out);
}

/** @param {import("./parts.js").Page} page @param {any} item */
function frame(page, item) {
  if (!item.chain) return el("p", { class: "frame no" }, `${SIGNS.no} ${item.asked}: ${item.why ?? "not found"}`);
  return el("ul", { class: "frame" }, item.chain.map((/** @type {any} */ step, /** @type {number} */ at) =>
    el("li", {}, at ? "inlined into " : "", link("/function", { kernel: page.kernel, spec: step.declared ? `${step.function}@${place(step.declared.file, step.declared.line)}` : step.function }, step.function),
      " at ", code(place(step.file, step.line)))));
}

/** An address in all kernels. @param {import("./parts.js").Page} page */
export async function addressPage(page) {
  const at = page.fields.get("at") ?? "";
  page.title(at || "Address");
  const { main } = page;
  main.append(el("h1", {}, code(at)));
  const all = await Promise.all([...page.kernels].reverse().map(async ({ kernel }) => ({ kernel, answer: await ask("addr", { kernel, addresses: at }, { signal: page.signal }) })));
  for (const { kernel, answer } of all) {
    main.append(el("section", {}, el("h2", {}, kernel),
      answer.error ? el("p", { class: "dim" }, answer.error.message) : answer.items.map((item) => el("div", {},
        item.symbol ? el("p", {}, link("/function", { kernel, spec: `${item.module ? `${item.module}:` : ""}${item.symbol}+${item.offset}` }, `${item.symbol}+0x${(item.offset ?? 0).toString(16)}`), " ", code(item.address), ` in ${item.section}${item.module ? ` of ${item.module}` : ""}`) : "",
        frame({ ...page, kernel }, item)))));
  }
}

/** @param {import("./parts.js").Page} page */
export async function scriptPage(page) {
  page.title("Script");
  const { main, kernels } = page;
  let isChosen = false;
  const kind = /** @type {HTMLSelectElement} */ (el("select", { name: "kind", change: () => (isChosen = true) }, KINDS.map(([value, name]) => el("option", { value }, name))));
  // What it looks like is chosen while it is pasted or typed, until somebody chooses.
  const guess = async (/** @type {string} */ text) => {
    if (isChosen || !text.trim()) return;
    const answer = await ask("kind", {}, { signal: page.signal, text });
    const guessed = answer.items[0]?.kind;
    if (!isChosen && KINDS.some(([value]) => value === guessed)) kind.value = guessed;
  };
  const { own, out } = form("Script", "Check on all kernels", SCRIPT, async (text) => {
    await guess(text);
    // The language of a text without a name is in its first line.
    const line = KINDS.find(([value]) => value === kind.value)?.[2] ?? "";
    const added = line && !text.startsWith("#!") ? 1 : 0;
    const answer = await ask("check", { kernel: "*" }, { signal: page.signal, text: added ? `${line}\n${text}` : text });
    if (answer.error) return out.replaceChildren(problem(answer.error));
    out.replaceChildren(...remarks(answer), ...checked(text, answer.items, added, kernels.map((one) => one.kernel)));
    say("Checked");
  }, el("label", {}, "It is ", kind));
  let waiting = 0;
  own.addEventListener("input", (event) => {
    const { target } = event;
    if (!(target instanceof HTMLTextAreaElement)) return;
    clearTimeout(waiting);
    waiting = setTimeout(() => void guess(target.value).catch(() => {}), 150);
  });
  main.append(el("h1", {}, "Check a script"), el("p", { class: "note" }, "What works where: on all kernels that are indexed. It goes to this program and nowhere else."), own, out);
}

/** @param {string} text @param {any[]} items @param {number} added @param {string[]} kernels */
function checked(text, items, added, kernels) {
  /** @type {Map<string, {finding: any, kernels: string[]}>} */
  const findings = new Map();
  /** @type {Map<string, Map<string, string>>} */
  const programs = new Map();
  for (const item of items) {
    if (item.program) {
      const states = programs.get(item.program) ?? new Map();
      states.set(item.kernel, item.state);
      programs.set(item.program, states);
    }
    for (const finding of item.findings ?? []) {
      const key = JSON.stringify([finding.line, finding.column, finding.reason, finding.source]);
      const known = findings.get(key) ?? { finding, kernels: [] };
      if (!known.kernels.includes(item.kernel)) known.kernels.push(item.kernel);
      findings.set(key, known);
    }
  }
  const all = [...findings.values()].sort((a, b) => (a.finding.line ?? 0) - (b.finding.line ?? 0) || (a.finding.column ?? 0) - (b.finding.column ?? 0));
  const body = el("ol", { class: "script" }, text.replace(/\n$/, "").split("\n").map((line, at) => {
    const own = all.filter(({ finding }) => finding.line === at + 1 + added);
    return el("li", {}, el("pre", {}, underlined(line, own.map(({ finding }) => finding))), own.map((one) => found(one, kernels.length)));
  }));
  const loose = all.filter(({ finding }) => !finding.line);
  const states = (/** @type {Map<string, string>} */ of) => kernels.map((kernel) => {
    const state = of.get(kernel);
    return state ? el("span", { class: sort(state) }, `${SIGNS[sort(state)]} ${state}`) : "";
  });
  return [el("p", { role: "status" }, all.length ? counted(all.length, "finding") : "Everything works on all kernels."),
    programs.size ? table("Programs by kernel", ["program", ...kernels], [...programs].map(([program, of]) => [code(program), ...states(of)])) : "",
    ...loose.map((one) => found(one, kernels.length)), body];
}

/** @param {string} line @param {any[]} findings */
function underlined(line, findings) {
  /** @type {(Node | string)[]} */
  const parts = [];
  let at = 0;
  for (const finding of findings) {
    // Columns count bytes from 1; what is no ASCII moves the mark, not the sentence.
    const start = Math.max((finding.column ?? 1) - 1, at);
    const length = finding.source && line.startsWith(finding.source, start) ? finding.source.length : Math.max(/^[\w:.$@>-]*/.exec(line.slice(start))?.[0].length ?? 0, 1);
    if (start >= line.length && line.length) continue;
    parts.push(line.slice(at, start), el("mark", { title: finding.reason }, line.slice(start, start + length)));
    at = start + length;
  }
  parts.push(line.slice(at) || (parts.length ? "" : " "));
  return parts;
}

/** @param {{finding: any, kernels: string[]}} found @param {number} all */
function found({ finding, kernels }, all) {
  const instead = [].concat(finding.instead ?? []).join(", ");
  return el("p", { class: `finding ${finding.severity === "error" ? "no" : "some"}` },
    `${finding.severity === "error" ? SIGNS.no : SIGNS.some} ${finding.state}: ${finding.reason}${finding.errno ? ` (${finding.errno})` : ""}`,
    instead ? [" Instead: ", code(instead)] : "",
    el("span", { class: "dim" }, kernels.length === all ? " on all kernels" : ` on ${kernels.join(", ")}`));
}
