// Whatever stands in a record, each command ends with an error of the catalogue, or names the problem.
import { cpSync, readFileSync, rmSync, writeFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { crc32, gunzipSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { Agent, Cloister } from 'cloister';
import { CloisterError, errorCatalogue, sha256 } from '#base';
import { runCli } from '#headends/cli';
import { CommandAgents } from '../../../src/app/command-agents.ts';
import { noTail, recordHash, unpackRecord } from '#testing/adapters/stores';
import { rehearse } from '#testkit';
import { testSeed } from '../../test-seed.ts';
import { newWorkspace } from '../conversations-driver.ts';

const dump = {
  name: 'dump',
  description: 'Says a lot.',
  inputSchema: { type: 'object' as const },
  repeat: 'free' as const,
  execute: async () => 'long '.repeat(10_000),
};

const send = {
  name: 'send',
  description: 'Sends.',
  inputSchema: { type: 'object' as const },
  approve: true as const,
  execute: () => 'Sent.',
};

const agents = (): readonly Agent[] => {
  const model = rehearse([
    {
      when: { agent: 'lead', turn: 1 },
      reply: ({ lastText }) => ({
        calls: [
          { tool: 'write_file', args: { path: 'a.txt', content: 'first' } },
          { tool: 'dump', args: {} },
          { tool: 'helper', args: { prompt: 'Help.' } },
          ...(lastText.includes('Ask') ? [{ tool: 'send', args: {} }] : []),
        ],
      }),
    },
    { reply: 'Done.' },
  ]);
  const helper = defineAgent({ name: 'helper', description: 'Helps.', prompt: 'Help.', models: [model] });
  const lead = defineAgent({
    name: 'lead',
    description: 'Leads.',
    prompt: 'Lead.',
    models: [model],
    agents: [helper],
    tools: ['write_file', dump, send],
  });
  return [lead];
};

/** Turns of a conversation, a checkpoint, a run that waits for a person, and a run that was deleted; closed, with its heads. */
const record = async () => {
  const workspace = newWorkspace();
  const cloister = await openCloister({ workspace, agents: [...agents()] });
  const runs: string[] = [];
  for (const text of ['One.', 'Two.']) {
    const session = await cloister.runTurn('lead', text, { conversation: 'trip' });
    await session.outcome;
    runs.push(session.run);
  }
  const gone = await cloister.run('lead', 'Gone.').outcome;
  await cloister.storage.delete({ runs: [gone.run] });
  const waiting = cloister.run('lead', 'Ask first.');
  await expect.poll(() => waiting.waitsForPeople, { interval: 2 }).toBe(true);
  await waiting.durable();
  await cloister.signal(waiting.run, { do: 'cancel' });
  const kept = newWorkspace();
  const forkAt = `${(await cloister.show(runs[1]!)).cells[0]!.cell}/2`;
  const archive = await cloister.storage.export(runs[0]!);
  cpSync(workspace, kept, { recursive: true });
  await cloister.close();
  {
    using database = new DatabaseSync(join(kept, 'cloister.db'));
    database.exec('DELETE FROM owners; PRAGMA wal_checkpoint(TRUNCATE)');
  }
  return { kept, runs, waiting: waiting.run, archive, forkAt };
};

type Recorded = Awaited<ReturnType<typeof record>>;

/** Draws from a seed. */
const drawing = (seed: number) => {
  let state = seed * 2_654_435_761 + 12_345;
  const next = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  return { next, of: <T>(all: readonly T[]): T => all[next(all.length)]! };
};
type Draw = ReturnType<typeof drawing>;

const strange = [null, true, -1, 1e300, 0.5, '', 'x', '\u{0}', [], [null], {}, { a: null }, 'constructor', '{"a":'];

/** JSON in which one value, anywhere, is another one or gone. */
const withOtherValue = (text: string, draw: Draw): string => {
  const value = JSON.parse(text) as never;
  const places: (readonly [any, string])[] = [];
  const walk = (one: any): void => {
    if (typeof one !== 'object' || one === null) return;
    for (const key of Object.keys(one)) {
      places.push([one, key]);
      walk(one[key]);
    }
  };
  walk(value);
  // The upper values are what most code reads, and there are few of them.
  const [parent, key] = draw.next(2) === 0 ? places[draw.next(Math.min(places.length, 30))]! : draw.of(places);
  if (draw.next(4) === 0 && !Array.isArray(parent)) delete parent[key];
  else parent[key] = draw.of(strange);
  return JSON.stringify(value);
};

const withOtherByte = (bytes: Uint8Array, draw: Draw): Uint8Array => {
  const changed = Uint8Array.from(bytes);
  changed[draw.next(changed.length)]! ^= 1 << draw.next(8);
  return changed;
};

const rehash = (database: DatabaseSync, run: string): void => {
  let hash: string = noTail.hash;
  for (const { no, body } of database.prepare('SELECT no, body FROM frames WHERE run = ? ORDER BY no').all(run)) {
    hash = recordHash(hash, String(unpackRecord(body)));
    database.prepare('UPDATE frames SET hash = ? WHERE run = ? AND no = ?').run(hash, run, no!);
  }
  database.prepare('UPDATE runs SET head = ? WHERE run = ?').run(hash, run);
};

const rehashLog = (database: DatabaseSync): void => {
  let [hash, last]: [string, unknown] = [noTail.hash, -1];
  for (const { no, body } of database.prepare('SELECT no, body FROM book ORDER BY no').all()) {
    hash = recordHash(hash, String(body));
    last = no;
    database.prepare('UPDATE book SET hash = ? WHERE no = ?').run(hash, no!);
  }
  database.prepare("UPDATE meta SET value = ? WHERE key = 'book'").run(`${String(last)} ${hash}`);
};

const damages: Readonly<Record<string, (workspace: string, database: DatabaseSync, draw: Draw) => void>> = {
  'a record, with hashes that fit': (workspace, database, draw) => {
    rmSync(join(workspace, 'heads'), { recursive: true });
    const { run, no, body } = draw.of(database.prepare('SELECT run, no, body FROM frames').all());
    const changed = withOtherValue(String(unpackRecord(body)), draw);
    database.prepare('UPDATE frames SET body = ? WHERE run = ? AND no = ?').run(changed, run!, no!);
    rehash(database, String(run));
  },
  'a record': (_, database, draw) => {
    const { run, no, body } = draw.of(database.prepare('SELECT run, no, body FROM frames').all());
    const changed = withOtherByte(Buffer.from(body instanceof Uint8Array ? body : String(body)), draw);
    const stored = body instanceof Uint8Array ? Buffer.from(changed) : Buffer.from(changed).toString();
    database.prepare('UPDATE frames SET body = ? WHERE run = ? AND no = ?').run(stored, run!, no!);
  },
  'a record of the workspace log, with hashes that fit': (workspace, database, draw) => {
    rmSync(join(workspace, 'heads'), { recursive: true });
    const { no, body } = draw.of(database.prepare('SELECT no, body FROM book').all());
    database.prepare('UPDATE book SET body = ? WHERE no = ?').run(withOtherValue(String(body), draw), no!);
    rehashLog(database);
  },
  'a record of the workspace log': (_, database, draw) => {
    const { no, body } = draw.of(database.prepare('SELECT no, body FROM book').all());
    const changed = Buffer.from(withOtherByte(Buffer.from(String(body)), draw)).toString();
    database.prepare('UPDATE book SET body = ? WHERE no = ?').run(changed, no!);
  },
  'a blob': (_, database, draw) => {
    const { ref, bytes } = draw.of(database.prepare('SELECT ref, bytes FROM blobs').all());
    database.prepare('UPDATE blobs SET bytes = ? WHERE ref = ?').run(withOtherByte(bytes as Uint8Array, draw), ref!);
  },
  'a row of a table': (_, database, draw) => {
    const table = draw.of(['runs', 'owners', 'signals', 'deleted', 'meta']);
    if (table === 'owners')
      database.exec("INSERT INTO owners SELECT run, 1, 'host', 'x', 1, 'i' FROM runs ORDER BY run LIMIT 1");
    const columns = database.prepare(`SELECT name FROM pragma_table_info('${table}')`).all();
    const column = String(draw.of(columns)['name']);
    const values = [null, 'x', '{', '{}', 'null', '[1]', -1, 1e15, 0.5, new Uint8Array([255, 0]), '\u{0}'];
    try {
      database
        .prepare(`UPDATE ${table} SET "${column}" = ? WHERE rowid = (SELECT rowid FROM ${table} LIMIT 1 OFFSET ?)`)
        .run(draw.of(values), draw.next(2));
    } catch {
      // The table does not take it.
    }
  },
  'a heads file, with checksums that fit': (workspace, _database, draw) => {
    const [name = ''] = readdirSync(join(workspace, 'heads'));
    const path = join(workspace, 'heads', name);
    const text = draw.of([
      '{',
      'null',
      '{}',
      'x',
      '1',
      '-1 x y',
      '5',
      '1e9 ff 0',
      '{"pid":"x"}',
      'NaN  x',
      '0 0 (book)',
      '[]',
    ]);
    const line = `${crc32(text).toString(16).padStart(8, '0')} ${text}\n`;
    writeFileSync(
      path,
      draw.next(2) === 0 ? line + readFileSync(path, 'latin1') : readFileSync(path, 'latin1') + line,
      'latin1',
    );
  },
  'a byte of any file': (workspace, database, draw) => {
    database.close();
    const files = readdirSync(workspace, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
    const { parentPath, name } = draw.next(2) === 0 ? files.find((one) => one.name === 'cloister.db')! : draw.of(files);
    const path = join(parentPath, name);
    const bytes = readFileSync(path);
    if (bytes.length > 0) writeFileSync(path, withOtherByte(bytes, draw));
  },
};

/** The command line, in this process, without agents of its own. */
const cli = async (args: readonly string[], cwd: string) => {
  const printed = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') => ({ write: (text: string) => (printed[name] += text), isTTY: false });
  const commands = new CommandAgents(() => null);
  const world = {
    version: '0',
    terminal: { stdout: stream('stdout'), stderr: stream('stderr'), colour: false, stdin: async () => null },
    system: { now: Date.now, timer: () => () => {}, onInterrupt: () => () => {}, onStrayError: () => () => {} },
    files: {
      readText: async (path: string) => readFileSync(path, 'utf8'),
      readBytes: async (path: string) => readFileSync(path),
      writeBytes: async (path: string, bytes: Uint8Array) => writeFileSync(path, bytes),
      appendText: async (path: string, text: string) => writeFileSync(path, text, { flag: 'a' }),
      whyNotWritable: async () => null,
    },
    runtime: {
      open: (options: never) => commands.open(options),
      staleQuestions: (options: never) => commands.staleQuestions(options),
      defaultAgent: async () => null,
    },
  };
  const code = await runCli([...args, '--workspace', cwd], world as never);
  return { code, ...printed };
};

const commandsOn = ({ runs: [one = '', other = ''], waiting }: Recorded, out: string): readonly (readonly string[])[] =>
  [
    ...[one, other, waiting].flatMap((run) => [
      ['show', run],
      ['show', run, '--verbose'],
      ['show', run, '--transcript'],
      ['show', run, '--mail'],
      ['explain', run, 'lead'],
      ['explain', run, 'helper'],
      ['audit', run],
      ['replay', run],
      ['diff', run, one],
      ['runs', 'delete', run, '--dry-run'],
      ['runs', 'export', run, join(out, run)],
    ]),
    ['runs'],
    ['runs', '--all'],
    ['runs', 'expire', '--days', '0', '--dry-run'],
    ['audit', '--all'],
    ['show', 'last'],
    ['conversations', 'list', '--agent', 'lead'],
    ['conversations', 'show', 'trip', '--agent', 'lead'],
    ['checkpoints', 'list', '--agent', 'lead'],
    ['questions'],
    ['questions', '--all'],
    ['dead-letters'],
    ['seal', join(out, 'seal')],
    ['runs', 'delete', one, '--force', '--with-later'],
  ].flatMap((args) => [args, [...args, '--json']]);

const defectLine = errorCatalogue.defect.suggestion;

type Check = (what: string, work: () => Promise<unknown>) => Promise<void>;

/** What a program does with agents that it has. */
const useCode = async (workspace: string, { runs, waiting, forkAt }: Recorded, check: Check): Promise<void> => {
  let cloister: Cloister | undefined;
  await check('open', async () => (cloister = await openCloister({ workspace, agents: [...agents()] })));
  if (cloister === undefined) return;
  const opened = cloister;
  for (const run of [...runs, waiting]) {
    await check(`rebuild ${run}`, () => opened.rebuild(run));
    await check(`replay ${run}`, () => opened.replay(run));
    await check(`windows ${run}`, () => opened.windows(run));
    await check(`ledger ${run}`, () => opened.ledger(run));
    await check(`tasks ${run}`, () => opened.tasks(run));
    await check(`protocol ${run}`, () => opened.protocol(run));
  }
  await check(`resume`, async () => {
    const session = await opened.resume(waiting);
    const state = { isOver: false };
    const ended = session.outcome.finally(() => (state.isOver = true));
    ended.catch(() => undefined);
    for (let waits = 0; !state.isOver && !session.waitsForPeople && waits < 500; waits++)
      await new Promise((resolve) => setImmediate(resolve));
    if (session.waitsForPeople && !state.isOver) return;
    const { failure } = await ended;
    if (failure?.code === 'defect') throw new Error(`defect: ${failure.detail ?? ''}`);
  });
  await check(`fork`, async () => {
    const session = await opened.fork(runs[1]!, { at: forkAt });
    const { failure } = await session.outcome;
    if (failure?.code === 'defect') throw new Error(`defect: ${failure.detail ?? ''}`);
  });
  await check('conversation', async () => {
    const session = await opened.runTurn('lead', 'Three.', { conversation: 'trip' });
    const { failure } = await session.outcome;
    if (failure?.code === 'defect') throw new Error(`defect: ${failure.detail ?? ''}`);
  });
  await check('close', () => opened.close());
};

const tryAll = async (made: Recorded, kind: string, seed: number, few: number): Promise<readonly string[]> => {
  const draw = drawing(seed);
  const workspace = newWorkspace();
  cpSync(made.kept, workspace, { recursive: true });
  const database = new DatabaseSync(join(workspace, 'cloister.db'));
  damages[kind]!(workspace, database, draw);
  if (database.isOpen) database.close();
  const found: string[] = [];
  const out = newWorkspace();
  const commands = commandsOn(made, out);
  const some = few >= commands.length ? commands : Array.from({ length: few }, () => draw.of(commands));
  for (const args of some) {
    const { stdout, stderr } = await cli(args, workspace);
    if (/"code": "defect"/u.test(stdout) || stderr.includes(defectLine))
      found.push(`${kind} ${seed}: ${args.join(' ')}: ${stderr.slice(0, 200)} ${stdout.slice(0, 200)}`);
  }
  const check: Check = async (what, work) => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof CloisterError) || error.code === 'defect')
        found.push(`${kind} ${seed}: ${what}: ${(error as Error).stack?.slice(0, 700)}`);
    }
  };
  await useCode(workspace, made, check);
  return found;
};

