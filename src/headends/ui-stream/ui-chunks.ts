// The activity of a run as chunks of the AI SDK's UI message stream.
//
// A turn of the agent is a step. A sub-agent is the output of the tool call that started it: a message with parts of its own, sent again
// while it grows (`preliminary`), with the sub-agents below it inside. So whoever renders tool parts can render it.
//
//   ui-chunks-one-message. The first chunk is `start`; the last is `finish`, `abort` or `error`.
//   ui-chunks-withdrawn. Text that was sent and is void disappears: its step is reset, and what else was in it is sent again.
//   ui-chunks-bounded. A growing sub-agent is sent again only when it has grown by a part of its size, so all of it together is a multiple of
//       its size and not its square.
import { unknownKind } from '#base';
import type { CellId, Json, JsonObject } from '#base';
import type { ServedRun } from '#contracts';
import { callArguments, failureWithAdvice, withPosition } from '#headends/shared';
import type { ActivityEnd, ModelUsage, RunActivity, QuestionCall } from '#headends/shared';
import { NestedMessage, parsedInput } from './nested-message.ts';

type Chunk = JsonObject & { readonly type: string };
type ActivityOf<T extends RunActivity['type']> = RunActivity & { readonly type: T };

/** `shownCalls`: the message of the client continues, and has these calls, which people were asked about. */
export type MessageStart = { readonly run: Pick<ServedRun, 'run' | 'agent'>; readonly shownCalls?: readonly string[] };

/** What was sent of one call. */
type SentCall = { readonly input: Chunk; output: Chunk | null };

export class UiChunks {
  readonly #start: MessageStart;
  /** Calls that are parts of the message itself. */
  readonly #shown: Set<string>;
  readonly #openTexts = new Set<string>();
  readonly #agents = new Map<CellId, NestedMessage>();
  /** Calls that people are asked about, and that are not shown yet. */
  readonly #held = new Map<string, ActivityOf<'call'>>();
  /** How much of each sub-agent at the top there is, and how much there was when it was sent. */
  readonly #sizes = new Map<string, { now: number; sent: number }>();
  /** Of the current step. */
  #stepCalls = new Map<string, SentCall>();
  #isStepOpen = false;

  constructor(start: MessageStart) {
    this.#start = start;
    this.#shown = new Set(start.shownCalls);
  }

  start(): readonly Chunk[] {
    const { run, shownCalls } = this.#start;
    const messageMetadata = { run: run.run, agent: run.agent };
    return [{ type: 'start', ...(shownCalls === undefined ? { messageId: `msg-${run.run}` } : {}), messageMetadata }];
  }

  /** What the client was told in an earlier stream, in steps that have ended. */
  learn(activity: RunActivity): void {
    this.next(activity);
    this.#isStepOpen = false;
    this.#stepCalls.clear();
    for (const size of this.#sizes.values()) size.sent = 0;
  }

  next(activity: RunActivity): readonly Chunk[] {
    switch (activity.type) {
      case 'turn':
      case 'text':
      case 'text-end':
      case 'withdrawn':
        return activity.by === null ? this.#ownText(activity) : this.#nestedText(activity.by, activity);
      case 'call':
        return this.#call(activity);
      case 'result':
        return this.#result(activity);
      case 'agent':
        return this.#startAgent(activity);
      case 'agent-end':
        return this.#nest(activity.cell, structureChars, (one) => one.end(activity.error === null ? 'done' : 'failed'));
      case 'crossing':
        return [{ type: 'data-crossing', data: crossingData(activity), transient: true }];
      default:
        return unknownKind(activity, []);
    }
  }

  end(end: ActivityEnd, usage: readonly ModelUsage[]): readonly Chunk[] {
    const over = this.#endStep();
    const finish = (finishReason: string, status: string): Chunk => ({
      type: 'finish',
      finishReason,
      messageMetadata: { status, usage: totalUsage(usage) },
    });
    switch (end.type) {
      case 'answer':
        return [...over, finish(end.isWhole ? 'stop' : 'length', end.outcome.status)];
      case 'asked':
      case 'calls':
        // In a step of their own: a client that sends answers by itself looks at the last step.
        return [
          ...over,
          ...this.#beginStep(),
          ...this.#requests(end),
          ...this.#endStep(),
          finish('tool-calls', 'waiting'),
        ];
      case 'cancelled':
        return [...over, { type: 'abort', reason: 'The run was cancelled.' }];
      case 'failed':
        return [...over, { type: 'error', errorText: failureWithAdvice(end.failure) }];
      default:
        return unknownKind(end, []);
    }
  }

  #beginStep(): readonly Chunk[] {
    this.#isStepOpen = true;
    this.#stepCalls = new Map();
    return [{ type: 'start-step' }];
  }

