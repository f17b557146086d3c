// @ts-check
// The code of a function, instruction by instruction: verdicts, inlined scopes, where its variables are, its lines.
import { ask } from "./ask.js";
import { address, code, counted, el, link } from "./dom.js";
import { inside } from "./function.js";
import { badge, kernelChoice, meaning, place, problem, remarks, say, SIGNS, sort } from "./parts.js";
import { columns, legend, picture, whereabouts } from "./ribbons.js";

/** Pixels of a row; style.css has the same. */
const HEIGHT = 20;
/** So many rows are kept beyond what is seen. */
const BEYOND = 12;
/** So many rows are printed; they are all drawn for it, so many on a sheet. */
const [PRINTED, SHEET] = [4000, 15];

/** @typedef {{at: number, length: number, address: string, section: string, symbol: string, offset: number}} Part */
/** @typedef {{of: string, at: number, length: number, kprobe: string, file?: number, line?: number, column?: number, is_stmt?: boolean, part: Part, isHead?: boolean}} Row */
/** @typedef {{scope: number, outer: number | null, function: string, file: string, line: number, call: any, ranges: [number, number][], rows: [number, number][], depth: number}} Scope */
/** @typedef {{scope: number, name: string, kind: string, type: string | null, within: [number, number][], places: {from: number, to: number, in: string, state: string, location: string}[]}} Variable */
/** @typedef {{bytes: string, text?: string, target?: number}} Instruction */

/** What is known of the code that is shown. */
export class Listing {
  /** @param {any[]} items @param {string} kernel */
  constructor(items, kernel) {
    this.kernel = kernel;
    const of = (/** @type {string} */ kind) => items.filter((item) => item.of === kind);
    this.function = of("function")[0];
    /** @type {Part[]} */
    this.parts = of("part");
    /** @type {Scope[]} */
    this.scopes = of("scope");
    for (const scope of this.scopes) scope.depth = scope.outer === null ? 0 : this.scopes[scope.outer].depth + 1;
    /** @type {Variable[]} */
    this.variables = of("variable");
    /** @type {string[]} */
    this.files = of("files")[0]?.files ?? [];
    /** @type {Row[]} */
    this.rows = [];
    let part = 0;
    for (const row of of("instruction")) {
      while (this.parts[part] && row.at >= this.parts[part].at + this.parts[part].length) part += 1;
      row.part = this.parts[part];
      if (this.rows[this.rows.length - 1]?.part !== row.part) this.rows.push({ ...row, isHead: true, length: 0 });
      this.rows.push(row);
    }
    /** How deep scopes are nested, and those that start at an address. */
    this.deepest = 0;
    /** @type {Map<number, Scope[]>} */
    this.starting = new Map();
    for (const scope of this.scopes) {
      scope.rows = scope.ranges.map((range) => this.rowsOf(range));
      this.deepest = Math.max(this.deepest, scope.depth);
      if (scope.depth) for (const [start] of scope.ranges) this.starting.set(start, [...(this.starting.get(start) ?? []), scope]);
    }
    /** @type {Map<number, Instruction>} */
    this.instructions = new Map();
    /** @type {Map<string, Record<string, string>>} */
    this.sources = new Map();
  }

