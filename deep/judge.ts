// Judges what is left after faults: what every process told on its way, against what lies in the workspace at the end.
// It knows the log's shape and the reference run, and none of the code that wrote or read them.
import { budget, expected } from './subject/expected.ts';
import type { Said, Seen } from './subject/main.ts';
import type { StoredFrame, StoredRun } from './subject/read-store.ts';
import type { FrameAbout, Line } from './subject/witness.ts';

type Append = Extract<Line, { saw: 'append' }>;
type Ack = Extract<Line, { saw: 'ack' }>;
type Effect = Extract<Line, { saw: 'effect' }>;

/** `lines` of all processes in order; `said` by the last one, which nobody disturbed. Each problem in words. */
export const judge = (lines: readonly Line[], said: Said): readonly string[] => {
  if (said.error !== null) return [`the resume failed: ${said.error.code}: ${said.error.message}`];
  const [before, after] = [said.before[0], said.after[0]];
  if (after === undefined || said.after.length !== 1) return [`there are ${said.after.length} runs, not one`];
  return [
    ...judgeStates(said, before, after),
    ...judgeRecords(lines, before, after),
    ...lostBlobs(lines, after.blobs),
    ...judgeLog(after.frames),
    ...judgeEffects(lines, before),
    ...judgeModels(lines, before, after),
    ...missingIntents(lines, after.frames),
    ...judgeUnknown(lines, before, after),
    ...judgeOutcome(lines, said, after),
    ...judgeFiles(after),
  ];
};

const judgeStates = (said: Said, before: Seen | undefined, after: Seen): readonly string[] => {
  const problems: string[] = [];
  if (said.before.length > 1) problems.push(`there were ${said.before.length} runs before the resume`);
  if (before !== undefined && before.state !== 'interrupted' && before.state !== 'ended')
    problems.push(`a dead run was shown as ${before.state}`);
  for (const [when, seen] of Object.entries({ before, after }))
    for (const problem of seen?.audit ?? []) problems.push(`the audit ${when} the resume: ${problem}`);
  if (after.state !== 'ended' || after.owner !== null) problems.push(`the run is ${after.state} at the end`);
  return problems;
};

/** Every acknowledged frame is there, byte for byte; none was made up; the resume only added. */
const judgeRecords = (lines: readonly Line[], before: Seen | undefined, after: Seen): readonly string[] => {
  const problems: string[] = [];
  for (const [when, seen] of [['before', before] as const, ['after', after] as const]) {
    const last = Math.max(...lines.map(({ by }) => by));
    const told = when === 'before' ? lines.filter(({ by }) => by < last) : lines;
    problems.push(...lostFrames(told, seen).map((problem) => `${problem} ${when} the resume`));
    if (seen !== undefined) problems.push(...madeUp(told, seen).map((problem) => `${problem} ${when} the resume`));
  }
  if (before?.frames.some(({ sha }, at) => after.frames[at]?.sha !== sha) === true)
    problems.push('the resume changed frames that were there');
  return problems;
};

/** Acknowledged frames that the store does not have. */
export const lostFrames = (lines: readonly Line[], seen: StoredRun | undefined): readonly string[] => {
  const shas = new Map(seen?.frames.map(({ no, sha }) => [no, sha]));
  const appends = lines.filter((line): line is Append => line.saw === 'append');
  const acks = lines.filter((line): line is Ack => line.saw === 'ack');
  return appends.flatMap(({ by, run, no, sha, about }) => {
    const acknowledged = acks.some((ack) => ack.by === by && ack.run === run && ack.no >= no);
    if (!acknowledged || (seen?.run === run && shas.get(no) === sha)) return [];
    return [`acknowledged frame ${no} (${inWords(about)}) is not there`];
  });
};

