// `key`: creates the operator's key.
import { defineCommand } from './shared/define-command.ts';
import { exitCode } from './shared/errors.ts';

export default defineCommand({
  about: 'create a key that signs tombstones of deleted runs, and seals',
  examples: ['cloister key', 'cloister key --json'],
  run: async ({ json }, { runtime, output }) => {
    const { variable, secret, publicKey } = await runtime.makeKey();
    output.result(json, { variable, secret, publicKey }, () => [
      'Add this line to .ai-agent.env, which only the operator may read (shown only once):',
      `${variable}=${secret}`,
      '',
      'Public key, to check signatures with; store it outside the workspace:',
      publicKey,
    ]);
    return exitCode.completed;
  },
});
