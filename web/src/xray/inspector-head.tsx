// The head of what is inspected, with the way to another course of things.
import type { ComponentChildren } from 'preact';
import { mayAct } from '../state.ts';
import { forkHere } from './inspected.ts';

export const InspectorHead = (props: {
  readonly title: string;
  readonly about: string;
  readonly cell?: string;
  readonly op?: number;
  readonly children?: ComponentChildren;
}) => {
  const { title, about, cell, op, children } = props;
  return (
    <div class="xray-head">
      <h2>{title}</h2>
      <span class="muted">{about}</span>
      <span class="header-space" />
      {children}
      {cell !== undefined && mayAct.value ? (
        <button type="button" class="button small" onClick={() => forkHere(cell, op)}>
          Fork here
        </button>
      ) : null}
    </div>
  );
};
