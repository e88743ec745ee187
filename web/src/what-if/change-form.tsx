// What to change, and from where: another run begins there.
import { useState } from 'preact/hooks';
import { plural } from '#headends/run-view';
import type { CellView } from '#headends/run-view';
import { address, go, select } from '../address.ts';
import type { RunStore } from '../run-store.ts';
import { me, source } from '../state.ts';
import { useKeys } from '../ui/keys.ts';
import { CopyButton, Problem } from '../ui/parts.tsx';
import { cellOf, namesIn, rootOf } from '../xray/inspected.ts';
import { operationsOf } from '../xray/room-inspector.tsx';
import { forkBody } from './fork-body.ts';
import type { ChangeChoice, ChangeKind } from './fork-body.ts';
import { forkCommand } from './what-changed.ts';

type Props = { readonly store: RunStore };

const kinds: readonly (readonly [ChangeKind, string])[] = [
  ['grant', 'grant'],
  ['goal', 'goal'],
  ['model', 'model'],
  ['budget', 'budget'],
  ['again', 'nothing'],
];

const grantNames = ['result', 'goal', 'note', 'history', 'share'] as const;

export const ChangeForm = ({ store }: Props) => {
  void store.version.value;
  const root = rootOf(store);
  const isOperator = me.value?.operator === true;
  const [kind, setKind] = useState<ChangeKind>(isOperator ? 'grant' : 'goal');
  const [value, setValue] = useState<Readonly<Record<string, string>>>({ grant: 'result' });
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const { op } = address.value;
  // The budget is that of the whole run.
  const cell = kind === 'budget' ? root : (cellOf(store, address.value.cell) ?? root);
  const choice: ChangeChoice = { kind, cell: cell?.cell ?? '', op, value, goal: cell?.goal ?? '' };
  const body = forkBody(choice);
  const run = async (): Promise<void> => {
    if (body === null || isBusy) return;
    setBusy(true);
    setError(null);
    try {
      const path = `/runs/${encodeURIComponent(store.run)}/fork`;
      const { run: fork } = await source.value.send<{ run: string }>('POST', path, { ...body });
      go({ ...address.value, with: fork });
    } catch (problem) {
      setError(problem as Error);
    }
    setBusy(false);
  };
  useKeys({ r: { about: 'run again', hint: true, run: () => void run() } });
  if (cell === undefined) return null;
  const submit = (event: Event): void => {
    event.preventDefault();
    void run();
  };
  return (
    <form class="change-form" onSubmit={submit}>
      <span class="muted">Change</span>
      {kinds.map(([one, words]) => (
        <button
          key={one}
          type="button"
          class="button small"
          aria-pressed={one === kind}
          disabled={!isOperator && (one === 'grant' || one === 'model')}
          onClick={() => setKind(one)}
        >
          {words}
        </button>
      ))}
      <Fields store={store} cell={cell} kind={kind} value={value} setValue={setValue} />
      {kind === 'budget' ? null : <Place store={store} cell={cell} isStart={kind === 'goal'} />}
      <span class="grow" />
      {body === null || address.value.with !== '' ? null : (
        <CopyButton label="Copy the command" text={() => forkCommand(store.run, body)} />
      )}
      <button type="submit" class="button small primary" disabled={body === null || isBusy}>
        {isBusy ? 'Starting…' : 'Run again'}
      </button>
      {isOperator ? null : (
        <p class="small muted form-note">Grants and models can be changed with an operator’s token only.</p>
      )}
      {error && (
        <div class="form-note">
          <Problem error={error} />
        </div>
      )}
    </form>
  );
};

type FieldsProps = Props & {
  readonly cell: CellView;
  readonly kind: ChangeKind;
  readonly value: Readonly<Record<string, string>>;
  readonly setValue: (value: Readonly<Record<string, string>>) => void;
};

const Fields = ({ store, cell, kind, value, setValue }: FieldsProps) => {
  const set = (name: string) => (event: { readonly currentTarget: { readonly value: string } }) =>
    setValue({ ...value, [name]: event.currentTarget.value });
  const field = (name: string, label: string, more: object = {}) => (
    <label class="form-field">
      {label} <input name={name} value={value[name] ?? ''} onInput={set(name)} {...more} />
    </label>
  );
  switch (kind) {
    case 'grant': {
      const used = store.view.crossings.flatMap(({ from, to, grant }) =>
        grant !== null && (from === cell.cell || to === cell.cell) ? [grant] : [],
      );
      const grants = [...new Set(used)].filter((one) => (grantNames as readonly string[]).includes(one));
      return (
        <label class="form-field">
          without the grant{' '}
          <select value={value['grant']} onChange={set('grant')}>
            {(grants.length === 0 ? grantNames : grants).map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
      );
    }
    case 'goal':
      return (
        <label class="form-field is-wide">
          to <input value={value['goal'] ?? cell.goal} onInput={set('goal')} aria-label="The new goal" />
        </label>
      );
    case 'model': {
      const models = new Set(
        [...store.view.cells.values()].flatMap(({ requests }) => requests.map((one) => one.model)),
      );
      return (
        <>
          {field('model', 'to', {
            placeholder: 'provider/model',
            list: 'models-of-run',
            'aria-label': 'The new model',
          })}
          <datalist id="models-of-run">
            {[...models].map((model) => (
              <option key={model} value={model} />
            ))}
          </datalist>
        </>
      );
    }
    case 'budget':
      return (
        <>
          {field('tokens', 'tokens', { type: 'number', min: 1, step: 1 })}
          {field('usd', '$', { type: 'number', min: 0, step: 'any' })}
        </>
      );
    case 'again':
      return null;
  }
};

/** The room, and the first operation that is done again. */
const Place = ({ store, cell, isStart }: Props & { readonly cell: CellView; readonly isStart: boolean }) => {
  const names = namesIn(store);
  const operations = operationsOf(cell, names);
  return (
    <>
      <label class="form-field">
        in{' '}
        <select
          value={cell.cell}
          onChange={({ currentTarget }) => select({ cell: currentTarget.value, op: undefined })}
          aria-label="Room"
        >
          {[...store.view.cells.keys()].map((one) => (
            <option key={one} value={one}>
              {names(one)}
            </option>
          ))}
        </select>
      </label>
      {isStart ? null : (
        <label class="form-field">
          from{' '}
          <select
            value={address.value.op ?? ''}
            onChange={({ currentTarget: { value } }) => select({ op: value === '' ? undefined : Number(value) })}
            aria-label="Operation"
          >
            <option value="">its start ({plural(operations.length, 'operation')})</option>
            {operations.map(({ op, title }) => (
              <option key={op} value={op}>
                operation {op}, {title}
              </option>
            ))}
          </select>
        </label>
      )}
    </>
  );
};
