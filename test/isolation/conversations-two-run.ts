// Conversations, two worlds at a time: they differ in conversations that no other agent was attached to, and in the files and tool
// calls of an agent that takes turns in a shared one. What others are shown is compared.
import fc from 'fast-check';
import { sha256 } from '#base';
import { defineAgent, openCloister } from 'cloister';
import type { Agent, Cloister } from 'cloister';
import { countingIds, rehearse } from 'cloister/testkit';
import type { RequestView, ScriptedReply } from 'cloister/testkit';

/** One event that happens in both worlds: only private texts differ. */
export type Act =
  | { readonly do: 'private'; readonly nth: number; readonly context: boolean }
  /** The private agent takes a turn in the conversation `open`: what it says is the same in both worlds, what it does is not. */
  | { readonly do: 'quiet' }
  /** The watched agent takes a turn in a conversation whose content differs. */
  | { readonly do: 'hidden'; readonly nth: number }
  | { readonly do: 'open'; readonly words: string }
  | { readonly do: 'watched'; readonly words: string }
  | { readonly do: 'attached'; readonly words: string }
  | { readonly do: 'checkpoint' | 'back' | 'branch' | 'delete' | 'export' };

const words = fc.stringMatching(/^[a-z ]{1,20}$/u).map((text) => `say ${text}`);
export const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ do: fc.constant('private' as const), nth: fc.nat(), context: fc.boolean() }),
  fc.record({ do: fc.constant('hidden' as const), nth: fc.nat() }),
  fc.record({ do: fc.constant('quiet' as const) }),
  fc.record({ do: fc.constantFrom('open' as const, 'watched' as const, 'attached' as const), words }),
  fc.record({
    do: fc.constantFrom(
      'checkpoint' as const,
      'back' as const,
      'branch' as const,
      'delete' as const,
      'export' as const,
    ),
  }),
);

/** Everything the watched agents' models were shown, in a world whose private content depends on a salt. */
export const observeWorld = async (acts: readonly Act[], salt: string): Promise<readonly string[]> => {
  const seen: string[] = [];
  const model = rehearse([
    {
      reply: (request) => {
        const prompt = JSON.stringify(request.messages);
        const isPrivate = request.agent === 'private' || request.goal.startsWith('secret');
        if (!isPrivate) seen.push(`${request.agent ?? ''}: ${prompt}`);
        return replyTo(request, sha256(isPrivate ? salt + prompt : prompt).slice(0, 12), isPrivate);
      },
    },
  ]);
  await using cloister = await openCloister({ store: 'memory', agents: agentsWith(model), ids: countingIds() });
  const ids: { newest?: string } = {};
  for (const one of acts) await play(cloister, one, salt, ids);
  return seen;
};

/** Looks around, writes a file, and finds a long text; then answers. What it writes depends on every byte it was shown. */
const replyTo = ({ agent, toolResults }: RequestView, digest: string, isPrivate: boolean): string | ScriptedReply => {
  if (toolResults.length > 0) return isPrivate ? 'Noted.' : `${agent ?? ''} says ${digest}`;
  const list = { tool: 'list_files', args: {} };
  if (agent === 'helper') return { calls: [list] };
  const write = { tool: 'write_file', args: { path: `${digest}.txt`, content: `${agent ?? ''} ${digest}` } };
  const help = agent === 'watched' ? [{ tool: 'helper', args: { prompt: 'Look around.' } }] : [];
  return { calls: [list, { tool: 'find', args: { words: digest } }, write, ...help] };
};

const find = {
  name: 'find',
  description: 'Finds.',
  inputSchema: { type: 'object' as const },
  repeat: 'free' as const,
  execute: ({ words: text }: { readonly words?: unknown }) => `${String(text)} `.repeat(40),
};

const agentsWith = (model: ReturnType<typeof rehearse>): readonly Agent[] => {
  const common = {
    description: 'Talks.',
    models: [model],
    limits: { contextTokensMax: 4_000, maxRetries: 0, max_tokens_per_step: 75 },
  };
  const helper = defineAgent({ ...common, name: 'helper', prompt: 'You help.', tools: ['list_files'] });
  return ['private', 'watched', 'guest'].map((name) =>
    defineAgent({
      ...common,
      name,
      prompt: `You are ${name}.`,
      tools: [find, 'write_file', 'list_files'],
      ...(name === 'watched' ? { agents: [helper] } : {}),
    }),
  );
};

const secretOf = (salt: string, nth: number): string => `secret ${sha256(`${salt} ${nth}`).slice(0, 8 + (nth % 40))}`;

const play = async (cloister: Cloister, act_: Act, salt: string, ids: { newest?: string }): Promise<void> => {
  const turn = async (agent: string, text: string, options: object = {}): Promise<string> => {
    const session = await cloister.runTurn(agent, text, options);
    return (await session.outcome).run;
  };
  const open = { agent: 'watched', name: 'open' };
  const held = { agent: 'private', name: 'main' };
  try {
    switch (act_.do) {
      case 'private':
        // Any number of times, with context or without: its own conversation, and one of the same name as another's.
        for (let times = 0; times <= Number.parseInt(sha256(`${salt} times ${act_.nth}`)[0]!, 16) % 3; times++)
          await turn('private', secretOf(salt, act_.nth + times), {
            conversation: act_.nth % 2 === 0 ? 'main' : 'open',
            ...(act_.context ? { context: [secretOf(salt, act_.nth + 1)] } : {}),
          });
        return;
      case 'quiet':
        await cloister.conversations.attach(open, 'private');
        return void (await turn('private', 'Look.', { conversation: open }));
      case 'hidden':
        return void (await turn('watched', secretOf(salt, act_.nth), { conversation: 'hidden' }));
      case 'open':
        return void (await turn('watched', act_.words, { conversation: 'open' }));
      case 'watched':
        return void (await turn('watched', act_.words));
      case 'attached':
        await cloister.conversations.attach(open, 'guest');
        return void (await turn('guest', act_.words, { conversation: open }));
      case 'checkpoint': {
        const run = await turn('private', secretOf(salt, 7));
        ids.newest = (await cloister.checkpoints.create(run)).id;
        return;
      }
      case 'back':
        return void (ids.newest === undefined || (await cloister.checkpoints.restore(ids.newest)));
      case 'branch':
        return void (
          ids.newest === undefined || (await cloister.checkpoints.branch(ids.newest, { name: `other-${salt.length}` }))
        );
      case 'delete':
        return await cloister.conversations.delete(held, { force: true });
      case 'export':
        return void (await cloister.conversations.export(held));
    }
  } catch (error) {
    // A refused action is reported only to the agent that asked.
    if ((error as { code?: string }).code === undefined) throw error;
  }
};
