// Oversell: issued never exceeds stock, and ends exactly at it.
//
// A fresh pool of mixed prizes is asked for twice its stock, in draws of one
// and of ten, then ten times more after it is empty. A part of the draws is
// sent again with the same key, half of those at the same moment. Stock is
// added while the pool sells and once more after it was empty. The end is the
// service's audit and an independent count of its award log.
import exec from 'k6/execution';
import { sleep } from 'k6';
import * as lib from './lib.js';

const pool = lib.pool('oversell', '1,9,90,900');
const restock = lib.number('RESTOCK', 100, 1); // units added in the middle, and again at the end
const vus = lib.number('VUS', 50, 1);
const after = lib.number('AFTER', 10); // times the stock that is asked for after the pool is empty
const resend = lib.number('RESEND_PERCENT', 5);
const minutes = lib.number('MINUTES_MAX', 10, 1);

const stock = pool.prizes.reduce((n, p) => n + p.stock, restock);
const tenth = 11; // one request in eleven asks for ten: as many units in tens as in ones
const selling = Math.ceil((stock * tenth) / (tenth - 1)) + 1; // requests that ask for twice the stock, singles alone for all of it
const asked = selling + Math.ceil((after * selling) / 2);

export const options = Object.assign({}, lib.settings, {
  scenarios: {
    draws: { executor: 'shared-iterations', vus: Math.min(vus, asked), iterations: asked, maxDuration: `${minutes}m`, gracefulStop: '1m' },
  },
  thresholds: lib.thresholds(pool.prizes, {
    under_issued: ['count==0'], dropped_iterations: ['count==0'], odds_z: ['value<6'],
  }),
});

export function setup() {
  return lib.open(pool);
}

function iteration(data) {
  const i = exec.scenario.iterationInTest;
  if (i === Math.floor(selling / 4)) lib.restock(data.pool, largest(), restock, `${data.pool}-restock-1`);
  const d = { pool: data.pool, user: `user-${i % 1000}`, count: i % tenth === tenth - 1 ? 10 : 1, key: lib.newKey() };
  const again = Math.floor(((i + 1) * resend) / 100) - Math.floor((i * resend) / 100);
  if (again === 0) {
    lib.tally(d, lib.draw(d));
  } else if (i % 2 === 0) {
    lib.tally(d, agree(d, lib.together([d, d])));
  } else {
    lib.tally(d, agree(d, [lib.draw(d), lib.draw(d)]));
  }
}

const largest = () => pool.prizes.reduce((a, b) => (b.stock > a.stock ? b : a)).id;

// agree compares two answers to one key. Sold out is not recorded, so after a
// restock the same key may win; but a win is known from then on.
function agree(d, [a, b]) {
  const [one, two] = a.outcome === 'won' ? [a, b] : [b, a];
  if (one.outcome !== 'won') return one;
  const other = two.outcome === 'sold-out' ? lib.draw(d) : two;
  lib.count('replays');
  const fresh = [one, other].filter((x) => x.outcome === 'won' && !x.body.replayed).length;
  if (other.outcome !== 'won' || !lib.same(one.body, other.body) || fresh > 1) lib.differs(one, other);
  return one;
}

export function teardown(data) {
  // The pool is empty. What is put in now must be given out, all of it: a
  // service may cache "sold out" for one second, not longer.
  lib.restock(data.pool, largest(), restock, `${data.pool}-restock-2`);
  sleep(1.2);
  for (let i = 0; i < 4 * restock; i += 20) {
    const ds = Array.from({ length: 20 }, (_, k) => ({ pool: data.pool, user: `late-${k}`, count: 1, key: lib.newKey() }));
    lib.together(ds).forEach((answer, k) => lib.tally(ds[k], answer));
  }
  lib.account(data.pool);
}

export default lib.whole(iteration);
export const handleSummary = lib.report('oversell', (data) => [
  `replayed answers that differ ${lib.figure(data, 'replay_mismatch', 'count')}, `
  + `odds of rare prizes: ${lib.figure(data, 'odds_z', 'value').toFixed(1)} standard deviations from the law`,
]);
