// The one place where these tests touch the library: runs that ask people, with access to their frames, crashed and resumed at will.
import { canonicalJson, sha256 } from '#base';
import type { RunId } from '#base';
import type {
  Agent,
  ApprovalMarks,
  Frame,
  IndeterminatePolicy,
  Model,
  RecordOf,
  RunCommand,
  RunLog,
  RunPorts,
} from '#contracts';
import { validate } from '#adapters/schemas';
import { memoryStore } from '#adapters/stores';
import { memoryCellFolders } from '#adapters/cell-folders';
import { auditRun } from '#core/audit';
import { checkResume, replayRun, resumeRun, startRun } from '#core/orchestration';
import { countingIds, rehearse, virtualClock } from '#testkit';
import type { ScriptLine } from '#testkit';
import { runUntilSettled } from '../session/driver.ts';

const run = 'a1b2c3d4e5f6' as RunId;

export type AskFrame = Frame & { readonly record: RecordOf<'begin'> & { readonly question: object } };
type Answer = Omit<RunCommand<'answer'>, 'do'>;
type Asking = {
  readonly says: readonly ScriptLine[];
  /** When it starts or is resumed. */
  readonly at?: number;
  /** Who requests the run; default: the operator. */
  readonly caller?: string;
  /** Resumes from these. */
  readonly from?: readonly Frame[];
  readonly budget?: { readonly ms?: number };
  /** What happens to calls that a crash has interrupted. */
  readonly indeterminate?: IndeterminatePolicy;
  /** Until then, a log that holds an answer is not durable. */
  readonly answersDurable?: Promise<void>;
};

/** Marks as the operator's config gives them. */
export const withMarks = (agent: Agent, approve: ApprovalMarks): Agent => {
  const definition = { ...agent.definition, approve };
  return { ...agent, definition, digest: sha256(canonicalJson(definition)) };
};

/** Starts or resumes a run. Nothing answers by itself. */
export const startAsking = (
  agent: Agent,
  { says, at = 1_000_000, caller, from, budget, indeterminate, answersDurable }: Asking,
) => {
  const clock = virtualClock(at);
  const rehearsal = rehearse([...says], { clock });
  const model: Model = { language: rehearsal };
  const store = memoryStore();
  const frames: Frame[] = [...(from ?? [])];
  const log: RunLog = {
    append: (frame) => void frames.push(structuredClone(frame)),
    durable: () => (frames.some(({ record }) => record.type === 'ruling') ? answersDurable : undefined),
    close: async () => undefined,
  };
  const ports: RunPorts = {
    run,
    log,
    clock,
    ids: countingIds(from === undefined ? 'first' : `after ${from.length}`),
    workspaces: memoryCellFolders(),
    validate,
    indeterminate,
    resources: { resourcesFor: () => ({ models: [model], sources: [] }), onClosing: () => undefined },
    redactFor: () => null,
    storeBlob: (bytes) => store.putBlob(bytes),
    readBlob: (ref) => store.getBlob(ref),
    lane: () => undefined,
  };
  const find = findIn(agent);
  const live =
    from === undefined
      ? startRun(agent, 'Find it', budget, ports, { caller })
      : resumeRun(checkResume(from, find), ports);
  live.outcome.catch(() => undefined);
  const answer = (asked: AskFrame, given: Partial<Answer> = {}): Promise<string> =>
    live.do({
      do: 'answer',
      frame: asked.no,
      by: caller ?? 'operator',
      right: 'caller',
      id: `s-${asked.no}-${frames.length}`,
      allow: true,
      sha256: asked.record.question.argsHash,
      ...given,
    });
  return {
    clock,
    frames,
    live,
    answer,
    requests: rehearsal.requests,
    /** Lets everything happen that can without the clock. */
    settle: async (): Promise<void> => {
      for (let turn = 0; turn < 30; turn++) await clock.advance(0);
    },
    open: (): readonly AskFrame[] => openIn(frames),
    end: () => runUntilSettled(clock, live.outcome),
  };
};

const findIn = (root: Agent) => (name: string) => {
  const all = (agent: Agent): readonly Agent[] => [agent, ...agent.children.agents.flatMap(all)];
  return all(root).find((one) => one.name === name);
};

/** The questions that wait. */
export const openIn = (frames: readonly Frame[]): readonly AskFrame[] =>
  frames.filter(
    (frame): frame is AskFrame =>
      frame.record.type === 'begin' &&
      frame.record.do === 'ask' &&
      !frames.some(({ cell, record }) => cell === frame.cell && record.type === 'settle' && record.op === opOf(frame)),
  );

const opOf = ({ record }: Frame): number => (record as { readonly op: number }).op;

/** Answers each question as it comes, until the run ends. `null`: nobody answers. */
export const runAnswering = async (
  agent: Agent,
  asking: Asking,
  decide: (asked: AskFrame, nth: number) => Partial<Answer> | null = () => ({}),
) => {
  const started = startAsking(agent, asking);
  const heard = new Set<number>();
  const ended = { over: false };
  started.live.outcome.then(
    () => (ended.over = true),
    () => (ended.over = true),
  );
  for (let turn = 0; turn < 2_000 && !ended.over; turn++) {
    await started.settle();
    const next = started.open().find(({ no }) => !heard.has(no));
    if (next !== undefined) {
      heard.add(next.no);
      const given = decide(next, heard.size - 1);
      if (given !== null) await started.answer(next, given).catch(() => undefined);
    } else if (!ended.over) await started.clock.advance(60_000);
  }
  const outcome = await started.live.outcome;
  return { ...started, outcome };
};

export const problemsIn = async (frames: readonly Frame[]) => {
  const { problems } = await auditRun(frames, { readBlob: async () => Buffer.alloc(0), damaged: [] });
  return problems;
};

export const replayOf = (frames: readonly Frame[], agent: Agent) =>
  replayRun(frames, findIn(agent), {
    validate,
    resources: {
      resourcesFor: () => ({
        models: [{ language: rehearse([{ reply: 'A replay asks no model.' }], { clock: virtualClock(0) }) }],
        sources: [],
      }),
    },
  });
