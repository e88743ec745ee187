// What is selected, in the address: one selection for chat, rooms, ledger and X-ray. A reload or a sent link shows the same.
import { signal } from '@preact/signals';
import { readTokenLink } from './token-link.ts';

export const pages = ['chat', 'runs', 'agents', 'questions'] as const;
export const panes = ['rooms', 'tree', 'tasks', 'mail', 'transcript', 'windows', 'summary', 'audit'] as const;

export type Page = (typeof pages)[number];
export type Pane = (typeof panes)[number];

/** Everything but the page may be absent. */
export type Address = {
  readonly page: Page;
  readonly run?: string;
  readonly pane?: Pane;
  /** A room, and in it a request or another operation; or a crossing, by the id of its event. */
  readonly cell?: string;
  readonly op?: number;
  readonly crossing?: string;
  /** A part of the prompt of that request, by its number; `find`: a text in it, whose trail is shown. */
  readonly part?: number;
  readonly find?: string;
  /** The X-ray fills the page. */
  readonly xray?: boolean;
  /** The run beside it. */
  readonly with?: string;
  readonly agent?: string;
  readonly conversation?: string;
  readonly message?: string;
  readonly question?: string;
};

const texts = ['run', 'cell', 'crossing', 'find', 'with', 'agent', 'conversation', 'message', 'question'] as const;

/** Undefined: not, or no longer, there. */
export type Changes = { readonly [Key in keyof Address]?: Address[Key] | undefined };

const given = (changes: Changes): Address =>
  Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)) as Address;

export const parseAddress = (hash: string): Address => {
  const [path = '', query = ''] = hash.replace(/^#\/?/u, '').split('?');
  const asked = new URLSearchParams(query);
  const number = (name: string): number | undefined => {
    const text = asked.get(name) ?? '';
    return /^\d{1,9}$/u.test(text) ? Number(text) : undefined;
  };
  return given({
    page: pages.find((one) => one === path) ?? 'chat',
    pane: panes.find((one) => one === asked.get('pane')),
    ...Object.fromEntries(texts.map((name) => [name, asked.get(name) ?? undefined])),
    op: number('op'),
    part: number('part'),
    xray: asked.has('xray') || undefined,
  });
};

export const formatAddress = ({ page, ...rest }: Address): string => {
  const query = new URLSearchParams(
    Object.entries(rest).flatMap(([name, value]) =>
      value === undefined || value === false ? [] : [[name, value === true ? '' : String(value)]],
    ),
  ).toString();
  return `#/${page}${query === '' ? '' : `?${query.replaceAll('=&', '&').replace(/=$/u, '')}`}`;
};

export const address = signal<Address>(parseAddress(location.hash));

/** Goes to another place; the browser's Back returns. */
export const go = (changes: Changes): void => {
  const to = given(changes);
  const hash = formatAddress(to);
  if (hash !== location.hash) history.pushState(null, '', hash);
  address.value = to;
};

/** Changes the selection in place: moving from room to room leaves nothing to go back through. */
export const select = (changes: Changes): void => {
  const to = given({ ...address.value, ...changes });
  history.replaceState(null, '', formatAddress(to));
  address.value = to;
};

export const followAddress = (): void => {
  const read = (): void => {
    // A link with another token, opened in the same tab: nothing of the page that was here stays.
    if (readTokenLink(location.hash) !== null) return location.reload();
    address.value = parseAddress(location.hash);
  };
  addEventListener('popstate', read);
  addEventListener('hashchange', read);
};
