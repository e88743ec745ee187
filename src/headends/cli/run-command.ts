// `run` and `demo`: start a run and show it.
import { formatConversation, fullConversation } from './shared/resolve-name.ts';
import type { CommandContext } from './shared/command-context.ts';
import type { ExitCode } from './shared/errors.ts';
import { followRun } from './shared/follow-run.ts';
import { readContext, readSchema } from './shared/read-input.ts';
import type { RunRequest } from './shared/request.ts';
import { shellWord } from './shared/next-commands.ts';

export const runCommand = async (request: RunRequest, context: CommandContext): Promise<ExitCode> => {
  const { workspace, agents, agent, budget, input, conversation } = request;
  const isDemo = request.command === 'demo';
  const config = request.config === null ? {} : { config: request.config };
  const schema = request.schema === null ? {} : { schema: await readSchema(request.schema, context.world) };
  const withContext =
    request.context.length === 0 ? {} : { context: await readContext(request.context, context.world) };
  const options = { budget, ...schema, ...withContext };
  const inFull = conversation === null ? null : fullConversation(conversation, agent);
  return followRun(
    {
      request,
      isDemo,
      open: () => context.world.open({ workspace, agents, agent, demo: isDemo, ...config }),
      begin: (cloister) =>
        conversation === null
          ? cloister.run(agent, input, options)
          : cloister.runTurn(agent, input, { ...options, conversation }),
      ...(inFull === null
        ? {}
        : {
            extraJson: () => ({ conversation: inFull }),
            nextCommands: () => [`conversations show ${shellWord(formatConversation(inFull))}`],
          }),
    },
    context,
  );
};