/** Each case takes about a second. The lanes with fresh seeds try more. `FUZZ_SEEDS=200`: so many of each kind. */
const isFresh = process.env['TEST_SEED'] !== undefined;
const first = isFresh ? testSeed().seed % 1_000_000 : 1;
const seeds = Array.from({ length: Number(process.env['FUZZ_SEEDS'] ?? (isFresh ? 10 : 1)) }, (_, nth) => first + nth);

// invariants: decoded-has-its-form
test('whatever is damaged, every command ends with an error of the catalogue, or names the problem', async () => {
  const made = await record();
  const found: string[] = [];
  for (const kind of Object.keys(damages)) for (const seed of seeds) found.push(...(await tryAll(made, kind, seed, 4)));
  expect(found).toEqual([]);
}, 600_000);

test('the archive of a run with any other value in it is refused, or read like a log', async () => {
  const { archive } = await record();
  const lines = gunzipSync(archive).toString().split('\n').slice(0, -2);
  const found: string[] = [];
  for (let seed = 0; seed < 40; seed++) {
    const draw = drawing(seed);
    const changed = [...lines];
    const at = draw.next(changed.length);
    changed[at] = withOtherValue(changed[at]!, draw);
    const text = `${changed.join('\n')}\n`;
    const bytes = gzipSync(`${text}${JSON.stringify({ sha256: sha256(text) })}\n`);
    await using cloister = await openCloister({ store: 'memory', agents: [] });
    try {
      const run = await cloister.storage.import(bytes);
      await cloister.show(run);
    } catch (error) {
      if (!(error instanceof CloisterError) || error.code === 'defect') found.push(`${seed}: ${String(error)}`);
    }
  }
  expect(found).toEqual([]);
});