  #endStep(): readonly Chunk[] {
    if (!this.#isStepOpen) return [];
    this.#isStepOpen = false;
    return [{ type: 'finish-step' }];
  }

  #ownText(activity: ActivityOf<'turn' | 'text' | 'text-end' | 'withdrawn'>): readonly Chunk[] {
    switch (activity.type) {
      case 'turn':
        return [...this.#endStep(), ...this.#beginStep()];
      case 'text': {
        const { kind, id, text: delta } = activity;
        const begun = this.#openTexts.has(id) ? [] : [{ type: `${kind}-start`, id }];
        this.#openTexts.add(id);
        return [...begun, { type: `${kind}-delta`, id, delta }];
      }
      case 'text-end': {
        const { kind, id } = activity;
        return this.#openTexts.delete(id) ? [{ type: `${kind}-end`, id }] : [];
      }
      case 'withdrawn': {
        const calls = [...this.#stepCalls.values()];
        const kept = calls.flatMap(({ input, output }) => (output === null ? [input] : [input, output]));
        return [{ type: 'reset-step' }, ...kept];
      }
      default:
        return unknownKind(activity, []);
    }
  }

  #nestedText(by: CellId, activity: ActivityOf<'turn' | 'text' | 'text-end' | 'withdrawn'>): readonly Chunk[] {
    switch (activity.type) {
      case 'turn':
        return this.#nest(by, 0, (one) => one.addStep());
      case 'text':
        return this.#nest(by, activity.text.length, (one) => one.addText(activity));
      case 'text-end':
        return this.#nest(by, 0, (one) => one.endText(activity.id));
      case 'withdrawn':
        return this.#nest(by, structureChars, (one) => one.withdraw(activity.ids));
      default:
        return unknownKind(activity, []);
    }
  }

  #call(call: ActivityOf<'call'>): readonly Chunk[] {
    const { id, by, args, question } = call;
    if (by !== null) return this.#nest(by, structureChars + args.length, (one) => one.addCall(call));
    if (this.#shown.has(id)) return [];
    if (question === null) return this.#showCall(call);
    this.#held.set(id, call);
    return [];
  }

