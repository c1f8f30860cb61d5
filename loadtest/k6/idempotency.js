// Idempotency: one key from many users at once.
//
// Several users send each key, each of them several times, at the same moment
// and to all instances. One user wins. All answers to that user are equal, and
// all except one are replays. All other users get 422, because the key is
// taken, and so does the winner with another count.
import exec from 'k6/execution';
import * as lib from './lib.js';

const pool = lib.pool('idempotency', '1000,9000,90000');
const keys = lib.number('KEYS', 200, 1);
const vus = lib.number('VUS', 5, 1); // number of keys that are sent at the same time
const users = lib.number('USERS', 5, 2);
const each = lib.number('EACH', 4, 1); // how often each user sends the key

export const options = Object.assign({}, lib.settings, {
  batch: users * each,
  batchPerHost: users * each,
  scenarios: {
    keys: { executor: 'shared-iterations', vus: Math.min(vus, keys), iterations: keys, maxDuration: '10m', gracefulStop: '1m' },
  },
  thresholds: lib.thresholds(pool.prizes, { won: [`count==${keys}`], refused: [`count==${keys * (each * (users - 1) + 1)}`], dropped_iterations: ['count==0'] }),
});

export function setup() {
  return lib.open(pool);
}

function iteration(data) {
  const i = exec.scenario.iterationInTest;
  const key = lib.newKey();
  const ds = Array.from({ length: users * each }, (_, k) => ({ pool: data.pool, user: `user-${k % users}`, count: 1 + (i % 3), key }));
  const answers = lib.together(ds);
  const first = answers.findIndex((a) => a.outcome === 'won');
  if (first < 0) {
    lib.unexpected(`key ${key}: nobody won: ${JSON.stringify(answers[0])}`);
    return;
  }
  lib.tally(ds[first], answers[first]);
  answers.forEach((a, k) => judge(ds[k], a, ds[first].user, answers[first]));
  const fresh = answers.filter((a) => a.outcome === 'won' && !a.body.replayed);
  if (fresh.length > 1) lib.differs(fresh[0], fresh[1]);
  const other = Object.assign({}, ds[first], { count: ds[first].count + 1 });
  judge(other, lib.draw(other), '', answers[first]);
}

// judge checks that the winner's answers are one draw, and that all others are
// refused.
function judge(d, answer, winner, truth) {
  if (d.user !== winner) {
    if (answer.status === 422 && answer.code === 'idempotency-key-reused') lib.count('refused');
    else lib.unexpected(`key ${d.key} of another user or count: ${answer.status} ${answer.code}`);
    return;
  }
  lib.count('replays');
  if (answer.outcome !== 'won' || !lib.same(answer.body, truth.body)) lib.differs(truth, answer);
}

export function teardown(data) {
  lib.account(data.pool);
}

export default lib.whole(iteration);
export const handleSummary = lib.report('idempotency', (data) => [
  `answers to a winner ${lib.figure(data, 'replays', 'count')}, of which differ ${lib.figure(data, 'replay_mismatch', 'count')}; `
  + `others refused (422) ${lib.figure(data, 'refused', 'count')}`,
]);
