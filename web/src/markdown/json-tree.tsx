// A JSON value that can be opened level by level. What is closed is not drawn.
import { useState } from 'preact/hooks';
import { CodeHead } from '../ui/parts.tsx';

const openLevels = 2;
const shownAtOnce = 100;

export const JsonTree = ({ value }: { readonly value: unknown }) => (
  <div class="json-tree">
    <CodeHead title="JSON" text={() => JSON.stringify(value, null, 2)} />
    <Node value={value} depth={0} />
  </div>
);

type NodeProps = { readonly name?: string; readonly value: unknown; readonly depth: number };

const Node = ({ name, value, depth }: NodeProps) => {
  const [isOpen, setOpen] = useState(depth < openLevels);
  const [shown, setShown] = useState(shownAtOnce);
  const label = name === undefined ? null : <span class="json-name">{name}: </span>;
  if (typeof value !== 'object' || value === null)
    return (
      <div class="json-leaf">
        {label}
        <span class={`json-${value === null ? 'null' : typeof value}`}>{JSON.stringify(value)}</span>
      </div>
    );
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {label}
        <span class="muted">
          {isList ? '[' : '{'}
          {isOpen ? '' : ` ${entries.length} `}
          {isOpen ? '' : isList ? ']' : '}'}
        </span>
      </summary>
      {isOpen
        ? entries.slice(0, shown).map(([key, one]) => <Node key={key} name={key} value={one} depth={depth + 1} />)
        : null}
      {isOpen && entries.length > shown ? (
        <button type="button" class="button small" onClick={() => setShown(shown + 1_000)}>
          {entries.length - shown} more
        </button>
      ) : null}
    </details>
  );
};
