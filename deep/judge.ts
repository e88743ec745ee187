// Judges the result after faults: what every process recorded on its way, against what the workspace holds at the end.
// It knows the shape of the log and the reference run, and uses none of the code that wrote or read them.
import { budget, expected } from './subject/expected.ts';
import type { SubjectReport, StoredRunState } from './subject/main.ts';
import type { StoredFrame, StoredRun } from './subject/read-store.ts';
import type { FrameAbout, WitnessLine } from './subject/witness.ts';

type Append = Extract<WitnessLine, { saw: 'append' }>;
type Ack = Extract<WitnessLine, { saw: 'ack' }>;
type Effect = Extract<WitnessLine, { saw: 'effect' }>;

/** `lines` of all processes in order; `report` of the last one, which was not disturbed. Returns the problems as text. */
export const judge = (lines: readonly WitnessLine[], report: SubjectReport): readonly string[] => {
  if (report.error !== null) return [`the resume failed: ${report.error.code}: ${report.error.message}`];
  const [before, after] = [report.before[0], report.after[0]];
  if (after === undefined || report.after.length !== 1) return [`there are ${report.after.length} runs instead of one`];
  return [
    ...judgeStates(report, before, after),
    ...judgeRecords(lines, before, after),
    ...lostBlobs(lines, after.blobs),
    ...judgeLog(after.frames),
    ...judgeEffects(lines, before),
    ...judgeModels(lines, before, after),
    ...missingIntents(lines, after.frames),
    ...judgeIndeterminate(lines, before, after),
    ...judgeOutcome(lines, report, after),
    ...judgeFiles(after),
  ];
};

const judgeStates = (
  report: SubjectReport,
  before: StoredRunState | undefined,
  after: StoredRunState,
): readonly string[] => {
  const problems: string[] = [];
  if (report.before.length > 1) problems.push(`there were ${report.before.length} runs before the resume`);
  if (before !== undefined && before.state !== 'interrupted' && before.state !== 'ended')
    problems.push(`a dead run was listed as ${before.state}`);
  for (const [when, seen] of Object.entries({ before, after }))
    for (const problem of seen?.audit ?? []) problems.push(`the audit ${when} the resume: ${problem}`);
  if (after.state !== 'ended' || after.owner !== null) problems.push(`the run is ${after.state} at the end`);
  return problems;
};

/** Every acknowledged frame is there, byte for byte; none was invented; the resume only appended. */
const judgeRecords = (
  lines: readonly WitnessLine[],
  before: StoredRunState | undefined,
  after: StoredRunState,
): readonly string[] => {
  const problems: string[] = [];
  for (const [when, seen] of [['before', before] as const, ['after', after] as const]) {
    const last = Math.max(...lines.map(({ by }) => by));
    const seenLines = when === 'before' ? lines.filter(({ by }) => by < last) : lines;
    problems.push(...lostFrames(seenLines, seen).map((problem) => `${problem} ${when} the resume`));
    if (seen !== undefined)
      problems.push(...inventedFrames(seenLines, seen).map((problem) => `${problem} ${when} the resume`));
  }
  if (before?.frames.some(({ sha }, at) => after.frames[at]?.sha !== sha) === true)
    problems.push('the resume changed existing frames');
  return problems;
};

/** Acknowledged frames that the store does not have. */
export const lostFrames = (lines: readonly WitnessLine[], seen: StoredRun | undefined): readonly string[] => {
  const shas = new Map(seen?.frames.map(({ no, sha }) => [no, sha]));
  const appends = lines.filter((line): line is Append => line.saw === 'append');
  const acks = lines.filter((line): line is Ack => line.saw === 'ack');
  return appends.flatMap(({ by, run, no, sha, about }) => {
    const acknowledged = acks.some((ack) => ack.by === by && ack.run === run && ack.no >= no);
    if (!acknowledged || (seen?.run === run && shas.get(no) === sha)) return [];
    return [`acknowledged frame ${no} (${describeFrame(about)}) is missing`];
  });
};

const inventedFrames = (lines: readonly WitnessLine[], { run, frames }: StoredRunState): readonly string[] =>
  frames.flatMap(({ no, sha, about }) =>
    lines.some((line) => line.saw === 'append' && line.run === run && line.no === no && line.sha === sha)
      ? []
      : [`frame ${no} (${describeFrame(about)}) was never written`],
  );

/** Stored large values that the store has lost. */
export const lostBlobs = (lines: readonly WitnessLine[], blobs: readonly string[]): readonly string[] =>
  lines.flatMap((line) =>
    line.saw === 'kept' && !blobs.includes(line.ref) ? [`the stored value ${line.ref} is missing`] : [],
  );

