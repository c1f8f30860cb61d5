// Evening: a committed pool from the first draws until it is closed, with a
// peak, a failover and a rollout in between.
//
// Draws arrive at a fixed rate whether or not the service keeps up. When the
// steps failover and rollout begin, the script calls HOOKS, which carries the
// step out. The stock lasts until the step restock: there the pool sells out
// and gets more units. It is closed under load while units are left. Each
// settled draw is a sample of the metric "settled"; the metadata of the sample
// is the answer.
import exec from 'k6/execution';
import http from 'k6/http';
import { Trend } from 'k6/metrics';
import * as lib from './lib.js';

const rate = lib.number('RATE', 1000, 1); // draws per second, except in the peak
const peak = lib.number('PEAK_RATE', 5000, 1);
const hooks = lib.text('HOOKS', ''); // POST HOOKS/STEP answers when the step's command has ended
const vusMax = lib.number('VUS_MAX', 5000, 1);
const users = lib.number('USERS', 100000, 1);
const steps = ['ramp', 'peak', 'failover', 'rollout', 'restock', 'close']
  .map((name, i) => ({ name, seconds: lib.number(`${name.toUpperCase()}_SECONDS`, [60, 60, 60, 120, 30, 20][i], 4) }));

let clock = 0;
for (const s of steps) {
  s.start = clock;
  s.rate = s.name === 'peak' ? peak : rate;
  s.draws = s.seconds * s.rate * (s.name === 'ramp' ? 0.5 : 1);
  clock += s.seconds;
}
const step = (name) => steps.find((s) => s.name === name);
const three = 10; // one draw in ten asks for three units
const units = (draws) => Math.ceil((draws * (three + 2)) / three);
const restock = units(step('restock').draws + step('close').draws); // more units than are requested from then on
const stock = units(steps.slice(0, 4).reduce((n, s) => n + s.draws, 0) + step('restock').draws / 3);
const rare = [1000, 100, 10].map((n) => Math.ceil(stock / n));
const pool = lib.pool('evening', [...rare, stock - rare.reduce((a, b) => a + b)].join());

const settled = new Trend('settled', true); // from the first request of a draw to its settled answer

const shared = { gracefulStop: '1m', preAllocatedVUs: Math.min(Math.ceil(peak / 4) + 10, vusMax), maxVUs: vusMax };
const scenarios = {};
for (const s of steps) {
  scenarios[s.name] = Object.assign({ startTime: `${s.start}s` }, shared, s.name === 'ramp'
    ? { executor: 'ramping-arrival-rate', startRate: 0, stages: [{ target: rate, duration: `${s.seconds}s` }] }
    : { executor: 'constant-arrival-rate', rate: s.rate, duration: `${s.seconds}s` });
}
const act = (name, after) => ({
  executor: 'per-vu-iterations', vus: 1, iterations: 1, exec: `${name}Act`, startTime: `${step(name).start + after}s`, maxDuration: '30m',
});
if (hooks !== '') Object.assign(scenarios, { failoverAct: act('failover', 1), rolloutAct: act('rollout', 1) });
Object.assign(scenarios, { restockAct: act('restock', step('restock').seconds / 2), closeAct: act('close', step('close').seconds / 2) });

export const options = Object.assign({}, lib.settings, {
  scenarios, systemTags: ['scenario', 'status'], thresholds: lib.thresholds(pool.prizes, { odds_z: ['value<6'] }),
});

// setup commits the pool to its numbers, if the service has recipients of seeds.
export function setup() {
  const data = lib.open(pool, { state: 'paused' });
  const made = lib.admin('POST', `/admin/pools/${data.pool}/commitment`, {});
  if (made.status !== 201) console.error(`the pool is not committed: ${made.status} ${made.body}`);
  lib.state(data.pool, 'open');
  return data;
}

function iteration(data) {
  const i = exec.scenario.iterationInTest;
  const d = { pool: data.pool, user: `user-${Math.floor(Math.random() * users)}`, count: i % three === 0 ? 3 : 1, key: lib.newKey() };
  const begun = Date.now();
  const answer = lib.draw(d);
  const closing = exec.scenario.name === 'close' || exec.scenario.name === 'restock'; // also restock, because its last retries may come after the close
  if (answer.code === 'pool-not-open' && closing) lib.count('refused');
  else lib.tally(d, answer);
  const awards = answer.outcome === 'won' ? answer.body.awards.map((a) => `${a.version}.${a.unit}.${a.prize}`).join(';') : '';
  exec.vu.metrics.metadata.draw = [d.key, d.user, d.count, answer.status, awards].join(' ');
  settled.add(Date.now() - begun);
  delete exec.vu.metrics.metadata.draw;
}

const call = (name) => http.post(`${hooks}/${name}`, null, { timeout: '30m' });
export const failoverAct = () => call('failover');
export const rolloutAct = () => call('rollout');

export function restockAct(data) {
  lib.restock(data.pool, pool.prizes[pool.prizes.length - 1].id, restock, `${data.pool}-restock`);
}

export const closeAct = (data) => lib.state(data.pool, 'closed');

export function teardown(data) {
  lib.account(data.pool);
}

export default lib.whole(iteration);
export const handleSummary = lib.report('evening', (data) => [
  `draws that arrived after the close ${lib.figure(data, 'refused', 'count')}, arrivals that k6 could not send ${lib.figure(data, 'dropped_iterations', 'count')}`,
]);
