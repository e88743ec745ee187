// A session sees its cell through one contract, and no path leads from there to another cell or to the run. That core/session
// and core/memory do not even know core/cells is in the table of `.dependency-cruiser.cjs`.
import { expect, test } from 'vitest';
import type { CellId, RunId } from '#base';
import { Directory } from '#core/bus';
import { Mailbox } from '#testing/core/bus';
import type { RunPorts, StepContext } from '#contracts';
import { LocalContext, LocalRun } from '#core/cells';
import type { LiveCell } from '#core/cells';
import { Door } from '#core/crossings';
import { Account, Accounts } from '#core/events';
import { Cell } from '#core/memory';
import { buildAgent } from '#core/orchestration';
import { MailDelivery } from '../../../src/core/cells/mail-delivery.ts';
import { sessionPorts } from '../../../src/core/orchestration/session-ports.ts';

const agent = buildAgent(
  { name: 'one', description: 'Works.', prompt: 'Work.', messages: ['parent', 'children'] },
  null,
);

/** A run with two live cells, one the other's child, with mail between them and operations in flight. */
const openRun = () => {
  const children: LiveCell[] = [];
  let ids = 0;
  const ports = {
    run: 'ce1100000002' as RunId,
    log: { append: () => undefined, durable: () => undefined, close: async () => undefined },
    listener: { onFrame: () => undefined },
    validate: () => [],
    clock: { now: () => 0, timer: () => () => undefined },
    ids: { random: () => `${++ids}` },
    storeBlob: async () => '',
    lane: () => undefined,
    resources: { resourcesFor: () => ({ models: [], sources: [] }) },
  } as Partial<RunPorts> as RunPorts;
  const runChild = (_operation: unknown, child: LiveCell) => {
    children.push(child);
    return new Promise<never>(() => undefined);
  };
  const run = new LocalRun(ports, runChild, 0);
  const cell = 'one-0' as CellId;
  const seed = { cell, agent, depth: 0, parent: null, createdAt: 0, goal: null, deadline: 0, ancestry: ['one'] };
  const root = new LocalContext(run, seed, run.accountFor(cell, null, { tokens: 1_000 }));
  const spawn = { workflow: null, topics: [] };
  const pending = [
    root.port.beginChild({ agent, goal: 'Work.', spawn, gives: [{ kind: 'share', content: '[]' }] }),
    root.port.begin({ do: 'receive', name: 'wait', wanted: { kind: 'any', max: 1 }, timeoutMs: 0 }),
  ];
  const message = { kind: 'send', id: 'm-1', to: 'one', text: 'Hello.', correlation: null, reads: [] } as const;
  children[0]!.port.begin({ do: 'post', name: 'tool:send_message', request: { ...message, to: 'parent' } });
  let step: StepContext | undefined;
  const work = (context: StepContext) => new Promise<never>(() => (step = context));
  root.port.begin({ do: 'step', name: 'tool:look', repeat: 'free', timeoutMs: 1, timeoutCode: 'tool_timeout', work });
  return { run, root, child: children[0]!, pending, step: step! };
};

/** Everything that code can reach from a value: properties, getters, results of getters, prototypes, entries of collections. */
const reachable = (from: unknown): ReadonlySet<object> => {
  const found = new Set<object>();
  const open: unknown[] = [from];
  while (open.length > 0) {
    const value = open.pop();
    if (value === null || (typeof value !== 'object' && typeof value !== 'function') || found.has(value)) continue;
    found.add(value);
    if (value instanceof Map || value instanceof Set) open.push(...value.keys(), ...value.values());
    for (let holder: object | null = value; holder !== null; holder = Object.getPrototypeOf(holder) as object | null)
      for (const key of Reflect.ownKeys(holder)) open.push(read(value, key));
  }
  return found;
};

const read = (value: object, key: PropertyKey): unknown => {
  try {
    return Reflect.get(value, key) as unknown;
  } catch {
    return undefined;
  }
};

const runSide = [LocalContext, LocalRun, MailDelivery, Directory, Mailbox, Door, Account, Accounts];

// invariant: port-operations-are-data
test.each(['root', 'child'] as const)(
  'nothing of the run, and no cell, is reachable from what the session of the %s gets',
  (which) => {
    const opened = openRun();
    const world = { workspaces: { open: () => ({}) as never }, readBlob: async () => new Uint8Array() };
    const cell = new Cell(opened[which].port, 'ce1100000002' as RunId, world);
    const { run, pending, step } = opened;
    const found = reachable([cell, cell.runtime, ...pending, sessionPorts(agent, run.ports, opened[which]), step]);
    expect(found.size).toBeGreaterThan(50);
    for (const one of found) expect(runSide.find((type) => one instanceof type)?.name).toBeUndefined();
    const { ports } = run;
    expect([ports, ports.log, ports.listener!, ports.resources].filter((one) => found.has(one))).toEqual([]);
  },
);

test('the walk finds what is reachable', () => {
  const { run, root } = openRun();
  const found = reachable(root);
  expect([run, run.mail.directory, root.account].every((one) => found.has(one))).toBe(true);
});
