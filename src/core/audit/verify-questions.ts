// Checks that no marked call was made without people who allowed it. Runs after the frame is read.
//
//   audit-marked-calls. No step of a marked tool without rulings before it that allow it: by people who had the right then, enough of
//       them, for exactly these arguments, and for one call.
//   audit-client-results. The result of a client's tool is what crossed with the one ruling of the run's caller, about a call that the
//       model made of a tool that the client has.
import { canonicalJson, isObject, sha256, utf8Bytes } from '#base';
import type { CellId, ErrorCode, Hash, Json, JsonObject } from '#base';
import type {
  AnswerContent,
  ApprovalMark,
  Frame,
  GivenTools,
  ModelReply,
  Question,
  QuestionResult,
  ToolResultValue,
} from '#contracts';
import { approvalMark, preview } from '#core/rules';
import { AskedQuestions } from './asked-questions.ts';
import type { AskRecords, RulingFrame } from './asked-questions.ts';
import { problemLocation } from './problems.ts';
import type { AuditProblems } from './problems.ts';
import type { BeginFrameRecord, CellRecords, RunRecords, SettleFrameRecord } from './records.ts';

type ListedTool = { readonly name: string; readonly source: string; readonly own: string; readonly approve?: Json };

export class QuestionsCheck {
  readonly #records: RunRecords;
  readonly #problems: AuditProblems;
  readonly #asked: AskedQuestions;
  /** Rulings that cover later calls, by frame. */
  readonly #remembered = new Map<number, string>();
  readonly #listed = new Map<CellId, ListedTool[]>();
  /** Whoever requested the run. */
  #asker = 'operator';

  constructor(records: RunRecords, problems: AuditProblems) {
    this.#records = records;
    this.#problems = problems;
    this.#asked = new AskedQuestions(records);
  }

  release(cell: CellId): void {
    this.#asked.release(cell);
    this.#listed.delete(cell);
  }

