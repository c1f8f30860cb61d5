// Campaign: limits of users, losing draws, and closing under load.
//
// Every user requests four times as many draws as the rules allow, all at the
// same moment and from all instances. In the middle, the pool is paused and
// opened again. Near the end, it is closed while other users still draw.
// Finally the script compares the service's audit with the log: each user has
// exactly as many draws as the limit allows, and at most WINS_MAX wins. The log
// has no award while the pool was not open.
import exec from 'k6/execution';
import { sleep } from 'k6';
import * as lib from './lib.js';

const pool = lib.pool('campaign', '5,50,2000');
const max = lib.number('MAX', 3, 1); // maximum number of draws of a user
const winsMax = lib.number('WINS_MAX', 2, 1); // maximum number of wins of a user
const users = lib.number('USERS', 150, 1);
const late = lib.number('LATE', 200); // number of draws by other users; the pool is closed in the middle of them
const vus = lib.number('VUS', 40, 1);

const times = 4; // each user requests this multiple of max draws
const each = max * times;
const asked = users * each;
const blank = 'none';
const isCounted = (user) => user.startsWith('user-');
const rules = {
  fallback: blank,
  win: '1/2',
  limits: [{ of: 'draws', max }, { of: 'wins', max: winsMax }],
};

export const options = Object.assign({}, lib.settings, {
  scenarios: {
    draws: { executor: 'shared-iterations', vus: Math.min(vus, asked), iterations: asked + late, maxDuration: '10m', gracefulStop: '1m' },
  },
  thresholds: lib.thresholds(pool.prizes, {
    limit_passed: ['count==0'], limit_unused: ['count==0'], wins_passed: ['count==0'], drew_while_closed: ['count==0'], dropped_iterations: ['count==0'],
  }),
});

export function setup() {
  const data = lib.open(pool);
  if (lib.gate !== 'limits') lib.rule(data.pool, blank, rules);
  return data;
}

function iteration(data) {
  const i = exec.scenario.iterationInTest;
  const open = lib.gate !== 'limits'; // otherwise the program has no states of pools
  if (open && i === Math.floor(asked / 2)) {
    lib.state(data.pool, 'paused');
    sleep(0.5);
    lib.state(data.pool, 'open');
  }
  if (open && i === asked + Math.floor(late / 2)) {
    lib.usedUp(data.pool, users * max, isCounted);
    lib.state(data.pool, 'closed');
  }
  // The draws of one user are adjacent iterations, so that they run at the same
  // time.
  const user = i < asked ? `user-${Math.floor(i / each)}` : `late-${i}`;
  const d = { pool: data.pool, user, count: 1, key: lib.newKey() };
  let answer = lib.draw(d);
  while (i < asked && answer.code === 'pool-not-open' && !lib.isClosed(data.pool)) {
    sleep(0.1);
    answer = lib.draw(d);
  }
  if (answer.code === 'limit-reached') lib.count('refused');
  else if (answer.code !== 'pool-not-open') lib.tally(d, answer);
}

export function teardown(data) {
  lib.campaignAccount(data.pool, { max, winsMax, blank, isCounted });
}

export default lib.whole(iteration);
export const handleSummary = lib.report('campaign', (data) => [
  `${users} users asked for ${each} draws each, ${max} allowed: refused ${lib.figure(data, 'refused', 'count')}, `
  + `limits passed ${lib.figure(data, 'limit_passed', 'count')}, wins beyond ${winsMax}: ${lib.figure(data, 'wins_passed', 'count')}, `
  + `awards while closed ${lib.figure(data, 'drew_while_closed', 'count')}`,
]);
