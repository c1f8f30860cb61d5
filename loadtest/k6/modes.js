// Modes: the pool's lock mode changes, and its stock increases and decreases,
// while draws run. At the end the remaining units are drawn: exactly the
// stocked units are issued.
import exec from 'k6/execution';
import { sleep } from 'k6';
import * as lib from './lib.js';

const pool = lib.pool('modes', '10,90,900,9000');
const seconds = lib.number('SECONDS', 30, 5);
const vus = lib.number('VUS', 30, 1);
const modes = lib.text('MODES', 'for-update,optimistic,external').split(',');
const every = lib.number('EVERY_MS', 250, 10); // time between two acts of the operator
const step = lib.number('STEP', 50, 2); // units added in each act; half of them are withdrawn again

export const options = Object.assign({}, lib.settings, {
  scenarios: {
    draws: { executor: 'constant-vus', vus, duration: `${seconds}s`, gracefulStop: '1m', exec: 'draws' },
    operator: { executor: 'per-vu-iterations', vus: 1, iterations: 1, maxDuration: `${seconds + 60}s`, exec: 'operator' },
  },
  thresholds: lib.thresholds(pool.prizes, {
    under_issued: ['count==0'], dropped_iterations: ['count==0'], odds_z: ['value<6'], switched: [`count>=${modes.length}`],
  }),
});

export function setup() {
  return lib.open(pool);
}

function drawOnce(data) {
  const d = { pool: data.pool, user: `user-${exec.vu.idInTest}`, count: 1 + (exec.vu.iterationInScenario % 3), key: lib.newKey() };
  const answer = lib.draw(d);
  lib.tally(d, answer);
  if (answer.outcome === 'sold-out') sleep(0.05); // the operator will add units
}

function operate(data) {
  const until = Date.now() + 1000 * (seconds - 1);
  for (let i = 0; i < modes.length || Date.now() < until; i += 1) { // even a slow machine uses each mode
    const mode = i % (modes.length + 1) === modes.length ? null : modes[i % (modes.length + 1)];
    const r = lib.admin('PATCH', `/admin/pools/${data.pool}`, { mode });
    if (r.status < 200 || r.status > 299) lib.unexpected(`mode ${mode}: ${r.status} ${r.body}`);
    lib.count('switched');
    const prize = pool.prizes[i % pool.prizes.length].id;
    lib.restock(data.pool, prize, step, `${data.pool}-in-${i}`);
    withdraw(data.pool, prize, -Math.floor(step / 2), `${data.pool}-out-${i}`);
    sleep(every / 1000);
  }
}

// withdraw withdraws units. If they are already issued, the withdrawal is
// refused, and nothing changes.
function withdraw(poolID, prizeID, delta, key) {
  const r = lib.move(poolID, prizeID, delta, key);
  if (lib.codeOf(r) === 'stock-below-issued') lib.count('withdrawals_refused');
  else if (r.status > 299) lib.unexpected(`stock of ${prizeID} by ${delta}: ${r.status} ${r.body}`);
}

export function teardown(data) {
  sleep(1.2); // "sold out" may be cached for one second
  drain(data.pool);
  lib.account(data.pool);
}

// drain draws the remaining units, in ever smaller draws.
function drain(poolID) {
  for (let size = 100; size >= 1; size = Math.floor(size / 4)) {
    for (let some = true; some;) {
      const ds = Array.from({ length: 10 }, () => ({ pool: poolID, user: 'late', count: size, key: lib.newKey() }));
      const answers = lib.together(ds);
      answers.forEach((answer, k) => lib.tally(ds[k], answer));
      some = answers.some((a) => a.outcome === 'won');
    }
  }
}

export const draws = lib.whole(drawOnce);
export const operator = lib.whole(operate);
export const handleSummary = lib.report('modes', (data) => [
  `mode switched ${lib.figure(data, 'switched', 'count')} times, withdrawals refused ${lib.figure(data, 'withdrawals_refused', 'count')}, `
  + `odds of rare prizes: ${lib.figure(data, 'odds_z', 'value').toFixed(1)} standard deviations from the law`,
]);
