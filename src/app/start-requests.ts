// Requests for runs that another process begins: they wait in the store, as a signal of a run that does not exist yet.
//
//   request-once. A signal is unique by run and id, and a log begins once: however often a request is sent, there is one run.
//   request-checked-on-arrival. Whoever begins the run trusts no field before the shape has accepted it.
import { CloisterError, isObject, omitUndefined } from '#base';
import type { ErrorCode, Json, JsonObject, RunId } from '#base';
import { checkShape } from '#base/shapes';
import { startSpecShape } from '#contracts';
import type { Agent, Attachment, Clock, RequestedRunOptions, Signal, StartSpec, Store } from '#contracts';
import type { AgentResources } from '#app/agents';

type StartRequestPorts = {
  readonly store: Pick<Store, 'putSignal' | 'signals' | 'removeSignal' | 'putBlob' | 'getBlob'>;
  readonly clock: Clock;
  readonly resources: Pick<AgentResources, 'redactFor'>;
};

/** The id of the signal, and of the one that says why nobody will begin the run. */
const [startId, refusedId] = ['start', 'refused'];

/** A request as data. Throws `options_invalid` for what only this process has. */
export const startSpec = (
  { name, digest }: Pick<Agent, 'name' | 'digest'>,
  input: StartSpec['input'],
  { resident, only, tools, conversation, ...options }: RequestedRunOptions,
): StartSpec => {
  const { attachments, history, ...plain } = options;
  const clientTools = tools?.map(({ name: tool, description, inputSchema, outside, timeoutMs }) => {
    if (outside !== true) throw new CloisterError('options_invalid', `tools: "${tool}" has code of this process.`);
    return omitUndefined({ name: tool, description, inputSchema, timeoutMs });
  });
  const spec = {
    agent: name,
    digest,
    kind: resident === true ? 'resident' : conversation === undefined ? 'run' : 'turn',
    input,
    options: omitUndefined({
      ...plain,
      conversation,
      attachments: attachments?.map(encodeAttachment),
      history: history?.map((one) => omitUndefined({ ...one, attachments: one.attachments?.map(encodeAttachment) })),
      requestHash: only?.requestHash,
    }),
    ...omitUndefined({ tools: clientTools }),
  };
  return readStartSpec(JSON.parse(JSON.stringify(spec)) as Json);
};

const encodeAttachment = ({ data, ...more }: Attachment): JsonObject => ({
  ...more,
  data: typeof data === 'string' ? data : Buffer.from(data).toString('base64'),
});

/** Throws `options_invalid`. */
const readStartSpec = (value: unknown): StartSpec => {
  checkShape(startSpecShape, value, (text) => new CloisterError('options_invalid', text), 'The request');
  return value as StartSpec;
};

type StartRequest = { readonly spec: StartSpec; /** Epoch milliseconds. */ readonly at: number };

export class StartRequests {
  readonly #ports: StartRequestPorts;

  constructor(ports: StartRequestPorts) {
    this.#ports = ports;
  }

  /** Durable when it resolves. */
  async put(run: RunId, agent: Agent, spec: StartSpec): Promise<void> {
    const { store, clock, resources } = this.#ports;
    // What may not be recorded does not wait on disk either.
    const safe = resources.redactFor(agent)?.json(spec) ?? spec;
    const text = JSON.stringify(safe);
    const body = text.length <= inlineCharsMax ? { start: safe } : { startRef: await store.putBlob(Buffer.from(text)) };
    await store.putSignal({ run, id: startId, by: spec.options.caller ?? 'operator', at: clock.now(), body });
  }

  /** Undefined: there is none. Rejects with `options_invalid` if it is none that this build understands. */
  async read(run: RunId): Promise<StartRequest | undefined> {
    const signal = (await this.#ports.store.signals(run)).find(isStart);
    if (signal === undefined) return undefined;
    const { start, startRef } = signal.body;
    const text =
      typeof startRef === 'string' ? Buffer.from(await this.#ports.store.getBlob(startRef)).toString() : null;
    return { spec: readStartSpec(text === null ? start : JSON.parse(text)), at: signal.at };
  }

  /** Those that wait, with the name of the agent if it can be told. */
  async waiting(): Promise<readonly { readonly run: RunId; readonly agent: string }[]> {
    const found: { readonly run: RunId; readonly agent: string }[] = [];
    for (const signal of (await this.#ports.store.signals()).filter(isStart)) {
      const request = await this.read(signal.run).catch(() => undefined);
      found.push({ run: signal.run, agent: request?.spec.agent ?? '' });
    }
    return found;
  }

  async remove(run: RunId): Promise<void> {
    await this.#ports.store.removeSignal(run, startId);
  }

  /** Null: it was not refused. */
  async refusal(run: RunId): Promise<CloisterError | null> {
    const refused = (await this.#ports.store.signals(run)).find(({ id }) => id === refusedId)?.body['refused'];
    if (!isObject(refused)) return null;
    const { code, detail } = refused as { readonly code: ErrorCode; readonly detail: string };
    return new CloisterError(code, detail);
  }

  /** Nobody will begin the run. */
  async refuse(run: RunId, code: ErrorCode, detail: string): Promise<void> {
    const { store, clock } = this.#ports;
    await store.putSignal({ run, id: refusedId, by: 'operator', at: clock.now(), body: { refused: { code, detail } } });
    await this.remove(run);
  }
}

const isStart = ({ id, body }: Signal): boolean =>
  id === startId && (isObject(body['start']) || typeof body['startRef'] === 'string');

/** Longer requests are stored under their hash. */
const inlineCharsMax = 200_000;
