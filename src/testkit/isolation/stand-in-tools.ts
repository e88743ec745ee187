// Stand-ins for tools and tool sources. Their results depend on every byte of the call.
import type { JsonObject } from '#base';
import type { ToolDefinition, ToolOutput, NamedSource } from '#contracts';
import { allGuesses } from './rng.ts';
import type { Rng } from './rng.ts';
import type { StandInHandler, StandInSource } from './agent-tree.ts';

type PrivateOutput = {
  /** Values of the cell's environment that the tool could leak. */
  readonly secrets?: readonly string[];
  /** The length of results that are too long to be shown in full; 0: there are none. */
  readonly longBytes?: number;
};

/** The result of a tool that is not really run. */
export const drawToolOutput = (
  name: string,
  args: JsonObject,
  rng: Rng,
  { secrets = [], longBytes = 0 }: PrivateOutput = {},
): ToolOutput => {
  const kind = rng.below(20);
  if (kind < 2) throw new Error(`${rng.words()} ${allGuesses}`);
  // A result that many calls share, whoever makes them.
  if (kind === 2) return 'Nothing was found.';
  if (kind === 3)
    return {
      type: 'json',
      value: { of: name, given: Object.keys(args).length, found: rng.words(), [allGuesses]: allGuesses },
    };
  const said = secrets.length > 0 && rng.percent(20) ? `${rng.words()} ${rng.pick(secrets)}` : rng.words();
  const words = rng.percent(50) ? `${said} ${allGuesses}`.repeat(1 + rng.below(3)) : said;
  return kind < 8 && longBytes > 0 ? `${words} `.padEnd(longBytes, 'and so on ') : words;
};

/** What a cell is shown when it lists the tools of a source; a view of one cell may draw it. */
type Listing = {
  readonly begin: (context: object) => Promise<void>;
  readonly describe: (description: string) => string;
  readonly close: () => Promise<void>;
};

/** The real source, if `realTools` is set, or a stand-in for it. Its calls go to the handler. */
export const createStandInSource = (
  { name, tools, own }: StandInSource,
  handler: StandInHandler,
  listing?: Listing,
): NamedSource => {
  const handled = (tool: Omit<ToolDefinition, 'execute'>, real: ToolDefinition | null): ToolDefinition => ({
    ...tool,
    execute: (...call) => handler.tool(`${name}__${tool.name}`, call, real),
  });
  return {
    name,
    list: async (context) => {
      await listing?.begin(context);
      if (own !== undefined) {
        const listed = await own.list(context);
        return { ...listed, tools: listed.tools.map((tool) => handled(tool, tool)) };
      }
      return {
        tools: tools.map(({ description, ...tool }) =>
          handled({ ...tool, description: listing?.describe(description) ?? description, repeat: 'free' }, null),
        ),
        ...(listing === undefined ? {} : { close: listing.close }),
      };
    },
  };
};
