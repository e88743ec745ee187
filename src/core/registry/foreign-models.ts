// Models of other runtimes, by the names that they have here.
//
//   import-guesses-no-model. A model of the result is one that the file names in full, or that the operator has an alias for.
import { nearestName } from '#base';
import { problemsIn } from '#base/shapes';
import { modelAliasShape, modelNameShape } from '#contracts';
import type { ForeignRuntime } from './foreign-tools.ts';

/** The operator's models by the names that agents of other runtimes use for them. */
export type ModelAliases = Readonly<Record<string, string>>;

type ForeignModels = {
  /** `<provider>/<model>`, each once, in the order of the file. */
  readonly models: readonly string[];
  /** The names that an alias stands for, with the model. */
  readonly aliased: readonly (readonly [name: string, model: string])[];
  readonly unknown: readonly string[];
};

/** Names such as `sonnet` stand for another model every few months, so only the operator says which one it is. */
export const mapModels = (
  names: readonly string[],
  runtime: ForeignRuntime | 'ai',
  aliases: ModelAliases,
): ForeignModels => {
  const models = new Set<string>();
  const aliased: (readonly [string, string])[] = [];
  const unknown: string[] = [];
  for (const name of new Set(names)) {
    const alias = Object.hasOwn(aliases, name) ? aliases[name] : undefined;
    if (alias !== undefined) aliased.push([name, alias]);
    const model = alias ?? fullName(name, runtime);
    if (model !== null) models.add(model);
    else if (runtime === 'ai' || !defaultNames.includes(name.toLowerCase())) unknown.push(name);
  }
  return { models: [...models], aliased, unknown };
};

/** They mean the model that is used anyway. */
const defaultNames = ['inherit', 'default', 'auto'];

const fullName = (name: string, runtime: ForeignRuntime | 'ai'): string | null => {
  if (problemsIn(modelNameShape, name).length === 0) return name;
  return runtime === 'claude' && /^claude-[a-z0-9.-]{1,80}$/u.test(name) ? `anthropic/${name}` : null;
};

export const aliasedModelText = (aliased: ForeignModels['aliased']): string =>
  `${aliased.map(([name, model]) => `${name} is ${model} here`).join(', ')}: \`modelAliases\` in .ai-agent.json says so.`;

/** Says which line to add. A text that cannot be an alias is not repeated: it may be a secret. */
export const unknownModelText = ({ unknown, models }: ForeignModels, aliases: ModelAliases): string => {
  const names = unknown.filter((name) => problemsIn(modelAliasShape, name).length === 0);
  const used = models.length === 0 ? 'the default models are used' : `only ${models.join(', ')} can be used`;
  if (names.length === 0)
    return `The model is not named as <provider>/<model>, so ${used}. Name it in \`models: [<provider>/<model>]\`.`;
  const [nearest] = names.flatMap((name) => nearestName(name, Object.keys(aliases)) ?? []);
  const guess = nearest === undefined ? '' : ` Did you mean the alias ${JSON.stringify(nearest)}?`;
  const lines = names.map((name) => `${JSON.stringify(name)}: "<provider>/<model>"`);
  const shown = names.map((name) => JSON.stringify(name)).join(', ');
  return `No model is known here as ${shown}, so ${used}.${guess} To say which one it is, add to .ai-agent.json: "modelAliases": { ${lines.join(', ')} }`;
};
