// For services whose tests do not ask for what only the studio shows.
import type { RunId } from '#base';
import type { AgentService } from '#contracts';

const ref = { agent: 'writer', name: 'trip' };
const conversation = { ...ref, turns: 1, updatedAt: 1, attached: ['scout'] };
const turn = {
  run: 'r1' as RunId,
  agent: 'writer',
  goal: 'Go.',
  startedAt: 1,
  endedAt: null,
  spent: null,
  status: 'running',
  output: '',
  versions: ['r0' as RunId, 'r1' as RunId],
} as const;

const noDeletion = { tombstones: [], archives: [], conversations: [], left: [], otherFiles: [], space: null };

export const noStudio: Pick<
  AgentService,
  'accounts' | 'conversations' | 'deadLetters' | 'retryRun' | 'storage' | 'topology'
> = {
  storage: {
    delete: async (_caller, run) => [run as RunId],
    asOperator: () => ({
      export: async () => Buffer.from('archive'),
      archive: async () => noDeletion,
      restore: async () => undefined,
      forget: async () => noDeletion,
    }),
  },
  accounts: {
    own: async ({ name }) => ({
      name,
      operator: false,
      sees: 'answers',
      watchOnly: false,
      budget: { tokens: 1000 },
      allowance: { per: 'day', tokens: { limit: 10, used: 1 }, usd: null, resetsAt: 1 },
    }),
    all: async () => [
      {
        name: 'ana',
        operator: true,
        sees: 'contents',
        watchOnly: false,
        budget: null,
        allowance: null,
        agents: ['writer'],
        requestsPerMinute: 5,
        running: null,
        runningNow: 1,
        may: null,
        answers: ['*'],
        expiresAt: 1,
      },
    ],
  },
  conversations: {
    list: async () => [conversation],
    show: async () => ({
      ...conversation,
      turnList: [turn],
      more: true,
      checkpoints: [],
      branches: [{ ...ref, checkpoint: 'c1' }],
    }),
    delete: async () => undefined,
  },
  topology: async () => ({
    agents: [
      {
        name: 'writer',
        description: 'Writes.',
        models: ['openai/gpt-5'],
        tools: ['read_output'],
        agents: ['scout'],
        team: false,
        topics: ['news'],
        messages: null,
        approve: ['mail/send'],
        budget: { tokens: 5 },
      },
    ],
    edges: [{ from: 'writer', to: 'scout', kind: 'calls' }],
    worstCase: { agents: 2, depth: 1, tokens: null, usd: 1.5 },
    warnings: ['writer: no timeout'],
  }),
  deadLetters: async () => ({ letters: [], read: 1, more: true, damaged: [] }),
  retryRun: () => Promise.reject(new Error('not used')),
};
