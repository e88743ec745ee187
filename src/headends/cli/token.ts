// `token`: creates a token for a client of `serve`.
import { defineCommand } from './shared/define-command.ts';
import { exitCode } from './shared/errors.ts';
import { requiredArgument } from './shared/options.ts';

export default defineCommand({
  about: 'create a token and its token-file entry',
  examples: ['cloister token ci', 'cloister token ci --json'],
  arguments: { name: requiredArgument('name of the client') },
  run: async ({ name, json }, { server, output }) => {
    const { token, sha256 } = await server.makeToken(name);
    const entry = { name, sha256 };
    output.result(json, { token, entry }, () => [
      `Token (shown only once): ${token}`,
      '',
      'Entry for the token file ({ "tokens": [ … ] }):',
      JSON.stringify(entry),
    ]);
    return exitCode.completed;
  },
});
