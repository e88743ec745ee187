// Questions to people: a cell asks before it calls a marked tool, or because its agent may ask, and waits for the answer.
import type { CellId, Hash, JsonObject, RunId } from '#base';
import type { ApprovalRule } from './approval.ts';

/** A question as its cell asks it. `until` and the number of its operation are in the record that begins it. */
export type Question = {
  /** The tool that is to be called, as the model knows it. For a question of the agent itself: `ask_person`. */
  readonly tool: string;
  /** Exactly what it is to be called with. */
  readonly args: JsonObject;
  readonly argsHash: Hash;
  /** `tool`: the tool is marked. `agent`: the agent asks a person. `client`: a tool of the client that started the run. */
  readonly why: 'tool' | 'agent' | 'client';
  /** Set if the call was in flight during a crash, so it may have taken effect: the number of the operation whose outcome is unknown. */
  readonly unknown?: number;
  /** Who may answer, and how many people must allow the call. Absent: the caller of the run, alone. */
  readonly rule?: ApprovalRule;
};

/**
 * Why somebody may answer: `caller`: requested the run. `named`: the rule names them. `answers`: their token answers for the agent.
 * `operator`: owns the workspace.
 */
export type AnswerRight = 'caller' | 'named' | 'answers' | 'operator';

/** One person's answer to a question, as it is recorded. */
export type Ruling = {
  /** The number of the operation that asks. */
  readonly op: number;
  readonly by: string;
  readonly right: AnswerRight;
  readonly verdict: 'allow' | 'deny';
  /** The hash of the arguments that were shown to this person. */
  readonly argsHash: Hash;
  /** Set if the person changed the arguments: those that are allowed. */
  readonly args?: JsonObject;
  /** What the person said, for people. What the cell hears of it has crossed. */
  readonly reason?: string;
  /** `run`: also covers later calls of the same tool with the same arguments, by cells of the same definition, in this run. */
  readonly remember?: 'run';
  /** The id under which the answer was sent: the same answer is taken once. */
  readonly signal: string;
};

/** What a cell hears of an answer; the content of an `answer` crossing, as JSON. */
export type AnswerContent = {
  /** The person's words. */
  readonly text?: string;
  /** The arguments, if the person changed them. */
  readonly args?: JsonObject;
};

/** How a question ended, as its cell sees it. */
export type QuestionResult = {
  readonly verdict: 'allow' | 'deny';
  /** The ledger entry of the answer, if the person said or changed anything. */
  readonly said?: number;
  /** Nobody answered in time. */
  readonly expired?: true;
  /** The number of the frame with the ruling that covers this call too. */
  readonly remembered?: number;
};

/** An answer to a question, as somebody sends it. */
export type QuestionAnswer = {
  readonly allow: boolean;
  /** The hash of the arguments that were shown; a question whose arguments have another one is not answered. */
  readonly sha256: string;
  /** Calls the tool with these arguments instead. They must fit its schema. */
  readonly args?: JsonObject;
  /** Why, or the answer itself if the agent asked. The agent is told. */
  readonly reason?: string;
  readonly remember?: 'run';
};

/** A question of a run, for people. */
export type QuestionReport = {
  readonly id: string;
  readonly run: RunId;
  readonly cell: CellId;
  /** The agent that asks. */
  readonly agent: string;
  /** The agents from the root down to the one that asks. */
  readonly path: readonly string[];
  /** The caller that requested the run, on a server. */
  readonly caller: string | null;
  readonly tool: string;
  readonly args: JsonObject;
  readonly sha256: string;
  readonly why: Question['why'];
  /** The call was in flight during a crash and may have taken effect. Allowing it makes it again. */
  readonly indeterminate?: true;
  readonly askedAt: number;
  /** When it counts as denied. */
  readonly until: number;
  /** How many people must allow it. */
  readonly need: number;
  /** Who may answer; null: the caller of the run, or whoever answers for the agent. */
  readonly by: readonly string[] | null;
  readonly not: 'asker' | null;
  /** The answers so far. `signal`: the id under which it was sent. */
  readonly answers: readonly {
    readonly by: string;
    readonly allow: boolean;
    readonly at: number;
    readonly args?: JsonObject;
    /** What the person said; not of the results of a client's tools. */
    readonly reason?: string;
    readonly signal: string;
  }[];
  /**
   * `open`: it waits for people. `stale`: it waits, but the agents have changed and nobody runs the run any more, so no answer can
   * continue it.
   */
  readonly state: 'open' | 'stale' | 'allowed' | 'denied' | 'expired' | 'cancelled';
};

/** A call of a client's tool that waits for its result. */
export type WaitingCall = {
  /** The id of its question. */
  readonly id: string;
  /** The name of the tool. */
  readonly name: string;
  readonly args: JsonObject;
  /** The hash of the arguments, which the result names. */
  readonly sha256: string;
};

/** What became of an answer. `waiting`: more people must allow the call. */
export type AnswerState = 'allowed' | 'denied' | 'waiting';

/** Which questions are listed: by default all that wait. */
export type QuestionQuery = {
  /** Those of one run. */
  readonly run?: string;
  /** Those of one caller's runs, on a server. */
  readonly caller?: string;
  /** Also those that no longer wait. */
  readonly all?: boolean;
};

/** The id of a question: its run, and the number of the frame that asks. */
export const questionId = (run: RunId, frame: number): string => `q-${run}-${frame}`;

/** Null: this is not the id of a question. */
export const readQuestionId = (id: string): { readonly run: RunId; readonly frame: number } | null => {
  const [, run, frame] = /^q-([A-Za-z0-9_-]{1,100})-(0|[1-9]\d{0,9})$/u.exec(id) ?? [];
  return run === undefined ? null : { run: run as RunId, frame: Number(frame) };
};
