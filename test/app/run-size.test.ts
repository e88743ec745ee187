// What a short run takes on disk: a bound in bytes and in files, so that it does not grow unnoticed.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { defineAgent, openCloister } from 'cloister';
import type { ToolDefinition } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { expect, test } from 'vitest';
import { storedRecords } from '../stored-text.ts';
import { newWorkspace } from './conversations-driver.ts';

const lookup: ToolDefinition = {
  name: 'lookup',
  description: 'Looks one thing up and answers in one line.',
  inputSchema: { type: 'object', properties: { term: { type: 'string' } }, required: ['term'] },
  execute: () => 'Forty-two (42) is the natural number that follows 41 and precedes 43.',
};

const solo = defineAgent({
  name: 'solo',
  description: 'Looks one thing up and answers in one line.',
  prompt: 'You answer questions. Look things up before you answer, be brief, and say what you do not know.',
  models: [
    rehearse([
      { when: { turn: 1 }, reply: { calls: [{ tool: 'lookup', args: { term: 'forty-two' } }] } },
      { reply: 'The answer follows from what was asked and found: it is forty-two, and no more is known.' },
    ]),
  ],
  tools: [lookup],
});

/** Two requests and one tool call each. */
const runMany = async (workspace: string, count: number): Promise<void> => {
  await using cloister = await openCloister({ workspace, agents: [solo] });
  const outcomes = Array.from({ length: count }, () => cloister.run(solo, 'Do 1 lookup, then answer.').outcome);
  for (const { status } of await Promise.all(outcomes)) expect(status).toBe('completed');
};

const databaseBytes = (workspace: string): number => {
  using database = new DatabaseSync(join(workspace, 'cloister.db'));
  const { page_count: pages } = database.prepare('PRAGMA page_count').get() as { page_count: number };
  const { freelist_count: free } = database.prepare('PRAGMA freelist_count').get() as { freelist_count: number };
  const { page_size: size } = database.prepare('PRAGMA page_size').get() as { page_size: number };
  return (pages - free) * size;
};

test('a run with two requests takes at most 4,000 bytes of the database, and no file', async () => {
  const workspace = newWorkspace();
  await runMany(workspace, 1);
  const before = { stored: databaseBytes(workspace), text: storedRecords(workspace).length };
  const runs = 60;
  await runMany(workspace, runs);
  const stored = (databaseBytes(workspace) - before.stored) / runs;
  const text = (storedRecords(workspace).length - before.text) / runs;
  // It took 9,000 with the same records as text.
  expect(text).toBeGreaterThan(6_000);
  expect(stored).toBeLessThan(4_000);
  expect(existsSync(join(workspace, 'runs'))).toBe(false);
});
