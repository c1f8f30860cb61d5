// The agenda of a pool, as far as a view needs it. An agenda may have a million items.

import { get, pages, part, pause } from "./api.js";

export const agendaPath = (at) => `admin/pools/${part(at.id)}/agenda`;

/** A value that changes when items are planned, removed or done, and not with each draw: the number of entries of the history that are not awards. */
const agendaKey = (pool) => pool.version - pool.awards;

const pageMax = 1000;

const keyOf = ({ item, hidden }) => (hidden ? `${hidden.version} ${hidden.prize}` : item);

/**
 * Reads the first n items that a query selects, by pages. secret counts the items that this
 * role does not see. A line of hidden items may occur on two pages, because its number
 * is that of its first open item. Then the later occurrence counts.
 */
export async function readPart(path, query, n, signal) {
  const found = { items: [], secret: 0, isWhole: false };
  for await (const page of pages(`${path}?${query}&limit=${Math.min(n, pageMax)}`, { signal, most: Math.ceil(n / pageMax) })) {
    found.items.push(...page.items);
    found.secret += page.hidden ?? 0;
    found.isWhole = page.next === null;
  }
  found.items = [...new Map(found.items.map((line) => [keyOf(line), line])).values()];
  return found;
}

const failedRest = 5000;

/**
 * Returns a function that reads the agenda again after changes other than draws. If reading
 * takes long, it reads less often. A failed read is repeated.
 */
export function follow(at, read) {
  let seen = agendaKey(at.pool), isFollowing = false;
  return async () => {
    if (isFollowing) return;
    isFollowing = true;
    while (seen !== agendaKey(at.pool) && !at.signal.aborted) {
      const now = agendaKey(at.pool), began = Date.now();
      const isRead = await read().then(() => true, () => false);
      if (isRead) seen = now;
      await pause(Math.max(4 * (Date.now() - began), isRead ? 0 : failedRest));
    }
    isFollowing = false;
  };
}

/** Reads the planned states of a pool, in their order. */
export const readStates = async (path, signal) => (await get(`${path}?part=due&kind=state&limit=1000`, { signal })).items;

export const noPlans = { isEmpty: true, states: [], addsUnits: false, hasMoments: false };

/** The maximum number of lines of hidden items that are read, and the maximum number of items of a kind. */
export const linesMax = 5000;

/**
 * Reads what the views of a pool show about its agenda: whether it has items, the
 * planned states in their order, whether it has or had moments and, before the first
 * draw, whether it adds units.
 */
export async function readPlans(at, signal) {
  const path = agendaPath(at), read = (query) => get(`${path}?${query}`, { signal });
  const first = await read("limit=1");
  if (first.items.length === 0 && !first.hidden) return noPlans;
  const [states, hidden, moments, stock] = await Promise.all([
    readStates(path, signal), readPart(path, "part=hidden", linesMax, signal), read("part=done&kind=moment&limit=1"),
    at.pool.awards === 0 ? read("part=due&kind=stock&limit=100") : { items: [] },
  ]);
  return {
    isEmpty: false, states,
    addsUnits: hidden.items.length > 0 || stock.items.some((item) => item.delta > 0),
    hasMoments: moments.items.length > 0 || hidden.items.some((line) => line.hidden.moment),
  };
}