  #verifyAsk(frame: Frame, begin: BeginFrameRecord, cell: CellRecords): void {
    const where = problemLocation(frame, frame.cell, begin.op);
    const { question, until } = begin;
    if (question === undefined || until === undefined)
      return this.#problems.add('operation-record', where, 'a question without its text or its end');
    const { digest } = cell.birth;
    this.#asked.add(frame.cell, begin.op, { question, until, digest });
    if (question.argsHash !== hashOf(question.args))
      this.#problems.add('question-asked', where, 'the hash of its arguments is another one');
    // A second question about the same call shows what the first one allowed.
    const wasWritten = this.#asked.wasAllowed(frame.cell, question.argsHash);
    if (!isCalled(cell, question) && !wasWritten)
      this.#problems.add('question-asked', where, 'its model made no such call');
    const { unknown } = question;
    if (unknown !== undefined && cell.operations.get(unknown)?.settle?.failure?.code !== 'indeterminate')
      this.#problems.add('question-asked', where, 'the outcome of the call that it names is known');
    if (question.why === 'client') this.#verifyClientCall(frame, begin, cell, question);
    const mark = question.why === 'tool' ? this.#markOf(cell, question.tool) : undefined;
    if (canonicalJson(ruleOf(mark)) !== canonicalJson(question.rule ?? {}))
      this.#problems.add('question-asked', where, 'its definition has another rule about who may answer');
  }

  #verifyClientCall(
    frame: Frame,
    { op, until = 0, about }: BeginFrameRecord,
    cell: CellRecords,
    asked: Question,
  ): void {
    const where = problemLocation(frame, frame.cell, op);
    const ms = this.#clientTools(cell).get(asked.tool);
    if (ms === undefined || cell.birth.parent !== null)
      return this.#problems.add('question-asked', where, `its client has no tool ${asked.tool}`);
    if (until !== frame.at + ms) this.#problems.add('question-asked', where, 'its client has another time for a call');
    const mark = this.#markOf(cell, asked.tool);
    if (mark !== undefined && mark.when === undefined && typeof about?.['ask'] !== 'number')
      this.#problems.add('question-call', where, `${asked.tool} is marked, and nobody was asked`);
  }

  /** The tools of its client, with the time for a call: those of its definition, and those that crossed since. */
  #clientTools({ birth, given: crossed }: CellRecords): ReadonlyMap<string, number> {
    const { client = {}, tools = [] } = this.#records.definitions.get(birth.digest) ?? {};
    const all = new Map(Object.entries(client));
    for (const { entry, content } of crossed) {
      if (entry.kind !== 'tools' || entry.verdict !== 'granted' || content === undefined) continue;
      const given = JSON.parse(content) as GivenTools;
      for (const { name } of given.tools)
        if (!all.has(name) && !tools.some((tool) => tool.name === name)) all.set(name, given.timeoutMs);
    }
    return all;
  }

  #verifyRuling(frame: RulingFrame): void {
    const { op, by, right, verdict, argsHash, args, remember, reason } = frame.record;
    const where = problemLocation(frame, frame.cell, op);
    const ask = this.#asked.find(frame.cell, op);
    if (ask === undefined) return this.#problems.add('question-ruling', where, 'nothing was asked');
    const { question, rulings, until } = ask;
    const { by: named, not } = question.rule ?? {};
    const caller = this.#asker;
    const faults = [
      ask.result !== null || decide(ask) !== null ? 'the question was decided before' : null,
      frame.at >= until ? 'the question had expired' : null,
      argsHash !== question.argsHash ? 'it is about other arguments than those of the question' : null,
      rulings.some(({ record }) => record.by === by) ? `${by} had answered before` : null,
      named !== undefined && (right !== 'named' || !named.includes(by))
        ? `${by} is not one of those who may answer`
        : null,
      named === undefined && right === 'named' ? `the rule names nobody, and so not ${by}` : null,
      right === 'caller' && by !== caller ? `${by} did not request the run` : null,
      not === 'asker' && by === caller ? 'whoever requested the run may not answer' : null,
      args !== undefined && (verdict !== 'allow' || remember !== undefined || question.why !== 'tool')
        ? 'it cannot change arguments'
        : null,
      question.why !== 'client' && (answerText(frame) ?? reason) !== reason ? 'another answer crossed' : null,
      question.why === 'client' && (right !== 'caller' || remember !== undefined)
        ? 'only the caller of the run has the result of a tool of its client'
        : null,
    ];
    for (const fault of faults) if (fault !== null) this.#problems.add('question-ruling', where, fault);
    rulings.push(frame);
    // Where several people must allow a call, all of them must have meant later ones too.
    if (rulings.every(({ record }) => record.remember === 'run') && verdict === 'allow')
      this.#remembered.set(frame.no, coverage(ask));
  }

  #verifyEnd(frame: Frame, settle: SettleFrameRecord, ask: AskRecords): void {
    if (!settle.ok) return;
    const where = problemLocation(frame, frame.cell, settle.op);
    const result = settle.value as unknown as QuestionResult;
    const decided = decide(ask);
    const last = ask.rulings.at(-1);
    ask.result = result;
    if (result.remembered !== undefined) {
      const isCovered = result.remembered < frame.no && this.#remembered.get(result.remembered) === coverage(ask);
      if (!isCovered || result.verdict !== 'allow' || ask.question.unknown !== undefined)
        this.#problems.add('question-ruling', where, 'no earlier answer covers this call');
      ask.allowed = ask.question.argsHash;
      return;
    }
    if (result.expired === true) {
      if (result.verdict !== 'deny' || decided !== null || frame.at < ask.until)
        this.#problems.add('question-ruling', where, 'it had not expired, or was answered');
      return;
    }
    if (decided === null || decided !== result.verdict)
      this.#problems.add('question-ruling', where, 'its rulings do not decide it, or decide otherwise');
    const said = last?.contents?.find(({ kind, cell }) => kind === 'answer' && cell === frame.cell)?.seq;
    if (said !== result.said)
      this.#problems.add('question-ruling', where, 'it names another answer than the one that crossed');
    // What a client says has failed was called, too.
    if (result.verdict === 'allow' || ask.question.why === 'client')
      ask.allowed = last?.record.args === undefined ? ask.question.argsHash : hashOf(last.record.args);
  }

  /** A call that a question preceded. */
  #verifyAllowed(frame: Frame, begin: BeginFrameRecord, no: number): void {
    const where = problemLocation(frame, frame.cell, begin.op);
    const ask = this.#asked.find(frame.cell, no);
    if (ask === undefined || ask.result === null)
      return this.#problems.add('question-call', where, 'the question that it names has not been answered');
    if (ask.forked) this.#problems.add('question-call', where, 'its question was answered for another run');
    const isStep = begin.do === 'step' || begin.do === 'ask';
    if (isStep && ask.usedBy !== null) this.#problems.add('question-call', where, 'its question allowed another call');
    ask.usedBy ??= begin.op;
    const called = begin.name.slice(begin.name.indexOf(':') + 1);
    if (isStep && begin.name.startsWith('tool:') && called !== ask.question.tool)
      this.#problems.add('question-call', where, `its question was about ${ask.question.tool}`);
    if (ask.allowed !== null && begin.about?.['argsHash'] !== ask.allowed)
      this.#problems.add('question-call', where, 'its arguments are not those that were allowed');
  }

  /** Answers belong to the run that asked. */
  #forgetAnswers(): void {
    this.#remembered.clear();
    for (const ask of this.#asked.all()) {
      if (ask.result === null) ask.rulings.length = 0;
      else if (ask.usedBy === null && ask.allowed !== null && ask.question.why === 'tool') ask.forked = true;
    }
  }

  #verifyCall(frame: Frame, settle: SettleFrameRecord, begin: BeginFrameRecord, cell: CellRecords): void {
    const where = problemLocation(frame, frame.cell, begin.op);
    const ask = begin.about?.['ask'];
    const asked = typeof ask === 'number' ? this.#asked.find(frame.cell, ask) : undefined;
    if (asked?.question.why === 'client') return this.#verifyResult(frame, settle, asked);
    const allowed = asked?.allowed ?? null;
    const code = settle.failure?.code;
    const wasMade = settle.ok || code === undefined || !unmadeCalls.includes(code);
    if (typeof ask === 'number') {
      if (allowed === null && wasMade)
        this.#problems.add('question-call', where, 'it was made although nobody allowed it');
      return;
    }
    const tool = calledTool(begin);
    if (tool !== undefined && this.#clientTools(cell).has(tool) && wasMade)
      return this.#problems.add('question-call', where, `${tool} is a tool of the client, which was not asked`);
    const mark = tool === undefined ? undefined : this.#markOf(cell, tool);
    if (mark !== undefined && mark.when === undefined && wasMade)
      this.#problems.add('question-call', where, `${tool} is marked, and nobody was asked`);
  }

  #verifyResult(frame: Frame, { op, ok, value, failure }: SettleFrameRecord, { result, rulings }: AskRecords): void {
    const last = rulings.at(-1);
    const text = (last === undefined ? undefined : answerText(last)) ?? '';
    const isSame = ok
      ? result?.verdict === 'allow' && isResultOf(text, value as unknown as ToolResultValue)
      : failure?.code !== 'tool_failed' || (result?.verdict === 'deny' && failure.detail === text);
    if (!isSame)
      this.#problems.add(
        'question-call',
        problemLocation(frame, frame.cell, op),
        'its result is not what the client sent',
      );
  }

  #markOf(cell: CellRecords, name: string): ApprovalMark | undefined {
    const marks = this.#records.definitions.get(cell.birth.digest)?.approve;
    const tool = this.#listed.get(cell.birth.cell)?.find((one) => one.name === name);
    const own: ApprovalMark | undefined = tool?.approve === true ? {} : undefined;
    return approvalMark(marks, tool ?? { name }) ?? own;
  }

  next(frame: Frame): void {
    const { record } = frame;
    if (record.type === 'fork') this.#forgetAnswers();
    if (record.type === 'open' || record.type === 'fork') this.#asker = record.caller ?? 'operator';
    const cell = this.#records.cells.get(frame.cell);
    if (cell === undefined) return;
    if (frame.attempt !== undefined) this.#asked.releaseAnswered(frame.cell);
    if (record.type === 'ruling') return this.#verifyRuling(frame as RulingFrame);
    if (record.type === 'begin') {
      if (record.do === 'ask') return this.#verifyAsk(frame, record, cell);
      const ask = record.about?.['ask'];
      if (typeof ask === 'number') this.#verifyAllowed(frame, record, ask);
      return;
    }
    if (record.type !== 'settle') return;
    const begin = cell.operations.get(record.op)?.begin;
    const ask = this.#asked.find(frame.cell, record.op);
    if (ask !== undefined) return this.#verifyEnd(frame, record, ask);
    if (begin === undefined) return;
    if (begin.name.startsWith('tools:') && record.ok) noteListed(this.#listed, frame.cell, begin.name, record.value);
    this.#verifyCall(frame, record, begin, cell);
  }
}

