// Every failure Cloister names: one closed catalogue.
//
//   E1. A code never changes its meaning; docs/ERRORS.md lists each one.
//   E2. Only an entry of this table may cross to another cell; `detail` stays where it was heard.
export type ErrorClass =
  | 'config'
  | 'auth'
  | 'timeout'
  | 'network'
  | 'model'
  | 'tool'
  | 'limit'
  | 'budget'
  | 'policy'
  | 'schema'
  | 'cancelled'
  | 'indeterminate';

type Entry = {
  readonly class: ErrorClass;
  readonly retryable: boolean;
  readonly summary: string;
  readonly suggestion: string;
};

const entry = (kind: ErrorClass, retryable: boolean, summary: string, suggestion: string): Entry => ({
  class: kind,
  retryable,
  summary,
  suggestion,
});

export const errorCatalogue = {
  agent_unknown: entry(
    'config',
    false,
    'There is no agent of that name.',
    'Check the name against the agents that were given.',
  ),
  agent_invalid: entry(
    'config',
    false,
    'An agent definition is not valid.',
    'Correct the field that the message names.',
  ),
  name_invalid: entry(
    'config',
    false,
    'A name or id has a shape that is not allowed.',
    'Use letters, digits, dot, dash and underscore, at most 64 characters.',
  ),
  goal_empty: entry('config', false, 'The goal is empty.', 'Say what the agent should do.'),
  goal_too_large: entry(
    'config',
    false,
    'The goal is larger than a goal may be.',
    'Shorten it, or hand the bulk to a tool that can be paged.',
  ),
  module_invalid: entry(
    'config',
    false,
    'The agents module cannot be used.',
    'Its default export must be a list of agents made by defineAgent.',
  ),
  run_unknown: entry('config', false, 'There is no such run in this workspace.', 'List the runs with `cloister runs`.'),
  cell_unknown: entry(
    'config',
    false,
    'There is no such cell in that run.',
    'List the cells with `cloister show <run>`.',
  ),
  run_owned: entry('config', false, 'Another process owns this run.', 'Wait until it has ended, or stop that process.'),
  run_ended: entry('config', false, 'This run has already ended.', 'Look at it with `cloister show <run>`.'),
  budget_invalid: entry('config', false, 'A budget is not valid.', 'Give numbers, 0 or more: tokens, usd, spawns, ms.'),
  script_invalid: entry(
    'config',
    false,
    'A rehearsal script is not valid.',
    'Correct the line that the message names.',
  ),
  options_invalid: entry(
    'config',
    false,
    'An option of openCloister is not valid.',
    'Correct the option that the message names.',
  ),
  store_failed: entry(
    'config',
    false,
    'The workspace cannot be written.',
    'Check the disk: free space, permissions, and that it is a local file system.',
  ),
  store_damaged: entry(
    'config',
    false,
    'The workspace holds a record that is not what was written.',
    'Run `cloister audit <run>` to see which one; restore it from a copy.',
  ),
  store_busy: entry(
    'config',
    true,
    'The workspace is locked by another program.',
    'Try again when that program has finished.',
  ),
  model_unpriced: entry(
    'config',
    false,
    'A budget in money was set, but a model has no price.',
    'Give the model a price, or drop the money budget.',
  ),
  model_missing: entry(
    'config',
    false,
    'The agent has no model.',
    'Name one in the agent, or hand a default model to openCloister.',
  ),
  model_auth: entry(
    'auth',
    false,
    'The model provider refused the credentials.',
    'Check the API key of that provider.',
  ),
  model_request: entry(
    'model',
    false,
    'The model provider rejected the request.',
    'Check the model name and its settings.',
  ),
  model_rate: entry(
    'model',
    true,
    'The model provider asked to slow down.',
    'Try again later, or name a second model.',
  ),
  model_server: entry('model', true, 'The model provider failed.', 'Try again later, or name a second model.'),
  model_cut: entry(
    'network',
    true,
    'The model stream ended in the middle.',
    'Try again; if it persists, check the connection.',
  ),
  model_network: entry(
    'network',
    true,
    'The model provider could not be reached.',
    'Check the network and the base URL.',
  ),
  model_timeout: entry(
    'timeout',
    true,
    'The model did not answer in time.',
    'Raise llmTimeout, or use a faster model.',
  ),
  model_empty: entry('model', true, 'The model answered nothing.', 'Try again, or use another model.'),
  model_refused: entry(
    'model',
    false,
    'The model provider withheld the answer.',
    'Rephrase the goal, or use another model.',
  ),
  model_unscripted: entry(
    'model',
    false,
    'The rehearsal script has no line for this request.',
    'Add a line that matches it; the detail says what was asked.',
  ),
  tool_unknown: entry('tool', false, 'The agent has no tool of that name.', 'Call one of the tools that are listed.'),
  tool_arguments: entry(
    'tool',
    false,
    'The tool call arguments are not valid.',
    'Send one JSON object that fits the input schema of the tool.',
  ),
  tool_failed: entry('tool', false, 'The tool failed.', 'Try other arguments, another tool, or conclude without it.'),
  tool_timeout: entry(
    'timeout',
    false,
    'The tool did not finish in time.',
    'Ask for less at once, or raise toolTimeout.',
  ),
  tool_output: entry(
    'tool',
    false,
    'The tool returned something that is not text or JSON.',
    'Correct the tool: return a string or plain JSON.',
  ),
  tool_too_large: entry('tool', false, 'The tool returned more than can be kept.', 'Ask for a smaller part.'),
  tool_calls_many: entry(
    'tool',
    false,
    'Too many tool calls in one turn; this one was not started.',
    'Call fewer tools at once.',
  ),
  file_refused: entry(
    'tool',
    false,
    'The path is not a plain file of this cell.',
    'Use a relative path of this cell without links.',
  ),
  file_missing: entry('tool', false, 'There is no such file or output in this cell.', 'List what there is first.'),
  files_unsupported: entry('config', false, 'File tools need Linux.', 'Run the agent on Linux, or without file tools.'),
  agent_limit: entry(
    'limit',
    false,
    'The agent passed one of its limits.',
    'Raise the limit, or give the agent a smaller goal.',
  ),
  window_full: entry(
    'limit',
    false,
    'The context window cannot hold the goal and the newest turn.',
    'Use a model with a larger window, or a smaller goal.',
  ),
  turns_used: entry('limit', false, 'The agent used all of its turns.', 'Raise maxToolTurns, or give a smaller goal.'),
  depth_reached: entry('policy', false, 'Agents may not be nested deeper.', 'Let an agent higher up do it.'),
  cycle_refused: entry('policy', false, 'An agent may not call one of its own callers.', 'Call another agent.'),
  budget_refused: entry(
    'budget',
    false,
    'The budget cannot cover this.',
    'Raise the budget, or conclude with what there is.',
  ),
  budget_overdrawn: entry(
    'budget',
    false,
    'The provider used more than its stated maximum.',
    'Check the model settings; the overdraft is recorded.',
  ),
  deadline_passed: entry('timeout', false, 'The time given has passed.', 'Give more time, or a smaller goal.'),
  crossing_refused: entry(
    'policy',
    false,
    'No grant allows this to cross.',
    'Add the grant to the agent, if it should.',
  ),
  unattributed: entry(
    'policy',
    false,
    'A request held content without an origin and was not sent.',
    'This is a defect in Cloister: report it.',
  ),
  answer_schema: entry('schema', false, 'The answer does not fit the output schema.', 'Ask again and show the schema.'),
  cancelled: entry('cancelled', false, 'It was cancelled.', 'Start it again if it is still wanted.'),
  indeterminate: entry(
    'indeterminate',
    false,
    'It was started before a crash, and whether it took effect is not known.',
    'Check before doing it again.',
  ),
  defect: entry(
    'config',
    false,
    'Cloister met a state that should not exist.',
    'This is a defect in Cloister: report it.',
  ),
  replay_differs: entry(
    'config',
    false,
    'The code decided differently from the record.',
    'Resume with the version that wrote the run.',
  ),
} as const satisfies Record<string, Entry>;

