// What code may write in more than one way, in the one way that is checked and stored.
import { isObject, readLibrarySchema } from '#base';
import type { JsonObject } from '#base';
import type {
  AgentOptions,
  AgentShortForms,
  AiTools,
  BuiltinTool,
  CallableTool,
  InputFormat,
  OutputFormat,
  ToolDefinition,
  ListedTools,
  NamedSource,
  ToolSource,
} from '#contracts';
import { toCallableTool } from '#core/session';
import { expandShortForms } from './expand-short-forms.ts';
import { fromAiTool, isAiTools } from './ai-tools.ts';
import type { RejectField } from './option-shapes.ts';

/** The options of an agent with schemas as JSON Schema, and tools that can be called. */
export type ExpandedOptions = Omit<AgentOptions, 'input' | 'output' | 'tools'> & {
  readonly input?: InputFormat;
  readonly output?: OutputFormat;
  readonly tools?: readonly (CallableTool | NamedSource | BuiltinTool | (string & {}))[];
};

/** Whatever is not understood stays as it is, for the checks. */
export const expandOptions = (given: AgentShortForms, reject: RejectField): ExpandedOptions => {
  if (!isObject(given)) return given;
  const options = expandShortForms(given, reject) as unknown as AgentOptions;
  const { input, output, tools } = options;
  return {
    ...(options as Omit<AgentOptions, 'input' | 'output' | 'tools'>),
    ...(input === undefined ? {} : { input: expandFormat(input, 'input', reject) }),
    ...(output === undefined ? {} : { output: expandFormat(output, 'output', reject) }),
    ...(tools === undefined ? {} : { tools: expandTools(tools, reject) }),
  };
};

const expandFormat = <F extends { readonly schema?: unknown }>(
  format: F,
  field: string,
  reject: RejectField,
): F & { readonly schema?: JsonObject } => {
  const schema = isObject(format) ? readLibrarySchema(format.schema) : null;
  if (typeof schema === 'string') return reject(`${field}.schema`, schema);
  return schema === null ? (format as F & { readonly schema?: JsonObject }) : { ...format, schema: schema.json };
};

const expandTools = (given: readonly unknown[], reject: RejectField): NonNullable<ExpandedOptions['tools']> => {
  if (!Array.isArray(given)) return given as never;
  return given.flatMap((tool, index): NonNullable<ExpandedOptions['tools']> => {
    const field = `tools[${index}]`;
    if (!isObject(tool)) return [tool as string];
    if (isAiTools(tool)) return expandAiTools(tool, field, reject);
    if ('list' in tool) return [namedSource(tool as unknown as ToolSource)];
    return [callable(tool as unknown as ToolDefinition, field, reject)];
  });
};

const expandAiTools = (tools: AiTools, field: string, reject: RejectField): readonly CallableTool[] =>
  Object.entries(tools).map(([name, tool]) => {
    const at = `${field}.${name}`;
    return callable(fromAiTool(name, tool, at, reject), at, reject);
  });

const callable = (tool: ToolDefinition, field: string, reject: RejectField): CallableTool =>
  toCallableTool(tool, (expected) => reject(`${field}.inputSchema`, expected));

const namedSources = new WeakMap<ToolSource, NamedSource>();

/** The same object each time, because sources are distinguished by identity. */
const namedSource = (source: ToolSource): NamedSource => {
  if (typeof source.list !== 'function') return source as NamedSource;
  const known = namedSources.get(source) ?? {
    name: source.name ?? 'tools',
    list: async (context) => {
      const listed = await source.list(context);
      return isListed(listed) ? { tools: listed } : listed;
    },
  };
  namedSources.set(source, known);
  return known;
};

const isListed = (listed: ListedTools | readonly ToolDefinition[]): listed is readonly ToolDefinition[] =>
  Array.isArray(listed);
