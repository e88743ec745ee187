// What is marked for approval, and who may answer.

/** Who may answer a tool's questions, and how many people must allow the call. */
export type ApprovalRule = {
  /** Names of callers (tokens) or people. Absent: the caller of the run, or whoever's token answers for the agent. */
  readonly by?: readonly string[];
  /** How many people must allow it. Absent: one. */
  readonly need?: number;
  /** `asker`: whoever requested the run may not answer. */
  readonly not?: 'asker';
};

/** A mark in a definition. `when: 'arguments'`: a function of the tool decides by the arguments. */
export type ApprovalMark = ApprovalRule & { readonly when?: 'arguments' };

/** Marks by tool: `<server>/<tool>`, `<server>` for all of its tools, or the name of any other tool. */
export type ApprovalMarks = Readonly<Record<string, ApprovalMark>>;