const madeUp = (lines: readonly Line[], { run, frames }: Seen): readonly string[] =>
  frames.flatMap(({ no, sha, about }) =>
    lines.some((line) => line.saw === 'append' && line.run === run && line.no === no && line.sha === sha)
      ? []
      : [`frame ${no} (${inWords(about)}) is not one that was written`],
  );

/** Kept large values that the store does not have. */
export const lostBlobs = (lines: readonly Line[], blobs: readonly string[]): readonly string[] =>
  lines.flatMap((line) =>
    line.saw === 'kept' && !blobs.includes(line.ref) ? [`a kept value ${line.ref} is not there`] : [],
  );

const judgeLog = (frames: readonly StoredFrame[]): readonly string[] => {
  const problems: string[] = [];
  frames.forEach(({ no }, at) => no !== at && problems.push(`frame ${no} is at place ${at}`));
  const closes = frames.filter(({ about }) => about.type === 'close').length;
  if (closes !== 1) problems.push(`there are ${closes} endings`);
  if (frames.at(-1)?.about.type !== 'close') problems.push('something follows the ending');
  const settles = Map.groupBy(ofType(frames, 'settle'), keyOf);
  for (const begin of ofType(frames, 'begin')) {
    const times = settles.get(keyOf(begin))?.length ?? 0;
    if (times !== 1) problems.push(`${inWords(begin)} has settled ${times} times`);
  }
  return problems;
};

/** What may not be repeated happened once at most, with its intent recorded; what had settled did not happen again. */
const judgeEffects = (lines: readonly Line[], before: Seen | undefined): readonly string[] => {
  const problems: string[] = [];
  const effects = lines.filter((line): line is Effect => line.saw === 'effect');
  for (const [what, same] of Map.groupBy(effects, (effect) => effect.what)) {
    const { repeat, tool, key } = same[0]!;
    if (repeat === 'never' && same.length > 1) problems.push(`${tool} "${what}" happened ${same.length} times`);
    if (repeat !== 'free' && same.some((one) => one.key !== key)) problems.push(`${tool} "${what}" had several keys`);
  }
  for (const { by, tool, what, key } of effects)
    if (settledBefore(lines, before, by).some((settle) => keyOf(settle) === key))
      problems.push(`${tool} "${what}" had settled, and process ${by} did it again`);
  return problems;
};

/** What had been answered was not asked again. */
const judgeModels = (lines: readonly Line[], before: Seen | undefined, after: Seen): readonly string[] => {
  const begins = ofType(after.frames, 'begin').filter(({ turn }) => turn !== undefined);
  return lines.flatMap((line) => {
    if (line.saw !== 'model') return [];
    const done = settledBefore(lines, before, line.by).filter(({ ok }) => ok === true);
    const answered = begins.some((begin) => placeOf(begin) === placeIn(line) && done.some(sameKey(begin)));
    return answered ? [`${placeIn(line)}: had been answered, and process ${line.by} asked again`] : [];
  });
};

/** Models that were asked and effects that may happen once, without a record that they were about to. */
export const missingIntents = (lines: readonly Line[], frames: readonly StoredFrame[]): readonly string[] => {
  const begins = ofType(frames, 'begin');
  const agains = ofType(frames, 'again');
  const effects = lines.flatMap((line) =>
    line.saw === 'effect' && line.repeat === 'never' && !begins.some((begin) => keyOf(begin) === line.key)
      ? [`${line.tool} "${line.what}" happened, and its intent is not in the log`]
      : [],
  );
  const asked = lines.filter((line) => line.saw === 'model');
  const models = [...Map.groupBy(asked, placeIn)].flatMap(([place, calls]) => {
    const attempts = begins.filter((begin) => begin.turn !== undefined && placeOf(begin) === place);
    const intents = attempts.length + agains.filter((again) => attempts.some(sameKey(again))).length;
    return calls.length > intents ? [`${place}: asked ${calls.length} times, with ${intents} intents in the log`] : [];
  });
  return [...effects, ...models];
};

