// Stand-ins for tools and their sources: what they answer follows from every byte of the call.
import type { JsonObject } from '#base';
import type { ToolDefinition, ToolOutput, ToolSource } from '#contracts';
import { shownBytesMax } from '#core/cells';
import { Rng } from './rng.ts';
import type { CaseSize } from './case-size.ts';
import type { FakeTime } from './fake-time.ts';
import type { CellState } from './cell-state.ts';
import type { PlayedSource } from './team.ts';

export const toolAnswer = (
  seat: CellState,
  name: string,
  args: JsonObject,
  dials: CaseSize,
  time: FakeTime,
): Promise<ToolOutput> | ToolOutput => {
  const chance = new Rng(`${seat.salt} ${name} ${JSON.stringify(args)}`);
  if (!chance.percent(dials.delays)) return answerOf(seat, dials, chance);
  return time.sleep(1 + chance.below(6))!.then(() => answerOf(seat, dials, chance));
};

const answerOf = (seat: CellState, dials: CaseSize, chance: Rng): ToolOutput => {
  const kind = chance.below(20);
  if (kind < 2) throw new Error(chance.words());
  // What many calls are answered with, whoever makes them.
  if (kind === 2) return 'Nothing was found.';
  if (kind === 3) return { type: 'json', value: { found: chance.words(), nth: chance.below(9) } };
  const shown = shownBytesMax(seat.born.limits);
  const words =
    seat.secrets.length > 0 && chance.percent(20) ? `${chance.words()} ${chance.pick(seat.secrets)}` : chance.words();
  return kind < 8 && dials.long && shown <= 8_000 ? `${words} `.padEnd(shown + 300, 'and so on ') : words;
};

type Calling = (
  name: string,
  call: Parameters<ToolDefinition['execute']>,
  own: ToolDefinition | null,
) => ReturnType<ToolDefinition['execute']>;

export const playedSource = (source: PlayedSource, seat: CellState, time: FakeTime, call: Calling): ToolSource => ({
  name: source.name,
  list: async (context) => {
    seat.eye.record(`listing of ${source.name}`, JSON.stringify(Object.keys(context)));
    const calling = (tool: ToolDefinition, own: ToolDefinition | null): ToolDefinition => ({
      ...tool,
      execute: (...made) => call(`${source.name}__${tool.name}`, made, own),
    });
    if (source.own !== undefined) {
      const listed = await source.own.list(context);
      return { ...listed, tools: listed.tools.map((tool) => calling(tool, tool)) };
    }
    const chance = new Rng(`${seat.salt} listing ${source.name}`);
    await time.sleep(chance.percent(10) ? 2 : 0);
    if (seat.plan.ending === 'unlisted') throw new Error(chance.words());
    const tools = source.tools.map((tool): ToolDefinition => ({
      ...tool,
      description: `${tool.description} ${chance.hex()}`,
      repeat: 'free',
      execute: () => '',
    }));
    return {
      tools: tools.map((tool) => calling(tool, null)),
      close: async () => seat.eye.record(`closing of ${source.name}`, ''),
    };
  },
});
