// @ts-check
// What pages have in common.
import { ask } from "./ask.js";
import { address, code, count, el, link, visible } from "./dom.js";

/** @typedef {import("./ask.js").Kernel} Kernel */
/**
 * What a page is given.
 * @typedef {{main: HTMLElement, fields: URLSearchParams, kernels: Kernel[], kernel: string, signal: AbortSignal,
 *   path: string, go: (address: string) => void, title: (text: string) => void}} Page
 */

/** What the reasons mean: docs/verdicts.md. @type {Record<string, string>} */
const REASONS = {
  "init-text": "gone once the kernel has started",
  "exit-text": "gone, or run as the module goes",
  discarded: "not part of the kernel that runs",
  "dead-code": "nothing leads here",
  blacklist: "on the kernel's own list",
  noinstr: "on the kernel's own list: noinstr",
  "entry-text": "on the kernel's own list: entry code",
  "kprobes-text": "on the kernel's own list: code of kprobes",
  "jump-label": "the kernel keeps this instruction for itself",
  "static-call": "the kernel keeps this instruction for itself",
  "bug-site": "the kernel keeps this instruction for itself",
  "ftrace-site": "the kernel keeps this instruction for itself",
  patched: "the running processor decides which instructions stand here",
  "not-boundary": "within an instruction",
  "unsupported-instruction": "this instruction cannot be probed",
  "conditional": "the kernel calls a probe here only where the condition of the instruction holds",
  "no-ftrace-site": "notrace: only register_kprobe takes it",
  "not-entry": "no entry or return is here",
  inline: "inlined: no entry or return is here",
  "kretprobe-blacklist": "its return cannot be probed",
  "runtime-stack": "the program's runtime would end at the replaced return address, or never returns by it",
  "prefix-symbol": "padding before a function",
  "no-symbol": "outside of all symbols",
  "no-trampoline": "this kernel attaches no trampolines",
  "no-btf": "BTF has no function of that name",
  "ambiguous-name": "several symbols have this name",
  variadic: "a trampoline takes no variadic function",
  "struct-return": "a trampoline takes no function that returns a struct",
  "struct-argument": "a trampoline cannot pass this struct on",
  "too-many-arguments": "a trampoline cannot pass on so many",
  undecided: "a table or rule that decides it is not known",
};

/** @param {string} reason */
export const meaning = (reason) => REASONS[reason] ?? reason;

/** Reached, not reached, not known: told by a sign as well as by colour. @param {string} verdict */
export const sort = (verdict) => (verdict === "ok" ? "ok" : verdict === "undecided" || verdict === "patched" ? "some" : "no");
/** @type {Record<string, string>} */
export const SIGNS = { ok: "✓", some: "?", no: "✗" };

/** A verdict as a badge. @param {string} mechanism @param {string} verdict */
export function badge(mechanism, verdict) {
  const kind = sort(verdict);
  const title = verdict === "ok" ? `${mechanism}: taken here` : `${mechanism}: ${verdict}, ${meaning(verdict)}`;
  return el("span", { class: `badge ${kind}`, title }, el("span", { "aria-hidden": "true" }, SIGNS[kind], " "), mechanism,
    el("span", { class: "hidden" }, verdict === "ok" ? " ok" : ` ${verdict}`));
}

/** An error, with its remedy. @param {import("./ask.js").Problem} problem */
export function problem(problem) {
  const place = problem.path && !problem.message.includes(problem.path) ? ` (${problem.path})` : "";
  return el("div", { class: "problem", role: "alert" }, el("strong", {}, problem.message, place), problem.hint && el("p", {}, problem.hint));
}

/** What an answer says besides its items. @param {import("./ask.js").Answer} answer */
export function remarks(answer) {
  const all = answer.notes.map((note) => el("p", { class: "note" }, note));
  if (answer.done?.end === "truncated") all.push(el("p", { class: "note" }, `There is more: the first ${count(answer.items.length)} are shown.`));
  if (answer.done?.end === "cancelled") all.push(el("p", { class: "note" }, "This is not all: the answer took too long, and was cancelled."));
  return all;
}

