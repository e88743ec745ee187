// An agent as a tool for somebody's own loop.
//
//   agent-tool-is-a-run. Each call is a run of its own, recorded like any other; what the loop gets is its answer or its failure.
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import type { Agent, AgentTool, RunOutcome, Validate } from '#contracts';

type Ports = {
  readonly validate: Validate;
  readonly run: (input: JsonObject, options: { readonly signal?: AbortSignal }) => Promise<RunOutcome>;
};

export const buildAgentTool = (agent: Agent, { validate, run }: Ports): AgentTool => ({
  name: agent.signature.modelToolName,
  description: agent.description,
  inputSchema: standardJsonSchema(inputSchema(agent), validate),
  execute: async (args, { signal, abortSignal = signal } = {}) => {
    const { output, data, failure } = await run(args, abortSignal === undefined ? {} : { signal: abortSignal });
    // Without the detail, which stays in the cell that heard it: a model may be shown this error.
    if (output === '' && failure !== null) throw new CloisterError(failure.code);
    return agent.signature.output.format === 'json' && data !== null ? data : output;
  },
});

const inputSchema = ({ signature: { input } }: Agent): JsonObject =>
  input.format === 'json'
    ? { ...input.schema, type: 'object' }
    : {
        type: 'object',
        properties: { prompt: { type: 'string', description: 'The complete task. The agent sees nothing else.' } },
        required: ['prompt'],
        additionalProperties: false,
      };

/** For the AI SDK, which takes no plain JSON Schema. Nobody who writes the schema as JSON sees it. */
const standardJsonSchema = (schema: JsonObject, validate: Validate): AgentTool['inputSchema'] => {
  const convert = (): Record<string, unknown> => structuredClone(schema);
  const standard: AgentTool['inputSchema']['~standard'] = {
    version: 1,
    vendor: 'cloister',
    validate: (value) => {
      const problems = validate(schema, value as JsonObject);
      return problems.length === 0
        ? { value: value as JsonObject }
        : { issues: problems.map((message) => ({ message })) };
    },
    jsonSchema: { input: convert, output: convert },
  };
  return Object.defineProperty(convert(), '~standard', { value: standard }) as AgentTool['inputSchema'];
};