/** The calls that ended before anything was done. */
const unmadeCalls: readonly ErrorCode[] = [
  'approval_denied',
  'approval_expired',
  'answer_denied',
  'answer_expired',
  'tool_unknown',
  'tool_arguments',
  'tool_calls_many',
  'tool_call_cut',
  'cancelled',
];

/** What the cell hears of a ruling, if it hears words. */
const answerText = ({ cell, contents }: Frame): string | undefined => {
  const said = contents?.find((one) => one.kind === 'answer' && one.cell === cell);
  return said === undefined ? undefined : (JSON.parse(said.content) as AnswerContent).text;
};

const isResultOf = (text: string, { text: shown, output }: ToolResultValue): boolean =>
  output === undefined
    ? shown === text
    : output.bytes === utf8Bytes(text) &&
      output.ref === sha256(text) &&
      shown === preview(text, output.name, output.shown);

const calledTool = ({ do: kind, name }: BeginFrameRecord): string | undefined => {
  if (kind === 'step' && name.startsWith('tool:')) return name.slice('tool:'.length);
  return kind === 'child' && name.startsWith('agent:') ? name.slice('agent:'.length) : undefined;
};

const noteListed = (listed: Map<CellId, ListedTool[]>, cell: CellId, name: string, value: Json | undefined): void => {
  const source = name.slice('tools:'.length);
  const tools = Array.isArray(value) ? value.filter(isObject) : [];
  const known = listed.get(cell) ?? [];
  listed.set(cell, [
    ...known,
    ...tools.map((tool) => ({ ...(tool as unknown as Omit<ListedTool, 'source'>), source })),
  ]);
};

