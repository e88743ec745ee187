// `run` and `demo`: one run from its start.
import { conversationWords, fullConversation } from './conversation-name.ts';
import type { CommandContext } from './command-context.ts';
import type { ExitCode } from './exit-code.ts';
import { followRun } from './follow-run.ts';
import { readContext, readSchema } from './read-input.ts';
import type { RunRequest } from './request.ts';
import { shellWord } from './shell-word.ts';

export const runCommand = async (request: RunRequest, desk: CommandContext): Promise<ExitCode> => {
  const { workspace, agents, agent, budget, input, conversation } = request;
  const isDemo = request.command === 'demo';
  const config = request.config === null ? {} : { config: request.config };
  const schema = request.schema === null ? {} : { schema: await readSchema(request.schema, desk.world) };
  const context = request.context.length === 0 ? {} : { context: await readContext(request.context, desk.world) };
  const options = { budget, ...schema, ...context };
  const inFull = conversation === null ? null : fullConversation(conversation, agent);
  return followRun(
    {
      request,
      isDemo,
      open: () => desk.world.open({ workspace, agents, agent, demo: isDemo, ...config }),
      begin: (cloister) =>
        conversation === null
          ? cloister.run(agent, input, options)
          : cloister.runTurn(agent, input, { ...options, conversation }),
      ...(inFull === null
        ? {}
        : {
            also: () => ({ conversation: inFull }),
            further: () => [`conversations show ${shellWord(conversationWords(inFull))}`],
          }),
    },
    desk,
  );
};