  /** The first row that starts at this address or behind it; a head belongs to the row below it. @param {number} at */
  from(at) {
    let [low, high] = [0, this.rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rows[middle].at < at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The row that holds an address. @param {number} at */
  holding(at) {
    const behind = this.from(at + 1);
    return behind && this.rows[behind - 1].isHead ? behind : Math.max(behind - 1, 0);
  }

  /** Its rows, half open. @param {[number, number]} range @returns {[number, number]} */
  rowsOf([start, end]) {
    const first = this.from(start);
    return [this.rows[first]?.isHead ? first + 1 : first, this.from(end)];
  }

  /** Its scopes, from the outermost in. @param {number} at */
  scopesAt(at) {
    return this.scopes.filter((scope) => scope.ranges.some(([start, end]) => start <= at && at < end)).sort((a, b) => a.depth - b.depth);
  }

  /** `vfs_read+0x7c` @param {Row} row */
  symbolic(row) {
    const offset = row.part.offset + row.at - row.part.at;
    return row.part.symbol ? `${row.part.symbol}+0x${offset.toString(16)}` : this.address(row);
  }

  /** `0xffffffff8134cccc` @param {Row} row */
  address(row) {
    return `0x${(BigInt(row.part.address) + BigInt(row.at - row.part.at)).toString(16)}`;
  }

  /** What finds it again. A module has no addresses, but sections. @param {Row} row */
  where(row) {
    return this.function.module ? `${this.function.module}:${row.part.section}+${this.address(row)}` : this.address(row);
  }

  /** @param {Row} row */
  line(row) {
    return row.file === undefined ? "" : place(this.files[row.file], row.line);
  }

  /** @param {Row} row */
  source(row) {
    return row.file === undefined ? "" : this.sources.get(this.files[row.file])?.[String(row.line)]?.trim() ?? "";
  }
}

/** @param {import("./parts.js").Page} page */
export async function codePage(page) {
  const { main, kernel, signal } = page;
  const at = page.fields.get("at") ?? "";
  page.title(`Code of ${at} · ${kernel}`);
  if (!at) return main.append(el("h1", {}, "No code"), el("p", {}, "A function's page leads to the code of each of its placements."));
  const asked = { kernel, at };
  const texts = ask("instructions", asked, { signal });
  const sources = ask("source", asked, { signal });
  for (const later of [texts, sources]) later.catch(() => {});
  const answer = await ask("code", asked, { signal });
  if (answer.error) return main.append(el("h1", {}, "Code of ", code(at)), problem(answer.error));
  const listing = new Listing(answer.items, kernel);
  const { function: of } = listing;
  page.title(`Code of ${of.function} · ${kernel}`);
  const spec = of.file ? `${of.function}@${place(of.file, of.line)}` : of.function;
  const other = { ...page, fields: new URLSearchParams({ at: of.module ? `${of.module}:${of.function}` : of.function }) };
  const notes = el("div", { class: "notes" }, remarks(answer));
  main.append(el("div", { class: "top" }, el("h1", {}, "Code of ", link("/function", { kernel, spec }, code(of.function))),
    el("span", { class: "dim" }, code(place(of.file, of.line)), ` ${of.module ? `module ${of.module}` : "vmlinux"}`), kernelChoice(other)));
  const view = new View(page, listing);
  main.append(view.element, notes);
  view.start(of.at);
  void texts.then((found) => {
    for (const item of found.items) if (item.bytes !== undefined) listing.instructions.set(item.at, item);
    const from = found.items.find((item) => item.from)?.from;
    notes.append(...remarks(found), from ? el("p", { class: "note" }, "Bytes and text are those of ", code(from), "; a running kernel changes some of them.") : "");
    view.later(true);
  }).catch(() => {});
  void sources.then((found) => {
    for (const item of found.items) listing.sources.set(item.file, item.lines);
    notes.append(...remarks(found));
    view.later(true);
  }).catch(() => {});
}

/** The rows that are seen, and what is said of the current one. */
class View {
  /** @param {import("./parts.js").Page} page @param {Listing} listing */
  constructor(page, listing) {
    this.page = page;
    this.listing = listing;
    this.current = 0;
    this.asked = -1;
    this.isInlinedShown = true;
    this.columns = columns(listing, true);
    [this.first, this.end] = [0, 0];
    this.window = el("div", { class: "window" });
    this.space = el("div", { class: "space", role: "presentation" }, this.window);
    this.space.style.height = `${listing.rows.length * HEIGHT}px`;
    this.grid = el("div", { class: "listing", role: "grid", tabindex: "0", "aria-label": `Code of ${listing.function.function}`, "aria-rowcount": listing.rows.length, "aria-colcount": 6,
      "aria-describedby": "code-keys", scroll: () => this.later(), keydown: (/** @type {KeyboardEvent} */ event) => this.key(event), click: (/** @type {MouseEvent} */ event) => this.click(event) }, this.space);
    this.beside = el("section", { class: "here", "aria-label": "The chosen instruction", tabindex: "0" });
    this.definition = el("div", {});
    const inlined = listing.variables.some((variable) => variable.scope > 0);
    this.element = el("div", { class: "code" },
      el("div", { class: "above" }, legend(listing, this.columns),
        inlined ? el("label", {}, el("input", { type: "checkbox", checked: true, change: (/** @type {Event} */ event) => this.choose(/** @type {HTMLInputElement} */ (event.target).checked) }), " variables of inlined functions") : "",
        el("span", { class: "dim keys", id: "code-keys" }, el("kbd", {}, "↑"), el("kbd", {}, "↓"), " move, ", el("kbd", {}, "Enter"), " defines a probe, ", el("kbd", {}, "→"), " follows a jump")),
      el("div", { class: "both" }, this.grid, this.beside));
    [this.isWaiting, this.isStale] = [false, false];
    const { signal } = page;
    addEventListener("beforeprint", () => this.draw(true, 0, Math.min(listing.rows.length, PRINTED)), { signal });
    addEventListener("afterprint", () => this.draw(true), { signal });
    new ResizeObserver(() => this.later(false)).observe(this.grid);
  }

  /** @param {number} at */
  start(at) {
    this.current = this.listing.holding(at);
    const seen = Math.max(Math.floor(this.grid.clientHeight / HEIGHT / 3), 4);
    this.grid.scrollTop = Math.max(this.current - seen, 0) * HEIGHT;
    this.draw(true);
    this.tell();
    void this.define(false);
    this.grid.focus({ preventScroll: true });
  }

  /** @param {boolean} isShown */
  choose(isShown) {
    this.columns = columns(this.listing, isShown);
    this.element.querySelector(".legend")?.replaceWith(legend(this.listing, this.columns));
    this.draw(true);
  }

  /** Draws with the next frame. @param {boolean} [isAnew] */
  later(isAnew = false) {
    this.isStale ||= isAnew;
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.draw(this.isStale);
    });
  }