export type ErrorCode = keyof typeof errorCatalogue;

/** A failure as data. `detail` is what the world said; it never leaves the cell that heard it. */
export type Failure = { readonly code: ErrorCode; readonly detail?: string; readonly retryAfterMs?: number };

/** What of a failure may be shown to another cell. */
export type PublicFailure = {
  readonly code: ErrorCode;
  readonly class: ErrorClass;
  readonly summary: string;
  readonly suggestion: string;
};

export const publicFailure = (failure: Failure): PublicFailure => {
  const { class: kind, summary, suggestion } = errorCatalogue[failure.code];
  return { code: failure.code, class: kind, summary, suggestion };
};

export class CloisterError extends Error {
  readonly failure: Failure;
  constructor(code: ErrorCode, detail?: string, options?: ErrorOptions & { retryAfterMs?: number }) {
    super(detail === undefined ? errorCatalogue[code].summary : `${errorCatalogue[code].summary} ${detail}`, options);
    this.name = 'CloisterError';
    this.failure = {
      code,
      ...(detail === undefined ? {} : { detail }),
      ...(options?.retryAfterMs === undefined ? {} : { retryAfterMs: options.retryAfterMs }),
    };
  }
  get code(): ErrorCode {
    return this.failure.code;
  }
  get suggestion(): string {
    return errorCatalogue[this.failure.code].suggestion;
  }
}
