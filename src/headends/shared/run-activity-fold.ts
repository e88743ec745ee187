// Follows the activity of a run, event by event.
//
//   activity-in-order. A text, a call and an agent start before anything else is said about them.
//   activity-ends. After `finish` or `close`, whatever has started has ended.
//   activity-answer-last. After `finish`, one of the texts of the agent that was asked is the answer, if there is one, and no text of a
//       failed attempt is left.
import { unknownKind } from '#base';
import type { CellId } from '#base';
import type { CallerQuestion, DurableEvent, EventError, RunEvent } from '#contracts';
import { CellTexts } from './cell-texts.ts';
import type { ActivityError, EventOf, ModelUsage, QuestionEvent, RunActivity, QuestionCall } from './run-activity.ts';

type LiveAgent = {
  readonly cell: CellId;
  readonly name: string;
  readonly by: CellId | null;
  readonly call: string | null;
};

type OpenCall = {
  readonly id: string;
  readonly by: CellId | null;
  /** Why it was not made. */
  readonly denial?: string | undefined;
};

type AskedCall = {
  readonly cell: CellId;
  readonly event: QuestionEvent;
  ruling?: EventOf<'ruling'>;
  /** Its call begins next, also if it was denied. */
  isSettled: boolean;
  denial?: string;
};

export class RunActivityFold {
  readonly #isLate: boolean;
  readonly #texts = new Map<CellId, CellTexts>();
  readonly #agents = new Map<CellId, LiveAgent>();
  /** By the cell and its operation. */
  readonly #calls = new Map<string, OpenCall>();
  /** Calls that people were asked about and that have not begun, by question. */
  readonly #asked = new Map<string, AskedCall>();
  readonly #usage = new Map<string, ModelUsage>();
  #child: { readonly call: string; readonly event: EventOf<'child-start'> } | null = null;
  #root: CellId | null = null;

  /** `isLate`: the reader may have missed live text. */
  constructor(isLate: boolean) {
    this.#isLate = isLate;
  }

