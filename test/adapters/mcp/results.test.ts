import { expect, test } from 'vitest';
import type { ListedTools } from '#contracts';
import { callTool, failureOf } from '../../conformance/tool-source.ts';
import { listRemote, startScriptedServer } from './scripted-server.ts';

/** A tool that returns this. */
const toolReturning = async (result: object): Promise<ListedTools> => {
  const { url } = await startScriptedServer(({ method }) => (method === 'tools/call' ? result : undefined));
  return listRemote(url);
};

const text = (value: string): object => ({ type: 'text', text: value });
const image = { type: 'image', mimeType: 'image/png', data: Buffer.alloc(1_234).toString('base64') };
const blob = { uri: 'file:///a.bin', blob: Buffer.alloc(5).toString('base64') };

test.each<[string, object, unknown]>([
  ['texts, joined by line', { content: [text('a'), text('b\n')] }, 'a\nb\n'],
  ['nothing', { content: [] }, ''],
  ['an image', { content: [image] }, '[image image/png, 1,234 bytes: not shown]'],
  [
    'sound',
    { content: [{ ...image, type: 'audio', mimeType: 'audio/wav' }] },
    '[audio audio/wav, 1,234 bytes: not shown]',
  ],
  ['a resource of text', { content: [{ type: 'resource', resource: { uri: 'file:///a', text: 'inside' } }] }, 'inside'],
  [
    'a resource of bytes',
    { content: [{ type: 'resource', resource: blob }] },
    '[resource file:///a.bin, 5 bytes: not shown]',
  ],
  [
    'a resource with its type',
    { content: [{ type: 'resource', resource: { ...blob, mimeType: 'font/ttf' } }] },
    '[resource font/ttf, 5 bytes: not shown]',
  ],
  [
    'a link',
    { content: [{ type: 'resource_link', uri: 'file:///b', name: 'b' }] },
    '[resource b, file:///b: not shown]',
  ],
  ['text and structured content', { content: [text('a')], structuredContent: { a: 1 } }, 'a'],
  ['only structured content', { content: [], structuredContent: { a: [1] } }, { type: 'json', value: { a: [1] } }],
  [
    'structured content and an image',
    { content: [image], structuredContent: { a: 1 } },
    '{"a":1}\n[image image/png, 1,234 bytes: not shown]',
  ],
])('a tool may return %s', async (_, result, shown) => {
  expect(await callTool(await toolReturning(result), 'one')).toEqual(shown);
});

test.each<[string, object, string | undefined]>([
  ['text', { content: [text('no'), text('luck')], isError: true }, 'no\nluck'],
  ['structured content', { content: [], structuredContent: { why: 1 }, isError: true }, '{"why":1}'],
  ['nothing', { content: [], isError: true }, undefined],
])('a tool error is reported with its %s', async (_, result, detail) => {
  const { failure } = await failureOf(callTool(await toolReturning(result), 'one'));
  expect(failure).toEqual({ code: 'tool_failed', ...(detail === undefined ? {} : { detail }) });
});

test('a malformed result fails the tool call', async () => {
  const listed = await toolReturning({ content: [{ type: 'hologram' }] });
  expect((await failureOf(callTool(listed, 'one'))).failure).toEqual({
    code: 'tool_failed',
    detail: 'The server returned an invalid tool result.',
  });
});

test('output schemas of a server are not compiled, and a result that does not match is still shown', async () => {
  const { url } = await startScriptedServer(({ method }) => {
    if (method === 'tools/call') return { content: [text('7')], structuredContent: { wrong: true } };
    if (method !== 'tools/list') return undefined;
    const outputSchema = { type: 'object', required: ['right'], properties: { right: { pattern: '(' } } };
    return { tools: [{ name: 'one', inputSchema: { type: 'object' }, outputSchema }] };
  });
  expect(await callTool(await listRemote(url), 'one')).toBe('7');
});
