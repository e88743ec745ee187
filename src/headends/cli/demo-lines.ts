// What the demo prints. Every figure is counted in the two runs.
import { stripVTControlCharacters } from 'node:util';
import type { AuditReport, DurableEvent, QuestionReport, RunOutcome, ShownPart } from '#contracts';
import { count, plural } from '#headends/run-view';
import { mergeSteps } from './shared/demo-steps.ts';
import type { DemoStep, StepPair } from './shared/demo-steps.ts';
import { auditLines } from './shared/audit-lines.ts';
import type { DemoMail, DemoTeam, VerifyResult } from './shared/cli-world.ts';
import { cloisterCommand, shellText, shellWord } from './shared/next-commands.ts';
import type { Paint, Screen, Style } from './shared/output.ts';
import { excerpt, padEnd, padStart, sanitizeLine, width, wrapText } from './shared/sanitize-text.ts';
import { tableLines } from './shared/table.ts';

export type DemoReport = {
  readonly task: string;
  readonly team: DemoTeam;
  readonly plain: { readonly answer: string; readonly steps: readonly DemoStep[]; readonly sent: readonly DemoMail[] };
  readonly cloister: {
    readonly outcome: RunOutcome;
    readonly steps: readonly DemoStep[];
    readonly sent: readonly DemoMail[];
    /** What waited for a person. */
    readonly asked: readonly QuestionReport[];
    readonly refusals: readonly (DurableEvent & { readonly type: 'crossing-refused' })[];
    readonly crossings: readonly (DurableEvent & { readonly type: 'crossing' })[];
    readonly prompt: { readonly agent: string; readonly parts: readonly ShownPart[] };
    readonly audit: AuditReport;
  };
};

/** Null: the run was stopped before. */
export type DemoVerdict = { readonly verify: VerifyResult | null; readonly workspace: string | null };

/** The team must be sanitized; so must the reports below. */
export const introLines = (team: DemoTeam, task: string, { paint, columns }: Screen): readonly string[] => {
  const fact = (name: string, text: string): readonly string[] => {
    const [first = '', ...rest] = wrapText(padEnd(`  ${name}`, 10), text, columns, 10);
    return [`  ${paint('dim', name)}${first.slice(2 + name.length)}`, ...rest];
  };
  return [
    ...wrapText(
      '',
      'One team, twice: in a plain loop, where everybody is shown one list of messages, and in Cloister. The prompts, the tools and the scripted model are the same. The model is naive: it obeys what it reads.',
      columns,
      0,
    ),
    '',
    ...fact('task', task),
    ...fact('secret', `"${team.secret}", in the notes of the ${team.owner}`),
    ...fact('trap', `the customer’s page says: "${excerpt(team.injected, columns - 38)}"`),
    ...fact('loop', `${plural(team.loopLines, 'line')}, ${team.loop}`),
  ];
};

export const reportLines = (report: DemoReport, screen: Screen): readonly string[] => [
  ...stepLines(report, screen),
  '',
  ...leftLines(report, screen),
  '',
  ...stoppedLines(report, screen),
  '',
  ...(report.cloister.prompt.parts.length === 0 ? [] : [...promptLines(report, screen), '']),
  ...figureLines(report, screen),
];

/** A line for each reply of a model. */
const stepLines = ({ plain, cloister, team }: DemoReport, screen: Screen): readonly string[] => {
  const agents = new Set([...plain.steps, ...cloister.steps].map(({ agent }) => agent));
  const [heading = '', ...lines] = tableLines<StepPair>(
    [
      { title: 'agent', value: ({ agent }) => sanitizeLine(agent) },
      { title: 'what its model does', value: ({ calls }) => describeCalls(calls, agents), shrinksTo: 12 },
      { title: 'plain loop', value: (pair) => describeStep(pair.plain, plain.sent, team), shrinksTo: 10 },
      { title: 'Cloister', value: (pair) => describeStep(pair.cloister, cloister.sent, team), shrinksTo: 10 },
    ],
    mergeSteps(plain.steps, cloister.steps),
    screen,
  );
  return [heading, ...lines.map((line) => paintStep(line, screen.paint))];
};

