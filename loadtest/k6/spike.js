// Spike: the arrival rate rises to ten times its value, and falls back.
//
// Draws arrive at a fixed rate whether or not the service keeps up. A busy
// service answers 503 with Retry-After, and the draw is retried with its key.
// The service must never answer "sold out", because the pool has more units
// than all draws request.
import exec from 'k6/execution';
import * as lib from './lib.js';

const pool = lib.pool('spike', '10000,90000,900000');
const rate = lib.number('RATE', 100, 1); // draws per second before and after the spike
const times = lib.number('TIMES', 10, 1); // the rate of the spike divided by the rate before it
const calm = lib.number('CALM', 10, 1); // seconds before the spike, and the same after it
const peak = lib.number('PEAK', 10, 1); // length of the spike in seconds
const vusMax = lib.number('VUS_MAX', 1000, 1);
const p99 = lib.number('P99_MS', 2000, 1); // maximum 99th percentile in each phase
const dropped = lib.number('DROPPED_PERCENT', 1); // arrivals that k6 may be too late to send

const phase = (r, startTime, seconds) => ({
  executor: 'constant-arrival-rate', rate: r, duration: `${seconds}s`, startTime: `${startTime}s`, gracefulStop: '1m',
  preAllocatedVUs: Math.min(Math.max(Math.ceil(r / 2), 20), vusMax), maxVUs: vusMax,
});
const arrivals = 2 * rate * calm + rate * times * peak;
const phases = ['before', 'spike', 'after'];
const slow = {};
for (const name of phases) slow[`draw_latency{scenario:${name}}`] = [`p(99)<${p99}`];

export const options = Object.assign({}, lib.settings, {
  scenarios: {
    before: phase(rate, 0, calm), spike: phase(rate * times, calm, peak), after: phase(rate, calm + peak, calm),
  },
  thresholds: lib.thresholds(pool.prizes, Object.assign({ sold_out: ['count==0'], dropped_iterations: lib.fewDropped(arrivals, dropped) }, slow)),
});

export function setup() {
  return lib.open(pool);
}

function iteration(data) {
  const d = { pool: data.pool, user: `user-${exec.vu.idInTest}`, count: 1, key: lib.newKey() };
  lib.tally(d, lib.draw(d));
}

export function teardown(data) {
  lib.account(data.pool);
}

export default lib.whole(iteration);
export const handleSummary = lib.report('spike', (data) => [
  ...phases.map((name) => {
    const ms = (key) => lib.figure(data, `draw_latency{scenario:${name}}`, key).toFixed(1);
    return `${name.padEnd(7)} median ${ms('med')} ms, p95 ${ms('p(95)')} ms, p99 ${ms('p(99)')} ms, longest ${ms('max')} ms`;
  }),
  `arrivals that k6 could not send ${lib.figure(data, 'dropped_iterations', 'count')}`,
]);