  #showCall({ id, tool, args }: Pick<ActivityOf<'call'>, 'id' | 'tool' | 'args'>, title?: string): readonly Chunk[] {
    const input: Chunk = {
      type: 'tool-input-available',
      toolCallId: id,
      toolName: tool,
      input: parsedInput(args),
      dynamic: true,
      // The client has nothing to call.
      providerExecuted: true,
      ...(title === undefined ? {} : { title }),
    };
    this.#held.delete(id);
    this.#shown.add(id);
    this.#stepCalls.set(id, { input, output: null });
    return [input];
  }

  /** A call that a person was asked about, and that happens because somebody else has answered. */
  #showHeld(id: string): readonly Chunk[] {
    const held = this.#held.get(id);
    return held === undefined ? [] : this.#showCall(held);
  }

  #result({ call, by, state, text }: ActivityOf<'result'>): readonly Chunk[] {
    const agent = [...this.#agents.values()].find((one) => one.call === call);
    if (agent !== undefined) this.#agents.delete(agent.cell);
    if (state === 'ok') addResult(agent, text);
    const output: Json = agent === undefined || state !== 'ok' ? text : agent.message;
    const nested =
      by === null
        ? []
        : this.#nest(by, structureChars + text.length, (one) => one.setCall(call, outputFields(state, output)));
    const before = this.#showHeld(call);
    this.#sizes.delete(call);
    return this.#shown.has(call)
      ? [...nested, ...before, this.#noteOutput(call, outputChunk(call, state, output))]
      : nested;
  }

  #noteOutput(call: string, output: Chunk): Chunk {
    const sent = this.#stepCalls.get(call);
    if (sent !== undefined) sent.output = output;
    return output;
  }

  #startAgent(agent: ActivityOf<'agent'>): readonly Chunk[] {
    const { cell, name, by } = agent;
    const call = agent.call ?? `agent-${cell}`;
    // An agent that nobody called gets a call of its own to be shown in.
    const own = { type: 'call', by, id: call, tool: name, args: '{}', text: null, question: null } as const;
    const before = agent.call === null ? this.#call(own) : this.#showHeld(call);
    const message = new NestedMessage(agent, call);
    this.#agents.set(cell, message);
    const above = by === null ? undefined : this.#agents.get(by);
    above?.setCall(call, { state: 'output-available', preliminary: true });
    return [...before, ...this.#send(message, structureChars)];
  }

  /** Changes the message of a sub-agent. `chars`: how much it grows, about. */
  #nest(cell: CellId, chars: number, change: (message: NestedMessage) => void): readonly Chunk[] {
    const message = this.#agents.get(cell);
    if (message === undefined) return [];
    change(message);
    return this.#send(message, chars);
  }

  #send(message: NestedMessage, chars: number): readonly Chunk[] {
    const { call, by } = message;
    const above = by === null ? undefined : this.#agents.get(by);
    if (above !== undefined) {
      above.setCall(call, { output: message.message });
      return this.#send(above, chars);
    }
    const size = this.#sizes.get(call) ?? { now: 0, sent: 0 };
    this.#sizes.set(call, size);
    size.now += chars;
    if (size.now - size.sent < Math.max(1, size.sent / growthParts)) return [];
    size.sent = size.now;
    const output = structuredClone(message.message);
    const own = { toolCallId: call, dynamic: true, providerExecuted: true, preliminary: true };
    return [this.#noteOutput(call, { type: 'tool-output-available', ...own, output })];
  }

  #requests(end: ActivityEnd & { readonly type: 'asked' | 'calls' }): readonly Chunk[] {
    if (end.type === 'asked') return end.questions.flatMap((question) => this.#ask(question, end.frame));
    return end.calls.map((call) => ({
      type: 'tool-input-available',
      toolCallId: withPosition(call.id, end.frame),
      toolName: call.name,
      input: parsedInput(callArguments(call)),
      dynamic: true,
    }));
  }

  #ask({ question, call, by }: QuestionCall, frame: number): readonly Chunk[] {
    const { id, tool, args, agent, why, until, path = [agent] } = question;
    const isQuestion = why === 'agent' && typeof args['question'] === 'string';
    const title = by === null ? undefined : `${path.join(' › ')}: ${tool}`;
    return [
      ...this.#showCall({ id: call, tool, args: JSON.stringify(args) }, title),
      {
        type: 'tool-approval-request',
        approvalId: withPosition(id, frame),
        toolCallId: call,
        reason: isQuestion ? args['question']! : `${agent} wants to call ${tool}.`,
        approvalDescriptor: { question: id, agent, path: [...path], why, until },
      },
    ];
  }
}

/** What a call, a result or the start of an agent adds, about. */
const structureChars = 100;

/** A sub-agent is sent again when it has grown by this part of what was sent. */
const growthParts = 16;

/** An agent's answer, unless it has said the same or the reader may not see it. */
const addResult = (agent: NestedMessage | undefined, text: string): void => {
  if (agent === undefined || /^\(\d+ bytes; /u.test(text) || agent.says(text)) return;
  agent.addText({ kind: 'text', id: `result-${agent.call}`, text });
};

const outputFields = (state: ActivityOf<'result'>['state'], output: Json): JsonObject => {
  if (state === 'ok') return { state: 'output-available', output, preliminary: false };
  return state === 'denied' ? { state: 'output-denied' } : { state: 'output-error', errorText: output };
};

const outputChunk = (toolCallId: string, state: ActivityOf<'result'>['state'], output: Json): Chunk => {
  if (state === 'denied') return { type: 'tool-output-denied', toolCallId };
  const own = { toolCallId, dynamic: true, providerExecuted: true };
  return state === 'ok'
    ? { type: 'tool-output-available', ...own, output }
    : { type: 'tool-output-error', ...own, errorText: output };
};

const crossingData = ({ event }: ActivityOf<'crossing'>): JsonObject => {
  const { kind, from, to, bytes } = event;
  const ends = { kind, from, to, bytes };
  return event.type === 'crossing'
    ? { ...ends, grant: event.grant, sha256: event.sha256 }
    : { ...ends, refused: event.reason };
};

const totalUsage = (usage: readonly ModelUsage[]): JsonObject => ({
  inputTokens: usage.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
  outputTokens: usage.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
});
