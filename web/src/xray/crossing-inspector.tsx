// One crossing: exactly the bytes, the grant, and both entries of the ledgers, with their hashes computed again here.
import type { CellLedger, LedgerEntry } from '#contracts';
import { count, formatBytes } from '#headends/run-view';
import type { CrossingView } from '#headends/run-view';
import { refusalWords } from '../panes/crossings.tsx';
import { crossingInk } from '../rooms/texts.ts';
import type { RunStore } from '../run-store.ts';
import { source } from '../state.ts';
import { CopyButton, Problem } from '../ui/parts.tsx';
import { useLoaded } from '../ui/use-loaded.ts';
import { checkChain, sha256Hex } from './hashes.ts';
import { namesIn, readCrossing, seesContents, timeIn } from './inspected.ts';
import { findEntry } from './ledger-entries.ts';
import type { NameOf } from './origin.ts';
import { Head, Refused, RoomButton, Section, Withheld } from './pieces.tsx';

type Props = { readonly store: RunStore; readonly crossing: CrossingView };

export const CrossingInspector = ({ store, crossing }: Props) => {
  const { from, to, kind, bytes, grant, refused, at, id } = crossing;
  const ends = [from, to].map((cell) => <RoomButton store={store} cell={cell} />);
  return (
    <>
      <Head
        title={`Crossing ${store.view.crossings.indexOf(crossing)}`}
        about={<span class={`legend hue-${crossingInk(crossing)}`}>{kind}</span>}
      >
        <span class="muted">{timeIn(store)(at)}</span>
      </Head>
      <div class="inspector-scroll">
        <div class="inspector-section">
          <div class="line">
            {ends[0]} <span class="muted">→</span> {ends[1]}
            <span class="at-end muted small">{formatBytes(bytes)}</span>
          </div>
          {refused === null ? (
            <p class="muted">grant {grant}</p>
          ) : (
            <p class="hue-text hue-stop">
              {refusalWords(refused)}. Nothing crossed: the {count(bytes)} bytes stayed with {namesIn(store)(from)}.
            </p>
          )}
        </div>
        {refused === null ? <Content key={id} store={store} crossing={crossing} /> : null}
        <Entries store={store} crossing={crossing} />
      </div>
    </>
  );
};

const shownMax = 50_000;

const Content = ({ store, crossing }: Props) => {
  const { value, error } = useLoaded(async () => {
    const content = seesContents() ? await readCrossing(store, crossing) : null;
    return content === null ? null : { content, hash: await sha256Hex(content) };
  }, [store.run, crossing.id]);
  if (error !== null) return <Problem error={error} />;
  if (value === null) return <Withheld />;
  const { content, hash } = value;
  return (
    <Section title="Exactly what crossed" end={<CopyButton text={() => content} />}>
      <pre class="part-text boxed" tabIndex={0}>
        {content.slice(0, shownMax)}
        {content.length > shownMax ? '\n…' : ''}
      </pre>
      <p class="small part-text">
        {hash === null ? (
          <span class="muted">This browser computes hashes only over https or on this machine.</span>
        ) : hash === crossing.sha256 ? (
          <strong class="is-sound">SHA-256 matches</strong>
        ) : (
          <span role="alert">
            <Refused>SHA-256 does not match: these bytes are not those that crossed.</Refused>
          </span>
        )}{' '}
        <code class="muted">{crossing.sha256}</code>
      </p>
    </Section>
  );
};

/** Of both ends that are rooms. */
const Entries = ({ store, crossing }: Props) => {
  const { value, error } = useLoaded(() => source.value.ledger(store.run), [store.run, store.view.crossings.length]);
  if (error !== null) return <Problem error={error} />;
  return (
    <>
      {(['out', 'in'] as const).map((way) => {
        const ledger = value?.find(({ cell }) => cell === crossing[way === 'out' ? 'from' : 'to']);
        return ledger && <LedgerSide key={way} store={store} crossing={crossing} ledger={ledger} way={way} />;
      })}
    </>
  );
};

type SideProps = Props & { readonly ledger: CellLedger; readonly way: 'in' | 'out' };

const LedgerSide = ({ store, crossing, ledger, way }: SideProps) => {
  const { value: chain } = useLoaded(() => checkChain(ledger), [ledger]);
  const names = namesIn(store);
  const found = findEntry(ledger, way, crossing, store.view.crossings);
  return (
    <Section
      title={`Ledger of ${names(ledger.cell)}`}
      end={
        chain === null || chain.unchecked ? null : chain.broken === null ? (
          <span class="is-sound">chain ok, {chain.links} links</span>
        ) : (
          <Refused>chain broken at frame {chain.broken}</Refused>
        )
      }
    >
      {found === null ? (
        <p class="muted">No entry: nothing reached it.</p>
      ) : (
        <dl class="entry-facts">
          {[
            ...entryFacts(found.entry, names),
            ['link', `frame ${found.link.frame}, ${found.link.previous.slice(0, 8)} → ${found.link.hash.slice(0, 8)}`],
          ].map(([name, text]) => (
            <>
              <dt>{name}</dt>
              <dd>{text}</dd>
            </>
          ))}
        </dl>
      )}
    </Section>
  );
};

const entryFacts = (
  { seq, way, kind, other, bytes, tokens, grant, labels, verdict, sha256 }: LedgerEntry,
  names: NameOf,
): readonly (readonly string[])[] => [
  ['entry', `${seq}, ${kind} ${way === 'in' ? 'in from' : 'out to'} ${names(other)}`],
  ['size', `${count(bytes)} bytes, about ${count(tokens)} tokens`],
  ['verdict', verdict === 'granted' ? `granted by ${grant}` : refusalWords(verdict)],
  ...(labels.length === 0 ? [] : [['labels', labels.join(', ')]]),
  ['sha256', sha256.slice(0, 8)],
];
