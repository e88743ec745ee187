// The activity of a run as AG-UI events.
//
//   ag-ui-one-run. The first event is RUN_STARTED; the last, and the only one of its kind, is RUN_FINISHED or RUN_ERROR: a client takes a
//       stream that breaks off for a success.
//   ag-ui-closed. Everything that has started is closed before the run is finished; agents that wait for a person are suspended, and
//       started again, under the same id, in the stream that continues.
//   ag-ui-withdrawn. Text that was sent and is void disappears: a snapshot of the messages leaves it out.
import { unknownKind } from '#base';
import type { CellId, JsonObject } from '#base';
import { callArguments, failureWithAdvice, withPosition } from '#headends/shared';
import type { ActivityEnd, ModelUsage, RunActivity } from '#headends/shared';
import { interruptFor } from './interrupts.ts';
import { ShownMessages } from './shown-messages.ts';
import type { RunInput } from './parse-run-input.ts';

type AgUiEvent = JsonObject & { readonly type: string };
type ActivityOf<T extends RunActivity['type']> = RunActivity & { readonly type: T };

const protocolVersion = '1.0';

export class AgUiEvents {
  readonly #ids: { readonly threadId: string; readonly runId: string };
  readonly #metadata: JsonObject;
  readonly #shown: ShownMessages;
  readonly #openTexts = new Set<string>();
  /** The agents that work now, those above first. */
  readonly #agents = new Map<CellId, ActivityOf<'agent'>>();
  /** Agents that the client knows as suspended. */
  #suspended: ActivityOf<'agent'>[] = [];

  constructor(run: string, { threadId, runId, messages }: Pick<RunInput, 'threadId' | 'runId' | 'messages'>) {
    this.#ids = { threadId, runId };
    this.#metadata = { cloister: { run } };
    this.#shown = new ShownMessages(messages);
  }

