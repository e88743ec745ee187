// Whatever another caller may do: all that the watched one does, as often as it may, and attempts to reach what is not its own.
import { probes } from '../app/serve/crowd-probes.ts';
import { got, posted, question, toolCall } from '../app/serve/crowd-requests.ts';
import { askWithTool, bringResults } from '../app/serve/crowd-tools.ts';
import type { Draw } from '../app/serve/drawn.ts';
import { callIn, kinds, perform, residentEnds, tell, toolsEnds } from './serve-acts.ts';
import type { Act, Actor } from './serve-acts.ts';

/** Both callers use them. */
export const conversations = ['main', 'trip'];

/** Ids of the watched caller, which are no secret: its runs, its calls, its sessions. */
export class Known {
  readonly #runs = new Set<string>();
  readonly #calls = new Set<string>();
  readonly #sessions = new Set<string>();

  hear(text: string): void {
    for (const [, run = ''] of text.matchAll(/(?:"run\\*":\\*"|chatcmpl-|resp_)([\da-f]{12})/gu)) this.#runs.add(run);
    for (const [call] of text.matchAll(/call_[\da-f]{32}/gu)) this.#calls.add(call);
    for (const [session] of text.matchAll(/\/mcp\/messages\?session=[\da-f]+/gu)) this.#sessions.add(session);
  }

  /** A request about one of the newest, by somebody else. */
  meddling(actor: Actor, draw: Draw): Request | null {
    const [run, call, session] = [this.#runs, this.#calls, this.#sessions].map((ids) => [...ids].at(-1));
    const secret = secretOf(draw);
    const choices = [
      ...(run === undefined ? [] : [draw.of(probes).request(actor.url, actor.token, run)]),
      ...(call === undefined ? [] : [posted(actor, '/v1/chat/completions', bringResults(secret, [call], secret))]),
      ...(session === undefined ? [] : [posted(actor, session, { ...toolCall(secret), id: 7 })]),
    ];
    return choices.length === 0 ? null : draw.of(choices);
  }
}

const secretOf = (draw: Draw): string =>
  `private-${draw.of(['plain', 'slow', 'fault', 'tool'])}-${'x'.repeat(draw.below(200))}${draw.below(1e9)}`;

export const disturb = async (actor: Actor, draw: Draw, known: Known): Promise<void> => {
  if (draw.chance(0.3)) {
    const request = known.meddling(actor, draw);
    if (request !== null) await tell(actor, request);
  } else if (draw.chance(0.15)) await useUp(actor, draw);
  else await perform(drawn(draw), actor);
};

/** As many as it may have at a time, of what lives on; some of them are let go. */
const useUp = async (actor: Actor, draw: Draw): Promise<void> => {
  const word = `private-plain-${draw.below(1e9)}`;
  const all = async <T>(count: number, each: () => Promise<T>): Promise<readonly T[]> =>
    Promise.all(Array.from({ length: count }, each));
  const post = (path: string, body: object): Promise<string> => tell(actor, posted(actor, path, body));
  switch (draw.below(3)) {
    case 0:
      await all(64, () => post('/v1/echo', { input: question(word), resident: true, wait: false }));
      break;
    case 1: {
      const streams = await all(64, () => actor.fetch(got(actor, '/mcp/sse')));
      await actor.at(draw.below(3_000));
      for (const { body } of streams) await body?.cancel();
      break;
    }
    case 2: {
      const told = await all(16, () => post('/v1/chat/completions', askWithTool(word)));
      if (draw.chance(0.3)) return;
      for (const call of told.map(callIn))
        if (call !== undefined) await post('/v1/chat/completions', bringResults(word, [call], word));
    }
  }
};

const drawn = (draw: Draw): Act => {
  const [word, afterMs] = [secretOf(draw), draw.below(400)];
  const kind = draw.of(kinds);
  const conversation = draw.chance(0.5) ? draw.of(conversations) : null;
  const choices: readonly Act[] = [
    { do: 'ask', kind, word, history: draw.chance(0.5) },
    { do: 'go on', kind: draw.of(['responses', 'responses-sse']), word, afterMs },
    { do: 'talk', word, conversation: draw.of(conversations) },
    { do: 'abort', kind, word, afterMs },
    { do: 'tools', word, afterMs, end: draw.of(toolsEnds) },
    { do: 'hear again' },
    { do: 'resident', word, conversation, afterMs, end: draw.of(residentEnds) },
    { do: 'begin', word, afterMs, end: draw.of(['cancel', 'watch']) },
    { do: 'connect', word, afterMs },
    { do: 'get', path: '/v1/runs' },
  ];
  return draw.of(choices);
};
