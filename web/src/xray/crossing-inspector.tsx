// One crossing: exactly the bytes, the grant, and both entries of the ledgers, with their hashes computed again here.
import type { CellLedger, LedgerEntry } from '#contracts';
import { count, formatBytes } from '#headends/run-view';
import type { CrossingView } from '#headends/run-view';
import { address, go } from '../address.ts';
import { refusalWords } from '../panes/crossings.tsx';
import type { RunStore } from '../run-store.ts';
import { source } from '../state.ts';
import { CopyButton, Empty, Problem } from '../ui/parts.tsx';
import { useLoaded } from '../ui/use-loaded.ts';
import { checkChain, sha256Hex } from './hashes.ts';
import { namesIn, readCrossing, rootOf, seesContents, timeSince, withheld } from './inspected.ts';
import { findEntry } from './ledger-entries.ts';
import type { FoundEntry } from './ledger-entries.ts';
import { crossingHue } from './hues.ts';

type Props = { readonly store: RunStore; readonly crossing: CrossingView };

export const CrossingInspector = ({ store, crossing }: Props) => {
  void store.version.value;
  const { from, to, kind, bytes, grant, refused, at, id } = crossing;
  const names = namesIn(store.view);
  const no = store.view.crossings.indexOf(crossing);
  return (
    <>
      <div class="xray-head">
        <h2>Crossing {no}</h2>
        <span class={`legend hue-${refused === null ? crossingHue(kind) : 'stop'}`}>{kind}</span>
        <span class="header-space" />
        <span class="muted">{timeSince(rootOf(store)?.startedAt ?? at, at)}</span>
      </div>
      <div class="inspector-scroll">
        <div class="inspector-facts">
          <div class="inspector-line">
            <RoomLink end={from} name={names(from)} /> <span class="muted">→</span>{' '}
            <RoomLink end={to} name={names(to)} />
            <span class="at-end muted">{formatBytes(bytes)}</span>
          </div>
          {refused === null ? (
            <p class="muted">grant {grant}</p>
          ) : (
            <p class="hue-text hue-stop">
              {`${refusalWords(refused)}. `}
              {`Nothing crossed: the ${count(bytes)} bytes stayed with ${names(from)}.`}
            </p>
          )}
        </div>
        {refused === null ? <Content key={id} store={store} crossing={crossing} /> : null}
        <Entries store={store} crossing={crossing} />
      </div>
    </>
  );
};

const RoomLink = ({ end, name }: { readonly end: string; readonly name: string }) => {
  const { crossing: _crossing, op: _op, part: _part, find: _find, ...rest } = address.value;
  return end === 'outside' ? (
    <h3>{name}</h3>
  ) : (
    <h3>
      <button type="button" class="stop-title" onClick={() => go({ ...rest, cell: end })}>
        {name}
      </button>
    </h3>
  );
};

const Content = ({ store, crossing }: Props) => {
  const { value, error } = useLoaded(async () => {
    if (!seesContents()) return null;
    const content = await readCrossing(store, crossing);
    return content === null ? null : { content, hash: await sha256Hex(content) };
  }, [store.run, crossing.id]);
  if (!seesContents()) return <Empty title="Contents are withheld">{withheld}</Empty>;
  if (error !== null) return <Problem error={error} />;
  if (value === null) return <p class="pane-empty" aria-busy="true" />;
  const { content, hash } = value;
  const matches = hash === crossing.sha256;
  return (
    <section class="inspector-section" aria-label="What crossed">
      <div class="inspector-line">
        <h3>Exactly what crossed</h3>
        <span class="at-end">
          <CopyButton text={() => content} />
        </span>
      </div>
      <pre class="crossed-bytes" tabIndex={0}>
        {content.slice(0, 50_000)}
        {content.length > 50_000 ? '\n…' : ''}
      </pre>
      <p class="hash">
        {hash === null ? (
          <span class="muted">This browser computes hashes only over https or on this machine.</span>
        ) : matches ? (
          <strong class="unattributed">SHA-256 matches</strong>
        ) : (
          <strong class="hue-text hue-stop" role="alert">
            SHA-256 does not match: these bytes are not those that crossed.
          </strong>
        )}{' '}
        <code>{crossing.sha256}</code>
      </p>
    </section>
  );
};

const Entries = ({ store, crossing }: Props) => {
  void store.version.value;
  const { value, error } = useLoaded(() => source.value.ledger(store.run), [store.run, store.view.crossings.length]);
  if (error !== null) return <Problem error={error} />;
  if (value === null) return null;
  const names = namesIn(store.view);
  const sides = (['out', 'in'] as const).flatMap((way) => {
    const end = way === 'out' ? crossing.from : crossing.to;
    const ledger = value.find(({ cell }) => cell === end);
    const found = ledger === undefined ? null : findEntry(ledger, way, crossing, store.view.crossings);
    return ledger === undefined ? [] : [{ way, ledger, found, name: names(end) }];
  });
  return (
    <>
      {sides.map(({ way, ledger, found, name }) => (
        <LedgerSide key={way} ledger={ledger} found={found} title={`Ledger of ${name}`} names={names} />
      ))}
    </>
  );
};

type SideProps = {
  readonly ledger: CellLedger;
  readonly found: FoundEntry | null;
  readonly title: string;
  readonly names: ReturnType<typeof namesIn>;
};

const LedgerSide = ({ ledger, found, title, names }: SideProps) => {
  const { value: chain } = useLoaded(() => checkChain(ledger), [ledger]);
  const broken = chain?.broken ?? null;
  return (
    <section class="inspector-section" aria-label={title}>
      <div class="inspector-line">
        <h3>{title}</h3>
        <span class="at-end small">
          {chain === null || chain.unchecked ? null : broken === null ? (
            <span class="unattributed">chain ok, {chain.links} links</span>
          ) : (
            <strong class="hue-text hue-stop">chain broken at frame {broken}</strong>
          )}
        </span>
      </div>
      {found === null ? (
        <p class="muted">No entry: nothing reached it.</p>
      ) : (
        <dl class="facts">
          {entryFacts(found.entry, names).map(([name, text]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{text}</dd>
            </div>
          ))}
          <div>
            <dt>link</dt>
            <dd>
              frame {found.link.frame}, <code>{found.link.previous.slice(0, 8)}</code> →{' '}
              <code>{found.link.hash.slice(0, 8)}</code>
            </dd>
          </div>
        </dl>
      )}
    </section>
  );
};

const entryFacts = (
  { seq, way, kind, other, bytes, tokens, grant, labels, verdict, sha256 }: LedgerEntry,
  names: SideProps['names'],
): readonly (readonly [string, string])[] => [
  ['entry', `${seq}, ${kind} ${way === 'in' ? 'in from' : 'out to'} ${names(other)}`],
  ['size', `${count(bytes)} bytes, about ${count(tokens)} tokens`],
  ['verdict', verdict === 'granted' ? `granted by ${grant}` : refusalWords(verdict)],
  ...(labels.length === 0 ? [] : [['labels', labels.join(', ')] as const]),
  ['sha256', sha256.slice(0, 8)],
];
