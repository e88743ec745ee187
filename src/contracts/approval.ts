// Approvals: which tools a person must allow before they run, and who may answer.

/** Who may answer the questions about a tool, and how many people must allow a call. */
export type ApprovalRule = {
  /** Names of callers (tokens) or of people. Absent: the caller of the run, or a caller whose token answers for the agent. */
  readonly by?: readonly string[];
  /** How many people must allow a call. Absent: one. */
  readonly need?: number;
  /** `asker`: whoever requested the run may not answer. */
  readonly not?: 'asker';
};

/** The mark of one tool: each call waits until it is allowed. `when: 'arguments'`: a function of the tool decides by the arguments. */
export type ApprovalMark = ApprovalRule & { readonly when?: 'arguments' };

/**
 * Marks by tool: `<server>/<tool>`, `<server>` for all of its tools, or the name of any other tool (built-in, in code, an agent as a
 * tool).
 */
export type ApprovalMarks = Readonly<Record<string, ApprovalMark>>;
