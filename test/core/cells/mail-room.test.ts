// What a cell asks of its run's mail is data. The run decides it by what it knows, not by what the data says.
import { expect, test } from 'vitest';
import { recordFormats } from '#base';
import type { CellId, RunId } from '#base';
import { memoryCellFolders } from '#adapters/cell-folders';
import { validate } from '#adapters/schemas';
import type { Frame, PostRequest, RunPorts } from '#contracts';
import { LocalContext, LocalRun } from '#core/cells';
import { buildAgent } from '#core/orchestration';

const liveCells = () => {
  const frames: Frame[] = [];
  const ports = {
    run: 'ce1100000001' as RunId,
    log: { append: (frame: Frame) => void frames.push(frame), durable: () => undefined, close: async () => undefined },
    clock: { now: () => 0, timer: () => () => undefined },
    ids: { random: () => 'x' },
    workspaces: memoryCellFolders(),
    validate,
    storeBlob: async () => '',
    lane: () => undefined,
  };
  const run = new LocalRun(
    ports as Partial<RunPorts> as RunPorts,
    async () => Promise.reject(new Error('no children')),
    0,
  );
  const open = (cell: string, parent: string | null): LocalContext => {
    const agent = buildAgent(
      { name: cell, description: 'Talks.', prompt: 'Talk.', messages: ['parent', 'children'] },
      null,
    );
    const seed = {
      cell: cell as CellId,
      agent,
      depth: 0,
      parent: parent as CellId | null,
      deadline: 0,
      ancestry: [],
      createdAt: 0,
      goal: null,
    };
    const birth = { ...seed, agent: agent.name, digest: agent.digest, caps: {} };
    const record = { type: 'open', recordedBy: { format: recordFormats.newest, build: 'test' }, birth } as const;
    run.write(seed.cell, 0, record, { childAgent: agent });
    frames.length = 0;
    return new LocalContext(run, seed, run.accountFor(seed.cell, null, {}));
  };
  return { run, frames, lead: open('lead', null), child: open('child', 'lead'), stranger: open('stranger', null) };
};

const post = async (cell: LocalContext, request: PostRequest) =>
  (await cell.first([cell.begin({ do: 'post', name: 'test', request })])).settled;

test('a cell can ask its own children to finish, and nobody else', async () => {
  const { run, lead, child, stranger } = liveCells();
  const isClosing = (one: LocalContext) => run.mail.directory.get(one.cellId)!.mailbox.closing;
  await post(stranger, { kind: 'close-children', children: [child.cellId, lead.cellId], ended: [] });
  expect([lead, child].map(isClosing)).toEqual([false, false]);
  await post(lead, { kind: 'close-children', children: [child.cellId], ended: [] });
  expect(isClosing(child)).toBe(true);
});

test('an answer to a cell that its sender may not write to does not cross', async () => {
  const { run, child, stranger } = liveCells();
  const answer = { kind: 'answer', id: 'm-1', type: 'answer', text: 'Hello.', correlation: null, reads: [] } as const;
  const settled = await post(stranger, { ...answer, to: child.cellId });
  expect(settled).toMatchObject({ ok: true, value: { dead: [{ to: 'child', reason: 'refused' }] } });
  expect(run.mail.directory.get(child.cellId)!.mailbox.unread).toEqual([]);
});

// invariants: reader-woken-after-call, mail-decided-synchronously
test('a reader is woken after the call of its writer has returned, with all that was written meanwhile, in the order of frames', async () => {
  const { lead, child, frames } = liveCells();
  const wait = lead.begin({ do: 'receive', name: 'wait', wanted: { kind: 'any', max: 9 }, timeoutMs: 0 });
  const message = { kind: 'send', to: 'parent', correlation: null, reads: [] } as const;
  for (const id of ['m-1', 'm-2'])
    child.begin({ do: 'post', name: 'test', request: { ...message, id, text: `This is ${id}.` } });
  expect(frames.map(({ record }) => record.type)).toEqual(['begin', 'post', 'post']);
  const { settled } = await lead.first([wait]);
  expect(frames.map(({ record }) => record.type)).toEqual(['begin', 'post', 'post', 'settle']);
  const texts = settled!.ok ? settled!.value.messages.map((seq) => lead.receivedCrossings.at(seq)!.content) : [];
  expect(texts.map((text) => text.split('\n').at(-1))).toEqual(['This is m-1.', 'This is m-2.']);
});