const judgeLog = (frames: readonly StoredFrame[]): readonly string[] => {
  const problems: string[] = [];
  frames.forEach(({ no }, at) => no !== at && problems.push(`frame ${no} is at position ${at}`));
  const closes = frames.filter(({ about }) => about.type === 'close').length;
  if (closes !== 1) problems.push(`there are ${closes} close frames`);
  if (frames.at(-1)?.about.type !== 'close') problems.push('there are frames after the close frame');
  const settles = Map.groupBy(ofType(frames, 'settle'), keyOf);
  for (const begin of ofType(frames, 'begin')) {
    const times = settles.get(keyOf(begin))?.length ?? 0;
    if (times !== 1) problems.push(`${describeFrame(begin)} settled ${times} times`);
  }
  return problems;
};

/** An effect that must not be repeated happened at most once, with its intent recorded; a settled effect did not happen again. */
const judgeEffects = (lines: readonly WitnessLine[], before: StoredRunState | undefined): readonly string[] => {
  const problems: string[] = [];
  const effects = lines.filter((line): line is Effect => line.saw === 'effect');
  for (const [what, same] of Map.groupBy(effects, (effect) => effect.what)) {
    const { repeat, tool, key } = same[0]!;
    if (repeat === 'never' && same.length > 1) problems.push(`${tool} "${what}" happened ${same.length} times`);
    if (repeat !== 'free' && same.some((one) => one.key !== key)) problems.push(`${tool} "${what}" had several keys`);
  }
  for (const { by, tool, what, key } of effects)
    if (settledBefore(lines, before, by).some((settle) => keyOf(settle) === key))
      problems.push(`${tool} "${what}" had settled, but process ${by} repeated it`);
  return problems;
};

/** An answered request was not sent again. */
const judgeModels = (
  lines: readonly WitnessLine[],
  before: StoredRunState | undefined,
  after: StoredRunState,
): readonly string[] => {
  const begins = ofType(after.frames, 'begin').filter(({ turn }) => turn !== undefined);
  return lines.flatMap((line) => {
    if (line.saw !== 'model') return [];
    const done = settledBefore(lines, before, line.by).filter(({ ok }) => ok === true);
    const answered = begins.some((begin) => turnOfFrame(begin) === turnOfRequest(line) && done.some(sameKey(begin)));
    return answered ? [`${turnOfRequest(line)}: had been answered, but process ${line.by} sent the request again`] : [];
  });
};

/** Model requests and once-only effects without a recorded intent. */
export const missingIntents = (lines: readonly WitnessLine[], frames: readonly StoredFrame[]): readonly string[] => {
  const begins = ofType(frames, 'begin');
  const agains = ofType(frames, 'again');
  const effects = lines.flatMap((line) =>
    line.saw === 'effect' && line.repeat === 'never' && !begins.some((begin) => keyOf(begin) === line.key)
      ? [`${line.tool} "${line.what}" happened, but its intent is not in the log`]
      : [],
  );
  const asked = lines.filter((line) => line.saw === 'model');
  const models = [...Map.groupBy(asked, turnOfRequest)].flatMap(([place, calls]) => {
    const attempts = begins.filter((begin) => begin.turn !== undefined && turnOfFrame(begin) === place);
    const intents = attempts.length + agains.filter((again) => attempts.some(sameKey(again))).length;
    return calls.length > intents
      ? [`${place}: requested ${calls.length} times, with ${intents} intents in the log`]
      : [];
  });
  return [...effects, ...models];
};

/** A non-repeatable step that was in flight must settle as indeterminate, and nothing else may. */
const judgeIndeterminate = (
  lines: readonly WitnessLine[],
  before: StoredRunState | undefined,
  after: StoredRunState,
): readonly string[] => {
  const [settled, begun] = [ofType(before?.frames ?? [], 'settle'), ofType(before?.frames ?? [], 'begin')];
  const open = begun.filter((begin) => begin.repeat === 'never' && !settled.some(sameKey(begin)));
  const silent = open.filter(
    (begin) => ofType(after.frames, 'settle').find(sameKey(begin))?.failure !== 'indeterminate',
  );
  const writer = (frame: StoredFrame | undefined): number | undefined =>
    lines.find((line) => line.saw === 'append' && line.no === frame?.no && line.sha === frame.sha)?.by;
  const baseless = after.frames.filter((settle) => {
    if (settle.about.failure !== 'indeterminate') return false;
    const begin = after.frames.find(({ about }) => about.type === 'begin' && sameKey(about)(settle.about));
    return begin?.about.repeat !== 'never' || writer(begin) === writer(settle);
  });
  return [
    ...silent.map(
      (begin) => `${describeFrame(begin)} was in flight, but the model was not told that its outcome is unknown`,
    ),
    ...baseless.map(({ about }) => `${describeFrame(about)} is marked indeterminate without reason`),
  ];
};

