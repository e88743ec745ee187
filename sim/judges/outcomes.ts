// The output of a cell is exactly the latest text of its own model. A resident may have worked for others too: its output is the
// latest text that it wrote for the caller that started it. A team has no model. An agent that answers in JSON returns the value in
// that text and nothing around it, or nothing at all.
import type { CellId } from '#base';
import type { Birth, Frame, ModelReply, Outcome } from '#contracts';
import type { RunHistory } from '../history.ts';
import { runFacts } from './facts.ts';
import type { CellFacts } from './facts.ts';
import type { Judge } from './judge.ts';
import { hasMail, walkMail } from './mail-walk.ts';
import { teamPlans } from './team-walk.ts';
import { answerEnd, Works } from './works.ts';

export const outcomes: Judge = {
  name: 'output = latest text',
  check: ({ runs }, report) => {
    let checks = 0;
    for (const run of runs) {
      const written = textsForCallers(run);
      for (const cell of runFacts(run).cells.values()) {
        if (cell.outcome === null || teamPlans(run).has(cell.birth.agent)) continue;
        checks++;
        const isResident = cell.birth.spawned !== undefined;
        const newest = isResident ? (written.get(cell.birth.cell) ?? '') : latestOutput(run, cell, cell.outcome);
        // Output that may not cross is withheld.
        const text = cell.outcome.failure?.code === 'crossing_refused' ? '' : newest;
        if (cell.outcome.output !== text)
          report(`${cell.birth.cell} to return ${JSON.stringify(text)}`, JSON.stringify(cell.outcome.output));
      }
    }
    return checks;
  },
};

/** The latest text of the usable replies; empty if there is none. */
const newestText = ({ operations }: CellFacts): string => {
  for (const { attempt, settle } of operations.toReversed()) {
    const text = attempt === undefined || settle?.ok !== true ? '' : usableText(settle.value);
    if (text !== '') return text;
  }
  return '';
};

const answersInJson = ({ frames }: RunHistory, { digest: own }: Birth): boolean =>
  frames.some(({ definitions = [] }) =>
    definitions.some(({ digest, definition }) => digest === own && definition.output.format === 'json'),
  );

/** A plan that is not valid goes to the runtime, which says what is wrong with it. */
const latestOutput = (run: RunHistory, cell: CellFacts, { status, failure, output }: Outcome): string => {
  const text = newestText(cell);
  if (!answersInJson(run, cell.birth)) return text;
  const isPlan = cell.birth.task?.part === 'plan';
  const answered = valueIn(text, isPlan ? 'tasks' : 'sum');
  if (status !== 'completed' && status !== 'partial') {
    if (isPlan && failure?.code === 'answer_schema') return text;
    // It had answered, and was stopped while it waited for the agents that it had spawned.
    return output !== '' && spawns(cell) ? (answered ?? '') : '';
  }
  return answered ?? 'nothing: it does not fit';
};

const spawns = ({ operations }: CellFacts): boolean => operations.some(({ begin }) => begin.do === 'child');

/** The value in a text, if it has this key and can be passed on unchanged. */
const valueIn = (text: string, key: string): string | null => {
  const json = text.slice(
    Math.max(0, text.search(/[[{]/u)),
    Math.max(text.lastIndexOf('}'), text.lastIndexOf(']')) + 1,
  );
  if (/"sum".*"sum"|\d{16}/su.test(json)) return null;
  try {
    const value = JSON.parse(json) as object;
    return Array.isArray(value) || Object.hasOwn(value, key) ? JSON.stringify(value) : null;
  } catch {
    return null;
  }
};

const usableText = (value: unknown): string => {
  const { parts, finish } = value as ModelReply;
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return text.trim() === '' || finish === 'error' || finish === 'content-filter' ? '' : text;
};

const jsonCells = (run: RunHistory): ReadonlySet<CellId> => {
  const births = [...runFacts(run).cells.values()].map(({ birth }) => birth);
  return new Set(births.filter((birth) => answersInJson(run, birth)).map(({ cell }) => cell));
};

/** What each resident wrote last while it worked for its caller. */
const textsForCallers = (run: RunHistory): ReadonlyMap<CellId, string> => {
  const texts = new Map<CellId, string>();
  if (!hasMail(run)) return texts;
  const works = new Works();
  const [attempts, checks] = [new Set<string>(), new Set<string>()];
  const unchecked = new Map<CellId, string>();
  const json = jsonCells(run);
  walkMail(run, (step) => {
    const { cell, record, attempt }: Frame = step.frame;
    if (record.type === 'begin' && attempt !== undefined) attempts.add(`${cell}/${record.op}`);
    if (record.type === 'begin' && record.name === 'check:answer') checks.add(`${cell}/${record.op}`);
    const work = works.of(step);
    const isForCaller = answerEnd(work) === work.caller;
    if (record.type === 'settle' && record.ok && attempts.has(`${cell}/${record.op}`)) {
      const reply = usableText(record.value);
      if (json.has(cell)) unchecked.set(cell, valueIn(reply, 'sum') ?? '');
      else if (reply !== '' && isForCaller) texts.set(cell, reply);
    }
    // A value is an answer once it was checked: the run may be cancelled before that.
    if (record.type === 'settle' && record.ok && checks.has(`${cell}/${record.op}`)) {
      const value = unchecked.get(cell) ?? '';
      if (value !== '' && isForCaller) texts.set(cell, value);
    }
    works.update(step);
  });
  return texts;
};
