// Calls several sub-agents in parallel, waits for all of them or the timeout, and merges their findings.
import type { JsonObject } from '#base';
import type { Agent, Settlement, Source } from '#contracts';
import { bytesForEach, exceedsPreview, numberDuplicates, outputName } from '#core/rules';
import { limitFailure } from '#core/session';
import type { LazyOperation, CallEnd, ToolCallChain, ChainStep, Session, ToolRunner } from '#core/session';
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

class GatherChain implements ToolCallChain {
  readonly begin: readonly LazyOperation[];
  readonly #agents: readonly Agent[];
  readonly #names: readonly string[];
  readonly #session: Session;
  readonly #outputNumbers: readonly number[];
  readonly #settled: { settled: Settlement<unknown>; no: number }[] = [];
  #unsettled: number;
  #timedOut = false;

  constructor(children: readonly LazyOperation[], agents: readonly Agent[], timeoutMs: number, session: Session) {
    this.#agents = agents;
    this.#names = numberDuplicates(agents.map(({ signature: { toolName } }) => toolName));
    this.#session = session;
    this.#outputNumbers = agents.map(({ signature: { modelToolName } }) =>
      session.cell.nextOutputNumber(modelToolName),
    );
    this.#unsettled = children.length;
    this.begin = [...children, { do: 'sleep', ms: timeoutMs, why: 'time-out' }];
  }

  onSettled(place: number, settled: Settlement<unknown>, no: number): ChainStep {
    if (place === this.#names.length) {
      // The timeout, or its cancellation after all agents have answered.
      this.#timedOut = true;
      return this.#unsettled === 0 ? { end: this.#end() } : { cancel: { code: 'deadline_passed' } };
    }
    this.#settled[place] = { settled, no };
    this.#unsettled--;
    if (this.#unsettled > 0) return {};
    return this.#timedOut ? { end: this.#end() } : { cancel: { code: 'cancelled' } };
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
