import { describe, expect, test } from 'vitest';
import { agent, always, ask, call, lines } from '../session/driver.ts';

describe('a spawned agent', () => {
  test('answers to the mailbox of its parent', async () => {
    const analyst = agent('analyst', {});
    const lead = agent('lead', {
      tools: ['spawn_agent', 'receive_message', 'send_message', 'list_spawned_agents', 'shutdown_agent'],
      spawns: { agents: [analyst] },
    });
    const { audit, outcome } = await ask(lead, {
      says: [
        ...lines({
          lead: [
            call('spawn_agent', { agent_id: 'analyst', initial_message: 'Look at the data' }),
            call('receive_message', {}),
            call('send_message', { to: 'analyst', message: 'And the rest?' }),
            call('receive_message', {}),
            call('list_spawned_agents', {}),
            call('shutdown_agent', { sub_agent_id: 'analyst' }),
          ],
        }),
        always('Looked.', 'analyst'),
        always('Done.', 'lead'),
      ],
    });
    expect(outcome.status).toBe('completed');
    expect(audit.ok).toBe(true);
  });
});
