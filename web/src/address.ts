// What is selected, in the address: one selection for chat, rooms, ledger and X-ray. A reload or a sent link shows the same.
import { signal } from '@preact/signals';

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
const numbers = ['op', 'part'] as const;

export const parseAddress = (hash: string): Address => {
  const [path = '', query = ''] = hash.replace(/^#\/?/u, '').split('?');
  const given = new URLSearchParams(query);
  const page = pages.find((one) => one === path) ?? 'chat';
  const pane = panes.find((one) => one === given.get('pane'));
  return {
    page,
    ...(pane === undefined ? {} : { pane }),
    ...Object.fromEntries(texts.flatMap((name) => (given.has(name) ? [[name, given.get(name)]] : []))),
    ...Object.fromEntries(
      numbers.flatMap((name) => (/^\d{1,9}$/u.test(given.get(name) ?? '') ? [[name, Number(given.get(name))]] : [])),
    ),
    ...(given.has('xray') ? { xray: true } : {}),
  };
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
export const go = (to: Address): void => {
  const hash = formatAddress(to);
  if (hash !== location.hash) history.pushState(null, '', hash);
  address.value = to;
};

type Changes = { readonly [Key in keyof Address]?: Address[Key] | undefined };

/** Changes the selection in place: moving from room to room leaves nothing to go back through. */
export const select = (changes: Changes): void => {
  const to = Object.fromEntries(
    Object.entries({ ...address.value, ...changes }).filter(([, value]) => value !== undefined),
  ) as Address;
  history.replaceState(null, '', formatAddress(to));
  address.value = to;
};

export const followAddress = (): void => {
  const read = (): void => {
    address.value = parseAddress(location.hash);
  };
  addEventListener('popstate', read);
  addEventListener('hashchange', read);
};
