// What is marked for approval in definitions: by code, by tools, by those who start an agent, and by the operator.
// invariants: marked-however-started, marked-with-children, template-inherits-marks, approval-asks-in-doubt
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTeam, defineTool } from 'cloister';
import type { Agent, AgentShortForms, ToolDefinition } from 'cloister';
import type { ApprovalMarks } from '#contracts';
import { addRequestTools, agentMarker, startableAgents } from '#core/orchestration';
import { withRecordedTools, withoutRequestTools } from '../../../src/core/orchestration/request-tools.ts';
import { agentFromTemplate } from '../../../src/core/orchestration/spawn-template.ts';

const define = (more: Partial<AgentShortForms> = {}, name = 'lead'): Agent =>
  defineAgent({ name, description: 'Works.', prompt: 'Work.', ...more });

const send = (approve?: ToolDefinition['approve'], name = 'send'): ToolDefinition => ({
  name,
  description: 'Sends.',
  inputSchema: { type: 'object' },
  ...(approve === undefined ? {} : { approve }),
  execute: () => 'sent',
});

const marksOf = ({ definition }: Agent): ApprovalMarks | undefined => definition.approve;

describe('a definition', () => {
  test('has no marks unless something is marked, and then is the one it was', () => {
    const plain = define({ tools: ['write_file'] });
    for (const approve of [[], {}] as const)
      expect(define({ tools: ['write_file'], approve }).digest).toBe(plain.digest);
    expect(define({ tools: ['write_file'], asks: false }).digest).toBe(plain.digest);
    expect(Object.keys(plain.definition)).not.toContain('approve');
    expect(Object.keys(plain.definition)).not.toContain('asks');
    expect(plain.permissions).toMatchObject({ approve: {}, asks: false });
    expect(define({ asks: true }).definition.asks).toBe(true);
  });

  test('is the same however its marks are written, and in whatever order', () => {
    const tools = ['write_file', 'read_file', 'mail'];
    const digest = (approve: AgentShortForms['approve']) => define({ tools, ...(approve && { approve }) }).digest;
    expect(digest('write_file')).toBe(digest(['write_file']));
    expect(digest(['write_file'])).toBe(digest({ write_file: {} }));
    expect(digest(['write_file', 'mail/send'])).toBe(digest(['mail/send', 'write_file']));
    expect(digest({ mail: { by: ['b', 'a'] } })).toBe(digest({ mail: { by: ['a', 'b'] } }));
    expect(digest(['write_file'])).not.toBe(digest(['mail']));
    expect(digest({ mail: { need: 2 } })).not.toBe(digest(['mail']));
  });

  test('marks what a tool says of itself, and a mark of the agent holds for all arguments', () => {
    const tools = [send(true), send(() => true, 'pay'), send(undefined, 'look')];
    expect(marksOf(define({ tools }))).toEqual({ send: {}, pay: { when: 'arguments' } });
    const approve = { pay: { by: ['ops'] }, look: {} };
    expect(marksOf(define({ tools, approve }))).toEqual({ send: {}, pay: { by: ['ops'] }, look: {} });
  });

  test('marks sources and servers by name, and one tool of them', () => {
    const source = { name: 'docs', list: async () => [] };
    const tools = [source, 'mail', 'files/read'];
    const approve = ['docs', 'docs/write', 'mail/send', 'files', 'files/read'];
    expect(Object.keys(marksOf(define({ tools, approve }))!)).toEqual([...approve].sort());
    expect(() => define({ tools, approve: ['files/raed'] })).toThrow('did you mean "files/read"?');
  });
});

describe('a sub-agent that is marked', () => {
  const child = define({ toolName: 'write.text' }, 'writer');
  const other = define({}, 'other');

  test.each(['writer', 'write.text', 'write_text'])('may be named %s, and is marked as models see it', (name) => {
    expect(marksOf(define({ agents: [child], approve: [name] }))).toEqual({ write_text: {} });
  });

  test('is asked about however it is started', () => {
    const spawning = { tools: ['spawn_agent'], spawns: { agents: [child, other] } };
    const agents = [child, other];
    const rule = { by: ['ops'], not: 'asker' } as const;
    expect(marksOf(define({ agents, gather: '1m', approve: { writer: rule, other: { need: 1 } } }))).toEqual({
      write_text: rule,
      other: { need: 1 },
      gather: { ...rule, need: 1 },
    });
    expect(marksOf(define({ ...spawning, approve: ['writer'] }))).toEqual({ spawn_agent: {} });
    expect(marksOf(define({ ...spawning, agents, approve: ['write.text'] }))).toEqual({
      write_text: {},
      spawn_agent: {},
    });
    expect(marksOf(define({ ...spawning, agents: [other], approve: { spawn_agent: rule } }))).toEqual({
      spawn_agent: rule,
    });
  });
});

describe('a function that decides by the arguments', () => {
  const decide = (tool: ToolDefinition, args: object) => {
    const { approve } = define({ tools: [tool] }).resources.tools[0]!;
    return typeof approve === 'function' ? approve(args as never) : approve;
  };
  const inputSchema = z.object({ amount: z.number(), currency: z.string().default('EUR') });

  test('gets what the library makes of them', () => {
    const pay = defineTool({
      name: 'pay',
      inputSchema,
      approve: ({ amount, currency }) => amount > 100 && currency === 'EUR',
      execute: () => 'paid',
    });
    expect([decide(pay, { amount: 101 }), decide(pay, { amount: 100 })]).toEqual([true, false]);
    expect(decide(pay, { amount: 101, currency: 'USD' })).toBe(false);
  });

  test('asks when in doubt', () => {
    const late = inputSchema.refine(async () => true);
    const never = () => false;
    expect(decide({ ...send(never), inputSchema: late }, { amount: 1 })).toBe(true);
    expect(decide({ ...send(never), inputSchema }, { amount: 'x' })).toBe(true);
    expect(decide(send(never), {})).toBe(false);
    const wrong = [
      () => Promise.resolve(false),
      () => Promise.reject(new Error('x')),
      () => undefined,
      () => 0,
      () => '',
    ];
    for (const approve of wrong) expect(decide(send(approve as never), {})).toBe(true);
    const throws = (): boolean => {
      throw new Error('x');
    };
    expect(decide(send(throws), {})).toBe(true);
  });
});

