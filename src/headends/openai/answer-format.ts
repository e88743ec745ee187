// How the answer should look, as a client asks for it.
import type { AgentRequest } from '#contracts';
import type { BodyFields } from '#headends/shared';

/** `inner`: where chat completions put what responses have beside the type. */
export const parseFormat = (format: BodyFields, inner?: string): Pick<AgentRequest, 'format' | 'schema'> => {
  switch (format.oneOf('type', ['text', 'json_object', 'json_schema'])) {
    case 'text':
      // What clients send when they ask for nothing: an agent that gives JSON goes on to.
      return {};
    case 'json_object':
      return { format: 'json' };
    case 'json_schema':
      return { format: 'json', schema: (inner === undefined ? format : format.fields(inner)).object('schema') };
    default:
      throw format.invalid('type', 'text, json_object or json_schema');
  }
};
