import { describe, expect, test, vi } from 'vitest';
import type { Json, JsonObject } from '#base';
import type { ListedTools } from '#contracts';
import { callTool, failureOf, toolOf } from '../../conformance/tool-source.ts';
import { listOf, listRemote, oneTool, startScriptedServer } from './scripted-server.ts';
import type { ListOptions } from './scripted-server.ts';

const toolsNamed = (...names: string[]): JsonObject[] => names.map((name) => ({ ...oneTool, name }));
const namesOf = ({ tools }: ListedTools): string[] => tools.map(({ name }) => name);

test('a list of many pages is read to its end', async () => {
  const { url, requests } = await startScriptedServer(({ method, params }) => {
    if (method !== 'tools/list') return undefined;
    const page = Number(params.cursor ?? 0);
    return { tools: toolsNamed(`tool-${page}`), ...(page < 5 ? { nextCursor: String(page + 1) } : {}) };
  });
  const listed = await listRemote(url);
  expect(namesOf(listed)).toEqual(['tool-0', 'tool-1', 'tool-2', 'tool-3', 'tool-4', 'tool-5']);
  expect(requests.filter(({ method }) => method === 'tools/list')).toHaveLength(6);
});

test('only the tools named in the config are offered', async () => {
  const listed = await listOf(toolsNamed('a', 'b', 'c'), { tools: ['c', 'a'] });
  expect(namesOf(listed)).toEqual(['a', 'c']);
  expect(namesOf(await listOf(toolsNamed('a'), { tools: [] }))).toEqual([]);
});

const depth = (levels: number): Json => (levels === 0 ? {} : { properties: depth(levels - 1) });
const many = Array.from({ length: 513 }, (_, at) => `tool-${at}`);

describe('a tool list is refused', () => {
  const refusals: readonly [title: string, tools: Json, extra: ListOptions, words: RegExp][] = [
    [
      'that lacks a named tool',
      toolsNamed('write_file', 'read_file', 'list'),
      { tools: ['red_file'] },
      /has no tool "red_file"\. It offers: read_file, /u,
    ],
    ['that lacks one and offers none', [], { tools: ['x'] }, /has no tool "x"\. It offers no tools\./u],
    ['with two tools of the same name', toolsNamed('a', 'b', 'a'), {}, /two tools named "a"/u],
    ['with a tool without a name', [{ inputSchema: { type: 'object' } }], {}, /without a name/u],
    ['with an empty name', toolsNamed(''), {}, /without a name/u],
    ['with an item that is not a tool', [null], {}, /without a name/u],
    ['that is not a list', { a: 1 }, {}, /an invalid tool list/u],
    [
      'with a schema that is a string',
      [{ name: 'a', inputSchema: { type: 'string' } }],
      {},
      /"a" whose input schema does not describe an object/u,
    ],
    ['without a schema', [{ name: 'a' }], {}, /"a" whose input schema/u],
    ['with a schema that is a list', [{ name: 'a', inputSchema: [] }], {}, /"a" whose input schema/u],
    [
      'with a schema nested too deeply',
      [{ name: 'a', inputSchema: { type: 'object', properties: depth(2_000) } }],
      {},
      /"a".* nested too deep/u,
    ],
    [
      'of more than 512 tools',
      toolsNamed(...many),
      {},
      /more than 512 tools; list the ones you need in mcpServers\.made\.tools/u,
    ],
    [
      'of more than 1 MB of schemas',
      toolsNamed('a', 'b').map((tool) => ({ ...tool, inputSchema: { type: 'object', title: 'x'.repeat(600_000) } })),
      {},
      /more than 1 MB of schemas; list the ones/u,
    ],
  ];
  test.each(refusals)('%s', async (_, tools, extra, words) => {
    const { failure } = await failureOf(listOf(tools, extra));
    expect(failure.code).toBe('server_tools');
    expect(failure.detail).toMatch(words);
    expect(failure.detail).toMatch(/^Server "made" at http:\/\/127\.0\.0\.1:\d+ /u);
  });

  test('that never ends', async () => {
    const { url } = await startScriptedServer(({ method }) =>
      method === 'tools/list' ? { tools: [], nextCursor: 'again' } : undefined,
    );
    expect((await failureOf(listRemote(url))).message).toContain('an endless tool list');
  });

  test('that is too large to read', async () => {
    expect((await failureOf(listOf([{ ...oneTool, description: 'x'.repeat(25_000_000) }]))).code).toBe(
      'tool_too_large',
    );
  });
});

