// Stand-ins for tools and tool sources. Their results depend on every byte of the call.
import type { JsonObject } from '#base';
import type { ToolDefinition, ToolOutput, ToolSource } from '#contracts';
import { shownBytesMax } from '#core/memory';
import { Rng, allGuesses } from './rng.ts';
import type { CaseSize } from './case-size.ts';
import type { FakeTime } from './fake-time.ts';
import type { CellState } from './cell-state.ts';
import type { StandInSource } from './agent-tree.ts';

export const drawStandInOutput = (
  state: CellState,
  name: string,
  args: JsonObject,
  size: CaseSize,
  time: FakeTime,
): Promise<ToolOutput> | ToolOutput => {
  const rng = new Rng(`${state.salt} ${name} ${JSON.stringify(args)}`);
  if (!rng.percent(size.delays)) return drawOutput(state, size, rng);
  return time.sleep(1 + rng.below(6))!.then(() => drawOutput(state, size, rng));
};

const drawOutput = (state: CellState, size: CaseSize, rng: Rng): ToolOutput => {
  const kind = rng.below(20);
  if (kind < 2) throw new Error(`${rng.words()} ${allGuesses}`);
  // A result that many calls share, whoever makes them.
  if (kind === 2) return 'Nothing was found.';
  if (kind === 3) return { type: 'json', value: { found: rng.words(), nth: rng.below(9), [allGuesses]: allGuesses } };
  const shown = shownBytesMax(state.planned.limits);
  const said = state.secrets.length > 0 && rng.percent(20) ? `${rng.words()} ${rng.pick(state.secrets)}` : rng.words();
  const words = rng.percent(20) ? `${said} ${allGuesses}` : said;
  return kind < 8 && size.longTexts && shown <= 8_000 ? `${words} `.padEnd(shown + 300, 'and so on ') : words;
};

type HandleCall = (
  name: string,
  call: Parameters<ToolDefinition['execute']>,
  own: ToolDefinition | null,
) => ReturnType<ToolDefinition['execute']>;

export const createStandInSource = (
  source: StandInSource,
  state: CellState,
  time: FakeTime,
  call: HandleCall,
): ToolSource => ({
  name: source.name,
  list: async (context) => {
    state.observer.record(`listing of ${source.name}`, JSON.stringify(Object.keys(context)));
    const calling = (tool: ToolDefinition, own: ToolDefinition | null): ToolDefinition => ({
      ...tool,
      execute: (...made) => call(`${source.name}__${tool.name}`, made, own),
    });
    if (source.own !== undefined) {
      const listed = await source.own.list(context);
      return { ...listed, tools: listed.tools.map((tool) => calling(tool, tool)) };
    }
    const rng = new Rng(`${state.salt} listing ${source.name}`);
    await time.sleep(rng.percent(10) ? 2 : 0);
    if (state.plan.ending === 'unlisted') throw new Error(rng.words());
    const tools = source.tools.map((tool): ToolDefinition => ({
      ...tool,
      description: `${tool.description} ${rng.hex()}`,
      repeat: 'free',
      execute: () => '',
    }));
    return {
      tools: tools.map((tool) => calling(tool, null)),
      close: async () => state.observer.record(`closing of ${source.name}`, ''),
    };
  },
});
