// @ts-check
// The lines of a function or file: each address with its verdict.
import { ask } from "./ask.js";
import { code, counted, el, link } from "./dom.js";
import { badge, copyButton, kernelChoice, paged, place, problem, remarks, sort } from "./parts.js";

/** @param {import("./parts.js").Page} page */
export async function linesPage(page) {
  const spec = page.fields.get("spec") ?? "";
  const { kernel, main } = page;
  page.title(`Lines of ${spec} · ${kernel}`);
  main.append(el("div", { class: "top" }, el("h1", {}, "Lines of ", code(spec)), kernelChoice(page)));
  const answer = await ask("lines", { kernel, spec }, { signal: page.signal });
  if (answer.error) return main.append(problem(answer.error));
  main.append(...remarks(answer));
  /** @type {Map<string, any[]>} */
  const lines = new Map();
  for (const item of answer.items) {
    const key = place(item.source?.file ?? item.file, item.source?.line ?? item.line);
    const known = lines.get(key);
    if (known) known.push(item);
    else lines.set(key, [item]);
  }
  main.append(el("p", {}, `${counted(lines.size, "line")}, ${counted(answer.items.length, "address", "addresses")}; ● is the best of a line.`));
  main.append(paged([...lines], ([key, items]) => el("section", { class: "line" },
    el("h2", {}, code(key), " ", items[0].text ? el("span", { class: "source" }, items[0].text.trim()) : ""),
    el("ul", {}, items.map((item) => el("li", { class: sort(item.attach.kprobe) },
      el("span", { "aria-hidden": "true" }, item.best ? "● " : "○ "),
      link("/function", { kernel, spec: item.module ? `${item.module}:${item.symbol}+${item.offset}` : `${item.symbol}+${item.offset}` }, `${item.symbol}+0x${(item.offset ?? 0).toString(16)}`), " ",
      item.inlined_into?.length ? el("span", { class: "dim" }, `${item.function} into ${item.inlined_into[item.inlined_into.length - 1].function} `) : "",
      badge("kprobe", item.attach.kprobe), " ",
      item.definition ? copyButton("definition", item.definition) : "", " ",
      link("/code", { kernel, at: item.module ? `${item.module}:${item.section}+${item.address}` : item.address }, "code"),
      el("span", { class: "dim" }, ` readable: ${(item.vars ?? []).filter((/** @type {any} */ v) => v.state === "readable" || v.state === "constant").map((/** @type {any} */ v) => v.name).join(", ") || "nothing"}`))))), 200));
}