  /** Draws what is seen, or these rows. @param {boolean} isAnew @param {number} [from] @param {number} [to] */
  draw(isAnew, from, to) {
    const [top, height] = [this.grid.scrollTop, this.grid.clientHeight || 600];
    const seen = [Math.floor(top / HEIGHT), Math.ceil((top + height) / HEIGHT)];
    if (!isAnew && seen[0] >= this.first && seen[1] <= this.end) return;
    this.isStale = false;
    const rows = this.listing.rows.length;
    this.first = from ?? Math.max(seen[0] - BEYOND, 0);
    this.end = to ?? Math.min(seen[1] + BEYOND, rows);
    this.window.style.transform = `translateY(${this.first * HEIGHT}px)`;
    const width = picture.width(this.listing, this.columns);
    this.grid.style.setProperty("--pictures", `${width}px`);
    // Printed rows keep together with their picture.
    const step = to === undefined ? this.end - this.first : SHEET;
    const sheets = [];
    for (let at = this.first; at < this.end; at += step) sheets.push(this.sheet(at, Math.min(at + step, this.end)));
    this.window.replaceChildren(...sheets);
    this.mark();
  }

  /** Rows, and the picture beside them; it hangs in the cell of the first. @param {number} from @param {number} to */
  sheet(from, to) {
    const rows = [];
    for (let at = from; at < to; at += 1) rows.push(this.row(at));
    rows[0]?.querySelector(".row-pictures")?.append(picture.draw(this.listing, this.columns, from, to, HEIGHT));
    return el("div", { class: "sheet", role: "rowgroup" }, rows);
  }

