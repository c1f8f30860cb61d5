// The state of the page: its user, and the pools as the stream shows them.

import { get, listen, pages, part, pause } from "./api.js";
import { sentenceOf, t } from "./text.js";

const pointsMax = 1800; // half an hour of a chart
const pollEvery = 5000, namePagesMax = 5;

/** The user of the page. */
export const self = { name: "", role: "", draws: "" };
export const mayAct = () => self.role === "admin";
export const mayStock = () => self.role === "admin" || self.role === "stock";
/** Whether the user may record that a prize was claimed or sent. */
export const mayShip = () => self.role === "admin" || self.role === "fulfil";
/** Whether the user reads more of a pool than its name and its awards. */
export const readsPools = () => self.role !== "fulfil";

/** The last frame: its pools by id, whether the stream is live, and the time of the frame. */
export const live = { pools: new Map(), is: false, why: "", at: null, whole: true };

const watchers = new Set();
const pasts = new Map();

/** Calls watcher after each frame until signal aborts. */
export function watch(watcher, signal) {
  watchers.add(watcher);
  signal.addEventListener("abort", () => watchers.delete(watcher));
}

/** The points of a pool's charts since the page was opened. */
export const past = (id) => pasts.get(id) ?? [];

const notify = () => watchers.forEach((watcher) => watcher());

/** Follows the pools until signal aborts: by the stream, or by polling if the role may not read the stream. */
export function begin(signal) {
  live.pools = new Map();
  pasts.clear();
  const onState = (is, why) => {
    if (live.is === is && live.why === why) return;
    Object.assign(live, { is, why });
    notify();
  };
  if (!readsPools()) return poll(signal, onState);
  return listen("admin/events", {
    signal,
    onState,
    onFrame(frame) {
      if (!frame.pools) {
        Object.assign(live, { is: false, why: t("state.unread", { why: sentenceOf({ code: frame.code, message: frame.code }) }) });
        return notify();
      }
      live.at = frame.at;
      live.whole = frame.pools.length < 100;
      live.pools = new Map(frame.pools.map((pool) => [pool.id, pool]));
      frame.pools.forEach((pool) => keep(pool, frame.at));
      notify();
    },
  });
}

/** Reads the names and states of the pools every few seconds. */
async function poll(signal, onState) {
  while (!signal.aborted) {
    try {
      const pools = new Map();
      let whole = false;
      for await (const page of pages("admin/pools?limit=1000", { signal, most: namePagesMax, start: "" })) {
        page.pools.forEach((pool) => pools.set(pool.id, pool));
        whole = page.next === null;
      }
      Object.assign(live, { pools, at: new Date().toISOString(), whole });
      onState(true, "");
      notify();
    } catch (problem) {
      if (signal.aborted || problem.status === 401) return;
      onState(false, sentenceOf(problem));
    }
    await pause(pollEvery * (0.8 + 0.4 * Math.random()));
  }
}

function keep(pool, at) {
  const points = pasts.get(pool.id) ?? [];
  pasts.set(pool.id, points);
  points.push({ at: Date.parse(at), remaining: pool.remaining, rate: pool.rate, version: pool.version });
  if (points.length > pointsMax) points.splice(0, points.length - pointsMax);
}

let paths = null;

/** Whether the service has a call. A page may be newer than the instance that answers. */
export async function has(path) {
  paths ??= (await get("openapi.json")).paths;
  return path in paths;
}

/** Reads a pool completely, and returns it in the form of the stream. */
export async function readPool(id) {
  const pool = await get(`admin/pools/${part(id)}`);
  pool.prizes ??= []; // some roles may read only the name
  const { rate = null, ends_at = null, budget = null } = live.pools.get(id) ?? {};
  if (pool.budget) pool.budget.ends_at = budget?.ends_at ?? null;
  return { rate, ends_at, ...summed(pool) };
}

/** Adds to a pool the sums over its prizes, unless only its name was read. */
export function summed(pool) {
  if (!pool.prizes) return pool;
  const finite = pool.prizes.filter((prize) => prize.stocked !== null);
  const sum = (of, member) => of.reduce((total, prize) => total + prize[member], 0);
  return { ...pool, stocked: sum(finite, "stocked"), issued: sum(finite, "issued"), remaining: sum(finite, "remaining"), awards: sum(pool.prizes, "issued") };
}
