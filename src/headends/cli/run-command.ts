// `run` and `demo`: one run from its start.
import type { Desk } from './desk.ts';
import type { ExitCode } from './exit-code.ts';
import { followRun } from './follow-run.ts';
import { readSchema } from './read-input.ts';
import type { RunRequest } from './request.ts';

export const runCommand = async (request: RunRequest, desk: Desk): Promise<ExitCode> => {
  const { workspace, agents, agent, budget, input } = request;
  const isDemo = request.command === 'demo';
  const config = request.config === null ? {} : { config: request.config };
  const schema = request.schema === null ? {} : { schema: await readSchema(request.schema, desk.world) };
  return followRun(
    {
      request,
      isDemo,
      open: () => desk.world.open({ workspace, agents, agent, demo: isDemo, ...config }),
      begin: (cloister) => cloister.run(agent, input, { budget, ...schema }),
    },
    desk,
  );
};
