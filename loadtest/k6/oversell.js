// Oversell: the number of issued units never exceeds the stock, and finally
// equals it.
//
// Callers request twice the stock of a new pool of several prizes, in draws of
// one unit and of ten units. When the pool is empty, they request ten times its
// stock. Some draws are sent twice with the same key, half of these at the same
// moment. Stock is added while the pool sells, and again when it is empty.
// Finally the script compares the service's audit with an independent count of
// the award log.
import exec from 'k6/execution';
import { sleep } from 'k6';
import * as lib from './lib.js';

const pool = lib.pool('oversell', '1,9,90,900');
const restock = lib.number('RESTOCK', 100, 1); // units added in the middle, and again at the end
const vus = lib.number('VUS', 50, 1);
const after = lib.number('AFTER', 10); // the multiple of the stock that is requested when the pool is empty
const resend = lib.number('RESEND_PERCENT', 5);
const minutes = lib.number('MINUTES_MAX', 10, 1);

const stock = pool.prizes.reduce((n, p) => n + p.stock, restock);
const tenth = 11; // one request in eleven is for ten units, so draws of ten and draws of one request equally many units
const selling = Math.ceil((stock * tenth) / (tenth - 1)) + 1; // number of requests for twice the stock; the draws of one unit request all of it
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

// agree compares two answers to one key. The answer "sold out" is not recorded,
// so after a restock the same key may win. A win is recorded, and every later
// answer must repeat it.
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
  // The pool is empty. All units that are added now must be issued: a service
  // may cache "sold out" for at most one second.
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
