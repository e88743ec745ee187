import { CloisterError } from '#base';
import type { Agent } from '#contracts';

/** Says why a schema cannot be used; null when it can. */
export type SchemaProblem = (schema: unknown) => string | null;

const checked = new WeakSet<Agent>();

/** Finds unusable schemas in definitions before anything runs. Throws `agent_invalid`. */
export const checkSchemas = (root: Agent, problemOf: SchemaProblem): void => {
  if (checked.has(root)) return;
  const reachable = new Set([root]);
  for (const agent of reachable)
    for (const child of [...agent.agents, ...agent.spawnable]) if (!checked.has(child)) reachable.add(child);
  for (const agent of reachable) checkAgentSchemas(agent, problemOf);
  for (const agent of reachable) checked.add(agent);
};

/** The schemas of sub-agent tools are derived from those of the sub-agents, which are checked separately. */
const checkAgentSchemas = ({ name, input, output, tools }: Agent, problemOf: SchemaProblem): void => {
  const schemas = tools.map((tool): [string, unknown] => [`tools.${tool.name}`, tool.inputSchema]);
  for (const [field, schema] of [
    ...schemas,
    ['input.schema', input.schema],
    ['output.schema', output.schema],
  ] as const) {
    const wrong = schema === undefined ? null : problemOf(schema);
    if (wrong !== null)
      throw new CloisterError('agent_invalid', `Agent "${name}", ${field}: expected a JSON Schema: ${wrong}`);
  }
};
