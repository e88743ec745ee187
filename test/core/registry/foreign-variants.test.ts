// Hundreds of files of other runtimes with odd YAML: none gives an agent more than it names, and what is written of it is valid,
// or the report says why not.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseYaml } from '#adapters/yaml';
import { toAgentName } from '#base';
import { foreignAgentText, importAgentFile, parseAgentFile, readForeignAgent } from '#core/registry';
import {
  aiVariant,
  claudeVariant,
  copilotVariant,
  toolsHere,
  variantAliases as modelAliases,
  variantServers,
} from '../../fixtures/foreign-variants.ts';
import type { ForeignVariant } from '../../fixtures/foreign-variants.ts';
import { testRuns } from '../../test-seed.ts';

const ports = {
  parseYaml,
  modelAliases,
  hasServer: (name: string) => variantServers.includes(name),
  findAgent: (name: string) => (name === 'helper' ? name : null),
};
const builtins = ['read_file', 'write_file', 'list_files'];
const hasTool = (name: string) => builtins.includes(name) || ports.hasServer(name.split('/')[0]!);
const runs = { numRuns: testRuns(1_500) };

type Runtime = keyof typeof toolsHere;
type Keys = {
  readonly tools?: readonly string[] | undefined;
  readonly agents?: readonly string[] | undefined;
  readonly models?: readonly string[] | undefined;
};

/** Nothing but what the file names, under the names that it has here. */
const expectNotWider = (keys: Keys, { tools, denied, agents, models }: ForeignVariant, runtime: Runtime): void => {
  const named = tools.map((tool) => toolsHere[runtime][tool]);
  // What forbids a part of a tool forbids the tool.
  const forbidden = denied.map((tool) => toolsHere[runtime][tool.replace(/\(.*$/u, '')]);
  for (const tool of keys.tools ?? []) {
    expect(named).toContain(tool);
    expect(forbidden).not.toContain(tool);
    expect(forbidden).not.toContain(tool.split('/')[0]);
    if (!tool.includes('/')) expect(forbidden.filter((one) => one?.startsWith(`${tool}/`))).toEqual([]);
  }
  for (const agent of keys.agents ?? []) expect(agents).toContain(agent);
  const known = models.flatMap((model) => [
    ...(model.includes('/') ? [model] : []),
    ...(runtime === 'claude' && model.startsWith('claude-') ? [`anthropic/${model}`] : []),
    ...(Object.hasOwn(modelAliases, model) ? [modelAliases[model as keyof typeof modelAliases]] : []),
  ]);
  for (const model of keys.models ?? []) expect(known).toContain(model);
};

const withLineFeeds = (text: string): string => text.replace(/^\uFEFF/u, '').replaceAll('\r\n', '\n');

// invariants: import-never-widens, import-guesses-no-model, lenient-no-second-key
test.each<[Runtime, fc.Arbitrary<ForeignVariant>]>([
  ['claude', claudeVariant],
  ['copilot', copilotVariant],
])(
  'an agent of %s has nothing that its file does not name, and what is written of it is valid and stays',
  (runtime, one) =>
    fc.assert(
      fc.property(one, (variant) => {
        const { path, text, prompt } = variant;
        const agent = readForeignAgent(path, text, ports);
        expectNotWider(agent.keys, variant, runtime);
        expect(agent.prompt).toBe(prompt);
        const allowed = ['description', 'usage', 'models', 'tools', 'agents', 'maxToolTurns', 'reasoning'];
        expect(Object.keys(agent.keys).filter((key) => !allowed.includes(key))).toEqual([]);

        // Line ends and the mark at the start say nothing about the agent.
        const plain = readForeignAgent(path, withLineFeeds(text), ports);
        expect([plain.keys, plain.prompt, plain.notes]).toEqual([agent.keys, agent.prompt, agent.notes]);

        const written = foreignAgentText(agent);
        const { file, problems } = parseAgentFile('worker.ai', written, { parseYaml });
        expect(problems).toEqual([]);
        expect(file!.prompt).toBe(prompt);
        expect(importAgentFile('worker.ai', written, { parseYaml, modelAliases, hasTool })).toEqual({
          text: written,
          notes: [],
        });

        // Used as it is, it means what it would mean imported with all servers and agents.
        const everything = { ...ports, hasServer: () => true, findAgent: toAgentName };
        const imported = parseAgentFile('worker.ai', foreignAgentText(readForeignAgent(path, text, everything)), {
          parseYaml,
        });
        const inPlace = parseAgentFile(path, text, { parseYaml, modelAliases });
        expect(inPlace.problems).toEqual(imported.problems);
        expect(inPlace.file?.frontmatter).toEqual(imported.file?.frontmatter);
        expect(inPlace.file?.prompt).toBe(imported.file?.prompt);
      }),
      runs,
    ),
);

// invariants: import-never-widens, import-guesses-no-model
test('an .ai file of another runtime gets nothing more, stays when it is imported again, and is valid or the report says why not', () =>
  fc.assert(
    fc.property(aiVariant, (variant) => {
      const importPorts = { parseYaml, modelAliases, hasTool };
      const { text, notes } = importAgentFile('worker.ai', variant.text, importPorts);
      const { file, broken, problems } = parseAgentFile('worker.ai', text, { parseYaml });
      const { tools, agents, models, spawns } = (file ?? broken)?.frontmatter ?? {};
      expectNotWider({ tools, models, agents: agents?.map(({ agent }) => agent) }, variant, 'ai');
      expect(spawns).toBeUndefined();
      const said = notes.map(({ message }) => message);
      expect(problems.filter(({ message }) => !said.includes(message))).toEqual([]);
      if (file !== null) expect(file.prompt).toBe(variant.prompt);
      const again = importAgentFile('worker.ai', text, importPorts);
      expect(again.text).toBe(text);
      expect(again.notes.map(({ message }) => message)).toEqual(problems.map(({ message }) => message));
    }),
    runs,
  ));

test('the variants reach what they are for: valid and invalid YAML, every tool, aliases, models without one', () => {
  const sample = fc.sample(claudeVariant, { numRuns: 500 });
  const read = sample.map(({ path, text }) => readForeignAgent(path, text, ports));
  const count = (found: (agent: (typeof read)[number], at: number) => boolean): number => read.filter(found).length;
  const isLenient = ({ notes }: (typeof read)[number]) => notes.some(({ message }) => message.includes('line by line'));
  expect(count(isLenient)).toBeGreaterThan(100);
  expect(count((agent) => !isLenient(agent))).toBeGreaterThan(50);
  for (const tool of ['read_file', 'write_file', 'list_files', 'tracker/search', 'notes'])
    expect(count(({ keys }) => (keys['tools'] as readonly string[]).includes(tool))).toBeGreaterThan(10);
  expect(count((agent) => isLenient(agent) && (agent.keys['tools'] as readonly string[]).length > 0)).toBeGreaterThan(
    20,
  );
  expect(count(({ keys }) => keys['agents'] !== undefined)).toBeGreaterThan(10);
  for (const words of ['says so', 'No model is known here', 'names no tools', 'in whole or in part'])
    expect(count(({ notes }) => notes.some(({ message }) => message.includes(words)))).toBeGreaterThan(10);
});
