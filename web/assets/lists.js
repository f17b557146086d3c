// @ts-check
// Lists of a kernel: probe points, tracepoints, tapsets, what is refused.
import { ask } from "./ask.js";
import { code, counted, el, link, table } from "./dom.js";
import { badge, copyButton, kernelChoice, meaning, paged, place, problem, remarks, typeLink } from "./parts.js";

/** The head of a list: its kernel, and a pattern. @param {import("./parts.js").Page} page @param {string} title @param {string} field @param {string} example */
function head(page, title, field, example) {
  page.title(`${title} · ${page.kernel}`);
  const value = page.fields.get(field) ?? "";
  page.main.append(el("div", { class: "top" }, el("h1", {}, title), kernelChoice(page)), el("form", { class: "fields", action: page.path, "aria-label": title },
    el("input", { type: "hidden", name: "kernel", value: page.kernel }),
    el("label", {}, "Only ", el("input", { name: field, value, placeholder: example, spellcheck: "false" })), el("button", {}, "Show")));
  return value;
}

/** @param {import("./parts.js").Page} page */
export async function findPage(page) {
  const isOfTracepoints = page.path === "/tracepoints";
  const asked = head(page, isOfTracepoints ? "Tracepoints" : "Probe points", "pattern", isOfTracepoints ? "sched:*" : "tcp_*@net/ipv4/*");
  if (!asked && !isOfTracepoints) return page.main.append(el("p", { class: "note" }, "A name with * ? [..], NAME@FILE, MODULE:NAME, or a probe point of SystemTap."));
  // Of all tracepoints the names are enough; of some, all that is known.
  const pattern = isOfTracepoints ? `kernel.trace("${(asked || "*").replaceAll('"', "")}")` : asked;
  const answer = await ask("find", { kernel: page.kernel, patterns: pattern, args: "true", limit: isOfTracepoints ? "10000" : "2000" }, { signal: page.signal });
  if (answer.error) return page.main.append(problem(answer.error));
  page.main.append(el("p", {}, counted(answer.items.length, isOfTracepoints ? "tracepoint" : "probe point")), ...remarks(answer), paged(answer.items, (item) => {
    const spec = item.system ? `${item.system}:${item.function}` : item.function ? `${item.module ? `${item.module}:` : ""}${item.function}@${place(item.file, item.line)}` : item.probe;
    const summary = [link("/function", { kernel: page.kernel, spec }, item.system ? spec : item.function ?? item.probe), " ", el("span", { class: "dim" }, code(place(item.file, item.line)), item.module ? ` module ${item.module}` : "")];
    if (!item.fields?.length) return el("div", { class: "row" }, summary);
    return el("details", {}, el("summary", {}, summary), table("Fields", ["field", "type", "offset", "size"],
      item.fields.map((/** @type {any} */ field) => [code(field.name), typeLink(field.type, page.kernel), field.offset, field.size])));
  }, 200));
}

/** @param {import("./parts.js").Page} page */
export async function tapsetsPage(page) {
  const asked = head(page, "Tapsets", "pattern", "vm.*");
  const answer = await ask("tapset", { kernel: page.kernel, patterns: asked }, { signal: page.signal });
  if (answer.error) return page.main.append(problem(answer.error));
  page.main.append(el("p", {}, counted(answer.items.length, "alias", "aliases")), ...remarks(answer), paged(answer.items, (item) => {
    const name = item.alias.join(", ");
    const first = (item.comment ?? "").split("\n")[0].replace(/^(probe|function) [\w.]+ - /, "");
    const own = el("div", {});
    const fill = (/** @type {any} */ whole) => own.replaceChildren(alias(page, whole));
    const details = el("details", { open: answer.items.length === 1 }, el("summary", {}, code(name), " ", el("span", { class: "dim" }, first)), own);
    if (item.here) fill(item);
    else details.addEventListener("toggle", async () => {
      const whole = await ask("tapset", { kernel: page.kernel, patterns: item.alias[0] }, { signal: page.signal });
      fill(whole.items[0] ?? item);
    }, { once: true });
    return details;
  }));
}

/** @param {import("./parts.js").Page} page @param {any} item */
function alias(page, item) {
  const here = item.here?.points ?? item.points.map((/** @type {any} */ point) => ({ point: point.point, state: "" }));
  const locals = (item.here?.locals ?? []).flatMap((/** @type {any} */ group) => group.locals ?? []);
  return el("div", { class: "inside" },
    el("p", { class: "dim" }, code(place(item.file, item.line)), " ", copyButton("copy", `probe ${item.alias[0]} { }`)),
    item.comment ? el("pre", { class: "comment" }, item.comment) : "",
    table("What it resolves to here", ["point", "here", "places", "reachable"], here.map((/** @type {any} */ point) => [code(point.point), point.state ? el("span", { class: point.state === "resolved" ? "ok" : point.state === "not-tried" ? "" : "no" }, point.state) : "", point.places ?? "", point.reachable ?? ""])),
    locals.length ? table("Its values", ["name", "type", "state"], locals.map((/** @type {any} */ local) => [code(local.name), local.type ?? "", el("span", { class: local.state === "fine" ? "ok" : "no" }, local.state, local.variable ? `: ${local.variable}` : "")])) : "");
}

/** @param {import("./parts.js").Page} page */
export async function blacklistPage(page) {
  const asked = head(page, "What the kernel refuses", "module", "a module");
  const answer = await ask("blacklist", { kernel: page.kernel, modules: asked }, { signal: page.signal });
  if (answer.error) return page.main.append(problem(answer.error));
  /** @type {Map<string, any[]>} */
  const reasons = new Map();
  for (const item of answer.items) reasons.set(item.reason, [...(reasons.get(item.reason) ?? []), item]);
  page.main.append(el("p", {}, counted(answer.items.length, "range")), ...remarks(answer));
  for (const [reason, items] of [...reasons].sort((a, b) => b[1].length - a[1].length)) {
    page.main.append(el("section", {}, el("h2", {}, badge(reason, reason), " ", el("small", {}, `${counted(items.length, "range")}: ${meaning(reason)}`)), paged(items, (item) => el("div", { class: "row" },
      item.name ? link("/function", { kernel: page.kernel, spec: item.name }, item.name) : "", " ", el("span", { class: "dim" }, code(`${item.start}…${item.end}`), ` ${item.source ?? ""}`)), 60)));
  }
}