  start(): readonly AgUiEvent[] {
    return [{ type: 'RUN_STARTED', ...this.#ids, protocolVersion, metadata: this.#metadata }];
  }

  /** What the client was told in an earlier stream. */
  learn(activity: RunActivity): void {
    if (activity.type === 'agent') this.#suspended.push(activity);
    if (activity.type === 'agent-end') this.#suspended = this.#suspended.filter(({ cell }) => cell !== activity.cell);
  }

  next(activity: RunActivity): readonly AgUiEvent[] {
    return [...this.#continueAgents(), ...this.#eventsOf(activity)];
  }

  end(end: ActivityEnd, usage: readonly ModelUsage[]): readonly AgUiEvent[] {
    const started = this.#continueAgents();
    const used = usage.length === 0 ? {} : { usage: usage.map(usageEntry) };
    const finished = (outcome: JsonObject, more: JsonObject = {}): AgUiEvent => ({
      type: 'RUN_FINISHED',
      ...this.#ids,
      ...more,
      outcome,
      ...used,
      metadata: this.#metadata,
    });
    switch (end.type) {
      case 'answer': {
        const { status, output, data } = end.outcome;
        const metadata = { cloister: { ...(this.#metadata['cloister'] as JsonObject), status } };
        return [
          ...started,
          ...this.#endAgents(),
          { ...finished({ type: 'success' }, { result: data ?? output }), metadata },
        ];
      }
      case 'asked': {
        const interrupts = end.questions.map((question) => interruptFor(question, end.frame));
        const idsOf = (cell: CellId): readonly string[] =>
          interrupts.filter(({ subagentRunId }) => subagentRunId === cell).map(({ id }) => id);
        return [
          ...started,
          ...this.#endAgents((cell) => ({ outcome: { type: 'suspended', interruptIds: [...idsOf(cell)] } })),
          finished({ type: 'interrupt', interrupts }),
        ];
      }
      case 'calls': {
        const calls = end.calls.map((call) => ({ ...call, id: withPosition(call.id, end.frame) }));
        return [
          ...started,
          ...calls.flatMap((call) =>
            this.#callEvents({ id: call.id, tool: call.name, args: callArguments(call), by: null, text: null }),
          ),
          ...this.#endAgents(() => ({ outcome: { type: 'suspended' } })),
          finished({ type: 'success', pendingToolCallIds: calls.map(({ id }) => id) }),
        ];
      }
      case 'cancelled':
        return [...started, ...this.#endAgents(), finished({ type: 'cancelled' })];
      case 'failed': {
        const { code } = end.failure;
        return [
          ...started,
          ...this.#endAgents(),
          { type: 'RUN_ERROR', message: failureWithAdvice(end.failure), code, ...used },
        ];
      }
      default:
        return unknownKind(end, []);
    }
  }

  /** Agents that were suspended go on in this stream. */
  #continueAgents(): readonly AgUiEvent[] {
    const agents = this.#suspended;
    this.#suspended = [];
    return agents.flatMap((agent) => this.#startAgent(agent));
  }

  #eventsOf(activity: RunActivity): readonly AgUiEvent[] {
    switch (activity.type) {
      case 'turn':
        return [];
      case 'text':
        return this.#writeText(activity);
      case 'text-end':
        return this.#endText(activity);
      case 'withdrawn':
        return this.#shown.remove(activity.ids) ? [{ type: 'MESSAGES_SNAPSHOT', messages: this.#shown.messages }] : [];
      case 'call':
        return this.#callEvents(activity);
      case 'result': {
        const { call, text, by, state } = activity;
        const id = `result-${call}`;
        this.#shown.addResult({ id, call, text, by });
        const metadata = state === 'ok' ? {} : { metadata: { cloister: { state } } };
        return [
          {
            type: 'TOOL_CALL_RESULT',
            messageId: id,
            toolCallId: call,
            content: text,
            role: 'tool',
            ...owner(by),
            ...metadata,
          },
        ];
      }
      case 'agent':
        return this.#startAgent(activity);
      case 'agent-end':
        return this.#endAgent(activity);
      case 'crossing':
        return [{ type: 'CUSTOM', name: 'cloister.crossing', value: crossingValue(activity) }];
      default:
        return unknownKind(activity, []);
    }
  }

  #writeText({ kind, id: messageId, text, by }: ActivityOf<'text'>): readonly AgUiEvent[] {
    const isNew = !this.#openTexts.has(messageId);
    this.#openTexts.add(messageId);
    if (kind === 'text') this.#shown.addText({ id: messageId, text, by });
    const at = { messageId, ...owner(by) };
    if (kind === 'text')
      return [
        ...(isNew ? [{ type: 'TEXT_MESSAGE_START', ...at, role: 'assistant' }] : []),
        { type: 'TEXT_MESSAGE_CONTENT', ...at, delta: text },
      ];
    return [
      ...(isNew
        ? [
            { type: 'REASONING_START', ...at },
            { type: 'REASONING_MESSAGE_START', ...at, role: 'reasoning' },
          ]
        : []),
      { type: 'REASONING_MESSAGE_CONTENT', ...at, delta: text },
    ];
  }

  #endText({ kind, id: messageId, by }: ActivityOf<'text-end'>): readonly AgUiEvent[] {
    if (!this.#openTexts.delete(messageId)) return [];
    const at = { messageId, ...owner(by) };
    if (kind === 'text') return [{ type: 'TEXT_MESSAGE_END', ...at }];
    return [
      { type: 'REASONING_MESSAGE_END', ...at },
      { type: 'REASONING_END', ...at },
    ];
  }

  #callEvents({
    id,
    tool,
    args,
    by,
    text,
  }: Pick<ActivityOf<'call'>, 'id' | 'tool' | 'args' | 'by' | 'text'>): readonly AgUiEvent[] {
    this.#shown.addCall({ id, tool, args, by, text });
    const at = { toolCallId: id, ...owner(by) };
    const parent = text === null ? {} : { parentMessageId: text };
    return [
      { type: 'TOOL_CALL_START', ...at, toolCallName: tool, ...parent },
      { type: 'TOOL_CALL_ARGS', ...at, delta: args },
      { type: 'TOOL_CALL_END', ...at },
    ];
  }

  #startAgent(agent: ActivityOf<'agent'>): readonly AgUiEvent[] {
    const { cell, name, by, call } = agent;
    this.#agents.set(cell, agent);
    return [
      {
        type: 'SUBAGENT_STARTED',
        subagentRunId: cell,
        name,
        ...(by === null ? {} : { parentSubagentRunId: by }),
        ...(call === null ? {} : { parentToolCallId: call }),
      },
    ];
  }

  #endAgent({ cell, error }: ActivityOf<'agent-end'>): readonly AgUiEvent[] {
    if (!this.#agents.delete(cell)) return [];
    if (error !== null)
      return [{ type: 'SUBAGENT_ERROR', subagentRunId: cell, message: error.message, code: error.code }];
    return [{ type: 'SUBAGENT_FINISHED', subagentRunId: cell, outcome: { type: 'success' } }];
  }

  /** Those below first. */
  #endAgents(more: (cell: CellId) => JsonObject = () => ({ outcome: { type: 'success' } })): readonly AgUiEvent[] {
    const cells = [...this.#agents.keys()].toReversed();
    this.#agents.clear();
    return cells.map((cell) => ({ type: 'SUBAGENT_FINISHED', subagentRunId: cell, ...more(cell) }));
  }
}

const owner = (by: CellId | null): { readonly subagentRunId?: CellId } => (by === null ? {} : { subagentRunId: by });

const crossingValue = ({ event }: ActivityOf<'crossing'>): JsonObject => {
  const { kind, from, to, bytes } = event;
  const ends = { kind, from, to, bytes };
  return event.type === 'crossing'
    ? { ...ends, grant: event.grant, sha256: event.sha256 }
    : { ...ends, refused: event.reason };
};

const usageEntry = ({
  provider,
  model,
  inputTokens,
  outputTokens,
  cacheReadTokens,
  cacheWriteTokens,
}: ModelUsage): JsonObject => ({
  provider,
  model,
  inputTokens,
  outputTokens,
  totalTokens: inputTokens + outputTokens,
  cachedInputTokens: cacheReadTokens,
  cacheWriteInputTokens: cacheWriteTokens,
});
