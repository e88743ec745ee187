// Models that stop where a test wants to look: nothing here waits for time to pass.
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { rehearse } from 'cloister/testkit';
import type { RequestView, ScriptedReply, ScriptLine } from 'cloister/testkit';
import { Gate } from '../app/serve/gated-agent.ts';

export type HeldModel = LanguageModelV4 & {
  readonly gate: Gate;
  /** Who asked the model, in order. */
  readonly askers: readonly string[];
};

/** Replies with `delayMs` wait before their first piece, those with `pieceDelayMs` before each other one, until `gate` opens. */
export const heldModel = (lines: readonly ScriptLine[]): HeldModel => {
  const gate = new Gate();
  const askers: string[] = [];
  const counted = lines.map((line) => ({
    ...line,
    reply: (request: RequestView) => {
      askers.push(request.agent ?? '');
      return typeof line.reply === 'function' ? line.reply(request) : line.reply;
    },
  }));
  const model = rehearse(counted, { clock: { timer: (_ms, due) => gate.hold(due) } });
  return Object.assign(model, { gate, askers });
};

/** A reply that stops after its first piece. */
export const halves = (first: string, second: string): ScriptedReply => ({ pieces: [first, second], pieceDelayMs: 1 });
