// The questions of a run to people: one fold over its frames, live, on resume, and for those who list them.
import { canonicalJson, sha256 } from '#base';
import type { CellId, Hash, JsonObject } from '#base';
import type { ApprovalRule, Frame, Question, QuestionAnswer, QuestionReport, QuestionResult, Ruling } from '#contracts';

/** A question of a run, and its answers so far. */
export type AskedQuestion = {
  readonly cell: CellId;
  readonly op: number;
  /** The number of the frame that asks. */
  readonly frame: number;
  readonly askedAt: number;
  readonly until: number;
  readonly question: Question;
  /** The definition of the cell that asks. */
  readonly digest: Hash;
  readonly rulings: readonly RecordedRuling[];
  /** Null while it waits. `result`: null if it was stopped before it had one. */
  readonly ended: { readonly at: number; readonly result: QuestionResult | null } | null;
};

/** `said`: the ledger entry of what the cell heard of it. */
type RecordedRuling = Ruling & Pick<QuestionResult, 'said'> & { readonly at: number; readonly frame: number };

export class Questions {
  readonly #asked = new Map<string, AskedQuestion>();
  /** The frame of the ruling that covers these calls from now on. */
  #remembered: Map<string, number> | null = null;
  readonly #digestOf: (cell: CellId) => Hash;
  readonly #keepsEnded: boolean;

  /** `digestOf`: the definition of a cell. `keepsEnded`: also those that no longer wait, for a list. */
  constructor(digestOf: (cell: CellId) => Hash, keepsEnded = false) {
    this.#digestOf = digestOf;
    this.#keepsEnded = keepsEnded;
  }

  /** In the order in which they were asked. */
  get all(): readonly AskedQuestion[] {
    return [...this.#asked.values()];
  }

  /** The question that was asked in this frame. */
  askedIn(frame: number): AskedQuestion | undefined {
    return this.all.find((one) => one.frame === frame);
  }

  of(cell: CellId, op: number): AskedQuestion | undefined {
    return this.#asked.get(`${cell}/${op}`);
  }

  /** The frame of a ruling that covers this question too. */
  rememberedFor(asked: AskedQuestion): number | undefined {
    // Whoever allowed later calls did not allow the same call twice.
    return asked.question.unknown === undefined ? this.#remembered?.get(coverage(asked)) : undefined;
  }

  next(frame: Frame): void {
    const { cell, no, at, record } = frame;
    if (record.type === 'begin' && record.question !== undefined) {
      const { op, question, until = Infinity } = record;
      const digest = this.#digestOf(cell);
      const asked = { cell, op, frame: no, askedAt: at, until, question, digest, rulings: [], ended: null };
      this.#asked.set(`${cell}/${op}`, asked);
      return;
    }
    // Answers belong to the run that asked.
    if (record.type === 'fork') {
      this.#remembered = null;
      for (const [key, one] of this.#asked) if (one.ended === null) this.#asked.set(key, { ...one, rulings: [] });
    }
    if (record.type !== 'ruling' && record.type !== 'settle') return;
    const key = `${cell}/${record.op}`;
    const asked = this.#asked.get(key);
    if (asked === undefined || asked.ended !== null) return;
    if (record.type === 'ruling') {
      const { type: _type, ...ruling } = record;
      this.#asked.set(key, { ...asked, rulings: [...asked.rulings, { ...ruling, ...saidIn(frame), at, frame: no }] });
      return;
    }
    const result = record.ok ? (record.value as unknown as QuestionResult) : null;
    const last = asked.rulings.at(-1);
    // Only rulings that allowed the call cover others, and only if all of these people meant so.
    if (result?.verdict === 'allow' && last !== undefined && asked.rulings.every(({ remember }) => remember === 'run'))
      (this.#remembered ??= new Map()).set(coverage(asked), last.frame);
    // probe: question-over
    if (this.#keepsEnded) this.#asked.set(key, { ...asked, ended: { at, result } });
    else this.#asked.delete(key);
  }
}

/** The ledger entry of the answer that crossed in this frame. */
export const saidIn = ({ cell, contents }: Pick<Frame, 'cell' | 'contents'>): Pick<QuestionResult, 'said'> => {
  const said = contents?.find((one) => one.kind === 'answer' && one.cell === cell)?.seq;
  return said === undefined ? {} : { said };
};

/** What an answer that is remembered covers: the same tool and arguments, in cells of the same definition. */
const coverage = ({ digest, question: { tool, argsHash } }: AskedQuestion): string =>
  /* probe: answer-covers */ `${digest} ${argsHash} ${tool}`;

/** The verdict that these rulings make; null: more people must allow the call. */
export const verdictOf = (
  { argsHash, rule }: Pick<Question, 'argsHash' | 'rule'>,
  rulings: readonly Pick<Ruling, 'verdict' | 'by' | 'args'>[],
): 'allow' | 'deny' | null => {
  if (rulings.some(({ verdict }) => verdict === 'deny')) return 'deny';
  const people = new Map<Hash, Set<string>>();
  for (const { by, args } of rulings) {
    // probe: quorum-args
    const allowed = args === undefined ? argsHash : argumentsHash(args);
    // probe: quorum-people
    people.set(allowed, (people.get(allowed) ?? new Set()).add(by));
  }
  return [...people.values()].some((named) => named.size >= peopleNeeded(rule)) ? 'allow' : null;
};

/** How many people must allow a call. */
export const peopleNeeded = (rule: ApprovalRule | undefined): number => /* probe: quorum-need */ rule?.need ?? 1;

/** The hash by which an answer names the arguments that it is about. */
export const argumentsHash = (args: JsonObject): Hash => sha256(canonicalJson(args));

/** The state of a question that has this result; null: its cell was stopped. */
export const questionState = (result: QuestionResult | null): Exclude<QuestionReport['state'], 'open' | 'stale'> => {
  if (result === null) return 'cancelled';
  if (result.expired === true) return 'expired';
  return result.verdict === 'allow' ? 'allowed' : 'denied';
};

/** Why an answer does not fit its question, as far as that is known without the tool's schema; null: it does. */
export const answerProblem = (
  { why, args: { options } }: Pick<Question, 'why' | 'args'>,
  { allow, args, reason = '', remember }: Pick<QuestionAnswer, 'allow' | 'args' | 'reason' | 'remember'>,
): string | null => {
  if (why === 'agent' && allow && reason.trim() === '')
    return 'The agent asked a question: `reason` must hold the answer.';
  if (why === 'agent' && allow && Array.isArray(options) && !options.includes(reason))
    return `\`reason\` must be one of: ${options.join(', ')}.`;
  if (args !== undefined && (!allow || why !== 'tool' || remember !== undefined))
    return '`args`: only with `allow: true` for a marked tool, and without `remember`.';
  return remember !== undefined && (!allow || why !== 'tool')
    ? '`remember`: only with `allow: true` for a marked tool.'
    : null;
};