const describeCalls = (calls: readonly string[], agents: ReadonlySet<string>): string => {
  if (calls.length === 0) return 'answers';
  const names = calls.map((name) => sanitizeLine(name.replace(/^\w+?__/u, ''))).join(', ');
  return `${calls.every((name) => agents.has(name)) ? 'asks' : 'calls'} ${names}`;
};

const describeStep = (step: DemoStep | null, sent: readonly DemoMail[], { owner }: DemoTeam): string => {
  if (step === null) return '–';
  const isMail = step.calls.some((name) => name.endsWith('send_mail'));
  const saw = !step.sawSecret ? '' : step.agent === owner ? 'its own notes' : 'sees the secret';
  const stopped = step.stopped === null ? null : (stops[step.stopped] ?? sanitizeLine(step.stopped));
  const came = stopped ?? (isMail && sent.length > 0 ? 'mail sent' : '');
  return [saw, came].filter((text) => text !== '').join(', ') || '·';
};

const stops: Readonly<Record<string, string>> = { 'no-grant': 'refused', approval_denied: 'waits, is denied' };

const paintStep = (line: string, paint: Paint): string =>
  line
    .replaceAll(/sees the secret(?:, mail sent)?|mail sent/gu, (text) => paint('red', text))
    .replaceAll(/refused|waits, is denied/gu, (text) => paint('green', text));

const title = (style: Style, text: string, paint: Paint): string => paint('bold', paint(style, text));

const leftLines = ({ plain: { sent } }: DemoReport, { paint, columns }: Screen): readonly string[] => [
  title('red', `The plain loop sent ${plural(sent.length, 'mail')}`, paint),
  ...sent.flatMap(({ to, text }) => wrapText('  ', `to ${to}: ${text}`, columns, 4)),
];

const stoppedLines = ({ cloister }: DemoReport, { paint, columns }: Screen): readonly string[] => [
  title('green', `Cloister sent ${plural(cloister.sent.length, 'mail')}, and recorded what was tried`, paint),
  ...cloister.refusals.flatMap(({ kind, bytes, reason, from, to }) =>
    wrapText(
      '  ',
      `refused: a ${kind} of ${plural(bytes, 'byte')} from ${agentOf(from)} to ${agentOf(to)} (${reason})`,
      columns,
      4,
    ),
  ),
  ...cloister.asked.flatMap(({ path, tool, args, state, answers }) =>
    wrapText(
      '  ',
      `waited for a person: ${path.join(' > ')} wants to call ${tool}, with ${JSON.stringify(args)} – ${state} (${answers.at(-1)?.reason ?? 'no answer'})`,
      columns,
      4,
    ),
  ),
];

/** A cell is named after its agent. */
const agentOf = (end: string): string => end.replace(/-[\da-f]+$/u, '');

/** Every part of the prompt, with its size and origin. */
const promptLines = ({ cloister: { prompt } }: DemoReport, screen: Screen): readonly string[] => {
  const { paint, columns } = screen;
  const bytes = prompt.parts.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  return [
    ...wrapText(
      '',
      `The last prompt of the ${prompt.agent}: ${plural(prompt.parts.length, 'part')}, ${count(bytes)} bytes, each with its origin`,
      columns,
      2,
    ).map((line) => paint('bold', line)),
    ...prompt.parts.map(({ text, origin }) => {
      const originColumns = Math.min(44, Math.floor(columns * 0.56));
      const head = `  ${padStart(count(Buffer.byteLength(text)), 5)}  ${padEnd(sanitizeLine(origin), originColumns)}`;
      return `${head}  ${paint('dim', excerpt(text, columns - width(head) - 2))}`;
    }),
  ];
};

type Figure = { readonly what: string; readonly plain: string; readonly cloister: string };

