import { describe, expect, test } from 'vitest';
import { defineAgent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import {
  checkServedAgents,
  checkHost,
  hostsFor,
  isLoopback,
  listenUrl,
} from '../../../src/app/serve/check-server-setup.ts';

const agents = ['lead', 'models'].map((name) =>
  defineAgent({ name, description: 'd', prompt: 'p', models: [rehearse([{ reply: 'Yes.' }])] }),
);

describe('agents to serve', () => {
  test.each<[readonly string[], string]>([
    [[], 'no agent to serve'],
    [['lead', 'laed'], '"laed" is not one of: lead, models.'],
    [['models'], 'clashes with a reserved URL'],
    [['lead', 'lead'], 'twice'],
  ])('%j are refused', (names, words) => {
    expect(() => checkServedAgents(names, agents, ['models'])).toThrow(words);
  });

  test.each([
    ['x.y', 'x.y', '"one" and "two" have the same tool name, "x.y".'],
    ['x.y', 'x_y', 'the tool names of "one" ("x.y") and "two" ("x_y") are the same to models: "x_y".'],
    ['two', undefined, '"one" and "two" have the same tool name, "two".'],
  ])('with the tool names %s and %s are refused', (first, second, words) => {
    const common = { description: 'd', prompt: 'p' };
    const two = [
      defineAgent({ ...common, name: 'one', toolName: first }),
      defineAgent({ ...common, name: 'two', ...(second === undefined ? {} : { toolName: second }) }),
    ];
    expect(() => checkServedAgents(['one', 'two'], two, [])).toThrow(
      `agents: ${words} Set another \`toolName\` in one of them.`,
    );
    expect(() => checkServedAgents(['one'], two, [])).not.toThrow();
  });

  test('that exist, once each, with distinct names are accepted', () => {
    expect(() => checkServedAgents(['lead'], agents, ['models'])).not.toThrow();
  });
});

describe('addresses', () => {
  test.each(['127.0.0.1', '127.8.9.1', '::1', 'localhost'])('%s is reachable only from this machine', (host) => {
    expect(isLoopback(host)).toBe(true);
    expect(() => checkHost(host, false)).not.toThrow();
  });

  test.each([
    '0.0.0.0',
    '::',
    '10.0.0.1',
    '127.0.0.1.example.com',
    'localhost.example.com',
    '',
    '128.0.0.1',
    '::ffff:10.0.0.1',
  ])('"%s" is reachable by others, and needs `expose`', (host) => {
    const words = expect.stringContaining('--expose (in code: expose: true)');
    expect(() => checkHost(host, false)).toThrow(expect.objectContaining({ code: 'options_invalid', message: words }));
    expect(() => checkHost(host, true)).not.toThrow();
  });

  test('the accepted host names are this machine’s names, the server’s own address and those the operator adds, and no others', () => {
    expect(hostsFor('127.0.0.1')).toEqual(['localhost', '127.0.0.1', '[::1]', '127.0.0.1']);
    expect(hostsFor('10.0.0.1', ['agents.example.com'])).toEqual([
      'localhost',
      '127.0.0.1',
      '[::1]',
      '10.0.0.1',
      'agents.example.com',
    ]);
    expect(hostsFor('0.0.0.0')).not.toContain('0.0.0.0');
    expect([listenUrl('::1', 80), listenUrl('0.0.0.0', 80), listenUrl('::', 1)]).toEqual([
      'http://[::1]:80',
      'http://127.0.0.1:80',
      'http://127.0.0.1:1',
    ]);
  });
});
