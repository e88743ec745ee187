// Connects once to every tool server that agents name, lists its tools, and says what does not work.
import { CloisterError, Semaphore } from '#base';
import type { Agent, Problem, SourceUse } from '#contracts';
import { withChildren } from './resources-from-code.ts';
import type { ResourceResolver } from './resource-resolver.ts';
import { shownPath } from './launch-environment.ts';
import type { LaunchEnvironment } from './launch-environment.ts';

const timeoutMs = 60_000;
const atOnceMax = 8;

export const tryServers = async (
  agents: readonly Agent[],
  equipping: ResourceResolver,
  place: LaunchEnvironment,
): Promise<readonly Problem[]> => {
  const slots = new Semaphore(atOnceMax);
  const tried = await Promise.all(
    [...withChildren(agents)].flatMap((agent) =>
      equipping.equip(agent).sources.map(async (use): Promise<Problem | null> => {
        await slots.acquire();
        const message = await trouble(use);
        slots.release();
        return message === null
          ? null
          : {
              file: agent.file === null ? `agent "${agent.name}"` : shownPath(agent.file, place),
              line: null,
              key: 'tools',
              message,
              nearest: null,
            };
      }),
    ),
  );
  return tried.filter((problem) => problem !== null);
};

const trouble = async ({ source, only }: SourceUse): Promise<string | null> => {
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