const figureLines = ({ plain, cloister, team }: DemoReport, screen: Screen): readonly string[] => {
  const seen = (steps: readonly DemoStep[]): string =>
    `${steps.filter(({ agent, sawSecret }) => sawSecret && agent !== team.owner).length} of ${steps.filter(({ agent }) => agent !== team.owner).length}`;
  const rows: readonly Figure[] = [
    {
      what: `prompts with the secret, except the ${team.owner}’s`,
      plain: seen(plain.steps),
      cloister: seen(cloister.steps),
    },
    { what: 'mails sent', plain: count(plain.sent.length), cloister: count(cloister.sent.length) },
    { what: 'calls that waited for a person', plain: '–', cloister: count(cloister.asked.length) },
  ];
  const same = plain.answer === cloister.outcome.output;
  return [
    ...tableLines<Figure>(
      [
        { title: 'counted', value: ({ what }) => what, shrinksTo: 20 },
        { title: 'plain loop', value: (row) => row.plain, align: 'right' },
        { title: 'Cloister', value: (row) => row.cloister, align: 'right' },
      ],
      rows,
      screen,
    ),
    ...wrapText(same ? 'Same answer: ' : 'Answer of Cloister: ', cloister.outcome.output, screen.columns, 2),
    '',
    ...auditLines(cloister.audit, [], screen.paint).flatMap((line) => foldLine(line, screen.columns)),
    ...crossedLines(cloister.crossings, screen),
  ];
};

/** Breaks a line that may be coloured at one of its dots. */
const foldLine = (line: string, columns: number): readonly string[] => {
  const lines: string[] = [];
  for (const part of line.split(' · ')) {
    const last = lines.at(-1);
    const joined = last === undefined ? part : `${last} · ${part}`;
    if (last === undefined || width(stripVTControlCharacters(joined)) > columns)
      lines.push(last === undefined ? part : `  ${part}`);
    else lines[lines.length - 1] = joined;
  }
  return lines;
};

/** What did cross. It can carry what an agent read: a grant allows a transfer, whatever it says. */
const crossedLines = (crossings: DemoReport['cloister']['crossings'], { columns }: Screen): readonly string[] =>
  wrapText(
    '  ',
    `crossed: ${crossings.map(({ kind, from, to, bytes }) => `${kind} ${agentOf(from)} → ${agentOf(to)} ${count(bytes)} B`).join(', ')}. What a page says can be in an answer that crosses.`,
    columns,
    4,
  );

/** The comparison of pairs of runs, and what to try. */
export const isolationLines = (
  {
    report: { team, task, cloister },
    verdict,
    workspace,
  }: { readonly report: DemoReport; readonly verdict: VerifyResult; readonly workspace: string },
  { paint, columns }: Screen,
): readonly string[] => {
  const { run } = cloister.outcome;
  const { agent } = cloister.prompt;
  const word = /[\p{L}]+(?: [\p{L}]+)*/u.exec(team.injected)?.[0] ?? '';
  const ok = verdict.ok ? paint('green', 'ok') : paint('red', plural(verdict.differences.length, 'difference'));
  return [
    ...wrapText(
      `${paint('bold', 'Verify:')} `,
      `${plural(verdict.pairs, 'pair')} of runs that differ in what one agent knows · ${count(verdict.sights)} observations of the others compared, ${count(verdict.bytes)} bytes · `,
      columns,
      2,
    ).map((line, at, all) => (at === all.length - 1 ? `${line} ${ok}` : line)),
    '',
    paint('bold', 'See it in the browser'),
    `  ${cloisterCommand('studio', workspace)}`,
    paint('bold', 'Try'),
    '  be the person who is asked:',
    `    ${cloisterCommand(`${shellWord(team.agent)} ${shellText(task)}`, workspace)}`,
    ...(agent === ''
      ? []
      : [
          `  why did the ${sanitizeLine(agent)} see what the page says?`,
          `    ${cloisterCommand(`explain ${run} ${shellWord(agent)} --find "${word}"`, workspace)}`,
        ]),
    '  your own team:',
    '    npx cloister init my-team',
  ];
};