const hashOf = (args: JsonObject): Hash => sha256(canonicalJson(args));

const coverage = ({ digest, question: { tool, argsHash } }: AskRecords): string => `${digest} ${argsHash} ${tool}`;

const ruleOf = (mark: ApprovalMark | undefined): Omit<ApprovalMark, 'when'> => {
  const { when: _when, ...rule } = mark ?? {};
  return rule;
};

/** Derived here, not taken from the log. */
const decide = ({ question: { rule, argsHash }, rulings }: AskRecords): 'allow' | 'deny' | null => {
  if (rulings.some(({ record }) => record.verdict === 'deny')) return 'deny';
  const hashes = rulings.map(({ record: { args } }) => (args === undefined ? argsHash : hashOf(args)));
  const most = Math.max(0, ...hashes.map((one) => hashes.filter((other) => other === one).length));
  return most >= (rule?.need ?? 1) ? 'allow' : null;
};

/** Whether the model's newest reply calls the tool with these arguments. */
const isCalled = ({ lastReply }: CellRecords, { tool, argsHash }: Question): boolean => {
  const reply = lastReply?.settle?.value as unknown as ModelReply | undefined;
  return (reply?.parts ?? []).some((part) => {
    if (part.type !== 'call' || part.name !== tool) return false;
    try {
      const args = JSON.parse(part.input === '' ? '{}' : part.input) as Json;
      return isObject(args) && hashOf(args) === argsHash;
    } catch {
      return false;
    }
  });
};
