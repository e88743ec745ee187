// Messages between two cells, through the door and the ledger, against a queue that only hashes; and agents that wait.
import { setImmediate as nextTick } from 'node:timers/promises';
import { sha256 } from '#base';
import type { CellId, RunId } from '#base';
import { validate } from '#adapters/schemas';
import { memoryCellFolders } from '#adapters/cell-folders';
import type { Agent, Frame } from '#contracts';
import { LocalContext, LocalRun } from '#core/cells';
import { agentFrom, startRun } from '#core/orchestration';
import type { RunWorldPorts } from '#core/orchestration';
import { sendTo } from '#core/session';
import type { Benchmark, Line } from './benchmark.ts';
import { compare, processMs } from './measure.ts';

const messages = 20_000;
const readAtOnce = 20;
const residents = 10_000;

const agent = (name: string, more: object = {}): Agent =>
  agentFrom({ name, description: 'Talks.', prompt: 'Talk.', messages: ['writer', 'reader'], ...more }, null);

const worldOf = (): RunWorldPorts => {
  let ids = 0;
  return {
    run: 'be4c40000001' as RunId,
    log: { append: () => undefined, durable: () => undefined, close: async () => undefined },
    clock: { now: () => 0, timer: () => () => undefined },
    ids: { random: () => String(++ids).padStart(12, '0') },
    workspaces: memoryCellFolders(),
    validate,
    equip: () => ({ models: [{ language: {} as never }], sources: [] }),
    keep: async () => '',
    blob: async () => new Uint8Array(),
    lane: () => undefined,
  };
};

/** Two cells of one run that can write to each other. */
const twoCells = () => {
  const world = worldOf();
  const run = new LocalRun(world, async () => Promise.reject(new Error('no children')), 0);
  const cellOf = (name: string): LocalContext =>
    new LocalContext(
      run,
      { cell: `${name}-1` as CellId, agent: agent(name), depth: 0, parent: null, spawned: null, bornAt: 0, goal: null },
      run.accountOf(`${name}-1` as CellId, null, {}),
    );
  return { run, writer: cellOf('writer'), reader: cellOf('reader') };
};

export const throughTheLedger = async (text: string): Promise<void> => {
  const { run, writer, reader } = twoCells();
  const to = run.post.directory.get(reader.cellId)!;
  const cell = { runtime: writer, agent: writer.agent } as unknown as Parameters<typeof sendTo>[0];
  let read = 0;
  for (let sent = 0; sent < messages; sent += readAtOnce) {
    for (let nth = sent; nth < sent + readAtOnce; nth++)
      writer.begin({
        do: 'post',
        name: 'tool:send_message',
        decide: (at) => {
          const draft = { id: `m-${nth}`, type: 'message', text, correlation: null, hops: 1 } as const;
          return { state: sendTo(cell, to, draft, at) };
        },
      });
    const wanted = { box: 'mail', max: readAtOnce } as const;
    const { settled } = await reader.first([
      reader.begin({ do: 'receive', name: 'tool:receive_message', wanted: () => wanted, timeoutMs: 0 }),
    ]);
    if (settled?.ok !== true) throw new Error('Nothing was received.');
    // As a session does once it has shown them.
    for (const seq of settled.value.messages) reader.arrivals.forgetMail(seq);
    read += settled.value.messages.length;
  }
  if (read !== messages) throw new Error(`${read} of ${messages} messages were read.`);
};

export const throughAQueue = async (text: string): Promise<void> => {
  const queue: { readonly text: string; readonly hash: string }[] = [];
  let read = 0;
  for (let sent = 0; sent < messages; sent += readAtOnce) {
    for (let nth = sent; nth < sent + readAtOnce; nth++)
      queue.push({ text: `${nth}${text}`, hash: sha256(`${nth}${text}`) });
    await Promise.resolve();
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
      if (sha256(one.text) !== one.hash) throw new Error('It is not what was sent.');
      read++;
    }
  }
  if (read !== messages) throw new Error(`${read} of ${messages} messages were read.`);
};

const delivered = async (bytes: number): Promise<Line> => {
  const text = 'x'.repeat(bytes);
  const { raw, cloister } = await compare(
    { warm: 2, measured: 9 },
    { raw: () => processMs(() => throughAQueue(text)), cloister: () => processMs(() => throughTheLedger(text)) },
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

/** Kilobytes of one agent that was spawned and waits for mail. */
const idleHeap = async (): Promise<number> => {
  const leaf = agent('leaf', { messages: ['parent'] });
  const root = agent('root', {
    tools: ['spawn_agent'],
    spawns: { agents: [leaf], children: residents, perMinute: residents },
    limits: { maxToolCallsPerTurn: residents, max_steps: residents },
  });
  const world = worldOf();
  let births = 0;
  const log = {
    ...world.log,
    append: ({ record }: Frame) => void (record.type === 'begin' && record.do === 'child' && births++),
  };
  const calls = Array.from({ length: residents }, (_, nth) => ({
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
  const asked = { times: 0 };
  const language = {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'spawner',
    supportedUrls: {},
    doStream: async () => {
      asked.times++;
      if (asked.times > 1) return new Promise<never>(() => undefined);
      return { stream: ReadableStream.from(parts) };
    },
  };
  const before = await liveHeap();
  const live = startRun(root, 'Spawn.', undefined, {
    ...world,
    log,
    equip: () => ({ models: [{ language: language as never }], sources: [] }),
  });
  while (asked.times < 2) await nextTick();
  parts.length = 0;
  calls.length = 0;
  const during = await liveHeap();
  if (births !== residents) throw new Error(`${births} of ${residents} agents were born.`);
  live.cancel();
  return (during - before) / residents / 1_024;
};

const liveHeap = async (): Promise<number> => {
  await nextTick();
  globalThis.gc?.();
  await nextTick();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
};

export const mail: Benchmark = {
  name: 'mail',
  about: `messages through the ledger against a queue that hashes each twice; ${residents} agents that wait for mail`,
  async run() {
    const heap = await idleHeap();
    return [
      await delivered(1_000),
      await delivered(4_000),
      {
        what: 'heap of a waiting agent',
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
