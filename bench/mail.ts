// Messages between two cells, through the grant check and the ledger, against a queue that only hashes; and heap of waiting agents.
import { setImmediate as nextTick } from 'node:timers/promises';
import { sha256 } from '#base';
import type { CellId, RunId } from '#base';
import { validate } from '#adapters/schemas';
import { memoryCellFolders } from '#adapters/cell-folders';
import type { Agent, Frame, RunLog, RunPorts } from '#contracts';
import { LocalContext, LocalRun } from '#core/cells';
import { buildAgent, startRun } from '#core/orchestration';
import type { Benchmark, Line } from './benchmark.ts';
import { compare, processMs } from './measure.ts';

const messages = 20_000;
const readAtOnce = 20;
/** As many as the steps for checking the arguments of one turn allow. */
const residents = 5_000;

const agent = (name: string, more: object = {}): Agent =>
  buildAgent({ name, description: 'Talks.', prompt: 'Talk.', messages: ['writer', 'reader'], ...more }, null);

const createWorld = (log?: RunLog): RunPorts => {
  let ids = 0;
  return {
    run: 'be4c40000001' as RunId,
    log: log ?? { append: () => undefined, durable: () => undefined, close: async () => undefined },
    clock: { now: () => 0, timer: () => () => undefined },
    ids: { random: () => String(++ids).padStart(12, '0') },
    workspaces: memoryCellFolders(),
    validate,
    resources: { resourcesFor: () => ({ models: [{ language: {} as never }], sources: [] }) },
    storeBlob: async () => '',
    readBlob: async () => new Uint8Array(),
    lane: () => undefined,
  };
};

/** Two cells of one run that can message each other. */
const twoCells = (log?: RunLog) => {
  const world = createWorld(log);
  const run = new LocalRun(world, async () => Promise.reject(new Error('no children')), 0);
  const cellOf = (name: string): LocalContext => {
    const cell = `${name}-1` as CellId;
    const seed = {
      cell,
      agent: agent(name),
      depth: 0,
      parent: null,
      deadline: 0,
      ancestry: [],
      createdAt: 0,
      goal: null,
    };
    const birth = { ...seed, agent: name, digest: seed.agent.digest, caps: {} };
    run.write(cell, 0, { type: 'open', recordedBy: run.recordedBy, birth }, { childAgent: seed.agent });
    return new LocalContext(run, seed, run.accountFor(cell, null, {}));
  };
  return { writer: cellOf('writer'), reader: cellOf('reader') };
};

/** `log`: where its records go; by default they are dropped. */
export const sendThroughLedger = async (text: string, count = messages, log?: RunLog): Promise<void> => {
  const { writer, reader } = twoCells(log);
  let read = 0;
  for (let sent = 0; sent < count; sent += readAtOnce) {
    for (let nth = sent; nth < sent + readAtOnce; nth++)
      writer.begin({
        do: 'post',
        name: 'tool:send_message',
        request: { kind: 'send', id: `m-${nth}`, to: 'reader', text, correlation: null, reads: [] },
      });
    const wanted = { kind: 'messages', max: readAtOnce } as const;
    const { settled } = await reader.first([
      reader.begin({ do: 'receive', name: 'tool:receive_message', wanted, timeoutMs: 0 }),
    ]);
    if (settled?.ok !== true) throw new Error('Nothing was received.');
    // A session does the same once its model has been shown the messages.
    for (const seq of settled.value.messages) reader.receivedCrossings.forgetMail(seq);
    read += settled.value.messages.length;
    if (sent % 4_000 === 0) await log?.durable();
  }
  if (read !== count) throw new Error(`${read} of ${count} messages were read.`);
};

export const sendThroughQueue = async (text: string, count = messages): Promise<void> => {
  const queue: { readonly text: string; readonly hash: string }[] = [];
  let read = 0;
  for (let sent = 0; sent < count; sent += readAtOnce) {
    for (let nth = sent; nth < sent + readAtOnce; nth++)
      queue.push({ text: `${nth}${text}`, hash: sha256(`${nth}${text}`) });
    await Promise.resolve();
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
      if (sha256(one.text) !== one.hash) throw new Error('The message is not what was sent.');
      read++;
    }
  }
  if (read !== count) throw new Error(`${read} of ${count} messages were read.`);
};

const measureDelivery = async (bytes: number): Promise<Line> => {
  const text = 'x'.repeat(bytes);
  const { raw, cloister } = await compare(
    { warm: 2, measured: 9 },
    { raw: () => processMs(() => sendThroughQueue(text)), cloister: () => processMs(() => sendThroughLedger(text)) },
  );
  return {
    what: `${messages} messages of ${bytes} bytes`,
    unit: 'ms',
    raw,
    cloister,
    figure: (raw / cloister) * 100,
    figureUnit: '%',
    target: { atLeast: 60 },
  };
};

/** Kilobytes per spawned agent that waits for messages. */
export const idleHeap = async (count = residents): Promise<number> => {
  const leaf = agent('leaf', { messages: ['parent'] });
  const root = agent('root', {
    tools: ['spawn_agent'],
    spawns: { agents: [leaf], children: count, perMinute: count },
    limits: { maxToolCallsPerTurn: count, max_steps: count },
  });
  const world = createWorld();
  let created = 0;
  const log = {
    ...world.log,
    append: ({ record }: Frame) => void (record.type === 'begin' && record.do === 'child' && created++),
  };
  const calls = Array.from({ length: count }, (_, nth) => ({
    type: 'tool-call',
    toolCallId: `c${nth}`,
    toolName: 'spawn_agent',
    input: '{"agent_id":"leaf"}',
  }));
  const parts = [
    ...calls,
    {
      type: 'finish',
      finishReason: { unified: 'tool-calls' },
      usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
    },
  ];
  const modelRequests = { times: 0 };
  const language = {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'spawner',
    supportedUrls: {},
    doStream: async () => {
      modelRequests.times++;
      if (modelRequests.times > 1) return new Promise<never>(() => undefined);
      return { stream: ReadableStream.from(parts) };
    },
  };
  const before = await liveHeap();
  const live = startRun(root, 'Spawn.', undefined, {
    ...world,
    log,
    resources: { resourcesFor: () => ({ models: [{ language: language as never }], sources: [] }) },
  });
  while (modelRequests.times < 2) await nextTick();
  parts.length = 0;
  calls.length = 0;
  const during = await liveHeap();
  if (created !== count) throw new Error(`${created} of ${count} agents were created.`);
  live.do({ do: 'cancel' });
  return (during - before) / count / 1_024;
};

const liveHeap = async (): Promise<number> => {
  await nextTick();
  globalThis.gc?.();
  await nextTick();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
};

export const mailBenchmark: Benchmark = {
  name: 'mail',
  about: `messages through the ledger against a queue that hashes each message twice; heap of ${residents} agents waiting for messages`,
  async run() {
    const heap = await idleHeap();
    return [
      await measureDelivery(1_000),
      await measureDelivery(4_000),
      {
        what: 'heap per waiting agent',
        unit: 'KB',
        raw: 0,
        cloister: heap,
        figure: heap,
        figureUnit: 'KB',
        target: { atMost: 8 },
      },
    ];
  },
};