/** There is one outcome, the expected one; it may be partial only where the log says that the disk failed a cell. */
const judgeOutcome = (
  lines: readonly WitnessLine[],
  report: SubjectReport,
  after: StoredRunState,
): readonly string[] => {
  const problems: string[] = [];
  const diskFailed = ofType(after.frames, 'settle').some(({ failure }) => failure === 'store_failed');
  const fine = diskFailed ? ['completed', 'partial', 'failed'] : ['completed'];
  const outcomes = lines.filter((line) => line.saw === 'outcome');
  if (outcomes.length > 1) problems.push(`there are ${outcomes.length} outcomes`);
  for (const { status, output } of outcomes)
    if (!fine.includes(status) || (status !== 'failed' && output !== expected.output))
      problems.push(`the outcome was ${status}: ${output}`);
  if (!fine.includes(after.status ?? '')) problems.push(`the run ended with status ${after.status ?? 'none'}`);
  const spent = report.outcome?.spent ?? 0;
  if (spent > budget.tokens) problems.push(`${spent} tokens were spent; the budget is ${budget.tokens}`);
  return problems;
};

/** A file whose write succeeded is there, and no file is ever truncated. */
const judgeFiles = ({ frames, files }: StoredRunState): readonly string[] => {
  const begins = ofType(frames, 'begin').filter(({ name }) => name === 'tool:write_file');
  return expected.files.flatMap(({ path, content }, nth) => {
    const [file, begin] = [files[nth] ?? null, begins[nth]];
    const written = begin !== undefined && ofType(frames, 'settle').find(sameKey(begin))?.ok === true;
    if (file === content || (file === null && !written)) return [];
    return [file === null ? `${path} was written, but is missing` : `${path} is truncated: ${file.length} characters`];
  });
};

/** Files whose write was acknowledged as successful, but that are missing or wrong. */
export const lostFiles = (lines: readonly WitnessLine[], files: readonly (string | null)[]): readonly string[] => {
  const acknowledged = lines.flatMap((line) => (line.saw === 'ack' ? [line.no] : []));
  const last = Math.max(-1, ...acknowledged);
  const appended = lines.flatMap((line) => (line.saw === 'append' && line.no <= last ? [line.about] : []));
  const writes = appended.filter(({ name }) => name === 'tool:write_file');
  return expected.files.flatMap(({ path, content }, nth) => {
    const begin = writes[nth];
    const settled = appended.some(
      (about) => begin !== undefined && about.type === 'settle' && about.ok === true && sameKey(begin)(about),
    );
    return settled && files[nth] !== content ? [`${path} was written, but is missing`] : [];
  });
};

/** Settlements that were certainly there when a process started. */
const settledBefore = (
  lines: readonly WitnessLine[],
  before: StoredRunState | undefined,
  by: number,
): readonly FrameAbout[] => {
  const last = Math.max(...lines.map((line) => line.by));
  if (by === last) return ofType(before?.frames ?? [], 'settle');
  const earlier = lines.filter((line) => line.by < by);
  const acks = earlier.filter((line): line is Ack => line.saw === 'ack');
  return earlier.flatMap((line) =>
    line.saw === 'append' &&
    line.about.type === 'settle' &&
    acks.some((ack) => ack.by === line.by && ack.run === line.run && ack.no >= line.no)
      ? [line.about]
      : [],
  );
};

const ofType = (frames: readonly StoredFrame[], type: string): readonly FrameAbout[] =>
  frames.flatMap(({ about }) => (about.type === type ? [about] : []));

/** The key a tool receives. */
const keyOf = ({ cell, op }: FrameAbout): string => `${cell}/${op}`;
const sameKey =
  (one: FrameAbout) =>
  (other: FrameAbout): boolean =>
    keyOf(one) === keyOf(other);

/** A cell id is its agent's name and a random part. */
const turnOfFrame = ({ cell, turn }: FrameAbout): string => `${cell.replace(/-[^-]*$/u, '')}, turn ${turn}`;
const turnOfRequest = ({ agent, turn }: { readonly agent: string; readonly turn: number }): string =>
  `${agent}, turn ${turn}`;

const describeFrame = (about: FrameAbout): string =>
  [about.type, about.name, about.op === undefined ? about.cell : keyOf(about)]
    .filter((word) => word !== undefined)
    .join(' ');
