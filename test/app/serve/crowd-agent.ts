// The agent that the crowd asks: it repeats everything it was shown, so an answer reveals whose prompt it saw.
import { defineAgent, hashToken } from 'cloister';
import type { Agent, TokenEntry } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { toolName } from './crowd-tools.ts';

export const crowdAgent = (): Agent =>
  defineAgent({
    name: 'echo',
    description: 'Repeats what it is shown.',
    prompt: 'Repeat what you are shown.',
    limits: { maxRetries: 0 },
    models: [
      rehearse(
        [
          {
            reply: ({ messages, goal, tools, turn }) => {
              const word = wordsIn(goal).at(-1) ?? '';
              const common = { usage: usageOf(word), delayMs: 1 };
              // The ids of these calls are the same in all runs.
              if (tools.includes(toolName) && turn === 1)
                return { ...common, calls: [{ tool: toolName, args: { word } }] };
              return { ...common, text: `I see ${[...new Set(wordsIn(JSON.stringify(messages)))].join(' ')} .` };
            },
          },
        ],
        { keepRequests: false, clock: { timer: nextTurn } },
      ),
    ],
  });

/** After one event-loop turn, so that other callers interleave. */
const nextTurn = (_ms: number, due: () => void): (() => void) => {
  const turn = setImmediate(due);
  return () => clearImmediate(turn);
};

export const wordOf = (caller: number, asked: number): string => `s${caller}q${asked}z`;

export const wordsIn = (text: string): readonly string[] => text.match(/\bs\d+q\d+z\b/gu) ?? [];

export const ownerOf = (word: string): number => Number(/\d+/u.exec(word)?.[0]);

/** Different for each word. */
export const usageOf = (word: string): { readonly input: number; readonly output: number } => {
  const [caller = 0, asked = 0] = (word.match(/\d+/gu) ?? []).map(Number);
  return { input: 1_000 + caller, output: 10 + asked };
};

export const tokensFor = (callers: number): readonly { readonly token: string; readonly entry: TokenEntry }[] =>
  Array.from({ length: callers }, (_, caller) => {
    const token = `clo_caller-${caller}`;
    return { token, entry: { name: `caller-${caller}`, sha256: hashToken(token) } };
  });
