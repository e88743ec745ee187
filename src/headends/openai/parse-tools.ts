// Parses a client's functions and their results, if the operator allows client tools, and a function that stands for a schema.
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { AgentRequest, CallResult, ClientRules, ClientTool, AgentService, Caller } from '#contracts';
import { parseTool } from '#headends/shared';
import type { BodyFields, PastCall } from '#headends/shared';
import { resultText } from './message.ts';

/** `inner`: the field in which chat completions nest the function. Throws `request_unsupported` for other kinds of tools. */
export const parseTools = (
  body: BodyFields,
  rules: ClientRules,
  inner?: string,
): Pick<AgentRequest, 'tools' | 'oneCall'> => {
  if (!rules.tools || !body.has('tools')) return {};
  const tools = parseFunctions(body, inner);
  if (tools.length === 0 || body.value['tool_choice'] === 'none') return {};
  return { tools, ...(body.value['parallel_tool_calls'] === false ? { oneCall: true } : {}) };
};

const parseFunctions = (body: BodyFields, inner: string | undefined): readonly ClientTool[] =>
  body.items('tools').map((tool) => {
    tool.text('type');
    return parseTool(inner === undefined ? tool : tool.fields(inner), 'parameters');
  });

/** The client's only function, if the client forces the model to call it; else null. */
export const parseForcedFunction = (body: BodyFields, inner?: string): ClientTool | null => {
  const { tools, tool_choice: choice } = body.value;
  const isNamed = isObject(choice) && choice['type'] === 'function';
  if (!Array.isArray(tools) || tools.length !== 1 || (choice !== 'required' && !isNamed)) return null;
  const [tool = null] = parseFunctions(body, inner);
  if (!isNamed) return tool;
  const named = inner === undefined ? choice : choice[inner];
  return isObject(named) && named['name'] === tool?.name ? tool : null;
};

/** The result of one call. `id` and `content`: the fields that hold the id of the call and the result. */
export const parseResult = (item: BodyFields, id: string, content: string): CallResult => ({
  call: item.text(id),
  text: resultText(item, content),
  failed: false,
});

/** A call that the client repeats: what is missing is left out, because it only explains a result. */
export const parsePastCall = (id: Json | undefined, { name, arguments: input }: JsonObject): PastCall => ({
  called: typeof id === 'string' ? id : '',
  name: typeof name === 'string' ? name : '',
  input: typeof input === 'string' ? input : '',
});

// Parses the answer format that a client requests.
/** `inner`: the field in which chat completions nest the schema; responses keep it next to the type. */
export const parseFormat = (format: BodyFields, inner?: string): Pick<AgentRequest, 'format' | 'schema'> => {
  switch (format.oneOf('type', ['text', 'json_object', 'json_schema'])) {
    case 'text':
      // Clients send this by default, so it does not override the format of an agent that returns JSON.
      return {};
    case 'json_object':
      return { format: 'json' };
    case 'json_schema':
      return { format: 'json', schema: (inner === undefined ? format : format.fields(inner)).object('schema') };
    default:
      throw format.invalid('type', 'text, json_object or json_schema');
  }
};

/** JSON without a schema is any object, unless the agent has a schema of its own. */
export const withObjectFormat = <R extends Pick<AgentRequest, 'agent' | 'format' | 'schema'>>(
  request: R,
  service: AgentService,
  caller: Caller,
): R =>
  request.format === 'json' &&
  request.schema === undefined &&
  service.agent(caller, request.agent).signature.output.schema === undefined
    ? { ...request, schema: { type: 'object' } }
    : request;