/** Says something to those who hear the page, and shows it for a while. @param {string} text */
export function say(text) {
  const said = document.getElementById("said");
  if (!said) return;
  said.textContent = text;
  said.classList.add("shown");
  setTimeout(() => said.classList.remove("shown"), 2500);
}

/** @param {string} whole */
export async function copy(whole) {
  const text = visible(whole);
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Only pages of this machine or over TLS may write to the clipboard by themselves.
    const area = /** @type {HTMLTextAreaElement} */ (el("textarea", { class: "hidden" }));
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say("Copied");
}

/** @param {string} label @param {string} text */
export const copyButton = (label, text) => el("button", { type: "button", class: "copy", click: () => copy(text), title: `Copy ${text}` }, label);

/**
 * Chooses a kernel; the page is loaded anew.
 * @param {Page} page
 * @param {string} [field]
 * @param {string} [label]
 * @param {string} [none]
 */
export function kernelChoice(page, field = "kernel", label = "Kernel", none = "") {
  const chosen = field === "kernel" ? page.kernel : page.fields.get(field) ?? "";
  const select = el("select", { name: field, change: (/** @type {Event} */ event) => {
    const fields = Object.fromEntries(page.fields);
    fields[field] = /** @type {HTMLSelectElement} */ (event.target).value;
    page.go(address(page.path, fields));
  } }, none && el("option", { value: "" }, none),
  [...page.kernels].reverse().map(({ kernel }) => el("option", { value: kernel, selected: kernel === chosen }, kernel)));
  return el("label", {}, `${label} `, select);
}

/** Something that is asked for when it is opened. @param {import("./dom.js").Child} title @param {(body: HTMLElement) => Promise<void>} load */
export function deferred(title, load) {
  const body = el("div", {});
  let isBegun = false;
  return el("details", { toggle: (/** @type {Event} */ event) => {
    if (isBegun || !(/** @type {HTMLDetailsElement} */ (event.target).open)) return;
    isBegun = true;
    body.append(el("p", { class: "note" }, "…"));
    load(body).catch(() => {});
  } }, el("summary", {}, title), body);
}

/**
 * Elements of a long list, so many at a time.
 * @template T
 * @param {T[]} items
 * @param {(item: T) => Node} shown
 * @param {number} [step]
 */
export function paged(items, shown, step = 100) {
  const list = el("div", { class: "list" });
  let at = 0;
  const more = el("button", { type: "button", click: () => next() });
  const next = () => {
    const part = items.slice(at, at + step);
    const first = part.map(shown);
    list.append(...first);
    at += part.length;
    more.textContent = `Show ${count(Math.min(step, items.length - at))} more of ${count(items.length - at)}`;
    more.hidden = at >= items.length;
  };
  next();
  return el("div", {}, list, more);
}

/** Where something is declared. @param {string | null | undefined} file @param {number | null} [line] */
export const place = (file, line) => (file ? `${file}${line ? `:${line}` : ""}` : "");

/** A type's name, as a link where it is one. @param {string | null | undefined} spelled @param {string} kernel */
export function typeLink(spelled, kernel) {
  const text = spelled ?? "";
  const found = /\b(?:(struct|union|enum) )?([A-Za-z_]\w*)/.exec(text.replace(/\b(?:const|volatile) /g, (word) => " ".repeat(word.length)));
  const BASE = ["void", "char", "int", "long", "short", "unsigned", "signed", "float", "double", "bool", "_Bool", "const", "volatile", "struct", "union", "enum"];
  if (!found || BASE.includes(found[2])) return code(text);
  const [start, end] = [found.index, found.index + found[0].length];
  return code(text.slice(0, start), link("/type", { kernel, name: found[0] }, text.slice(start, end)), text.slice(end));
}

/** Lines of a text, asked for and copied. @param {Page} page @param {Record<string, string>} fields */
export async function lines(page, fields) {
  const answer = await ask("resolve", { ...fields, json: "false" }, { signal: page.signal });
  return answer.error ? `# ${answer.error.message}` : answer.items.join("\n") + "\n";
}
