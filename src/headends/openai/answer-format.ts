// Parses the answer format that a client requests.
import type { AgentRequest, AgentService, Caller } from '#contracts';
import type { BodyFields } from '#headends/shared';

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