describe('tools that come with a request', () => {
  const lead = define({ tools: ['write_file'], approve: ['write_file'] });

  test('bring their marks, which are gone without them and known from the record', () => {
    const given = addRequestTools(lead, [send(true), send(() => false, 'pay'), send(undefined, 'look')]);
    expect(marksOf(given)).toEqual({ write_file: {}, send: {}, pay: { when: 'arguments' } });
    expect(withoutRequestTools(given).digest).toBe(lead.digest);
    expect(withRecordedTools(lead, given.definition).digest).toBe(given.digest);
  });

  test('are marked by the operator before they are there', () => {
    const rule = { by: ['ops'] };
    const marked = agentMarker(() => ({ send: rule }))(lead);
    expect(marked.digest).toBe(lead.digest);
    const given = addRequestTools(marked, [send()]);
    expect(marksOf(given)).toEqual({ write_file: {}, send: rule });
    expect(withRecordedTools(marked, given.definition).digest).toBe(given.digest);
  });
});

describe('an agent that a model defines', () => {
  const parent = define({
    tools: ['spawn_agent', 'write_file', 'read_file', 'mail', send(() => true)],
    spawns: { agents: ['self'], templates: true },
    approve: { write_file: { by: ['ops'] }, 'mail/send': {} },
    asks: true,
  });

  const template = (tools: readonly string[], more: object = {}): Agent => {
    const made = agentFromTemplate('helper', { prompt: 'P', tools, ...more }, parent, parent.children.spawns!);
    if (!('agent' in made)) throw new Error('refused');
    return made.agent;
  };

  test('has the marks of its parent for each tool that it gets, whatever the template says', () =>
    fc.assert(
      fc.property(
        fc.subarray(['write_file', 'read_file', 'mail', 'send']),
        fc.constantFrom({}, { approve: [] }, { approve: {}, asks: true }, { approve: null }),
        (tools, more) => {
          const made = template(tools, more);
          const expected = Object.entries(marksOf(parent)!).filter(([name]) => tools.includes(name.split('/')[0]!));
          expect(marksOf(made) ?? {}).toEqual(Object.fromEntries(expected));
          expect(made.definition.asks).toBeUndefined();
        },
      ),
    ));
});

describe('the marks of the operator', () => {
  const marks: ApprovalMarks = { write_file: { by: ['ops'] }, 'mail/send': {}, unknown: {} };
  const mark = agentMarker(() => marks);
  const leaf = define({ tools: ['write_file', 'spawn_agent'], spawns: { agents: ['self'] } }, 'leaf');
  const plain = define({ tools: ['read_file'] }, 'plain');
  const middle = define({ agents: [leaf, plain], compaction: 'a/b' }, 'middle');
  const root = define({ agents: [middle], tools: ['spawn_agent'], spawns: { agents: [leaf] } }, 'root');
  const team = defineTeam({ name: 'crew', agents: [leaf, plain], coordinator: define({ asks: true }, 'head') });

  /** Each agent of the tree once. */
  const tree = (agent: Agent): readonly Agent[] => {
    const all = new Set([agent]);
    for (const one of all) for (const child of startableAgents(one)) all.add(child);
    return [...all];
  };

  test('reach every agent that has the tool, at every depth, and change the definition of no other', () => {
    const marked = mark(root);
    const digests = (agent: Agent) => new Map(tree(agent).map(({ name, digest }) => [name, digest]));
    const [before, after] = [digests(root), digests(marked)];
    expect([...after.keys()]).toEqual([...before.keys()]);
    expect([...after].filter(([name, digest]) => before.get(name) !== digest).map(([name]) => name)).toEqual(['leaf']);
    for (const one of tree(marked))
      expect(marksOf(one)).toEqual(one.name === 'leaf' ? { write_file: { by: ['ops'] } } : undefined);
    expect(marked.children.agents[0]!.children.compactor).toBe(middle.children.compactor);
    expect(marked.children.spawnable[0]).toBe(marked.children.agents[0]!.children.agents[0]);
  });

  test('give the same agent each time, and an agent that has them already stays as it is', () => {
    expect(mark(root)).toBe(mark(root));
    expect(mark(mark(root))).toBe(mark(root));
    expect(agentMarker(() => ({}))(root)).toBe(root);
    expect(agentMarker(() => marks)(mark(root)).digest).toBe(mark(root).digest);
  });

  test('reach the members of a team, whose rules name the marked ones', () => {
    const marked = mark(team);
    const { members, rules, coordinator } = marked.team!;
    expect(members.map(({ name }) => name)).toEqual(team.team!.members.map(({ name }) => name));
    expect(rules.members).toEqual({ leaf: mark(leaf).digest, plain: plain.digest });
    expect(marked.definition.team).toEqual(rules);
    expect(rules.coordinator).toEqual({ plans: coordinator!.plans.digest, answers: coordinator!.answers.digest });
    expect(rules.coordinator).toEqual(team.team!.rules.coordinator);
    expect(coordinator!.answers.definition.asks).toBeUndefined();
    expect(marked.digest).not.toBe(team.digest);
  });
});