/** In flight and not to be repeated: nobody knows, and it says so. Nothing else says so. */
const judgeUnknown = (lines: readonly Line[], before: Seen | undefined, after: Seen): readonly string[] => {
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
    ...silent.map((begin) => `${inWords(begin)} was in flight, and the model was not told that nobody knows`),
    ...baseless.map(({ about }) => `${inWords(about)} is called indeterminate without reason`),
  ];
};

/** One outcome, and the expected one; less than all only where the log says that the disk failed a cell. */
const judgeOutcome = (lines: readonly Line[], said: Said, after: Seen): readonly string[] => {
  const problems: string[] = [];
  const diskFailed = ofType(after.frames, 'settle').some(({ failure }) => failure === 'store_failed');
  const fine = diskFailed ? ['completed', 'partial', 'failed'] : ['completed'];
  const outcomes = lines.filter((line) => line.saw === 'outcome');
  if (outcomes.length > 1) problems.push(`${outcomes.length} outcomes were given`);
  for (const { status, output } of outcomes)
    if (!fine.includes(status) || (status !== 'failed' && output !== expected.output))
      problems.push(`the outcome was ${status}: ${output}`);
  if (!fine.includes(after.status ?? '')) problems.push(`the run ended ${after.status ?? 'without a status'}`);
  const spent = said.outcome?.spent ?? 0;
  if (spent > budget.tokens) problems.push(`${spent} tokens were spent of ${budget.tokens}`);
  return problems;
};

/** A file whose writing has settled well is there, and none is ever cut. */
const judgeFiles = ({ frames, files }: Seen): readonly string[] => {
  const begins = ofType(frames, 'begin').filter(({ name }) => name === 'tool:write_file');
  return expected.files.flatMap(({ path, content }, nth) => {
    const [file, begin] = [files[nth] ?? null, begins[nth]];
    const written = begin !== undefined && ofType(frames, 'settle').find(sameKey(begin))?.ok === true;
    if (file === content || (file === null && !written)) return [];
    return [file === null ? `${path} was written, and is not there` : `${path} is cut: ${file.length} characters`];
  });
};

/** Files whose writing was acknowledged to have settled well, and that are not there as they should be. */
export const lostFiles = (lines: readonly Line[], files: readonly (string | null)[]): readonly string[] => {
  const acknowledged = lines.flatMap((line) => (line.saw === 'ack' ? [line.no] : []));
  const last = Math.max(-1, ...acknowledged);
  const appended = lines.flatMap((line) => (line.saw === 'append' && line.no <= last ? [line.about] : []));
  const writes = appended.filter(({ name }) => name === 'tool:write_file');
  return expected.files.flatMap(({ path, content }, nth) => {
    const begin = writes[nth];
    const settled = appended.some(
      (about) => begin !== undefined && about.type === 'settle' && about.ok === true && sameKey(begin)(about),
    );
    return settled && files[nth] !== content ? [`${path} was written, and is not there`] : [];
  });
};

/** Settlements that were there for certain when a process began. */
const settledBefore = (lines: readonly Line[], before: Seen | undefined, by: number): readonly FrameAbout[] => {
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

/** What a tool is given as its key. */
const keyOf = ({ cell, op }: FrameAbout): string => `${cell}/${op}`;
const sameKey =
  (one: FrameAbout) =>
  (other: FrameAbout): boolean =>
    keyOf(one) === keyOf(other);

/** A cell's id is its agent's name and a random part. */
const placeOf = ({ cell, turn }: FrameAbout): string => `${cell.replace(/-[^-]*$/u, '')}, turn ${turn}`;
const placeIn = ({ agent, turn }: { readonly agent: string; readonly turn: number }): string =>
  `${agent}, turn ${turn}`;

const inWords = (about: FrameAbout): string =>
  [about.type, about.name, about.op === undefined ? about.cell : keyOf(about)]
    .filter((word) => word !== undefined)
    .join(' ');