  /** @param {number} at */
  row(at) {
    const { listing } = this;
    const row = listing.rows[at];
    if (row.isHead) {
      return el("div", { class: "code-row head", role: "row", "aria-rowindex": at + 1, id: `row-${at}` },
        el("div", { role: "gridcell" }, code(row.part.symbol ?? ""), el("span", { class: "dim" }, ` ${row.part.address} in ${row.part.section}`)),
        el("div", { class: "row-pictures", role: "gridcell" }));
    }
    const known = listing.instructions.get(row.at);
    const kind = sort(row.kprobe);
    const before = listing.rows[at - 1];
    const isNew = row.file !== undefined && (before?.isHead || before?.file !== row.file || before?.line !== row.line);
    const starting = listing.starting.get(row.at) ?? [];
    const offset = `+0x${(row.part.offset + row.at - row.part.at).toString(16)}`;
    return el("div", { class: `code-row ${kind}`, role: "row", "aria-rowindex": at + 1, id: `row-${at}`, "data-row": at, "aria-label": `${listing.symbolic(row)}: ${known?.text ?? ""}; kprobe ${row.kprobe}; ${listing.line(row)}`, title: row.kprobe === "ok" ? null : `${row.kprobe}: ${meaning(row.kprobe)}` },
      el("div", { class: `verdict ${kind}`, role: "gridcell" }, el("span", { "aria-hidden": "true" }, SIGNS[kind]), el("span", { class: "hidden" }, row.kprobe)),
      el("div", { class: "address", role: "gridcell", title: listing.address(row) }, offset),
      el("div", { class: "bytes-of", role: "gridcell" }, known ? known.bytes.replace(/../g, "$& ") : ""),
      el("div", { class: "text", role: "gridcell", title: known?.text }, this.text(row, known)),
      el("div", { class: "row-pictures", role: "gridcell" }),
      el("div", { class: "line", role: "gridcell" },
        starting.map((scope) => [el("span", { class: "starts", title: `${scope.function}, ${place(scope.file, scope.line)}` }, `${scope.function}() `)]),
        isNew ? [el("span", { class: "dim", title: listing.line(row) }, listing.line(row).replace(/^.*\//, "")), " ", el("span", { class: "source" }, listing.source(row))] : ""));
  }

  /** The instruction; where it leads is a link. @param {Row} row @param {Instruction | undefined} known */
  text(row, known) {
    if (known?.text === undefined) return known ? el("span", { class: "dim" }, "?") : el("span", { class: "dim" }, counted(row.length, "byte"));
    const target = this.target(known);
    const at = known.text.lastIndexOf(" ") + 1;
    return target ? [known.text.slice(0, at), el("a", { href: target, tabindex: "-1" }, known.text.slice(at))] : known.text;
  }

  /** @param {Instruction | undefined} known */
  target(known) {
    if (known?.target === undefined || this.listing.function.module) {
      const inner = known?.target === undefined ? undefined : this.listing.rows[this.listing.holding(known.target)];
      return inner?.at === known?.target && inner ? address("/code", { kernel: this.page.kernel, at: this.listing.where(inner) }) : "";
    }
    const [part] = this.listing.parts.filter((part) => part.at === 0);
    return part ? address("/code", { kernel: this.page.kernel, at: `0x${(BigInt(part.address) + BigInt(known.target)).toString(16)}` }) : "";
  }

  /** @param {number} row @param {boolean} [isPushed] */
  move(row, isPushed = false) {
    const { rows } = this.listing;
    const isDown = row >= this.current;
    let to = Math.min(Math.max(row, 0), rows.length - 1);
    if (rows[to].isHead) to += isDown || to === 0 ? 1 : -1;
    if (to === this.current) return;
    this.current = to;
    const [top, height] = [this.grid.scrollTop, this.grid.clientHeight];
    if (to * HEIGHT < top + HEIGHT) this.grid.scrollTop = (to - 1) * HEIGHT;
    else if ((to + 2) * HEIGHT > top + height) this.grid.scrollTop = (to + 2) * HEIGHT - height;
    this.draw(false);
    this.mark();
    this.tell();
    const href = address("/code", { kernel: this.page.kernel, at: this.listing.where(rows[to]) });
    if (isPushed) history.pushState(null, "", href);
    else history.replaceState(null, "", href);
  }

  mark() {
    for (const marked of this.window.querySelectorAll("[aria-selected]")) marked.removeAttribute("aria-selected");
    const row = document.getElementById(`row-${this.current}`);
    row?.setAttribute("aria-selected", "true");
    if (row) this.grid.setAttribute("aria-activedescendant", row.id);
    else this.grid.removeAttribute("aria-activedescendant");
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const side = Math.max(Math.floor(this.grid.clientHeight / HEIGHT) - 2, 1);
    /** @type {Record<string, number>} */
    const moves = { ArrowDown: this.current + 1, ArrowUp: this.current - 1, PageDown: this.current + side, PageUp: this.current - side, Home: 0, End: this.listing.rows.length - 1 };
    if (event.key in moves) this.move(moves[event.key]);
    else if (event.key === "Enter") void this.define();
    else if (event.key === "ArrowRight") this.follow();
    else return;
    event.preventDefault();
  }

  follow() {
    const known = this.listing.instructions.get(this.listing.rows[this.current].at);
    const href = this.target(known);
    if (!known || !href) return;
    const inner = known.target === undefined ? 0 : this.listing.holding(known.target);
    if (this.listing.rows[inner]?.at === known.target) this.jump(inner);
    else this.page.go(href);
  }

  /** @param {number} row */
  jump(row) {
    this.move(row, true);
    void this.define();
  }

  /** @param {MouseEvent} event */
  click(event) {
    const target = /** @type {Element} */ (event.target);
    const row = target.closest("[data-row]")?.getAttribute("data-row");
    if (!row || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const known = this.listing.instructions.get(this.listing.rows[Number(row)].at);
    if (target.closest("a")) {
      const inner = known?.target === undefined ? -1 : this.listing.holding(known.target);
      if (this.listing.rows[inner]?.at !== known?.target) return;
      event.preventDefault();
      return this.jump(inner);
    }
    this.move(Number(row));
    void this.define();
  }

  /** Says what is known of the current row without asking. */
  tell() {
    const { listing } = this;
    const row = listing.rows[this.current];
    if (!row) return;
    const scopes = listing.scopesAt(row.at);
    this.asked = -1;
    this.definition = el("div", {}, el("button", { type: "button", click: () => void this.define() }, "Define a probe here"));
    this.beside.replaceChildren(
      el("h2", {}, code(listing.symbolic(row)), " ", badge("kprobe", row.kprobe)),
      row.kprobe === "ok" ? "" : el("p", { class: sort(row.kprobe) }, `${SIGNS[sort(row.kprobe)]} ${row.kprobe}: ${meaning(row.kprobe)}`),
      el("p", { class: "dim" }, code(listing.line(row)), row.column ? `, column ${row.column}` : "", row.is_stmt ? ", a statement starts" : ""),
      scopes.length > 1 ? el("ol", { class: "chain" }, scopes.slice(1).map((scope) => el("li", {}, link("/function", { kernel: this.page.kernel, spec: `${scope.function}@${place(scope.file, scope.line)}` }, scope.function), scope.call ? [" at ", code(place(scope.call.file, scope.call.line))] : ""))) : "",
      el("h3", {}, "Values"), whereabouts(listing, scopes, row.at), this.definition);
  }

  /** Asks what `resolve` says of the current row. @param {boolean} [isSaid] */
  async define(isSaid = true) {
    const { listing, page } = this;
    const row = listing.rows[this.current];
    if (!row || row.isHead || this.asked === this.current) return;
    const [asked, body] = [this.current, this.definition];
    this.asked = asked;
    const spec = listing.function.module ? `${listing.function.module}:${listing.symbolic(row)}` : listing.address(row);
    // Who leaves the page does not want to know.
    const answer = await ask("resolve", { kernel: page.kernel, spec, locals: "true" }, { signal: page.signal }).catch(() => null);
    if (!answer || asked !== this.current || body !== this.definition) return;
    const wanted = listing.address(row);
    const items = answer.items.filter((item) => item.address === wanted && item.section === row.part.section);
    body.replaceChildren(...(answer.error ? [problem(answer.error)] : items.slice(0, 1).map((item) => el("div", {}, el("h3", {}, "Definition"), inside(page, item)))));
    if (isSaid) say(items.length ? `${listing.symbolic(row)}: kprobe ${row.kprobe}` : "Nothing can be defined here");
  }
}
