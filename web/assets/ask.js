// @ts-check
// Questions to the program: see docs/web.md.

/** @typedef {{kind: string, message: string, path?: string | null, hint?: string | null}} Problem */
/** @typedef {{items: any[], notes: string[], done: {code: number, items: number, end: string} | null, error: Problem | null}} Answer */
/** @typedef {Record<string, string | string[] | null | undefined>} Fields */

/**
 * Asks, and gives the items as they come, many at a time.
 * @param {string} method
 * @param {Fields} fields
 * @param {{signal?: AbortSignal, text?: string, each?: (items: any[]) => void}} [options]
 * @returns {Promise<Answer>}
 */
export async function ask(method, fields, { signal, text, each } = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one) query.append(name, one);
  }
  /** @type {Answer} */
  const answer = { items: [], notes: [], done: null, error: null };
  let response;
  try {
    response = await fetch(`/api/${method}?${query}`, { signal, method: text === undefined ? "GET" : "POST", body: text });
  } catch (failed) {
    if (signal?.aborted) throw failed;
    answer.error = { kind: "io", message: "the program does not answer", hint: "start it again: probeidx web" };
    return answer;
  }
  if (!response.ok || !response.body) {
    answer.error = { kind: "usage", message: (await response.text()).trim() || `status ${response.status}` };
    return answer;
  }
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value: bytes } = await reader.read();
    if (done) break;
    const value = decoder.decode(bytes, { stream: true });
    const end = value.lastIndexOf("\n");
    if (end < 0) {
      rest += value;
      continue;
    }
    const lines = (rest + value.slice(0, end)).split("\n");
    rest = value.slice(end + 1);
    const items = [];
    for (const line of lines) {
      const said = JSON.parse(line);
      if (said.item !== undefined) items.push(said.item);
      else if (said.note !== undefined) answer.notes.push(said.note);
      else if (said.done) answer.done = said.done;
      else if (said.error) answer.error = said.error;
    }
    for (const item of items) answer.items.push(item);
    if (items.length) each?.(items);
  }
  if (!answer.done && !answer.error) {
    answer.error = { kind: "io", message: "the answer broke off", hint: "it took too long, or the program ended" };
  }
  return answer;
}

/** @typedef {{kernel: string, build_id: string, architecture: string}} Kernel */

/** The kernels that are indexed, the newest last. @param {AbortSignal} [signal] */
export async function kernels(signal) {
  const answer = await ask("kernels", {}, { signal });
  /** @type {Kernel[]} */
  const known = answer.items;
  const parts = (/** @type {Kernel} */ k) => k.kernel.split(/[^0-9]+/).filter(Boolean).map(Number);
  known.sort((a, b) => {
    const [x, y] = [parts(a), parts(b)];
    const at = x.findIndex((part, i) => part !== y[i]);
    const byVersion = at < 0 ? 0 : x[at] - (y[at] ?? -1);
    // Of the same version, x86-64 is what most have.
    return byVersion || a.architecture.localeCompare(b.architecture, "en");
  });
  return { known, error: answer.error };
}
