// The agents of the tests of signals, the same in every process.
import { defineAgent } from 'cloister';
import type { Agent } from 'cloister';
import { rehearse } from 'cloister/testkit';

export const signalAgents = (models = rehearse([{ reply: 'Noted.' }]).model): readonly Agent[] => [
  defineAgent({ name: 'clerk', description: 'Takes notes.', prompt: 'Take notes.', models: [models] }),
];
