import { CloisterError } from '#base';
import type { Agent } from '#contracts';
import { startableAgents } from '#core/orchestration';

/** Says why a schema cannot be used; null when it can. */
export type SchemaProblem = (schema: unknown) => string | null;

export type SchemaProblems = {
  readonly schemaProblem: SchemaProblem;
  /** A tool checks its arguments itself, so patterns that cannot be checked here are left to it. */
  readonly toolSchemaProblem: SchemaProblem;
};

const checked = new WeakSet<Agent>();

/** Finds unusable schemas in definitions before anything runs. Throws `agent_invalid`. */
export const checkSchemas = (root: Agent, ports: SchemaProblems): void => {
  if (checked.has(root)) return;
  const reachable = new Set([root]);
  for (const agent of reachable)
    for (const child of startableAgents(agent)) if (!checked.has(child)) reachable.add(child);
  for (const agent of reachable) checkAgentSchemas(agent, ports);
  for (const agent of reachable) checked.add(agent);
};

/** The schemas of sub-agent tools are derived from those of the sub-agents, which are checked separately. */
const checkAgentSchemas = (
  { name, signature: { input, output }, resources: { tools } }: Agent,
  ports: SchemaProblems,
): void => {
  const { schemaProblem, toolSchemaProblem } = ports;
  for (const [field, schema, problemOf] of [
    ...tools.map((tool) => [`tools.${tool.name}`, tool.inputSchema, toolSchemaProblem] as const),
    ['input.schema', input.schema, schemaProblem],
    ['output.schema', output.schema, schemaProblem],
  ] as const) {
    const wrong = schema === undefined ? null : problemOf(schema);
    if (wrong !== null)
      throw new CloisterError('agent_invalid', `Agent "${name}", ${field}: expected a JSON Schema: ${wrong}`);
  }
};
