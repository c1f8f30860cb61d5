// What the page knows: who uses it, and the pools as the stream shows them.

import { get, listen, part } from "./api.js";

const pointsMax = 1800; // half an hour of the chart

/** Who uses the page. */
export const self = { name: "", role: "" };
export const mayAct = () => self.role === "admin";
export const mayStock = () => self.role === "admin" || self.role === "stock";

/** The last frame: its pools by id, whether it is live, and when it came. */
export const live = { pools: new Map(), is: false, why: "", at: null, whole: true };

const watchers = new Set();
const pasts = new Map();

/** Calls watcher at each frame until signal ends. */
export function watch(watcher, signal) {
  watchers.add(watcher);
  signal.addEventListener("abort", () => watchers.delete(watcher));
}

/** The points of a pool's chart since the page was opened. */
export const past = (id) => pasts.get(id) ?? [];

const notify = () => watchers.forEach((watcher) => watcher());

/** Listens to the stream until signal ends. */
export function begin(signal) {
  live.pools = new Map();
  pasts.clear();
  listen("admin/events", {
    signal,
    onState(is, why) {
      if (live.is === is && live.why === why) return;
      Object.assign(live, { is, why });
      notify();
    },
    onFrame(frame) {
      if (!frame.pools) {
        Object.assign(live, { is: false, why: `The pools cannot be read: ${frame.code}.` });
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

function keep(pool, at) {
  const points = pasts.get(pool.id) ?? [];
  pasts.set(pool.id, points);
  points.push({ at: Date.parse(at), remaining: pool.remaining, rate: pool.rate, version: pool.version });
  if (points.length > pointsMax) points.splice(0, points.length - pointsMax);
}

let paths = null;

/** Says whether the service has a call: a page may be newer than the instance that answers. */
export async function has(path) {
  paths ??= (await get("openapi.json")).paths;
  return path in paths;
}

/** Reads a pool that the stream does not show whole, in the shape of the stream. */
export async function readPool(id) {
  const pool = await get(`admin/pools/${part(id)}`);
  const finite = pool.prizes.filter((prize) => prize.stocked !== null);
  const sum = (of, member) => of.reduce((total, prize) => total + prize[member], 0);
  const counts = { stocked: sum(finite, "stocked"), issued: sum(finite, "issued"), remaining: sum(finite, "remaining"), awards: sum(pool.prizes, "issued") };
  const { rate = null, ends_at = null } = live.pools.get(id) ?? {};
  return { rate, ends_at, ...pool, ...counts };
}
