// Connects once to every tool server that agents name, lists its tools, and reports failures.
import { CloisterError, Semaphore } from '#base';
import type { Agent, Problem, SourceUse } from '#contracts';
import { withChildren } from './resources-from-code.ts';
import type { ResourceResolver } from './resource-resolver.ts';
import { displayPath } from './launch-environment.ts';
import type { LaunchEnvironment } from './launch-environment.ts';

const timeoutMs = 60_000;
const concurrentMax = 8;

export const probeServers = async (
  agents: readonly Agent[],
  resolver: ResourceResolver,
  launch: LaunchEnvironment,
): Promise<readonly Problem[]> => {
  const slots = new Semaphore(concurrentMax);
  const found = await Promise.all(
    [...withChildren(agents)].flatMap((agent) =>
      resolver.resourcesFor(agent).sources.map(async (use): Promise<Problem | null> => {
        await slots.acquire();
        const message = await probeServer(use);
        slots.release();
        return message === null
          ? null
          : {
              file: agent.file === null ? `agent "${agent.name}"` : displayPath(agent.file, launch),
              line: null,
              key: 'tools',
              message,
              nearest: null,
            };
      }),
    ),
  );
  return found.filter((problem) => problem !== null);
};

const probeServer = async ({ source, only }: SourceUse): Promise<string | null> => {
  try {
    const listed = await source.list({ signal: AbortSignal.timeout(timeoutMs) });
    await listed.close?.();
    const { tools } = listed;
    const missing = only?.find((name) => !tools.some((tool) => tool.name === name));
    return missing === undefined
      ? null
      : `${source.name} has no tool "${missing}"; it has ${tools.map(({ name }) => name).join(', ')}.`;
  } catch (error) {
    return error instanceof CloisterError ? `${error.message} ${error.suggestion}` : String(error);
  }
};
