// What one cell said and did, in the order in which people read it: words, then what they led to.
import type { CellId } from '#base';
import type { CellView, MailView, QuestionView, RunView, ToolCallView } from '#headends/run-view';

export type TurnRow =
  | { readonly type: 'agent'; readonly op: number; readonly cell: CellId; readonly agent: string }
  | { readonly type: 'tool'; readonly op: number; readonly call: ToolCallView };

export type TurnItem =
  /** `isLive`: it is being written. `isCut`: its beginning is missing. */
  | {
      readonly type: 'text';
      readonly at: number;
      readonly op: number;
      readonly text: string;
      readonly isLive: boolean;
      readonly isCut: boolean;
    }
  | { readonly type: 'rows'; readonly at: number; readonly rows: readonly TurnRow[] }
  | { readonly type: 'question'; readonly at: number; readonly question: QuestionView }
  | { readonly type: 'mail'; readonly at: number; readonly mail: MailView; readonly isMine: boolean };

/** The recorded text of a request, by its operation; undefined: not known here. */
export type RecordedText = (op: number) => string | undefined;

/** Of the root, also the questions of all cells, and the messages between its agents and the person. */
export const turnItems = (view: RunView, cell: CellView, recorded: RecordedText): readonly TurnItem[] => {
  const isRoot = cell.parent === null;
  const mail = isRoot ? mailItems(view) : [];
  const sent = new Set(mail.filter(({ isMine }) => !isMine).map((one) => one.mail.text?.trim()));
  const items = [
    ...requestItems(cell, recorded).filter((item) => item.type !== 'text' || !sent.has(item.text.trim())),
    ...mail,
  ].sort((one, other) => one.at - other.at);
  if (isRoot) for (const question of view.questions.values()) insertQuestion(items, question);
  return items;
};

/** The texts of a cell, and between them what each led to. */
const requestItems = (cell: CellView, recorded: RecordedText): TurnItem[] => {
  const rows = rowsOf(cell);
  const items: TurnItem[] = [];
  let next = 0;
  /** All rows that began before this operation. */
  const addRowsBefore = (op: number): void => {
    const from = next;
    while (next < rows.length && rows[next]!.op < op) next++;
    if (next > from) items.push({ type: 'rows', at: startOf(cell, rows[from]!), rows: rows.slice(from, next) });
  };
  const last = cell.requests.at(-1);
  for (const request of cell.requests) {
    // Of a cell that was stopped, the words in the middle of which it was.
    if (request.ok === false && !(request === last && cell.status === 'cancelled')) continue;
    const isLive = request === last && request.endedAt === null && cell.status === null;
    const text = isLive ? cell.text : (recorded(request.op) ?? request.text ?? '');
    if (text.trim() === '') continue;
    addRowsBefore(request.op);
    items.push({ type: 'text', at: request.startedAt, op: request.op, text, isLive, isCut: isLive && cell.isTextCut });
  }
  addRowsBefore(Infinity);
  return items;
};

/** Tool calls and called agents, in the order of their operations. A spawn is shown as the agent that it started. */
const rowsOf = ({ children, calls }: CellView): readonly TurnRow[] => {
  const agents = children.map(({ op, child, agent }): TurnRow => ({ type: 'agent', op, cell: child, agent }));
  const tools = calls
    .filter(({ tool }) => tool !== 'spawn_agent')
    .map((call): TurnRow => ({ type: 'tool', op: call.op, call }));
  return [...agents, ...tools].sort((one, other) => one.op - other.op);
};

const startOf = (cell: CellView, row: TurnRow): number =>
  row.type === 'tool'
    ? row.call.startedAt
    : (cell.children.find(({ op }) => op === row.op)?.startedAt ?? cell.startedAt);

/** Messages from the person and to the person. The newest state is the last; the first one has the text. */
const mailItems = ({ mail }: RunView): (TurnItem & { type: 'mail' })[] =>
  [...mail.values()]
    .filter((one) => one.text !== null && (one.from === 'outside' || one.to === 'outside'))
    .map((one) => ({ type: 'mail', at: one.states[0]!.at, mail: one, isMine: one.from === 'outside' }));

/** A question stands below the rows that were there when it was asked, not between them. */
const insertQuestion = (items: TurnItem[], question: QuestionView): void => {
  const at = question.askedAt;
  const after = items.findIndex((item) => item.at > at);
  items.splice(after === -1 ? items.length : after, 0, { type: 'question', at, question });
};

/** Requests of a cell whose text is not known although they have ended: the log has it. */
export const isTextMissing = ({ requests }: CellView, recorded: RecordedText): boolean =>
  requests.some(({ op, ok, text }) => ok === true && text === null && recorded(op) === undefined);

/** With the answer that the run ended with: it takes the place of what was written last, if that is something else. */
export const withAnswer = (items: readonly TurnItem[], output: string, at: number): readonly TurnItem[] => {
  const answer = output.trim();
  const isShown = items.some((item) => wordsOf(item)?.trim() === answer);
  if (answer === '' || isShown) return items;
  const last = items.at(-1);
  const isReplaced = last?.type === 'text';
  const text: TurnItem = { type: 'text', at, op: isReplaced ? last.op : -1, text: output, isLive: false, isCut: false };
  return [...(isReplaced ? items.slice(0, -1) : items), text];
};

const wordsOf = (item: TurnItem): string | null => {
  if (item.type === 'text') return item.text;
  return item.type === 'mail' && !item.isMine ? item.mail.text : null;
};

/** Who stands still until a person answers, and who works on. Names in the order of their starts. */
export const standingStill = (
  view: RunView,
): { readonly still: readonly string[]; readonly working: readonly string[] } => {
  const open = [...view.cells.values()].filter(({ status }) => status === null);
  const names = (cells: readonly CellView[]): readonly string[] => [...new Set(cells.map(({ agent }) => agent))];
  return {
    still: names(open.filter(({ wait }) => wait.since !== null)),
    working: names(open.filter(({ wait, idle }) => wait.since === null && wait.ownWork && !idle)),
  };
};

type Forked = {
  readonly run: string;
  readonly startedAt: number;
  readonly fork: { readonly run: string; readonly at: string } | null;
};

/** The runs of one turn, oldest first: the first one, and those that were started with the same goal again. */
export const versionsOf = (run: string, rows: readonly Forked[]): readonly string[] => {
  const byRun = new Map(rows.map((row) => [row.run, row]));
  /** A fork at the start of the first cell; others go on from somewhere else. */
  const original = (id: string, seen: ReadonlySet<string> = new Set()): string => {
    const fork = byRun.get(id)?.fork;
    if (fork == null || fork.at.includes('/') || seen.has(id)) return id;
    return original(fork.run, new Set([...seen, id]));
  };
  const first = original(run);
  return rows
    .filter((row) => original(row.run) === first)
    .sort((one, other) => one.startedAt - other.startedAt)
    .map((row) => row.run);
};

/** The same for the same item, however the run goes on. */
export const itemKey = (item: TurnItem): string => {
  switch (item.type) {
    case 'text':
      return `text ${item.op}`;
    case 'rows':
      return `rows ${item.rows[0]!.op}`;
    case 'question':
      return item.question.question;
    case 'mail':
      return `${item.mail.message} ${item.mail.recipient}`;
  }
};
