// The time before the page was opened, reconstructed from a few entries of a pool's log.

import { get, part } from "./api.js";

const span = 60 * 60 * 1000; // how far back the charts of a pool begin
const wholeMax = 12, samplesMax = 24, stepsMax = 30, actsMax = 1000, searchesMax = 3;

/** Reads the first entry after a version, which the database finds by its primary key. */
const entryBehind = async (pool, version, signal) => {
  const { entries } = await get(`admin/pools/${part(pool.id)}/log?after=${version}&limit=1`, { signal });
  return entries.length ? { at: Date.parse(entries[0].at), version: entries[0].version } : null;
};

/** Reads at most the given number of entries, evenly spread over the versions after a version. */
async function sampled(pool, from, most, signal) {
  const n = Math.min(most, pool.version - from);
  const all = await Promise.all(Array.from({ length: n }, (_, i) => entryBehind(pool, from + Math.floor((i * (pool.version - from)) / n), signal)));
  return all.filter(Boolean);
}

/** Points of a pool's whole history: times, and the number of entries at each. */
export const history = async (pool, signal) => (await sampled(pool, 0, wholeMax, signal)).map((e) => ({ at: e.at, y: e.version }));

/**
 * The number of awards of an endless blank after a version, up to when the pool was read.
 * It follows from the unit number of the first of them. null if finding that would take
 * too long.
 */
async function blanksBehind(pool, prize, version, signal) {
  for (let after = version, step = 0; after < pool.version; step++) {
    if (step === searchesMax) return null;
    const { awards, next } = await get(`admin/pools/${part(pool.id)}/awards?prize=${part(prize.id)}&after=${after}&limit=1`, { signal });
    if (awards.length) return Math.max(0, prize.issued - awards[0].unit + 1);
    if (next === null) return 0;
    after = next;
  }
  return 0;
}

/**
 * Returns the last hour of a pool: points of its draws per second, and of the remaining
 * stock. The latter are empty if there is too much to read.
 */
export async function lastHour(pool, now, signal) {
  const from = await versionBefore(pool, now - span, signal);
  const [entries, acts] = await Promise.all([
    sampled(pool, from, samplesMax, signal),
    get(`admin/pools/${part(pool.id)}/log?after=${from}&limit=${actsMax}&acts=true`, { signal }),
  ]);
  const within = entries.filter((e) => e.at > now - span && e.at < now);
  const marks = [...within, { at: now, version: pool.version }];
  if (!within.length || within[0].version > 1) marks.unshift({ at: now - span, version: within.length ? within[0].version - 1 : pool.version });
  const actsIn = (a, b) => acts.entries.filter((e) => a < e.version && e.version <= b);
  const rates = [], remaining = [];
  for (let i = 1, begun = marks[0]; i < marks.length; i++) {
    const end = marks[i];
    if (end.at - begun.at < 1000 && i < marks.length - 1) continue; // a rate needs at least a second
    const draws = end.version - begun.version - actsIn(begun.version, end.version).length;
    const y = draws / Math.max(1, (end.at - begun.at) / 1000);
    rates.push({ at: begun.at, y }, { at: end.at - 1, y }); // a step, because nothing is known between the two entries
    begun = end;
  }
  if (acts.next !== null) return { rates, remaining };
  const endless = pool.prizes.filter((prize) => prize.stocked === null);
  const blanks = await Promise.all(marks.map((mark) => Promise.all(endless.map((prize) => blanksBehind(pool, prize, mark.version, signal)))));
  if (blanks.flat().includes(null)) return { rates, remaining };
  marks.forEach((mark, i) => {
    const since = actsIn(mark.version, pool.version);
    const moved = since.reduce((sum, e) => sum + (e.kind === "move" ? e.delta : 0), 0);
    const none = blanks[i].reduce((sum, n) => sum + n, 0);
    remaining.push({ at: mark.at, y: pool.remaining - moved + (pool.version - mark.version - since.length) - none });
  });
  return { rates, remaining };
}

/** Finds the last version of a pool before a time, accurately enough for a chart, by bisection. */
async function versionBefore(pool, time, signal) {
  let low = 0, high = pool.version;
  for (let step = 0; step < stepsMax && high - low > (pool.version - low) / samplesMax; step++) {
    const middle = Math.floor((low + high) / 2);
    const entry = await entryBehind(pool, middle, signal);
    if (entry && entry.at < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