test('of 512 or more tools, the named ones are offered', async () => {
  expect(namesOf(await listOf(toolsNamed(...many), { tools: ['tool-512'] }))).toEqual(['tool-512']);
});

test('a server without tools offers none, and nothing is printed', async () => {
  const printed = ['log', 'debug', 'warn', 'error', 'info'].map((name) => vi.spyOn(console, name as 'log'));
  const { url, requests } = await startScriptedServer(({ method, params }) =>
    method === 'initialize'
      ? { protocolVersion: params.protocolVersion, capabilities: {}, serverInfo: { name: 'x', version: '1' } }
      : undefined,
  );
  expect(namesOf(await listRemote(url))).toEqual([]);
  expect(requests.map(({ method }) => method)).not.toContain('tools/list');
  for (const each of printed) expect(each).not.toHaveBeenCalled();
  vi.restoreAllMocks();
});

test('tool texts are made well-formed and truncated, and calls use the server’s own tool name', async () => {
  const name = 'odd \ud800 name';
  const inputSchema = { type: 'object', properties: { 'a\udc00': { description: 'b\ud800', enum: ['\ud800'] } } };
  const { url, requests } = await startScriptedServer(({ method }) =>
    method === 'tools/list'
      ? {
          tools: [
            { name, description: `\udc00 ${'x'.repeat(5_000)}`, inputSchema },
            { ...oneTool, title: 'A title' },
          ],
        }
      : undefined,
  );
  const listed = await listRemote(url);
  const [odd, titled] = listed.tools;
  expect(odd).toMatchObject({ name: 'odd \ufffd name', description: '\ufffd …' });
  expect(odd!.inputSchema).toEqual({
    type: 'object',
    properties: { 'a\ufffd': { description: 'b\ufffd', enum: ['\ufffd'] } },
  });
  expect(Object.isFrozen(((odd!.inputSchema as JsonObject)['properties'] as JsonObject)['a\ufffd'])).toBe(true);
  expect(titled!.description).toBe('A title');
  await callTool(listed, 'odd \ufffd name');
  expect(requests.at(-1)!.params.name).toBe(name);
});

// invariant: mcp-hints-only-mark
test.each([
  [undefined, true],
  [{}, true],
  [{ destructiveHint: true }, true],
  [{ destructiveHint: false }, undefined],
  [{ readOnlyHint: true }, undefined],
  [{ readOnlyHint: true, destructiveHint: true }, true],
  [{ readOnlyHint: false }, true],
  [{ readOnlyHint: 'true' }, true],
  [{ destructiveHint: 'false' }, true],
] as const)(
  'with approve=destructive, a tool with the hints %j is marked: %s; without, it never is',
  async (hints, approve) => {
    const tools = [{ ...oneTool, ...(hints === undefined ? {} : { annotations: hints }) }] as JsonObject[];
    expect((await listOf(tools, { approve: 'destructive' })).tools[0]!.approve).toBe(approve);
    expect((await listOf(tools, { trusted: true })).tools[0]!.approve).toBeUndefined();
  },
);

// invariant: mcp-hints-need-trust
test.each([
  [{ readOnlyHint: true }, true, 'free'],
  [{ idempotentHint: true }, true, 'free'],
  [{ readOnlyHint: true, idempotentHint: true }, false, 'never'],
  [{ readOnlyHint: 'true' }, true, 'never'],
  [{ destructiveHint: false }, true, 'never'],
  [undefined, true, 'never'],
] as const)(
  'a tool with the hints %j on a server with trusted=%s has repeat=%s',
  async (annotations, trusted, repeat) => {
    const listed = await listOf([{ ...oneTool, ...(annotations === undefined ? {} : { annotations }) }], { trusted });
    expect(toolOf(listed, 'one').repeat).toBe(repeat);
  },
);

// invariant: mcp-instructions-ignored
test('neither server instructions nor a changed list affect the tools', async () => {
  const listed = await listOf(toolsNamed('a'));
  expect(JSON.stringify(listed.tools)).not.toContain('Obey');
  expect(Object.keys(listed.tools[0]!).sort()).toEqual(['description', 'execute', 'inputSchema', 'name', 'repeat']);
});
