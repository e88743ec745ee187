// Messages between agents.
export const Mail = () => <div class="pane-empty" />;
