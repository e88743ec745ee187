// What was spent.
export const Summary = () => <div class="pane-empty" />;
