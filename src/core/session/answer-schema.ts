// The schema of the answer, as part of a request: providers that support it make the model keep to it.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { utf8Bytes } from '#base';
import type { JsonObject } from '#base';
import type { Agent, Model } from '#contracts';
import type { Session } from './state.ts';

/** Undefined if the prompt alone states it. Providers accept only schemas of objects. Depends on the definition, the model and the cell's own records. */
export const requestSchema = ({ cell, refusedSchema }: Session, model: Model): JsonObject | undefined => {
  const { schema } = cell.agent.signature.output;
  return model.structuredOutput === true && schema?.['type'] === 'object' && !refusedSchema.includes(model)
    ? schema
    : undefined;
};

/** The provider adds the schema to what the model reads. */
export const schemaBytes = (agent: Agent): number => utf8Bytes(JSON.stringify(agent.signature.output.schema));

export const responseFormat = (schema: JsonObject): LanguageModelV4CallOptions['responseFormat'] => ({
  type: 'json',
  name: 'answer',
  schema,
});
