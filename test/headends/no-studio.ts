// For services whose tests do not ask for what only the studio shows.
import type { AgentService } from '#contracts';

export const noStudio: Pick<AgentService, 'accounts'> = {
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
};