  /** The agents below that are working or waiting, those above first. */
  get agents(): readonly LiveAgent[] {
    return [...this.#agents.values()];
  }

  get usage(): readonly ModelUsage[] {
    return [...this.#usage.values()];
  }

  /** What follows was used by the request that is answered now. */
  resetUsage(): void {
    this.#usage.clear();
  }

  next(event: RunEvent): readonly RunActivity[] {
    switch (event.type) {
      case 'text-delta':
        return this.#textsOf(event.cell).add('text', event.text);
      case 'reasoning-delta':
        return this.#textsOf(event.cell).add('reasoning', event.text);
      case 'text-reset':
        return this.#textsOf(event.cell).reset();
      case 'text-lag':
        for (const texts of this.#texts.values()) texts.markLost();
        return [];
      default:
        return this.#nextDurable(event);
    }
  }

  #nextDurable(event: DurableEvent): readonly RunActivity[] {
    switch (event.type) {
      case 'session-start':
        return this.#startCell(event);
      case 'session-end':
        return this.#endAgent(event.cell, isAnswered(event.status) ? null : event.error);
      case 'model-start':
        return this.#textsOf(event.cell).startAttempt(event);
      case 'model-end':
        this.#addUsage(event);
        return this.#textsOf(event.cell).endAttempt(event);
      case 'tool-start':
        return this.#startCall(event, event.details?.args ?? event.args);
      case 'tool-end':
        return this.#endCall(event, event.details?.result);
      case 'child-start':
        this.#child = { call: this.#idOf(event, event.details?.args ?? ''), event };
        return [];
      case 'child-end':
        return [
          ...this.#endAgent(event.child, event.ok ? null : event.error),
          ...this.#endCall(event, event.details?.result),
        ];
      case 'question':
        return this.#ask(event);
      case 'ruling': {
        const asked = this.#asked.get(event.question);
        if (asked !== undefined) asked.ruling = event;
        return [];
      }
      case 'question-end':
        return this.#endQuestion(event);
      case 'crossing':
      case 'crossing-refused':
        return [{ type: 'crossing', event }];
      case 'wait-start':
      case 'window-clamp':
      case 'window-trim':
      case 'mail':
      case 'task':
      case 'run-resume':
      case 'run-fork':
      case 'run-cancel':
        return [];
      default:
        return unknownKind(event, []);
    }
  }

  /** The questions that the reader is asked, with their calls. */
  callsOf(questions: readonly CallerQuestion[]): readonly QuestionCall[] {
    return questions.map((question) => ({
      question,
      call: question.id,
      by: question.cell === undefined ? null : this.#byOf(question.cell),
    }));
  }

  /** The run has ended with this output; empty: there is none. */
  finish(output: string): readonly RunActivity[] {
    const root = this.#root;
    return [...(root === null ? [] : this.#textsOf(root).finish(output)), ...this.close()];
  }

  /** Ends everything that has not ended. */
  close(): readonly RunActivity[] {
    const calls = [
      ...this.#calls.values(),
      ...[...this.#asked]
        .filter(([, { event }]) => event.why !== 'client')
        .map(([id, { cell }]) => ({ id, by: this.#byOf(cell) })),
    ];
    const over = { code: 'cancelled', message: 'The run ended before the agent did.' };
    const closed: readonly RunActivity[] = [
      ...this.closeTexts(),
      ...calls.map(({ id, by }): RunActivity => ({
        type: 'result',
        by,
        call: id,
        state: 'failed',
        text: 'The run ended before the call did.',
      })),
      ...this.agents.toReversed().map(({ cell }): RunActivity => ({ type: 'agent-end', cell, error: over })),
    ];
    this.#calls.clear();
    this.#asked.clear();
    this.#agents.clear();
    return closed;
  }

  closeTexts(): readonly RunActivity[] {
    return [...this.#texts.values()].flatMap((texts) => texts.close());
  }

  #byOf(cell: CellId): CellId | null {
    return cell === this.#root ? null : cell;
  }

  #textsOf(cell: CellId): CellTexts {
    const found = this.#texts.get(cell);
    if (found !== undefined) return found;
    const created = new CellTexts(cell, this.#byOf(cell), this.#isLate);
    this.#texts.set(cell, created);
    return created;
  }

  #startCell({ cell, parent, agent, tool, goal }: EventOf<'session-start'>): readonly RunActivity[] {
    if (parent === null) {
      this.#root = cell;
      return [];
    }
    const child = this.#child?.event.child === cell ? this.#child : null;
    this.#child = null;
    // Everybody who sees the run sees the goals of its agents, and only those who see contents the arguments of their calls.
    const args = child?.event.details?.args ?? JSON.stringify({ goal });
    const called = child === null ? [] : this.#announceCall(child.event, { id: child.call, tool: tool ?? agent, args });
    const started: LiveAgent = { cell, name: agent, by: this.#byOf(parent), call: child?.call ?? null };
    this.#agents.set(cell, started);
    return [...called, { type: 'agent', ...started }];
  }

  #endAgent(cell: CellId, error: EventError | null): readonly RunActivity[] {
    if (!this.#agents.delete(cell)) return [];
    const texts = this.#textsOf(cell).close();
    this.#texts.delete(cell);
    return [...texts, { type: 'agent-end', cell, error: error === null ? null : describeError(error) }];
  }

  #startCall(event: EventOf<'tool-start'>, args: string): readonly RunActivity[] {
    return this.#announceCall(event, { id: this.#idOf(event, args), tool: event.tool, args });
  }

  /** A call that a person was asked about has been announced already. */
  #announceCall(
    { cell, op }: Pick<EventOf<'tool-start'>, 'cell' | 'op'>,
    { id, tool, args }: { readonly id: string; readonly tool: string; readonly args: string },
  ): readonly RunActivity[] {
    const by = this.#byOf(cell);
    const asked = this.#asked.get(id);
    // The client has called its tool itself.
    if (asked?.event.why !== 'client') this.#calls.set(`${cell}/${op}`, { id, by, denial: asked?.denial });
    if (this.#asked.delete(id)) return [];
    const texts = this.#textsOf(cell);
    return [...texts.close(), { type: 'call', by, id, tool, args, text: texts.lastText, question: null }];
  }

  /** The id of the call that a person was asked about and that begins here, or of a new one. */
  #idOf({ cell, op, tool }: EventOf<'tool-start' | 'child-start'>, args: string): string {
    const settled = [...this.#asked].filter(([, one]) => one.isSettled && one.cell === cell && one.event.tool === tool);
    const same = settled.find(([, { ruling, event }]) => JSON.stringify(ruling?.args ?? event.args) === args);
    return (same ?? settled[0])?.[0] ?? `call-${cell}-${op}`;
  }

  #endCall(
    { cell, op, ok, error, bytesOut }: EventOf<'tool-end' | 'child-end'>,
    result: string | undefined,
  ): readonly RunActivity[] {
    const call = this.#calls.get(`${cell}/${op}`);
    if (call === undefined) return [];
    this.#calls.delete(`${cell}/${op}`);
    const { id, by, denial } = call;
    if (denial !== undefined) return [{ type: 'result', by, call: id, state: 'denied', text: denial }];
    if (ok) return [{ type: 'result', by, call: id, state: 'ok', text: result ?? withheldText(bytesOut) }];
    const text = error === null ? 'It failed.' : describeError(error).message;
    return [{ type: 'result', by, call: id, state: 'failed', text }];
  }

  #ask(event: QuestionEvent): readonly RunActivity[] {
    const { cell, question: id, tool, why } = event;
    this.#asked.set(id, { cell, event, isSettled: false });
    const texts = this.#textsOf(cell);
    // The client itself is asked to call its tool, and told so when the run waits for it.
    if (why === 'client') return texts.close();
    const args = JSON.stringify(event.args);
    return [
      ...texts.close(),
      { type: 'call', by: this.#byOf(cell), id, tool, args, text: texts.lastText, question: event },
    ];
  }

  #endQuestion({ question, state }: EventOf<'question-end'>): readonly RunActivity[] {
    const asked = this.#asked.get(question);
    if (asked === undefined) return [];
    const { cell, event, ruling } = asked;
    const reason = ruling?.reason ?? null;
    const denial = state === 'allowed' ? undefined : denialText(state, ruling?.by, reason);
    if (event.why !== 'agent' && state !== 'cancelled') {
      asked.isSettled = true;
      if (denial !== undefined) asked.denial = denial;
      return [];
    }
    this.#asked.delete(question);
    if (event.why === 'client') return [];
    const ended = { type: 'result', by: this.#byOf(cell), call: question } as const;
    return [
      denial === undefined
        ? { ...ended, state: 'ok', text: reason ?? '' }
        : { ...ended, state: 'denied', text: denial },
    ];
  }

  #addUsage(event: EventOf<'model-end'>): void {
    const { provider, model } = event;
    const known = this.#usage.get(model);
    const usage = known ?? {
      provider,
      model,
      inputTokens: 0,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
    };
    if (known === undefined) this.#usage.set(model, usage);
    for (const field of ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens'] as const)
      usage[field] += event[field];
  }
}

const isAnswered = (status: EventOf<'session-end'>['status']): boolean =>
  status === 'completed' || status === 'partial';

const describeError = ({ code, summary, detail }: EventError): ActivityError => ({
  code,
  message: detail === undefined ? summary : `${summary} ${detail}`,
});

const withheldText = (bytes: number): string => `(${bytes} bytes; this token does not show contents)`;

const denialText = (state: EventOf<'question-end'>['state'], by: string | undefined, reason: string | null): string => {
  if (state === 'expired') return 'Nobody answered in time, so the call was not made.';
  if (state === 'cancelled') return 'The call was cancelled.';
  return `Denied${by === undefined ? '' : ` by ${by}`}${reason === null ? '.' : `: ${reason}`}`;
};
