// The calls of the HTTP interface, with the token of this tab.

import { sentenceOf, t } from "./text.js";

export const base = new URL(".", new URL(document.baseURI).href.replace(/\/ui\/?([?#].*)?$/, "/"));
const kept = "drawsvc-token";

/** A problem: an error response of the service, or the reason for a missing response. */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || body.title || t("errors.no-answer"));
    this.status = status;
    this.code = body.code || (body.detail || body.title ? "" : "no-answer");
    this.title = body.title || t("api.noAnswer");
  }
}

export const token = {
  get: () => sessionStorage.getItem(kept),
  set: (text) => sessionStorage.setItem(kept, text),
  drop: () => sessionStorage.removeItem(kept),
};

/** The session, whose function end is called when the token is refused. The page sets that function. */
export const session = { end: () => {} };

function request(method, path, { body, type = "application/json", headers = {}, signal, accept } = {}) {
  const all = { Authorization: `Bearer ${token.get()}`, ...headers };
  if (accept) all.Accept = accept;
  if (body !== undefined) all["Content-Type"] = type;
  return fetch(new URL(path, base), {
    method, headers: all, body, signal, credentials: "omit", cache: "no-store", redirect: "error", referrerPolicy: "no-referrer",
  });
}

async function problemOf(answer) {
  const body = await answer.json().catch(() => ({}));
  const problem = new Problem(answer.status, body);
  if (answer.status === 401) session.end(problem.message);
  return problem;
}

/** Makes a call and returns the response. Throws a Problem if the service refuses the call or does not answer. */
async function answered(method, path, options) {
  let answer;
  try {
    answer = await request(method, path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, {});
  }
  if (!answer.ok) throw await problemOf(answer);
  return answer;
}

/** Makes a call and returns its data, its tag, and whether it was replayed. */
export async function call(method, path, options) {
  const answer = await answered(method, path, options);
  const text = await answer.text();
  const isJSON = /^application\/json/.test(answer.headers.get("Content-Type") ?? "");
  return { data: isJSON && text ? JSON.parse(text) : text || null, tag: answer.headers.get("ETag"), replayed: answer.headers.has("Idempotent-Replayed") };
}

export const get = async (path, options) => (await call("GET", path, options)).data;

/**
 * Reads at most the given number of pages of a list, one after another. start is the
 * value of the parameter "after" for the first page.
 */
export async function* pages(path, { signal, most, start = 0 }) {
  const mark = path.includes("?") ? "&" : "?";
  for (let after = start, n = 0; after !== null && n < most; n++) {
    const page = await get(`${path}${after === "" ? "" : `${mark}after=${part(after)}`}`, { signal });
    yield page;
    after = page.next;
  }
}

export const send = (method, path, value, headers) =>
  call(method, path, { body: value === undefined ? undefined : JSON.stringify(value), headers });

/** Makes a call that is answered with plain text. */
export const text = async (method, path, value) =>
  (await call(method, path, { body: value === undefined ? undefined : JSON.stringify(value), accept: "text/plain" })).data;

/** Makes a call that is answered with a file. */
export const bytes = async (method, path) => (await answered(method, path, { accept: "application/zip" })).blob();

/** Returns a key for something that must happen only once. Keys increase with time, and nobody can guess them. */
export const newKey = () => `${Date.now()}-${Array.from(crypto.getRandomValues(new Uint8Array(10)), (b) => b.toString(16).padStart(2, "0")).join("")}`;

/** Waits some milliseconds. */
export const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

/** Makes a call whose key makes it happen only once. It is repeated up to three times after 503, 504 or no answer. */
export async function once(key, method, path, options) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call(method, path, { ...options, headers: { ...options.headers, "Idempotency-Key": key } });
    } catch (problem) {
      const passes = problem.status === 0 || problem.status === 503 || problem.status === 504;
      if (!passes || attempt === 4) throw problem;
      await pause((300 + Math.random() * 300) * attempt);
    }
  }
}

/** Encodes a part of a path. */
export const part = encodeURIComponent;

/**
 * Calls onFrame with each event of a stream, and onState with whether the stream is live.
 * It connects again after each end, until signal aborts.
 */
export async function listen(path, { onFrame, onState, signal }) {
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      const answer = await request("GET", path, { signal, accept: "text/event-stream" });
      if (!answer.ok) throw await problemOf(answer);
      await eachEvent(answer.body, (data) => {
        failures = 0;
        onState(true, "");
        onFrame(JSON.parse(data));
      });
      onState(false, t("api.streamEnded"));
    } catch (problem) {
      if (signal.aborted || problem.status === 401) return;
      onState(false, problem instanceof Problem ? sentenceOf(problem) : t("errors.no-answer"));
    }
    await pause(Math.min(15000, 500 * 2 ** failures) * (0.5 + Math.random()));
  }
}

async function eachEvent(body, onData) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      if (event.startsWith("data: ")) onData(event.slice(6));
    }
  }
}
