// The audit of the run.
export const Audit = () => <div class="pane-empty" />;
