// Calls several sub-agents in parallel, waits for all of them or the timeout, and merges their findings.
import type { JsonObject } from '#base';
import type { Agent, ChildOperation, OwnOperation, Settlement, Source } from '#contracts';
import { bytesForEach, exceedsPreview, numberDuplicates, outputName } from '#core/rules';
import { limitFailure } from '#core/session';
import type { ChildStart, LazyOperation, CallEnd, ToolCallChain, ChainStep, Session, ToolRunner } from '#core/session';
import { beginChild, hasAnswered, readChildResult } from './agent-tool.ts';
import type { ChildGoal } from './agent-tool.ts';
import { gatherSchema } from './agent-tool-schema.ts';

export const gatherTool = (agents: readonly Agent[], timeoutMs: number): ToolRunner => ({
  schema: gatherSchema(agents),
  createChain: (call, args, session) => {
    const tasks = args['tasks'] as readonly Task[];
    if (session.cell.steps + tasks.length > session.cell.limits.max_steps) return { stop: limitFailure('max_steps') };
    const requested = tasks.map(({ agent }) =>
      agents.find(({ signature: { modelToolName } }) => modelToolName === agent)!,
    );
    const children = tasks.map((task, index) => () => beginChild(call, requested[index]!, readTaskGoal(task), session));
    return new GatherChain(children, requested, timeoutMs, session);
  },
});

type Task = {
  readonly agent: string;
  readonly prompt?: string;
  readonly input?: JsonObject;
  readonly reason?: string;
};

const readTaskGoal = ({ prompt, input, reason }: Task): ChildGoal => ({
  goal: input === undefined ? (prompt ?? '') : JSON.stringify(input),
  reason,
});

/** How soon it looks again, at the earliest, whether a member still waits for a person: also a part of the time it has waited. */
const askedAgainMs = 1_000;
const askedAgainPart = 1 / 16;

class GatherChain implements ToolCallChain {
  readonly begin: readonly LazyOperation[];
  readonly #agents: readonly Agent[];
  readonly #children: (ChildOperation | undefined)[] = [];
  readonly #names: readonly string[];
  readonly #session: Session;
  readonly #outputNumbers: readonly number[];
  readonly #timeoutMs: number;
  readonly #startedAt: number;
  readonly #settled: { settled: Settlement<unknown>; no: number }[] = [];
  /** How long each had waited for people when it was last looked at. */
  readonly #askedMs: number[] = [];
  #lookedAt: number;
  #unsettled: number;
  #timedOut = false;

  constructor(
    children: readonly (() => OwnOperation | ChildStart)[],
    agents: readonly Agent[],
    timeoutMs: number,
    session: Session,
  ) {
    this.#agents = agents;
    this.#names = numberDuplicates(agents.map(({ signature: { toolName } }) => toolName));
    this.#session = session;
    this.#outputNumbers = agents.map(({ signature: { modelToolName } }) =>
      session.cell.nextOutputNumber(modelToolName),
    );
    this.#unsettled = children.length;
    this.#timeoutMs = timeoutMs;
    this.#startedAt = session.cell.runtime.now;
    this.#lookedAt = this.#startedAt;
    this.begin = [
      ...children.map((child, place) => () => this.#noteChild(child, place)),
      { do: 'sleep', ms: timeoutMs, why: 'time-out' },
    ];
  }

  #noteChild(begin: () => OwnOperation | ChildStart, place: number): OwnOperation | ChildStart {
    const start = begin();
    return 'child' in start ? { ...start, begun: (child) => void (this.#children[place] = child) } : start;
  }

  onSettled(place: number, settled: Settlement<unknown>, no: number): ChainStep {
    if (place >= this.#names.length) {
      // The timeout, or its cancellation after all agents have answered.
      const late = this.#lateMembers();
      this.#timedOut = late.ms === 0;
      if (this.#unsettled === 0) return { end: this.#end() };
      const cancel = { reason: { code: 'deadline_passed' }, places: late.places } as const;
      return late.ms === 0 ? { cancel } : { cancel, begin: [{ do: 'sleep', ms: late.ms, why: 'time-out' }] };
    }
    this.#settled[place] = { settled, no };
    this.#unsettled--;
    if (this.#unsettled > 0) return {};
    return this.#timedOut ? { end: this.#end() } : { cancel: { reason: { code: 'cancelled' } } };
  }

  /** The places of those that have used up their time, and how long until the next one has; waiting for a person does not count. */
  #lateMembers(): { readonly places: readonly number[]; readonly ms: number } {
    const { runtime } = this.#session.cell;
    const left = this.#names.map((_, place) => {
      const child = this.#children[place];
      if (this.#settled[place] !== undefined || child === undefined) return 0;
      const askedMs = runtime.askedMs(child);
      const leftMs = Math.max(0, this.#startedAt + this.#timeoutMs + askedMs - runtime.now);
      const hasOnlyWaited = askedMs - (this.#askedMs[place] ?? 0) >= runtime.now - this.#lookedAt;
      this.#askedMs[place] = askedMs;
      if (askedMs === 0 || leftMs === 0) return 0;
      return hasOnlyWaited ? Math.max(leftMs, askedMs * askedAgainPart) : leftMs;
    });
    this.#lookedAt = runtime.now;
    const waiting = left.filter((ms) => ms > 0);
    return {
      places: left.flatMap((ms, place) => (ms === 0 && this.#settled[place] === undefined ? [place] : [])),
      ms: waiting.length === 0 ? 0 : Math.max(askedAgainMs, Math.ceil(Math.min(...waiting))),
    };
  }

  #end(): CallEnd {
    const { cell } = this.#session;
    const shownMax = cell.shownBytesMax;
    const of: Source[] = [];
    const missing: string[] = [];
    const present: string[] = [];
    this.#settled.forEach(({ settled, no }, index) => {
      const result = readChildResult(this.#session, settled);
      of.push({ from: 'operation', no }, ...(result === null ? [] : [result.source]));
      (hasAnswered(result?.envelope) ? present : missing).push(this.#names[index]!);
      const text = result?.envelope.output ?? '';
      if (exceedsPreview(text, bytesForEach(shownMax, this.#agents.length)))
        cell.storeOutput(outputName(this.#agents[index]!.signature.modelToolName, this.#outputNumbers[index]!, 'txt'), {
          text,
        });
    });
    return { show: { rule: 'gather@1', of, with: [shownMax, ...this.#outputNumbers] }, missing, present };
  }
}
