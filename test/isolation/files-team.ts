// The files of the team, from its shape and the content of each cell.
import type { AgentText, CellName } from './agent-folder.ts';
import { cellNames, hostOf, writeAgent } from './agent-folder.ts';
import type { Shape, State } from './files-vary.ts';

export type States = Readonly<Record<CellName, State>>;
/** An additional server process of a cell. */
export type Extras = { readonly stdioServer?: (cell: CellName) => object | null };

export const writeTeam = (root: string, shape: Shape, states: States, extras: Extras = {}): void => {
  for (const cell of cellNames) writeAgent(root, cell, agentText(cell, shape, states[cell], extras));
};

/** The part of the environment of the process that agents may name. */
export const shellOf = ({ keysFrom }: Shape, states: States): Record<string, string> =>
  Object.assign({}, ...cellNames.map((cell) => (keysFrom === 'shell' ? variables(cell, 'shell', states[cell]) : {})));

/** The same names in every folder, unless they come from the environment that all share. */
const variableNames = (cell: CellName, from: Shape['keysFrom']) => {
  const prefix = from === 'shell' ? `${hostOf(cell).replace('-', '_').toUpperCase()}_` : '';
  return { key: `${prefix}KEY`, team: `${prefix}TEAM`, token: `${prefix}TOKEN` };
};

const variables = (cell: CellName, from: Shape['keysFrom'], { key, team, token }: State): Record<string, string> => {
  const names = variableNames(cell, from);
  return { [names.key]: key, [names.team]: team, [names.token]: token };
};

const agentText = (cell: CellName, shape: Shape, state: State, { stdioServer }: Extras): AgentText => {
  const names = variableNames(cell, shape.keysFrom);
  const server = stdioServer?.(cell) ?? null;
  const own = variables(cell, shape.keysFrom, state);
  return {
    prompt: state.prompt,
    included: state.included,
    skill: `The skill of ${cell}. ${state.included}`,
    frontmatter: {
      description: `Works as ${cell}.`,
      usage: 'Ask.',
      ...formsOf(cell, shape),
      models: ['house/m'],
      tools: ['kit', ...(shape.web ? ['web'] : []), ...(server === null ? [] : ['stdio']), ...files],
      skills: './skills',
      ...childrenOf(cell, shape),
      limits: { max_tokens_per_step: 300, max_steps: 60, maxToolTurns: 12 },
      ...(state.settingsFrom === 'file' ? state.settings : {}),
    },
    config: {
      providers: {
        house: {
          type: 'openai-compatible',
          baseUrl: `http://${hostOf(cell)}.model.invalid/v1`,
          apiKey: `\${${names.key}}`,
          headers: { 'x-team': `\${${names.team}}` },
          models: { m: { contextTokens: state.contextTokens } },
        },
      },
      mcpServers: {
        kit: { type: 'module', module: './kit.mjs' },
        ...(shape.web && {
          web: {
            type: 'http',
            url: `http://${hostOf(cell)}.mcp.invalid/mcp`,
            headers: { authorization: `Bearer \${${names.token}}` },
          },
        }),
        ...(server !== null && { stdio: server }),
      },
      ...(state.settingsFrom === 'config' ? { defaults: state.settings } : {}),
      ...(shape.keysFrom === 'block' ? { env: own } : {}),
    },
    sidecar: { ...state.unused, ...(shape.keysFrom === 'sidecar' ? own : {}) },
    module: {
      tools: [
        ...['probe', 'jot', 'fail', 'long'].map((name) => ({
          name,
          description: `Does ${name}. ${state.descriptions}`,
        })),
        ...state.extraTools.map((name) => ({ name, description: state.descriptions })),
      ],
      secret: state.results,
    },
  };
};

const files = ['write_file', 'list_files', 'read_file'];

const answerSchema = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] };
const questionSchema = {
  type: 'object',
  properties: { question: { type: 'string' }, depth: { type: 'integer' } },
  required: ['question'],
  additionalProperties: false,
};

const formsOf = (cell: CellName, { leftInput }: Shape): object => ({
  output: { format: 'text' },
  ...(cell === 'left' && leftInput === 'json' && { input: { format: 'json', schema: questionSchema } }),
});

const childrenOf = (cell: CellName, { leftAsked, viaGather }: Shape): object => {
  const output = leftAsked === 'as it is' ? {} : { output: { format: 'json', schema: answerSchema } };
  if (cell === 'lead')
    return {
      agents: [{ agent: '../left/left.ai', ...output }, '../right/right.ai'],
      ...(viaGather && { gather: '10m' }),
    };
  return cell === 'left' || cell === 'right' ? { agents: ['deep/deep.ai'] } : {};
};
