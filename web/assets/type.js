// @ts-check
// A type: its layout as a picture and a table, who uses it, and the same in another kernel.
import { ask } from "./ask.js";
import { code, counted, el, link, table } from "./dom.js";
import { deferred, kernelChoice, paged, place, problem, remarks, typeLink } from "./parts.js";

/** @typedef {{name: string | null, type: string, offset: number, size: number, bit_offset?: number, bit_size?: number, members?: Member[]}} Member */

const LINE = 64;
/** So many cache lines are drawn. */
const LINES = 256;

/** @param {import("./parts.js").Page} page */
export async function typePage(page) {
  const name = page.fields.get("name") ?? "";
  const { kernel, main, signal } = page;
  const beside = page.fields.get("beside");
  page.title(`${name} · ${kernel}`);
  main.append(el("div", { class: "top" }, el("h1", {}, code(name)), kernelChoice(page), kernelChoice(page, "beside", "beside", "no other")));
  if (!name) return main.append(el("p", {}, "Search for a type above."));
  const [answer, other] = await Promise.all([ask("type", { kernel, name }, { signal }), beside ? ask("type", { kernel: beside, name }, { signal }) : null]);
  if (answer.error) return main.append(problem(answer.error), el("p", {}, link("/", { q: name }, "Search for it")));
  if (other?.error) main.append(problem(other.error));
  main.append(...remarks(answer));
  // Several types may have the name, of C and of Rust: those of one file are compared.
  const others = other?.items ?? [];
  const pairs = answer.items.map((type) => ({ type, found: others.find((one) => one.file === type.file) }));
  if (pairs.length && !pairs.some(({ found }) => found)) pairs[0].found = others[0];
  pairs.sort((a, b) => Number(Boolean(b.found)) - Number(Boolean(a.found)));
  for (const { type, found } of pairs) main.append(found ? both(page, type, found) : one(page, type));
  main.append(users(page, name), el("p", {}, link("/history", { name }, "Its history in all kernels")));
}

/** @param {import("./parts.js").Page} page @param {any} type */
function one(page, type) {
  const word = ["struct", "union", "enum", "typedef"].includes(type.kind) ? `${type.kind} ` : "";
  const section = el("section", {}, el("h2", {}, code(`${word}${type.name}`), " ", el("small", {}, counted(type.size ?? 0, "byte"), " ", code(place(type.file, type.line)))));
  if (type.chain) {
    section.append(el("p", {}, "It is ", type.chain.map((/** @type {any} */ step, /** @type {number} */ at) => [at ? ", that is " : "", typeLink(step.type, page.kernel)]), "."));
  }
  if (type.enumerators) {
    section.append(table("Enumerators", ["name", "value"], type.enumerators.map((/** @type {any} */ e) => [code(e.name), String(e.value)])));
  }
  if (type.members) section.append(picture(type, page.fields.get("member")), bitFields(type.members), layout(page, type));
  return section;
}

/** Byte by byte, a row for each cache line. @param {any} type @param {string | null} marked */
function picture(type, marked) {
  const parts = cells(type);
  const grid = el("div", { class: "cachelines", role: "img", "aria-label": `Layout of ${type.size} bytes in cache lines of ${LINE}; the table below has the same` });
  const rows = Math.ceil((type.size || 1) / LINE);
  let drawn = 0;
  let at = 0;
  for (let row = 0; row < rows && drawn < LINES; drawn++) {
    const from = row * LINE;
    while (at < parts.length && parts[at].end <= from) at += 1;
    // Lines that one member fills stand for each other.
    const full = parts[at] && parts[at].start <= from ? Math.max(Math.floor((Math.min(parts[at].end, type.size) - from) / LINE), 1) : 1;
    const line = el("div", { class: "cacheline" }, el("span", { class: "offset" }, String(from)));
    const bytes = el("div", { class: "bytes" });
    for (let part = at; part < parts.length && parts[part].start < from + LINE; part++) {
      const { start, end, kind, label, names } = parts[part];
      const [first, last] = [Math.max(start, from), Math.min(end, from + LINE, type.size)];
      if (first >= last) continue;
      const text = full > 1 ? `${label} · ${full} cache lines` : label;
      const cell = el("span", { class: `cell ${kind}${marked && names.includes(marked) ? " marked" : ""}`, title: `${label}: ${start} to ${end}` }, last - first >= 4 ? text : "");
      cell.style.gridColumn = `${first - from + 1} / ${last - from + 1}`;
      bytes.append(cell);
    }
    line.append(bytes);
    row += full;
    grid.append(line);
  }
  return el("div", {}, grid, drawn >= LINES ? el("p", { class: "note" }, "The rest is in the table.") : "");
}

