// The agents of `workers.ts` with other prompts, as after an upgrade.
import { defineAgent } from 'cloister';
import { rehearse } from 'cloister/testkit';

const models = [rehearse([{ reply: 'Done otherwise.' }], { keepRequests: false })];

export default ['clerk', 'asker', 'crasher'].map((name) =>
  defineAgent({ name, description: 'Works.', prompt: 'Work otherwise.', models }),
);
