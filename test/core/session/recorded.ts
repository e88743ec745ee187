// Runs with access to their frames: to crash after any of them, to resume from there, and to change what is recorded.
import { expect } from 'vitest';
import type { CellId, RunId } from '#base';
import type { Agent, SessionResources, Frame, LiveEvent, Model, RunLog, RunPorts } from '#contracts';
import { validate } from '#adapters/schemas';
import { memoryStore } from '#adapters/stores';
import { memoryCellFolders } from '#adapters/cell-folders';
import { auditRun } from '#core/audit';
import { makeRedact } from '#testing/core/registry';
import { checkResume, resumeRun, startRun } from '#core/orchestration';
import type { Run } from '#core/orchestration';
import { countingIds, rehearse, virtualClock } from '#testkit';
import type { ScriptLine } from '#testkit';
import { runUntilSettled } from './driver.ts';

export type Recording = {
  readonly says: readonly ScriptLine[];
  /** The time at which the run starts or resumes. */
  readonly at?: number;
  readonly goal?: string;
  readonly secrets?: readonly string[];
  /** Facts about the model. */
  readonly facts?: Partial<Model>;
  /** The tool sources of each agent; by default those of its definition. */
  readonly sources?: (agent: Agent) => SessionResources['sources'];
  /** Gets the live events. */
  readonly onLive?: (event: LiveEvent) => void;
};

const run = 'a1b2c3d4e5f6' as RunId;

const wire = ({ says, at = 1_000_000, sources, facts = {}, secrets = [], onLive }: Recording, seed: string) => {
  const clock = virtualClock(at);
  const rehearsal = rehearse(says, { clock });
  const model: Model = { language: rehearsal, ...facts };
  const store = memoryStore();
  const frames: Frame[] = [];
  const closing: Promise<void>[] = [];
  const log: RunLog = {
    append: (frame) => void frames.push(frame),
    durable: () => undefined,
    close: async () => undefined,
  };
  const world: RunPorts = {
    run,
    log,
    clock,
    ids: countingIds(seed),
    workspaces: memoryCellFolders(),
    validate,
    resources: {
      resourcesFor: (agent) => ({
        models: [model],
        sources: sources?.(agent) ?? agent.resources.sources.map((source) => ({ source, only: null })),
      }),
      onClosing: (done) => void closing.push(done),
    },
    redactFor: () => makeRedact(secrets),
    storeBlob: (bytes) => store.putBlob(bytes),
    readBlob: (ref) => store.getBlob(ref),
    lane: () => undefined,
    listener: onLive && {
      hasLiveListeners: true,
      onLive: (_cell: CellId, _agent: string, event: LiveEvent) => onLive(event),
    },
  };
  const finish = async (live: Run) => {
    const outcome = await runUntilSettled(clock, live.outcome);
    await Promise.all(closing);
    return { outcome, frames, requests: rehearsal.requests };
  };
  return { world, finish };
};

export const record = (agent: Agent, recording: Recording) => {
  const { world, finish } = wire(recording, 'first');
  return finish(startRun(agent, recording.goal ?? 'Find it', undefined, world));
};

/** Resumes from these frames and returns the new ones. */
export const resume = (frames: readonly Frame[], agent: Agent, recording: Recording) => {
  const { world, finish } = wire(recording, `after ${frames.length}`);
  const all = [agent, ...agent.children.agents];
  return finish(
    resumeRun(
      checkResume(frames, (name) => all.find((one) => one.name === name)),
      world,
    ),
  );
};

export const auditProblems = async (frames: readonly Frame[]) => {
  const { problems } = await auditRun(frames, { readBlob: async () => Buffer.alloc(0), damaged: [] });
  return problems;
};

/** Checks every prefix that a crash may leave. */
export const checkEveryCrash = async (
  frames: readonly Frame[],
  check: (prefix: readonly Frame[], where: string) => Promise<void>,
): Promise<void> => {
  for (let point = 1; point < frames.length; point++)
    await check(frames.slice(0, point), `crash after frame ${point - 1}`);
  expect(frames.length).toBeGreaterThan(3);
};

/** A copy that a test can change. */
export const mutableCopy = (frames: readonly Frame[]): any[] => structuredClone(frames) as any[];
