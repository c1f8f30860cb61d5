// The report at the end of a run: a table for people, JSON for programs.
import { summaryFile } from './options.js';

const value = (data, name, key) => (data.metrics[name] ? data.metrics[name].values[key] : 0) || 0;

function prizesOf(data) {
  return Object.keys(data.metrics).filter((name) => name.startsWith('stocked{')).sort()
    .map((name) => {
      const tag = name.slice('stocked'.length);
      return {
        prize: tag.slice('{prize:'.length, -1),
        stocked: value(data, name, 'value'),
        awards: value(data, `awarded${tag}`, 'value'),
        over_issued: value(data, `over_issued${tag}`, 'count'),
      };
    });
}

// failures names every threshold that was crossed.
function failures(data) {
  const crossed = [];
  for (const [name, metric] of Object.entries(data.metrics)) {
    for (const [rule, result] of Object.entries(metric.thresholds || {})) {
      if (!result.ok) crossed.push(`${name} must be ${rule}, is ${value(data, name, rule.replace(/[<>=!].*/, ''))}`);
    }
  }
  return crossed.sort();
}

const cells = (...list) => list.map((x, i) => (i === 0 ? String(x).padEnd(14) : String(x).padStart(13))).join('');

function table(prizes) {
  const total = (key) => prizes.reduce((n, p) => n + p[key], 0);
  return [cells('prize', 'stocked', 'awards', 'over-issued'),
    ...prizes.map((p) => cells(p.prize, p.stocked, p.awards, p.over_issued)),
    cells('all', total('stocked'), total('awards'), total('over_issued'))];
}

function figures(data) {
  const n = (name) => value(data, name, 'count');
  const ms = (key) => `${value(data, 'draw_latency', key).toFixed(1)} ms`;
  const seconds = data.state.testRunDurationMs / 1000;
  return [
    `draws won ${n('won')} (${n('units_won')} units), sold out ${n('sold_out')}, replays ${n('replays')}, unexpected ${n('unexpected')}`,
    `busy (503) ${n('busy')}, outcome unknown (504) ${n('outcome_unknown')}, no answer ${n('no_answer')}: retried with the same key`,
    `latency: median ${ms('med')}, p95 ${ms('p(95)')}, p99 ${ms('p(99)')}, longest ${ms('max')}; run of ${seconds.toFixed(1)} s`,
  ];
}

function verdict(crossed, prizes) {
  if (crossed.length === 0) return ['PASSED'];
  const over = prizes.filter((p) => p.over_issued > 0)
    .map((p) => `OVER-ISSUED: ${p.prize} by ${p.over_issued} (stocked ${p.stocked}, awarded ${p.awards})`);
  return [...over, 'FAILED:', ...crossed.map((line) => `  ${line}`)];
}

// report returns the handleSummary of a script; more returns further lines for
// it.
export function report(title, more = () => []) {
  return (data) => {
    const finished = value(data, 'audits', 'count') === 1 && value(data, 'unfinished', 'count') === 0;
    if (!finished) return { stdout: `\n${title}: NO RESULT, the run was ended before its closing account\n` };
    const prizes = prizesOf(data);
    const crossed = failures(data);
    const lines = ['', `${title}: pool ${data.setup_data.pool}`, ...table(prizes), ...figures(data), ...more(data), ...verdict(crossed, prizes), ''];
    const out = { stdout: lines.join('\n') };
    if (summaryFile !== '') out[summaryFile] = JSON.stringify(facts(title, data, prizes, crossed), null, 2);
    return out;
  };
}

// figure reads one value of a metric, for a script's further lines.
export const figure = value;

function facts(title, data, prizes, crossed) {
  const metrics = {};
  for (const [name, m] of Object.entries(data.metrics)) {
    if (!name.includes('{prize:')) metrics[name] = m.values;
  }
  return { title, pool: data.setup_data.pool, seconds: data.state.testRunDurationMs / 1000, passed: crossed.length === 0, failed: crossed, prizes, metrics };
}
