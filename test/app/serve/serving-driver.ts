// What is served to one caller, without a server.
import { openCloister } from 'cloister';
import type { Agent, Cloister } from 'cloister';
import type { Caller } from '#contracts';
import { LocalServing } from '../../../src/app/serve/local-serving.ts';
import { Places, placesFor } from '../../../src/app/serve/places.ts';
import { hashToken, TokenBook } from '../../../src/app/serve/token-book.ts';

export const ann: Caller = { name: 'ann' };

export const serve = (cloister: Cloister, now = Date.now): LocalServing =>
  new LocalServing({
    cloister,
    agents: cloister.agents.map(({ name }) => name),
    tokens: new TokenBook([{ name: 'ann', sha256: hashToken('ann') }], Date.now),
    places: new Places(placesFor({}, 1)),
    clients: { system: false, tools: true, activity: false },
    now,
  });

export const inMemory = (agent: Agent): Promise<Cloister> => openCloister({ agents: [agent], store: 'memory' });
