// Draws from a service by k6: k6 run -e NAME=VALUE … draw.js
//
//   RATE=N          draws that are due in a second, whether or not others are answered (open
//                   model). With 0, each of VUS callers sends a draw when its last one is
//                   answered (closed model)
//   VUS=N           callers; in the open model a draw that is due when all of them wait is
//                   not sent, and counts as dropped
//   SECONDS=N       length of the run; latencies of its first second do not count
//   POOL, BASE_URL, DRAW_TOKEN
//
// In the open model a latency begins when the draw was due, so it contains the delay with
// which k6 sent the draw. The last printed line is the result as JSON, as in draw.lua.
import http from 'k6/http';
import exec from 'k6/execution';
import { Counter, Trend } from 'k6/metrics';
import { bases, drawToken, newKey, number, text } from '../k6/lib.js';

const rate = number('RATE', 0);
const seconds = number('SECONDS', 2, 2);
const vus = number('VUS', 256, 1);
const body = JSON.stringify({ pool: text('POOL', 'bench'), user: 'user-12345', count: 1 });
const counted = 1000; // milliseconds after which latencies count, because by then all callers are connected
const latency = new Trend('latency', true);
const refused = new Counter('refused');

const run = { duration: `${seconds}s`, gracefulStop: '1m' };
const open = { executor: 'constant-arrival-rate', rate, preAllocatedVUs: vus, maxVUs: vus };
export const options = {
  discardResponseBodies: true,
  systemTags: [],
  summaryTrendStats: ['p(50)', 'p(90)', 'p(99)', 'p(99.9)', 'max'],
  scenarios: { draws: Object.assign(run, rate > 0 ? open : { executor: 'constant-vus', vus }) },
};

export default function drawOnce() {
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${drawToken}`, 'Idempotency-Key': newKey() };
  const sent = 1000 * seconds * exec.scenario.progress; // the clock by which k6 plans, in milliseconds
  const due = rate > 0 ? (1000 * exec.scenario.iterationInTest) / rate : sent;
  const { status, timings } = http.post(`${bases[0]}/draw`, body, { headers });
  if (status !== 200) refused.add(1);
  if (sent >= counted) latency.add(Math.max(sent - due, 0) + timings.blocked + timings.connecting + timings.duration);
}

export function handleSummary({ metrics }) {
  const value = (name, key) => Math.round(metrics[name] ? metrics[name].values[key] : 0);
  const micros = (key) => Math.round(1000 * (metrics.latency ? metrics.latency.values[key] : 0));
  const requests = value('iterations', 'count');
  return {
    stdout: `${JSON.stringify({
      requests,
      duration: 1e6 * seconds,
      bytes: value('data_received', 'count'),
      status: value('refused', 'count'),
      dropped: Math.max(rate * seconds - requests - 1, 0), // the last one is due when the run ends
      p50: micros('p(50)'), p90: micros('p(90)'), p99: micros('p(99)'), p999: micros('p(99.9)'), max: micros('max'),
    })}\n`,
  };
}
