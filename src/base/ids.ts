// Names of things. Ids that a cell may ever see are random, never counted and never ordered by time.
declare const brand: unique symbol;
type Branded<B extends string> = string & { readonly [brand]: B };

export type RunId = Branded<'run'>;
export type CellId = Branded<'cell'>;
/** Lower-case hex SHA-256. */
export type Hash = Branded<'hash'>;

/** What an agent, a tool, a run or a cell may be called: it becomes a path segment and a tool name. */
const nameShape = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/u;

export const isName = (text: string): boolean => nameShape.test(text) && !text.includes('..');
