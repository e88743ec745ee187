// The agents service for one caller, without a server.
import { openCloister, hashToken } from 'cloister';
import type { Agent, Cloister } from 'cloister';
import type { Caller, Clock } from '#contracts';
import { LocalAgentService } from '../../../src/app/serve/local-agent-service.ts';
import { SlotQueue, slotLimitsFor } from '../../../src/app/serve/slot-queue.ts';
import { TokenRegistry } from '../../../src/app/serve/token-registry.ts';
import { systemClock } from '../../../src/app/system-world.ts';

export const ann: Caller = { name: 'ann' };

export const serve = (
  cloister: Cloister,
  clock: Clock = systemClock,
  callers: readonly string[] = ['ann'],
): LocalAgentService =>
  new LocalAgentService({
    cloister,
    agents: cloister.agents.map(({ name }) => name),
    tokens: new TokenRegistry(
      callers.map((name) => ({ name, sha256: hashToken(name) })),
      Date.now,
    ),
    slots: new SlotQueue(slotLimitsFor({}, 1)),
    clients: { system: false, tools: true, activity: false, compat: false },
    clock,
  });

export const inMemory = (agent: Agent): Promise<Cloister> => openCloister({ agents: [agent], store: 'memory' });