/** What stands beside what: members that overlap, of unions and bit-fields, are one part. @param {any} type */
function cells(type) {
  /** @type {{start: number, end: number, label: string, kind: string, names: string[]}[]} */
  const parts = [];
  let number = 0;
  for (const member of /** @type {Member[]} */ (type.members)) {
    const last = parts[parts.length - 1];
    const name = member.name ?? (member.type.startsWith("union") ? "union" : "struct");
    const names = [name, ...inner(member)];
    if (member.size === 0) continue;
    if (last && member.offset < last.end) {
      last.label += `, ${name}`;
      last.names.push(...names);
      last.end = Math.max(last.end, member.offset + member.size);
      last.kind = member.bit_size ? "bits" : last.kind;
      continue;
    }
    const kind = member.bit_size ? "bits" : member.name === null ? "unnamed" : number++ % 2 ? "odd" : "even";
    parts.push({ start: member.offset, end: member.offset + member.size, label: name, kind, names });
  }
  for (const hole of [...(type.holes ?? []), ...(type.padding ? [type.padding] : [])]) {
    if (hole.bit_size) continue;
    parts.push({ start: hole.offset, end: hole.offset + (hole.size ?? 0), label: "hole", kind: "hole", names: [] });
  }
  return parts.sort((a, b) => a.start - b.start);
}

/** @param {Member} member @returns {string[]} */
const inner = (member) => (member.name === null ? (member.members ?? []).flatMap((own) => [own.name ?? "", ...inner(own)]) : []);

/** The bits of each byte that has bit-fields. @param {Member[]} members */
function bitFields(members) {
  const fields = members.filter((member) => member.bit_size);
  if (!fields.length) return "";
  /** @type {Map<string, Member[]>} */
  const units = new Map();
  for (const field of fields) {
    const key = `${field.offset} ${field.size}`;
    units.set(key, [...(units.get(key) ?? []), field]);
  }
  return el("details", { open: fields.length <= 40 }, el("summary", {}, counted(fields.length, "bit-field")), [...units.values()].map((unit) => {
    const all = unit[0].size * 8;
    const row = el("div", { class: "bitrow" });
    row.style.gridTemplateColumns = `repeat(${all}, minmax(0, 1fr))`;
    unit.forEach((field, at) => {
      const start = field.bit_offset ?? 0;
      const cell = el("span", { class: `cell ${at % 2 ? "odd" : "even"}`, title: `${field.name}: ${field.bit_size} of ${all} bits from ${start}` }, `${field.name ?? ""}:${field.bit_size}`);
      cell.style.gridColumn = `${start + 1} / ${Math.min(start + (field.bit_size ?? 1), all) + 1}`;
      row.append(cell);
    });
    return el("div", { class: "cacheline" }, el("span", { class: "offset" }, String(unit[0].offset)), row);
  }));
}

/** All members, with those of unnamed ones below them. @param {import("./parts.js").Page} page @param {any} type */
function layout(page, type) {
  /** @type {any[][]} */
  const rows = [];
  const marked = page.fields.get("member");
  const walk = (/** @type {any} */ body, /** @type {number} */ depth) => {
    const holes = [...(body.holes ?? [])];
    for (const member of body.members ?? []) {
      while (holes.length && holes[0].offset < member.offset) rows.push(holeRow(holes.shift(), depth));
      const name = member.name ?? "";
      rows.push([
        String(member.offset), member.bit_size ? `bit ${member.bit_offset}, ${member.bit_size}` : String(member.size),
        el("span", { class: name === marked && marked ? "marked" : "", "data-depth": String(Math.min(depth, 6)) }, name ? code(name) : el("span", { class: "dim" }, "unnamed")),
        typeLink(member.type, page.kernel), cacheline(member, body)]);
      if (member.members && depth < 8) walk(member, depth + 1);
    }
    for (const hole of holes) rows.push(holeRow(hole, depth));
    if (body.padding) rows.push(holeRow(body.padding, depth));
  };
  walk(type, 0);
  return table("Members", ["offset", "size", "name", "type", "cache line"], rows);
}

