// Buttons below a question, and the words that go with a denial.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

export const Buttons = ({ children }: { readonly children: ComponentChildren }) => (
  <div class="question-buttons">{children}</div>
);

type ReasonFormProps = {
  readonly label: string;
  readonly onCancel: () => void;
  readonly onReason: (reason: string) => void;
};

export const ReasonForm = ({ label, onCancel, onReason }: ReasonFormProps) => {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = (event: Event): void => {
    event.preventDefault();
    onReason(field.current!.value.trim());
  };
  return (
    <form class="question-reason" onSubmit={submit} onKeyDown={(event) => event.key === 'Escape' && onCancel()}>
      <label>
        {label} <input ref={field} maxLength={2_000} />
      </label>
      <Buttons>
        <button type="submit" class="button danger">
          Deny
        </button>
        <button type="button" class="button" onClick={onCancel}>
          Cancel
        </button>
      </Buttons>
    </form>
  );
};
