// What a server prints while it runs: requests, runs, and what becomes of them when it stops.
import { errorCatalogue } from '#base';
import { clockTime, count, formatDuration, money, plural } from '#headends/run-view';
import type { ServeLine } from './cli-world.ts';
import type { Paint } from './output.ts';
import { sanitizeLine } from './sanitize-text.ts';

/** Printed at shutdown: what happens to the runs in flight. */
export const stoppingLine = (running: number, graceMs: number): string => {
  if (running === 0) return 'stopping: no runs in flight';
  const runs = plural(running, 'run');
  if (graceMs === 0) return `stopping: ${runs} ${running === 1 ? 'is' : 'are'} being interrupted`;
  return `stopping: ${runs} ${running === 1 ? 'has' : 'have'} ${graceMs / 1000} s to finish; Ctrl-C again stops immediately`;
};

/** One line for an answered request, an ended run, an interrupted run that was found, deleted runs, or news of Slack. */
export const serveLine = (line: ServeLine, at: number, paint: Paint): string => {
  const time = paint('dim', clockTime(at));
  if (line.type === 'slack') return [time, sanitizeLine(line.text)].join('  ');
  if (line.type === 'ready') {
    const problems = line.problems.map(sanitizeLine).join('; ');
    return [time, problems === '' ? paint('green', 'ready again') : paint('red', `not ready: ${problems}`)].join('  ');
  }
  if (line.type === 'expire') {
    const { runs, code } = line;
    if (code !== null) return [time, paint('red', `runs that are no longer kept are not deleted: ${code}`)].join('  ');
    return [time, `deleted ${plural(runs, 'run')} that ${runs === 1 ? 'is' : 'are'} no longer kept`].join('  ');
  }
  if (line.type === 'run') {
    const { caller, agent, run, status, code, tokens, uncertain, usd, ms } = line;
    const doubt = uncertain === 0 ? '' : `, ${count(uncertain)} uncertain`;
    const used = `${count(tokens)} tokens${doubt}${usd === null ? '' : ` ${money(usd)}`}`;
    const outcome = status === 'completed' ? paint('green', status) : paint('yellow', status);
    return [
      time,
      `run ${run}`,
      agent,
      outcome,
      used,
      formatDuration(ms),
      caller,
      ...(code === null ? [] : [code]),
    ].join('  ');
  }
  if (line.type === 'resume') {
    const { caller, agent, run, code } = line;
    const what = code === null ? paint('green', 'resumed') : paint('yellow', `not resumed: ${code}`);
    // What is not in the hands of this server.
    const advice = code === 'question_stale' ? [errorCatalogue[code].suggestion] : [];
    return [time, `run ${run}`, agent, what, caller, ...advice].join('  ');
  }
  const { status, method, path, ms, caller, run, code, defect } = line;
  const shown = status < 400 ? paint('green', String(status)) : paint(status < 500 ? 'yellow' : 'red', String(status));
  const parts = [time, shown, `${method} ${sanitizeLine(path).slice(0, 100)}`, formatDuration(ms), caller ?? '-'];
  const why = [...(code === null ? [] : [code]), ...(defect === null ? [] : [sanitizeLine(defect)])];
  return [...parts, ...(run === null ? [] : [`run ${run}`]), ...why].join('  ');
};
