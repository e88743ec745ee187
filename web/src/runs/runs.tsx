// The list of runs.
export const Runs = () => <div class="pane-empty" />;