/** @param {any} hole @param {number} depth */
const holeRow = (hole, depth) => [String(hole.offset), String(hole.size ?? `${hole.bit_size} bits`), el("span", { class: "dim", "data-depth": String(Math.min(depth, 6)) }, "hole"), "", ""];

/** @param {Member} member @param {any} _body */
function cacheline(member, _body) {
  const [first, last] = [Math.floor(member.offset / LINE), Math.floor((member.offset + Math.max(member.size, 1) - 1) / LINE)];
  return first === last ? String(first) : `${first} to ${last}`;
}

/** The same type of two kernels. @param {import("./parts.js").Page} page @param {any} type @param {any} other */
function both(page, type, other) {
  const flat = (/** @type {any} */ body) => {
    /** @type {Map<string, Member>} */
    const members = new Map();
    const walk = (/** @type {any} */ of) => {
      for (const member of of.members ?? []) {
        if (member.name) members.set(member.name, member);
        else walk(member);
      }
    };
    walk(body);
    return members;
  };
  const [mine, theirs] = [flat(type), flat(other)];
  const names = [...mine.keys()];
  // What only the other has stands behind what it follows there.
  let before = -1;
  for (const name of theirs.keys()) {
    const known = names.indexOf(name);
    if (known >= 0) before = known;
    else names.splice(++before, 0, name);
  }
  const cell = (/** @type {Member | undefined} */ member) => (member ? [String(member.offset), member.bit_size ? `bit ${member.bit_offset}, ${member.bit_size}` : String(member.size), typeLink(member.type, page.kernel)] : ["", "", el("span", { class: "dim" }, "not there")]);
  const rows = names.map((name) => {
    const [a, b] = [mine.get(name), theirs.get(name)];
    const state = !a ? "right only" : !b ? "left only" : a.type !== b.type || a.size !== b.size ? "changed" : a.offset !== b.offset || a.bit_offset !== b.bit_offset ? "moved" : "";
    return [el("span", { class: `change ${state.replace(" ", "-")}` }, state), code(name), ...cell(a), ...cell(b)];
  });
  const different = rows.filter((row) => /** @type {Element} */ (row[0]).textContent).length;
  return el("section", {},
    el("h2", {}, code(type.name), " ", el("small", {}, `${counted(type.size, "byte")} in ${type.kernel}, ${counted(other.size, "byte")} in ${other.kernel}; ${counted(different, "member")} of ${names.length} differ`)),
    el("div", { class: "halves" },
      el("div", {}, el("h3", {}, type.kernel), type.members ? picture(type, page.fields.get("member")) : ""),
      el("div", {}, el("h3", {}, other.kernel), other.members ? picture(other, page.fields.get("member")) : "")),
    table("Both", ["", "member", "offset", "size", type.kernel, "offset", "size", other.kernel], rows));
}

/** @param {import("./parts.js").Page} page @param {string} name */
function users(page, name) {
  return deferred("Functions that take or return it", async (body) => {
    const answer = await ask("type", { kernel: page.kernel, name, users: "true" }, { signal: page.signal });
    if (answer.error) return body.replaceChildren(problem(answer.error));
    const shown = (/** @type {any} */ item) => el("div", { class: "row" },
      link("/function", { kernel: page.kernel, spec: `${item.function}@${place(item.file, item.line)}` }, item.function), " ", el("span", { class: "dim" }, code(place(item.file, item.line))), " ",
      item.uses.map((/** @type {any} */ use) => `${use.position ? `parameter ${use.position}` : "returned"}${use.depth ? ` ${"*".repeat(use.depth)}` : ""}`).join(", "));
    body.replaceChildren(el("p", {}, counted(answer.items.length, "function")), ...remarks(answer), paged(answer.items, shown));
  });
}
